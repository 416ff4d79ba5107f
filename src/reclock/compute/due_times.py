"""The times at which the rows of a plan change because time passes: those at which its conditions
on ``mz_now()`` become true or false for a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pyarrow as pa

from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.compute.engines.engine import Engine, Inputs
from reclock.errors import ErrorAtTime, EvaluationError
from reclock.plan.relational import Finishing, Ordering, Plan
from reclock.plan.temporal import are_nested, moments_after

AT_ONCE = 1_000
"""How many due times are looked for at once."""


@dataclass(frozen=True, slots=True)
class DueTimes:
    """The next due times after a time, ascending, as the inputs are at that time. ``is_complete``:
    there are no later ones."""

    times: tuple[Timestamp, ...]
    is_complete: bool = True


@dataclass(frozen=True, slots=True)
class ChangeTimes:
    """The times at which a plan may change, ascending. ``next_due`` is the next one after the end
    if no input changes: ``MAXIMUM`` if there is none, None if it is not known."""

    times: list[Timestamp]
    next_due: Timestamp | None


def due_query(plan: Plan, at: Timestamp) -> tuple[Plan, Finishing] | None:
    """The query of the due times after ``at``, over the inputs as they are then. None if time alone
    changes nothing."""
    moments = moments_after(plan, at)
    return None if moments is None else (moments, Finishing((Ordering(0), Ordering(1)), AT_ONCE))


def due_answer(batches: Iterable[pa.RecordBatch]) -> DueTimes:
    """What the query answers: pairs of a value and a delay, which add up to a time, by value."""
    pairs = [
        (value, delay)
        for batch in batches
        for value, delay in zip(
            batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True
        )
    ]
    times = sorted({Timestamp(value + delay) for value, delay in pairs})
    if len(pairs) < AT_ONCE:
        return DueTimes(tuple(times))
    # A pair that was left out has a time from the last value on.
    return DueTimes(tuple(time for time in times if time <= pairs[-1][0]), is_complete=False)


def due_after(plan: Plan, inputs: Inputs, at: Timestamp, engine: Engine) -> DueTimes:
    """The next due times after ``at``. A plan that raises an error there raises it until an input
    changes, so it has none."""
    query = due_query(plan, at)
    if query is None:
        return DueTimes(())
    try:
        with engine.run(*query, inputs, at).batches as batches:
            return due_answer(batches)
    except (EvaluationError, ErrorAtTime):
        return DueTimes(())


def with_due_times(
    plan: Plan,
    changes: Iterable[Timestamp],
    *,
    since: Timestamp,
    through: Timestamp,
    due: Callable[[Timestamp], DueTimes],
    limit: int | None = None,
) -> ChangeTimes:
    """``changes``, which are the times after ``since`` and up to ``through`` at which an input may
    have changed, and the due times among these.

    Beyond ``limit`` times there is only ``through``, at which the plan has changed by all that is
    not listed.
    """
    times: list[Timestamp] = []
    pending, at, is_nested = sorted(set(changes)), since, are_nested(plan)
    while True:
        following = due(at)
        end = pending[0] if pending else Timestamp(through + 1)
        due_before_change = [time for time in following.times if at < time < end]
        if is_nested:  # what is due next depends on the rows that come now
            due_before_change = due_before_change[:1]
        times += due_before_change
        if limit is not None and len(times) > limit:
            return ChangeTimes(sorted({*times, *pending, through}), None)
        is_partial = not following.is_complete and due_before_change == [*following.times]
        if due_before_change and (is_nested or is_partial):
            at = due_before_change[-1]
        elif pending:
            at = pending.pop(0)
            times.append(at)
        else:
            later = [time for time in following.times if time > through]
            return ChangeTimes(times, later[0] if later else MAXIMUM)
