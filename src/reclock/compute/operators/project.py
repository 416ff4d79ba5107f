"""Project: some of the columns, in another order, or more than once."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.compute.operators.rules import (
    DeltaStep,
    Rendering,
    carried,
    delta,
    demand,
    is_monotone,
    origin,
    select_list,
    snapshot,
)
from reclock.plan.relational import Project


@snapshot.register
def _(node: Project, rendering: Rendering, inputs: Sequence[str]) -> str:
    return f"SELECT {_columns(node)}{rendering.sign(node)} FROM {inputs[0]}"


@delta.register
def _(node: Project, step: DeltaStep) -> str:
    return f"SELECT {_columns(node)}, {carried(step)} FROM {step.changes(node.input)}"


@is_monotone.register
def _(node: Project) -> bool:
    """Each input row gives exactly one output row, whatever the other rows are."""
    return True


@origin.register
def _(node: Project, column: int) -> tuple[int | None, ...]:
    return (node.indexes[column],)


@demand.register
def _(node: Project, required: frozenset[int]) -> tuple[frozenset[int], ...]:
    return (frozenset(node.indexes[index] for index in required),)


def _columns(node: Project) -> str:
    return select_list([f"c{index}" for index in node.indexes])
