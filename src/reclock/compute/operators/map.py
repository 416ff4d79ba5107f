"""Map: computed columns after the input's."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.compute.expressions.sql import all_references, to_sql
from reclock.compute.operators.rules import (
    DeltaStep,
    Rendering,
    carried,
    columns,
    delta,
    demand,
    is_monotone,
    of_its_rows,
    origin,
    select_list,
    snapshot,
)
from reclock.plan.relational import Map


@snapshot.register
def _(node: Map, rendering: Rendering, inputs: Sequence[str]) -> str:
    rows = of_its_rows(rendering.engine, inputs[0], node.scalars)
    return f"SELECT {_columns(node, rendering.engine)}{rendering.sign(node)} FROM {rows}"


@delta.register
def _(node: Map, step: DeltaStep) -> str:
    engine, changes = step.rendering.engine, step.changes(node.input)
    assert changes is not None
    rows = of_its_rows(engine, changes, node.scalars)
    return f"SELECT {_columns(node, engine)}, {carried(step)} FROM {rows}"


@is_monotone.register
def _(node: Map) -> bool:
    """Each input row gives exactly one output row, whatever the other rows are."""
    return True


@origin.register
def _(node: Map, column: int) -> tuple[int | None, ...]:
    return (column if column < len(node.input.desc) else None,)


@demand.register
def _(node: Map, required: frozenset[int]) -> tuple[frozenset[int], ...]:
    width = len(node.input.desc)
    computed = [
        scalar for index, scalar in enumerate(node.scalars, start=width) if index in required
    ]
    return (frozenset(index for index in required if index < width) | all_references(computed),)


def _columns(node: Map, engine: str) -> str:
    input_columns = columns(node.input)
    return select_list(
        [*input_columns, *(to_sql(scalar, engine, input_columns) for scalar in node.scalars)]
    )
