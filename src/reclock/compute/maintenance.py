"""Maintained results: when an index is refreshed, and which updates a refresh appends.

The law: at every readable time, the maintained result equals the plan evaluated there. A refresh
computes the changes of the result from those of its inputs. If an operator has no delta rule, or
the inputs can no longer be read at the time of the previous result, it evaluates the plan and
compares it with the previous result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import pyarrow as pa
import pyarrow.compute as pc

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.collections.schema import arrow_schema
from reclock.collections.version import Version
from reclock.compute.engines.engine import Engine, Inputs, PreviousResult
from reclock.compute.operators.rules import NoContinuation, NoRuleByTime
from reclock.compute.steps.delta import has_delta_rules
from reclock.errors import (
    ErrorAtTime,
    EvaluationError,
    InternalError,
    NestedTooDeeply,
    OutputFailed,
    ReclockError,
)
from reclock.plan.relational import Plan

NO_ANSWER = (EvaluationError, OutputFailed, ErrorAtTime)
"""The errors that mean that a plan has no answer at a time, on any engine and in any attempt."""

_NO_CHANGES = (EvaluationError, ErrorAtTime, NoContinuation, NestedTooDeeply)
"""The errors of a step from changes that do not mean that the plan has no answer."""


class MaintenanceMode(StrEnum):
    """How an index is maintained, as EXPLAIN and introspection name it."""

    FROM_CHANGES = "maintained from changes"
    """A refresh reads only the changes of the inputs and the rows that they affect."""
    RECOMPUTED = "recomputed"
    """Each refresh evaluates the plan and compares it with the previous result."""


@dataclass(frozen=True, slots=True)
class Maintainer:
    """How the result of one plan is maintained in a collection of ``desc``."""

    plan: Plan
    desc: RelationDesc
    mode: MaintenanceMode
    index: GlobalId | None = None
    """The id of the index, for which engines keep state between refreshes."""


def maintainer(plan: Plan, desc: RelationDesc, index: GlobalId | None = None) -> Maintainer:
    """The maintainer of ``plan``. Types must agree; the maintained columns have the desc's
    names."""
    if plan.desc.types != desc.types:
        raise InternalError("the plan of an index does not have the types of its collection")
    mode = MaintenanceMode.FROM_CHANGES if has_delta_rules(plan) else MaintenanceMode.RECOMPUTED
    return Maintainer(plan, desc, mode, index)


@dataclass(frozen=True, slots=True)
class RefreshTimes:
    """When to refresh: at each of ``times``, in order. The index's since must become ``since``
    before that is published."""

    times: tuple[Timestamp, ...]
    since: Timestamp | None = None

    @property
    def is_jump(self) -> bool:
        """Whether several times at which the inputs changed become one."""
        return self.since is not None


def refresh_times(
    *,
    upper: Timestamp,
    at: Timestamp,
    changes: Iterable[Timestamp],
    is_new: bool,
    readable_from: Timestamp,
    limit: int,
) -> RefreshTimes:
    """The times at which an index that is complete below ``upper`` must be computed to be complete
    up to and including ``at``.

    ``changes`` holds every time in ``[upper, at]`` at which an input may have changed; ``is_new``
    says that the index has never been computed, so ``upper`` counts as one. Each such time gets a
    refresh, unless there are more than ``limit`` of them or one lies below ``readable_from`` (the
    highest since of the inputs): then there is one refresh, at the last of them, and the index's
    since moves there, because the results in between are lost. Without times nothing changed, and
    the upper may advance.
    """
    if at < upper:
        return RefreshTimes(())
    counted = {change for change in changes if upper <= change <= at}
    if is_new:
        counted.add(upper)
    times = tuple(sorted(counted))
    if not times:
        return RefreshTimes(())
    if len(times) <= limit and times[0] >= readable_from:
        return RefreshTimes(times)
    last = Timestamp(max(times[-1], readable_from))
    if last > at:
        raise InternalError(
            f"inputs cannot be read at {at}", detail=f"their since is {readable_from}"
        )
    return RefreshTimes((last,), since=last)


def change_times(
    versions: Sequence[Version], lower: Timestamp, upper: Timestamp
) -> list[Timestamp]:
    """The distinct times in ``[lower, upper)`` at which any of the collections has updates. Uses
    statistics where they suffice."""
    times: set[Timestamp] = set()
    for version in versions:
        mixed = []
        for file in version.files(lower=lower, upper=upper):
            if file.min_time == file.max_time:
                times.add(file.min_time)
            else:
                mixed.append(file)
        if mixed:
            for batch in version.dataset(mixed).to_batches(columns=[TIME_COLUMN]):
                times |= {Timestamp(time) for time in pc.unique(batch.column(0)).to_pylist()}
    return sorted(time for time in times if lower <= time < upper)


def refresh(
    maintainer: Maintainer,
    engine: Engine,
    inputs: Inputs,
    stored: Version | None,
    previous: Timestamp | None,
    times: Sequence[Timestamp],
) -> RefreshResult:
    """The updates that make the result equal to the plan at each of ``times``, in order: the desc's
    columns, time and diff.

    ``stored`` is the index's collection, which holds the result at ``previous``, the last time it
    was computed at (None if never: then it is empty). The updates are consolidated at each time.
    Raises the error of the first time at which the plan has no answer.
    """
    result = refresh_each(maintainer, engine, inputs, stored, previous, times)
    for error in result.errors.values():
        raise error
    return result


def refresh_by_time(
    maintainer: Maintainer,
    engine: Engine,
    inputs: Inputs,
    stored: Version,
    previous: Timestamp,
    times: Sequence[Timestamp],
) -> RefreshResult:
    """As ``refresh``, for times after ``previous`` at which no input changes: by one step where the
    plan's rules, and the engine, allow it."""
    result = PreviousResult(
        stored.without_errors,
        Timestamp(stored.upper - 1),
        arrow_schema(maintainer.desc, with_updates=True).empty_table(),
        maintainer.index,
    )
    plan, desc = maintainer.plan, maintainer.desc
    if maintenance_mode(maintainer, inputs, previous) is MaintenanceMode.FROM_CHANGES:
        try:
            changed = engine.changes(
                plan, desc, inputs, previous, times[-1], result, by_time=True
            ).batches.read_all()
            return RefreshResult(changed.cast(arrow_schema(desc, with_updates=True)))
        except (NoRuleByTime, *_NO_CHANGES):  # each time on its own
            pass
    return refresh(maintainer, engine, inputs, stored, previous, times)


