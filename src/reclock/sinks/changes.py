"""The changes of a sink's relation: read from a collection, or computed as an index would compute
them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reclock.algebra.error_intervals import (
    ErrorIntervals,
    answered_through,
    with_answer,
    with_error,
)
from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.collections.lake import Lake
from reclock.collections.schema import arrow_schema
from reclock.collections.version import Version
from reclock.compute import maintenance
from reclock.compute.due_times import due_after, with_due_times
from reclock.compute.engines.engine import Engine, Inputs
from reclock.compute.reads import peeks
from reclock.config import Settings
from reclock.consensus.frontiers.groups import Frontiers
from reclock.definitions.sinks import SinkSpec
from reclock.errors import (
    CollectionDamaged,
    ForeignCollection,
    NotReadable,
    ReclockError,
    UnknownCollection,
    UnsupportedSql,
)
from reclock.ingest.progress import plan_input
from reclock.plan.relational import Get, collections
from reclock.plan.temporal import reads_now


@dataclass(frozen=True, slots=True)
class TimeRange:
    """The times ``[lower, upper)``. With ``with_snapshot``, everything before counts as a change at
    ``lower``."""

    lower: Timestamp
    upper: Timestamp
    with_snapshot: bool

    @property
    def needs(self) -> Timestamp:
        """The earliest time that must be distinguishable from those before."""
        return self.lower if self.with_snapshot else Timestamp(self.lower - 1)


@dataclass(frozen=True, slots=True)
class SinkChanges:
    """The changes in ``range``: the requested range up to the last time at which the relation has
    rows. ``error`` is the relation's error at later times, if it has one.

    ``times`` are those at which something may have changed. ``stream`` returns the changes in a
    part of ``range``: the relation's stored columns, ``mz_timestamp`` and ``mz_diff``,
    consolidated, in order of time.
    """

    range: TimeRange
    times: tuple[Timestamp, ...]
    stream: Callable[[TimeRange], pa.RecordBatchReader]
    error: ReclockError | None = None


@dataclass(frozen=True, slots=True)
class ChangeReader:
    """Reads changes with the stores and engines of one environment."""

    lake: Lake
    frontiers: Frontiers
    settings: Settings
    small: Engine
    large: Callable[[], Engine]

    def changes(self, sink: SinkSpec, requested: TimeRange) -> SinkChanges:
        """The changes of the sink's relation in ``requested``, where its inputs must be complete
        and held.

        A source or table is read itself. A view is read from an index of the sink's cluster that
        distinguishes these times. Otherwise its plan is evaluated before and at each time at which
        an input changed, or only at the last one if there are many.
        """
        version = self._readable_version(sink, requested)
        if version is None:
            return self._computed(sink, requested)
        answered, error = _answered(requested, version.errors)
        rows = version.without_errors
        times = {*maintenance.change_times([rows], answered.lower, answered.upper)}
        if requested.with_snapshot:
            times.add(answered.lower)
        return SinkChanges(
            answered,
            tuple(sorted(times)),
            lambda part: rows.stream_changes(
                part.lower, part.upper, with_snapshot=part.with_snapshot
            ),
            error,
        )

    def _readable_version(self, sink: SinkSpec, requested: TimeRange) -> Version | None:
        if isinstance(sink.plan, Get):
            version = self.lake.open(sink.plan.collection).pin()
            if version.since > requested.needs:
                raise NotReadable(
                    sink.name, at=requested.needs, since=version.since, upper=version.upper
                )
            return version
        for id in sink.indexes:
            before = self.frontiers.get_all([id]).get(id)
            if before is None or before.upper < requested.upper:
                continue
            try:
                version = self.lake.open(StorageCollectionId(id)).pin()
            except (CollectionDamaged, ForeignCollection, UnknownCollection):
                continue  # the plan gives the same changes
            # after the version, which may have been compacted up to it
            since = self.frontiers.get(id).since
            if max(since, version.since) <= requested.needs:
                return version
        return None

    def _computed(self, sink: SinkSpec, requested: TimeRange) -> SinkChanges:
        versions = {id: self.lake.open(id).pin() for id in collections(sink.plan)}
        inputs = {id: plan_input(id, version) for id, version in versions.items()}
        last = Timestamp(requested.upper - 1)
        changes = maintenance.change_times(
            list(versions.values()), requested.lower, requested.upper
        )
        if reads_now(sink.plan):
            changes = with_due_times(
                sink.plan,
                changes,
                since=requested.needs,
                through=last,
                due=lambda at: due_after(sink.plan, inputs, at, self.small),
                limit=self.settings.refresh_times_limit,
            ).times
        times = maintenance.refresh_times(
            upper=requested.lower,
            at=last,
            changes=changes,
            is_new=requested.with_snapshot,
            readable_from=requested.lower,
            limit=self.settings.refresh_times_limit,
        ).times
        updates, errors = self._difference(sink, inputs, times, requested)
        answered, error = _answered(requested, errors)
        return SinkChanges(
            answered,
            tuple(time for time in times if answered.lower <= time < answered.upper),
            lambda part: updates.filter(pc.field(TIME_COLUMN) >= part.lower).to_reader(),
            error,
        )

    def _difference(
        self, sink: SinkSpec, inputs: Inputs, times: tuple[Timestamp, ...], requested: TimeRange
    ) -> tuple[pa.Table, ErrorIntervals]:
        """The changes at ``times``, and the times at which the query raised an error. The plan is
        also evaluated before the first time, if there is one. If it raises an error there, the
        first answer is the base of the changes."""
        maintainer = maintenance.maintainer(sink.plan, sink.desc.stored)
        if not times:
            return arrow_schema(maintainer.desc, with_updates=True).empty_table(), ()
        computed = list(times) if requested.with_snapshot else [requested.needs, *times]
        engine = (
            self.large()
            if peeks.is_large(inputs, requested.upper, self.settings.spark_threshold_bytes)
            else self.small
        )
        try:
            answers = maintenance.refresh_each(maintainer, engine, inputs, None, None, computed)
        except UnsupportedSql:
            if engine is self.small:
                raise
            answers = maintenance.refresh_each(maintainer, self.small, inputs, None, None, computed)
        errors: ErrorIntervals = ()
        for time in computed:
            error = answers.errors.get(time)
            errors = (
                with_answer(errors, time)
                if error is None
                else with_error(errors, time, error, is_first=False)
            )
        if requested.with_snapshot:
            return answers.updates, errors
        first = next((time for time in computed if time not in answers.errors), requested.upper)
        return answers.updates.filter(pc.field(TIME_COLUMN) > first), errors


def changes_schema(desc: RelationDesc) -> pa.Schema:
    """The schema of the changes of one time."""
    return arrow_schema(desc, with_updates=False).append(
        pa.field(DIFF_COLUMN, pa.int64(), nullable=False)
    )


def _answered(
    requested: TimeRange, errors: ErrorIntervals
) -> tuple[TimeRange, ReclockError | None]:
    """The part of ``requested`` up to its last time without an error, and the error after that. A
    snapshot begins at the first such time."""
    lower = requested.lower
    for interval in errors if requested.with_snapshot else ():
        if interval.overlaps(lower, Timestamp(lower + 1)):
            lower = (
                requested.upper if interval.upper is None else min(interval.upper, requested.upper)
            )
    through = answered_through(errors, requested.upper)
    upper = lower if through is None else max(lower, Timestamp(through + 1))
    at_end = [
        interval.error()
        for interval in errors
        if interval.overlaps(Timestamp(requested.upper - 1), requested.upper)
    ]
    return TimeRange(lower, upper, requested.with_snapshot), at_end[0] if at_end else None


def by_time(
    updates: pa.RecordBatchReader, desc: RelationDesc
) -> Iterator[tuple[Timestamp, pa.RecordBatchReader]]:
    """The changes of each time: the columns of ``desc`` and ``mz_diff``. Read each one before the
    next."""
    position, schema = updates.schema.get_field_index(TIME_COLUMN), changes_schema(desc)

    def pieces() -> Iterator[tuple[int, pa.RecordBatch]]:
        for batch in updates:
            if not batch.num_rows:
                continue
            times = batch.column(position).to_numpy()
            bounds = [0, *(np.flatnonzero(np.diff(times)) + 1), len(times)]
            rows = pa.RecordBatch.from_arrays(
                [c for i, c in enumerate(batch.columns) if i != position], schema=schema
            )
            for start, end in pairwise(bounds):
                yield int(times[start]), rows.slice(start, end - start)

    for time, group in groupby(pieces(), key=itemgetter(0)):
        yield (
            Timestamp(time),
            pa.RecordBatchReader.from_batches(schema, (rows for _, rows in group)),
        )
