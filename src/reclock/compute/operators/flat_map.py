"""FlatMap: elements of arrays, one row for each."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.algebra.relations import BIGINT, INTEGER, RelationDesc
from reclock.compute.expressions.sql import all_references, to_sql
from reclock.compute.operators.rules import (
    DeltaStep,
    Rendering,
    carried,
    columns,
    delta,
    demand,
    is_monotone,
    origin,
    select_list,
    snapshot,
)
from reclock.plan.functions.sql_names import type_sql
from reclock.plan.relational import Constant, FlatMap
from reclock.plan.scalars import Call, Literal

_ONE_EMPTY_ROW = Constant(((),), RelationDesc(()))


@snapshot.register
def _(node: FlatMap, rendering: Rendering, inputs: Sequence[str]) -> str:
    if rendering.engine == "duckdb" and (bounds := _constant_series(node)) is not None:
        element = type_sql("duckdb", node.desc.columns[0].type)
        first, last, step = bounds
        return (
            f"SELECT {select_list([f'CAST(value AS {element})'])} FROM "
            f"generate_series({first}, {last}, {step}) AS series(value)"
        )
    return _select(node, rendering.engine, inputs[0])


@delta.register
def _(node: FlatMap, step: DeltaStep) -> str:
    return _select(
        node, step.rendering.engine, step.changes(node.input) or "", f", {carried(step)}"
    )


@is_monotone.register
def _(node: FlatMap) -> bool:
    """Each input row gives its own output rows, whatever the other rows are."""
    return True


@origin.register
def _(node: FlatMap, column: int) -> tuple[int | None, ...]:
    return (column if column < len(node.input.desc) else None,)


@demand.register
def _(node: FlatMap, required: frozenset[int]) -> tuple[frozenset[int], ...]:
    width = len(node.input.desc)
    return (frozenset(index for index in required if index < width) | all_references(node.arrays),)


def _constant_series(node: FlatMap) -> tuple[int, int, int] | None:
    """First, last and step, if the node is nothing but a series of integers. DuckDB generates a
    series row by row, while an array would be in memory as a whole."""
    if (
        node.input != _ONE_EMPTY_ROW
        or len(node.arrays) != 1
        or node.desc.columns[0].type not in (INTEGER, BIGINT)
    ):
        return None
    match node.arrays[0]:
        case Call(
            function="series", arguments=(Literal(value=int(first)), Literal(value=int(last)))
        ):
            return first, last, 1
        case Call(
            function="series",
            arguments=(
                Literal(value=int(first)),
                Literal(value=int(last)),
                Literal(value=int(step)),
            ),
        ):
            return (first, last, step) if step else None
    return None


def _select(node: FlatMap, engine: str, relation: str, behind: str = "") -> str:
    input_columns = columns(node.input)
    arrays = [to_sql(array, engine, input_columns) for array in node.arrays]
    if engine == "duckdb":
        return (
            f"SELECT {select_list([*input_columns, *(f'unnest({array})' for array in arrays)])}{behind} "
            f"FROM {relation}"
        )
    zipped = ", ".join(f"coalesce({array}, array())" for array in arrays)
    elements = [f"element['{i}']" for i in range(len(arrays))]
    source = f"{relation} LATERAL VIEW explode(arrays_zip({zipped})) elements AS element"
    return f"SELECT {select_list([*input_columns, *elements])}{behind} FROM {source}"
