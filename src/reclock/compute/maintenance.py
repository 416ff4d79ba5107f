"""Maintained results: when an index is refreshed, and which updates a refresh appends.

The law: at every readable time, the maintained result equals the plan computed there. A refresh makes the changes of the result of
those of its inputs; where an operator has no rule for that, or the inputs are not readable any more at the time the result is known
at, the plan is computed and compared with the result so far.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa
import pyarrow.compute as pc

from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.collections.schema import arrow_schema
from reclock.collections.version import Version
from reclock.compute.delta import has_delta_rules
from reclock.compute.engines.engine import Engine, Inputs, PreviousResult
from reclock.errors import ErrorAtTime, EvaluationError, InternalError, OutputFailed, ReclockError
from reclock.plan.relational import Plan

NO_ANSWER = (EvaluationError, OutputFailed, ErrorAtTime)
"""The errors that say that a plan has no answer at a time, whoever computes it and how often."""


class MaintenanceMode(StrEnum):
    """The way an index has_delta_rules its inputs, as EXPLAIN and introspection name it."""

    FROM_CHANGES = "maintained from changes"
    """Changes of the inputs, and what they touch, are all that a refresh reads."""
    RECOMPUTED = "recomputed"
    """The plan is computed at each refresh and compared with the result so far."""


@dataclass(frozen=True, slots=True)
class Maintainer:
    """How one plan is kept up to date in a collection of ``desc``."""

    plan: Plan
    desc: RelationDesc
    mode: MaintenanceMode


def maintainer(plan: Plan, desc: RelationDesc) -> Maintainer:
    """The way to maintain ``plan``. Types must agree; the names of the maintained columns are the desc's."""
    if plan.desc.types != desc.types:
        raise InternalError("the plan of an index does not have the types of its collection")
    return Maintainer(plan, desc, MaintenanceMode.FROM_CHANGES if has_delta_rules(plan) else MaintenanceMode.RECOMPUTED)


@dataclass(frozen=True, slots=True)
class RefreshTimes:
    """When to refresh: at each of ``times``, in order. ``since`` is what the index's since must become before that is published."""

    times: tuple[Timestamp, ...]
    since: Timestamp | None = None

    @property
    def is_jump(self) -> bool:
        """Whether times that the inputs tell apart become one."""
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
    """The times at which an index that is complete below ``upper`` must be computed to be complete up to and including ``at``.

    ``changes`` holds every time in ``[upper, at]`` at which an input may have changed; ``is_new`` says that the index has never
    been computed, so ``upper`` counts as one. Each such time is kept apart, unless there are more than ``limit`` of them or one
    lies below ``readable_from`` (the highest since of the inputs): then there is one refresh, at the last that counts, and the
    index's since moves there, because what it was between is not kept. No times: nothing changed, the upper may simply advance.
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
        raise InternalError(f"inputs cannot be read at {at}", detail=f"their since is {readable_from}")
    return RefreshTimes((last,), since=last)


def change_times(versions: Sequence[Version], lower: Timestamp, upper: Timestamp) -> list[Timestamp]:
    """The distinct times in ``[lower, upper)`` at which any of the collections has updates, from statistics where they suffice."""
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
    own: Version | None,
    previous: Timestamp | None,
    times: Sequence[Timestamp],
) -> pa.Table:
    """The updates that make the result equal to the plan at each of ``times``, in order: the desc's columns, time and diff.

    ``own`` is the index's collection, which holds the result at ``previous``, the last time it was known at (None if it was never
    computed: then it holds nothing). Consolidated at each time, so an input change that does not show leaves nothing. Raises the
    error of the first time at which the plan has no answer.
    """
    found = refresh_each(maintainer, engine, inputs, own, previous, times)
    for error in found.errors.values():
        raise error
    return found.updates


@dataclass(frozen=True, slots=True)
class RefreshResult:
    """The updates of each time at which the plan has an answer, and the errors of the other times."""

    updates: pa.Table
    errors: Mapping[Timestamp, ReclockError]


def refresh_each(
    maintainer: Maintainer,
    engine: Engine,
    inputs: Inputs,
    own: Version | None,
    previous: Timestamp | None,
    times: Sequence[Timestamp],
) -> RefreshResult:
    """As ``refresh``, past the times at which the plan has no answer: the next answer is made from the one before these."""
    schema = arrow_schema(maintainer.desc, with_updates=True)
    updates, errors, before = schema.empty_table(), dict[Timestamp, ReclockError](), previous
    stored = None if own is None or previous is None else own.without_errors
    for time in times:
        previous_result = PreviousResult(stored, Timestamp(0 if stored is None else stored.upper - 1), updates)
        try:
            changed = _changed(maintainer, engine, inputs, before, time, previous_result)
        except NO_ANSWER as error:
            errors[time] = error
            continue
        before = time
        updates = pa.concat_tables([updates, _at(changed, time, schema)])
    return RefreshResult(updates, errors)


def _changed(
    maintainer: Maintainer,
    engine: Engine,
    inputs: Inputs,
    before: Timestamp | None,
    time: Timestamp,
    previous_result: PreviousResult,
) -> pa.Table:
    """What changes between the result so far, which is that ``before``, and the plan at ``time``.

    Rows that came and went since ``before`` are among the changes of the inputs, and so are times at which an input had an error:
    an error over these says nothing about ``time``, so the plan is then computed there.
    """
    if before is not None and maintenance_mode(maintainer, inputs, before) is MaintenanceMode.FROM_CHANGES:
        with suppress(EvaluationError, ErrorAtTime):
            return engine.changes(maintainer.plan, maintainer.desc, inputs, before, time, previous_result).batches.read_all()
    return engine.difference(maintainer.plan, maintainer.desc, inputs, time, previous_result).batches.read_all()


def maintenance_mode(maintainer: Maintainer, inputs: Inputs, before: Timestamp | None) -> MaintenanceMode:
    """How the first refresh after ``before`` is made; None is one that was never made."""
    return maintainer.mode if before is not None and _readable(inputs, before) else MaintenanceMode.RECOMPUTED


def _readable(inputs: Inputs, at: Timestamp) -> bool:
    """Whether the versions tell what the inputs held at that time."""
    return all(given.tells_apart(at) for given in inputs.values())


def _at(changed: pa.Table, time: Timestamp, schema: pa.Schema) -> pa.Table:
    """The changes as updates at ``time``."""
    rows = changed.select(range(len(schema) - 2)).append_column(TIME_COLUMN, pa.repeat(pa.scalar(time, pa.int64()), len(changed)))
    return rows.append_column(DIFF_COLUMN, changed[DIFF_COLUMN]).cast(schema)
