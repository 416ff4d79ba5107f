"""Arrangement: the rows of its input, which the engine keeps with the partial aggregates."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.compute.operators.rules import (
    DeltaStep,
    Rendering,
    carried,
    columns,
    delta,
    demand,
    every,
    is_monotone,
    origin,
    snapshot,
)
from reclock.plan.relational import Arrangement


@snapshot.register
def _(node: Arrangement, rendering: Rendering, inputs: Sequence[str]) -> str:
    return f"SELECT * FROM {inputs[0]}"


@delta.register
def _(node: Arrangement, step: DeltaStep) -> str:
    state = step.group_state(node)  # takes the changes, also if nothing above reads a row
    if state is None or state.changes is None:
        return f"SELECT * FROM {step.changes(node.input)}"
    return f"SELECT {', '.join([*columns(node), carried(step)])} FROM {state.changes}"


@is_monotone.register
def _(node: Arrangement) -> bool:
    """It has the rows of its input."""
    return True


@origin.register
def _(node: Arrangement, column: int) -> tuple[int | None, ...]:
    return (column,)


@demand.register
def _(node: Arrangement, required: frozenset[int]) -> tuple[frozenset[int], ...]:
    return (every(node),)
