"""The changes of a sink's relation: read where they are kept, or else computed as an index would compute them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.relations import TIME_COLUMN
from reclock.algebra.timestamps import Timestamp
from reclock.collections.lake import Lake
from reclock.collections.version import Version
from reclock.compute import index as maintenance
from reclock.compute import peek
from reclock.compute.engines.engine import CollectionInput, Engine
from reclock.compute.plan import Get, collections
from reclock.config import Settings
from reclock.consensus.frontiers import Frontiers
from reclock.errors import NotReadable, UnsupportedSql
from reclock.sinks.description import SinkSpec


@dataclass(frozen=True, slots=True)
class Range:
    """The times ``[lower, upper)``; ``with_snapshot``, what came before counts as at ``lower``."""

    lower: Timestamp
    upper: Timestamp
    with_snapshot: bool

    @property
    def needs(self) -> Timestamp:
        """The earliest time that must still be told apart from those before."""
        return self.lower if self.with_snapshot else Timestamp(self.lower - 1)


@dataclass(frozen=True, slots=True)
class Changes:
    """``times`` are those at which something may have changed. ``stream`` gives what changed in a range within the one asked for:
    the relation's columns, ``mz_timestamp`` and ``mz_diff``, consolidated, in order of time."""

    times: tuple[Timestamp, ...]
    stream: Callable[[Range], pa.RecordBatchReader]


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads with the stores and engines of one environment."""

    lake: Lake
    frontiers: Frontiers
    settings: Settings
    small: Engine
    large: Callable[[], Engine]

    def changes(self, sink: SinkSpec, wanted: Range) -> Changes:
        """What the sink's relation changed by in ``wanted``, whose inputs are complete and held there.

        A source or a table is read itself. A view is read from an index of the sink's cluster, if one tells those times apart; or
        else its plan is computed before and at each time at which an input changed, at the last alone if there are many.
        """
        kept = self._kept(sink, wanted)
        if kept is None:
            return self._computed(sink, wanted)
        times = {*maintenance.change_times([kept], wanted.lower, wanted.upper)}
        if wanted.with_snapshot:
            times.add(wanted.lower)
        return Changes(
            tuple(sorted(times)),
            lambda some: kept.streamed(some.lower, some.upper, with_snapshot=some.with_snapshot),
        )

    def _kept(self, sink: SinkSpec, wanted: Range) -> Version | None:
        if isinstance(sink.plan, Get):
            version = self.lake.open(sink.plan.collection).pin()
            if version.since > wanted.needs:
                raise NotReadable(sink.name, at=wanted.needs, since=version.since, upper=version.upper)
            return version
        for id in sink.indexes:
            before = self.frontiers.get_all([id]).get(id)
            if before is None or before.upper < wanted.upper:
                continue
            version = self.lake.open(StorageCollectionId(id)).pin()
            since = self.frontiers.get(id).since  # after the version, which may have been compacted up to it
            if max(since, version.since) <= wanted.needs:
                return version
        return None

    def _computed(self, sink: SinkSpec, wanted: Range) -> Changes:
        inputs = {id: CollectionInput(self.lake.open(id).pin()) for id in collections(sink.plan)}
        times = maintenance.refresh_times(
            upper=wanted.lower,
            at=Timestamp(wanted.upper - 1),
            changes=maintenance.change_times([given.version for given in inputs.values()], wanted.lower, wanted.upper),
            is_new=wanted.with_snapshot,
            readable_from=wanted.lower,
            limit=self.settings.refresh_times_limit,
        ).times
        return Changes(times, lambda some: self._difference(sink, inputs, times, some))

    def _difference(
        self,
        sink: SinkSpec,
        inputs: Mapping[StorageCollectionId, CollectionInput],
        times: tuple[Timestamp, ...],
        wanted: Range,
    ) -> pa.RecordBatchReader:
        """Before the first of the times the plan is computed too, if there is a before."""
        shown = [time for time in times if time >= wanted.lower]
        before = [] if wanted.with_snapshot else [wanted.needs]
        kept = maintenance.maintainer(sink.plan, sink.desc)
        engine = self.large() if peek.is_large(inputs, wanted.upper, self.settings.spark_threshold_bytes) else self.small
        try:
            updates = maintenance.refresh(kept, engine, inputs, None, None, [*before, *shown])
        except UnsupportedSql:
            if engine is self.small:
                raise
            updates = maintenance.refresh(kept, self.small, inputs, None, None, [*before, *shown])
        return updates.filter(pc.field(TIME_COLUMN) >= wanted.lower).to_reader()


def by_time(updates: pa.RecordBatchReader) -> Iterator[tuple[Timestamp, pa.RecordBatchReader]]:
    """The changes of each time, without that column. Each is to be read before the next."""
    position = updates.schema.get_field_index(TIME_COLUMN)
    schema = updates.schema.remove(position)

    def pieces() -> Iterator[tuple[int, pa.RecordBatch]]:
        for batch in updates:
            if not batch.num_rows:
                continue
            times = batch.column(position).to_numpy()
            bounds = [0, *(np.flatnonzero(np.diff(times)) + 1), len(times)]
            rows = pa.RecordBatch.from_arrays([c for i, c in enumerate(batch.columns) if i != position], schema=schema)
            for start, end in pairwise(bounds):
                yield int(times[start]), rows.slice(start, end - start)

    for time, group in groupby(pieces(), key=itemgetter(0)):
        yield Timestamp(time), pa.RecordBatchReader.from_batches(schema, (rows for _, rows in group))
