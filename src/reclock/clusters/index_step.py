"""One step of an index: its updates at one time, computed and appended to its collection."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import structlog

from reclock.algebra.error_intervals import ErrorIntervals, with_answer, with_error
from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.collections.collection import Collection
from reclock.collections.lake import Lake
from reclock.collections.schema import arrow_schema
from reclock.collections.version import Version
from reclock.compute import maintenance
from reclock.compute.costs import RefreshChoice, RefreshCosts, RefreshWork
from reclock.compute.due_times import DueTimes, due_after
from reclock.compute.engines.engine import Engine, Inputs
from reclock.compute.maintenance import MaintenanceMode, RefreshResult
from reclock.compute.operators.rules import NoContinuation
from reclock.compute.reads import peeks
from reclock.compute.reads.failing_rows import FailingRow, find_row
from reclock.compute.steps.scope import has_time_rules, read_in_full
from reclock.config import Settings
from reclock.consensus.frontiers.claims import GroupFrontier
from reclock.errors import (
    ErrorAtTime,
    EvaluationError,
    InternalError,
    OutputFailed,
    UnsupportedSql,
    plain_text,
)
from reclock.failpoints import failpoint
from reclock.ingest.progress import plan_input
from reclock.plan.relational import Plan, collections
from reclock.protocol.compute import NO_DETAILS, Dataflow, RefreshDetails

_logger = structlog.get_logger(__name__)


@dataclass(slots=True)
class PinnedInputs:
    """Versions of collections that the indexes of one refresh share.

    A version is pinned again once its group's published upper has moved, so it has everything that
    the upper promises.
    """

    lake: Lake
    _pins: dict[StorageCollectionId, tuple[Timestamp, Version]] = field(default_factory=dict)

    def of(
        self, dataflow: Dataflow, frontiers: Mapping[str, GroupFrontier]
    ) -> dict[StorageCollectionId, Version]:
        """The inputs of the dataflow, for callers that have read ``frontiers`` before."""
        return {
            id: self._pinned(id, frontiers[id.group].upper) for id in collections(dataflow.plan)
        }

    def _pinned(self, id: StorageCollectionId, upper: Timestamp) -> Version:
        known = self._pins.get(id)
        if known is None or known[0] < upper:
            known = self._pins[id] = upper, self.lake.open(id).pin()
        return known[1]


@dataclass(frozen=True, slots=True)
class AppendedStep:
    """What a step appended: how many updates, and how they were found, None if they were there
    already or the query has no answer. ``errors`` are those of the collection afterwards.
    ``details`` say what each way costs, if there was a choice."""

    updates: int
    how: MaintenanceMode | None
    errors: ErrorIntervals
    details: RefreshDetails = NO_DETAILS


@dataclass(frozen=True, slots=True)
class IndexSteps:
    """Takes steps of indexes with the engines of one replica."""

    lake: Lake
    settings: Settings
    small: Engine
    large: Callable[[], Engine]
    costs: RefreshCosts
    failing_rows: dict[GlobalId, FailingRow]
    """The row for which each failing index failed last, as far as it is known. Indexes that do not
    fail may have an entry too."""

    def prepare(
        self,
        index: Dataflow,
        times: Sequence[Timestamp],
        versions: Mapping[StorageCollectionId, Version],
        *,
        is_repeated: bool,
    ) -> Callable[[], AppendedStep]:
        """Compute a step. The call appends it, on any thread: then the collection of the index
        holds what it has at each of ``times``, rows or an error.

        No input changes between the times but at the first. An internal error is an error of that
        time too when the work ``is_repeated``: it would hold up all later times for good.
        """
        collection = self.lake.open(StorageCollectionId(index.id))
        version = collection.pin()
        times = [at for at in times if at >= version.upper]
        if not times:
            return lambda: AppendedStep(0, None, version.errors)
        inputs = {id: plan_input(id, pinned) for id, pinned in versions.items()}
        if len(times) == 1:
            return self._prepare_time(index, times[0], inputs, collection, version, is_repeated)
        try:
            result = self._updates_by_time(index, inputs, version, times)
        except maintenance.NO_ANSWER:  # some times have an answer, others an error
            return lambda: self._append_each(index, times, versions, is_repeated)
        how, details = _outcome(index, MaintenanceMode.FROM_CHANGES, result)
        updates = result.updates

        def append() -> AppendedStep:
            collection.append(
                updates, expected_upper=version.upper, new_upper=Timestamp(times[-1] + 1)
            )
            failpoint("refresh.after_append")
            return AppendedStep(updates.num_rows, how, version.errors, details)

        return append

    def _append_each(
        self,
        index: Dataflow,
        times: Sequence[Timestamp],
        versions: Mapping[StorageCollectionId, Version],
        is_repeated: bool,
    ) -> AppendedStep:
        steps = [self.prepare(index, [at], versions, is_repeated=is_repeated)() for at in times]
        return replace(steps[-1], updates=sum(step.updates for step in steps))

    def _prepare_time(
        self,
        index: Dataflow,
        at: Timestamp,
        inputs: Inputs,
        collection: Collection,
        version: Version,
        is_repeated: bool,
    ) -> Callable[[], AppendedStep]:
        count, how, details = 0, None, NO_DETAILS
        try:
            updates, how, details = self._updates(index, inputs, version, at)
            errors, count = with_answer(version.errors, at), updates.num_rows
        except (*maintenance.NO_ANSWER, InternalError) as error:
            if isinstance(error, InternalError) and not is_repeated:
                raise
            if isinstance(error, EvaluationError):
                error = self._with_row(error, index, at, inputs)
            updates = arrow_schema(index.desc, with_updates=True).empty_table()
            errors = with_error(version.errors, at, error, is_first=version.upper == MINIMUM)

        def append() -> AppendedStep:
            collection.append(
                updates,
                expected_upper=version.upper,
                new_upper=Timestamp(at + 1),
                errors=None if errors == version.errors else errors,
            )
            failpoint("refresh.after_append")
            return AppendedStep(count, how, errors, details)

        return append

    def _with_row(
        self, error: EvaluationError, index: Dataflow, at: Timestamp, inputs: Inputs
    ) -> EvaluationError:
        """The error, naming the row that the index fails for if one is certain."""
        row = find_row(
            error,
            index.plan,
            at,
            inputs,
            engine=self._engine(inputs, at),
            small=self.small,
            previous=self.failing_rows.get(index.id),
        )
        if row is None:
            self.failing_rows.pop(index.id, None)
            return error
        self.failing_rows[index.id] = row
        return row.error

    def due_after(
        self, index: Dataflow, versions: Mapping[StorageCollectionId, Version], at: Timestamp
    ) -> DueTimes:
        """The next times after ``at`` at which the index changes because time passes."""
        inputs = {id: plan_input(id, pinned) for id, pinned in versions.items()}
        return due_after(index.plan, inputs, at, self._engine(inputs, at))

    def _updates(
        self, index: Dataflow, inputs: Inputs, stored: Version, at: Timestamp
    ) -> tuple[pa.Table, MaintenanceMode, RefreshDetails]:
        """The updates at ``at``, found in the cheaper way where there are two."""
        maintainer = maintenance.maintainer(index.plan, index.desc, index.id)
        before = stored.answered_through
        how = maintenance.maintenance_mode(maintainer, inputs, before)
        work = (
            None
            if how is MaintenanceMode.RECOMPUTED or before is None
            else _work(index.plan, inputs, before, at)
        )
        if work is None:
            recomputing = replace(maintainer, mode=MaintenanceMode.RECOMPUTED)
            began = time.monotonic()
            updates = self._compute(recomputing, inputs, stored, at).updates
            all_bytes = peeks.bytes_to_read(inputs, at)
            self.costs.record(
                index.id,
                recomputing.mode,
                RefreshWork(all_bytes, all_bytes),
                time.monotonic() - began,
            )
            return updates, recomputing.mode, NO_DETAILS
        choice = self.costs.choose(index.id, work)
        builds, began = self.small.state_builds(index.id), time.monotonic()
        result = self._compute(replace(maintainer, mode=choice.mode), inputs, stored, at)
        self.costs.record(
            index.id,
            choice.mode,  # if it failed too: that is what it costs to choose it
            work,
            time.monotonic() - began,
            is_warm=self.small.state_builds(index.id) == builds,
        )
        how, details = _outcome(index, choice.mode, result)
        return result.updates, how, _with_figures(details, choice, self.costs.measured(index.id))

    def can_step_by_time(self, index: Dataflow, inputs: Inputs, at: Timestamp) -> bool:
        """Whether one step is expected to find what the index has at many due times."""
        return has_time_rules(index.plan) and self._engine(inputs, at) is self.small

    def _updates_by_time(
        self, index: Dataflow, inputs: Inputs, stored: Version, times: Sequence[Timestamp]
    ) -> RefreshResult:
        """The updates at ``times``, at which no input changes."""
        maintainer = maintenance.maintainer(index.plan, index.desc, index.id)
        before, engine = stored.answered_through, self._engine(inputs, times[-1])
        if before is None or before + 1 != stored.upper:
            return maintenance.refresh(maintainer, engine, inputs, stored, before, times)
        return maintenance.refresh_by_time(maintainer, engine, inputs, stored, before, times)

    def _compute(
        self, maintainer: maintenance.Maintainer, inputs: Inputs, stored: Version, at: Timestamp
    ) -> RefreshResult:
        """The updates at ``at``, from the engine that fits."""
        engine = self._engine_for(maintainer, inputs, stored.answered_through, at)
        try:
            return maintenance.refresh(
                maintainer, engine, inputs, stored, stored.answered_through, [at]
            )
        except UnsupportedSql:
            if engine is self.small:
                raise
            # it spills to disk
            return maintenance.refresh(
                maintainer, self.small, inputs, stored, stored.answered_through, [at]
            )

    def _engine_for(
        self,
        maintainer: maintenance.Maintainer,
        inputs: Inputs,
        before: Timestamp | None,
        at: Timestamp,
    ) -> Engine:
        """By the bytes that the refresh will read."""
        mode = maintenance.maintenance_mode(maintainer, inputs, before)
        if before is None or mode is MaintenanceMode.RECOMPUTED:
            return self._engine(inputs, at)
        wholly = _searched(maintainer.plan, inputs, before, at)
        changes = {id: input for id, input in inputs.items() if id not in wholly}
        read_bytes = peeks.bytes_to_read(wholly, at)
        read_bytes += peeks.bytes_to_read(changes, at, after=before)
        return self.large() if read_bytes > self.settings.spark_threshold_bytes else self.small

    def _engine(self, inputs: Inputs, at: Timestamp) -> Engine:
        return (
            self.large()
            if peeks.is_large(inputs, at, self.settings.spark_threshold_bytes)
            else self.small
        )


def _outcome(
    index: Dataflow, mode: MaintenanceMode, result: RefreshResult
) -> tuple[MaintenanceMode, RefreshDetails]:
    """How a refresh that chose ``mode`` was made. One whose changes could not be computed is logged
    with the reason."""
    if not result.failed_changes:
        return mode, NO_DETAILS
    at, error = max(result.failed_changes.items(), key=lambda item: item[0])
    log = _logger.info if isinstance(error, NoContinuation) else _logger.warning
    log("refresh from changes failed; recomputed", index=index.name, time=at, error=str(error))
    return MaintenanceMode.RECOMPUTED, RefreshDetails(delta_error=plain_text(error))


def _with_figures(
    details: RefreshDetails, choice: RefreshChoice, took: Mapping[MaintenanceMode, float]
) -> RefreshDetails:
    if not choice.estimates:
        return details
    changes, recomputing = MaintenanceMode.FROM_CHANGES, MaintenanceMode.RECOMPUTED
    return replace(
        details,
        delta_estimate_ns=_nanoseconds(choice.estimates.get(changes)),
        recompute_estimate_ns=_nanoseconds(choice.estimates.get(recomputing)),
        delta_took_ns=_nanoseconds(took.get(changes)),
        recompute_took_ns=_nanoseconds(took.get(recomputing)),
    )


def _nanoseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e9)


def _work(plan: Plan, inputs: Inputs, before: Timestamp, at: Timestamp) -> RefreshWork | None:
    """What a refresh from the answer ``before`` has to read; None if an input had an error since,
    so that it has no changes."""
    all_bytes = peeks.bytes_to_read(inputs, at)
    try:
        changed_bytes = peeks.bytes_to_read(inputs, at, after=before)
        searched_bytes = peeks.bytes_to_read(_searched(plan, inputs, before, at), at)
    except (ErrorAtTime, OutputFailed):
        return None
    return RefreshWork(all_bytes, changed_bytes, searched_bytes)


def _searched(plan: Plan, inputs: Inputs, before: Timestamp, at: Timestamp) -> Inputs:
    """The inputs of which a refresh from changes needs more than the changes."""
    changed = {id for id, input in inputs.items() if input.may_change(before, at)}
    full = read_in_full(plan, changed)
    return {id: input for id, input in inputs.items() if id in full}
