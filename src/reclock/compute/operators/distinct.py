"""Distinct: each row once."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.compute.operators.groups import changed_groups, regrouped
from reclock.compute.operators.partial_aggregates import partial_aggregates
from reclock.compute.operators.rules import (
    DeltaStep,
    Rendering,
    delta,
    demand,
    every,
    is_monotone,
    origin,
    snapshot,
)
from reclock.plan.relational import Distinct


@snapshot.register
def _(node: Distinct, rendering: Rendering, inputs: Sequence[str]) -> str:
    partials = partial_aggregates(node)
    if id(node.input) in rendering.signed and partials is not None:
        return partials.of_signed_rows(rendering.engine, inputs[0])
    return f"SELECT DISTINCT * FROM {inputs[0]}"


@delta.register
def _(node: Distinct, step: DeltaStep) -> str:
    whole = tuple(range(len(node.desc)))
    if (changes := changed_groups(node, step, len(whole))) is not None:
        return changes
    return regrouped(
        node, step, [whole], whole, lambda rows: snapshot(node, step.rendering, [rows])
    )


@is_monotone.register
def _(node: Distinct) -> bool:
    """A row is in the output once if it is in the input at all, and further copies change
    nothing."""
    return True


@origin.register
def _(node: Distinct, column: int) -> tuple[int | None, ...]:
    return (column,)


@demand.register
def _(node: Distinct, required: frozenset[int]) -> tuple[frozenset[int], ...]:
    return (every(node),)