@dataclass(frozen=True, slots=True)
class RefreshResult:
    """The updates of each time at which the plan has an answer, and the errors of the other
    times."""

    updates: pa.Table
    errors: Mapping[Timestamp, ReclockError] = field(default_factory=dict)
    failed_changes: Mapping[Timestamp, Exception] = field(default_factory=dict)
    """The times at which computing the changes failed, so that the plan was evaluated instead, and
    has an answer."""


def refresh_each(
    maintainer: Maintainer,
    engine: Engine,
    inputs: Inputs,
    stored: Version | None,
    previous: Timestamp | None,
    times: Sequence[Timestamp],
) -> RefreshResult:
    """As ``refresh``, but continues after a time at which the plan has no answer, from the last
    answer before it."""
    schema = arrow_schema(maintainer.desc, with_updates=True)
    updates, before = schema.empty_table(), previous
    errors, failed_changes = dict[Timestamp, ReclockError](), dict[Timestamp, Exception]()
    answers = None if stored is None or previous is None else stored.without_errors
    for time in times:
        previous_result = PreviousResult(
            answers,
            Timestamp(0 if answers is None else answers.upper - 1),
            updates,
            maintainer.index,
        )
        try:
            changed, failure = _changed(maintainer, engine, inputs, before, time, previous_result)
        except NO_ANSWER as error:
            errors[time] = error
            continue
        before = time
        if failure is not None:
            failed_changes[time] = failure
        updates = pa.concat_tables([updates, _at(changed, time, schema)])
    return RefreshResult(updates, errors, failed_changes)


def _changed(
    maintainer: Maintainer,
    engine: Engine,
    inputs: Inputs,
    before: Timestamp | None,
    time: Timestamp,
    previous_result: PreviousResult,
) -> tuple[pa.Table, Exception | None]:
    """The changes from the previous result, which is that at ``before``, to the plan at ``time``;
    and the error for which the plan was evaluated, if its changes could not be computed.

    The changes of the inputs may include rows that were inserted and deleted again since
    ``before``, and times at which an input had an error. An error over these does not mean that
    there is one at ``time``, so the plan is evaluated there in that case.
    """
    failure: Exception | None = None
    if (
        before is not None
        and maintenance_mode(maintainer, inputs, before) is MaintenanceMode.FROM_CHANGES
    ):
        try:
            changes = engine.changes(
                maintainer.plan, maintainer.desc, inputs, before, time, previous_result
            )
            return changes.batches.read_all(), None
        except _NO_CHANGES as error:
            failure = error
    difference = engine.difference(maintainer.plan, maintainer.desc, inputs, time, previous_result)
    return difference.batches.read_all(), failure


def maintenance_mode(
    maintainer: Maintainer, inputs: Inputs, before: Timestamp | None
) -> MaintenanceMode:
    """How the first refresh after ``before`` is computed; ``before`` is None if there was none."""
    return (
        maintainer.mode
        if before is not None and _readable(inputs, before)
        else MaintenanceMode.RECOMPUTED
    )


def _readable(inputs: Inputs, at: Timestamp) -> bool:
    """Whether the contents of the inputs at this time can still be read."""
    return all(input.tells_apart(at) for input in inputs.values())


def _at(changed: pa.Table, time: Timestamp, schema: pa.Schema) -> pa.Table:
    """The changes as updates at ``time``."""
    rows = changed.select(range(len(schema) - 2)).append_column(
        TIME_COLUMN, pa.repeat(pa.scalar(time, pa.int64()), len(changed))
    )
    return rows.append_column(DIFF_COLUMN, changed[DIFF_COLUMN]).cast(schema)
