"""Reduce: one row for each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reclock.compute.expressions.sql import aggregate_to_sql, all_references, references, to_sql
from reclock.compute.operators.distinct_arguments import ignores_copies
from reclock.compute.operators.groups import changed_groups, regrouped
from reclock.compute.operators.partial_aggregates import partial_aggregates
from reclock.compute.operators.rules import (
    DeltaStep,
    Rendering,
    columns,
    delta,
    demand,
    has_delta,
    origin,
    select_list,
    snapshot,
)
from reclock.plan.functions import resolve_aggregate
from reclock.plan.functions.casts import write_cast
from reclock.plan.relational import Arrangement, Distinct, Reduce
from reclock.plan.scalars import Aggregate, ColumnRef, Scalar

_MERGED_BY = {"count": "sum", "sum": "sum", "min": "min", "max": "max"}
"""The aggregate that combines the values of several parts of a group."""


@snapshot.register
def _(node: Reduce, rendering: Rendering, inputs: Sequence[str]) -> str:
    """Aggregates write an argument several times. One that is computed is computed below them, but
    for a filtered aggregate, whose argument no other row may meet."""
    partials = partial_aggregates(node)
    if id(node.input) in rendering.signed and partials is not None:
        return partials.of_signed_rows(rendering.engine, inputs[0])
    engine, input_columns = rendering.engine, columns(node.input, "i")
    computed: list[Scalar] = []

    def computed_below(argument: Scalar) -> Scalar:
        if isinstance(argument, ColumnRef) or not references(argument):
            return argument
        if argument not in computed:
            computed.append(argument)
        return ColumnRef(len(input_columns) + computed.index(argument), argument.type)

    aggregates = [
        replace(aggregate, arguments=tuple(map(computed_below, aggregate.arguments)))
        if aggregate.filter is None
        else aggregate
        for aggregate in node.aggregates
    ]
    arguments = [
        f"{to_sql(scalar, engine, input_columns)} AS a{i}" for i, scalar in enumerate(computed)
    ]
    rows = f"{inputs[0]} AS i"
    if arguments:
        rows = f"(SELECT i.*, {', '.join(arguments)} FROM {rows}) AS i"
    names = [*input_columns, *(f"i.a{i}" for i in range(len(computed)))]
    return _one_row_a_group(
        [input_columns[index] for index in node.group_by],
        [aggregate_to_sql(aggregate, engine, names) for aggregate in aggregates],
        rows,
    )


@delta.register
def _(node: Reduce, step: DeltaStep) -> str:
    key_columns = tuple(range(len(node.group_by)))
    if (changes := changed_groups(node, step, len(key_columns))) is not None:
        return changes
    merge = (lambda rows: _merged(node, step.rendering.engine, rows)) if _can_merge(node) else None
    decides = (
        (lambda rows: _is_extreme(node, step.rendering.engine, rows))
        if _has_extremes(node)
        else None
    )
    return regrouped(node, step, [node.group_by], key_columns, merge, decides)


@has_delta.register
def _(node: Reduce, is_shown: bool) -> bool:
    """One group of all rows changes with every row, and must follow from what is known of it."""
    if node.group_by or (is_shown and _can_merge(node)) or partial_aggregates(node) is not None:
        return True
    if isinstance(node.input, Arrangement):
        return True
    return isinstance(node.input, Distinct) and all(map(ignores_copies, node.aggregates))


@origin.register
def _(node: Reduce, column: int) -> tuple[int | None, ...]:
    return (node.group_by[column] if column < len(node.group_by) else None,)


@demand.register
def _(node: Reduce, required: frozenset[int]) -> tuple[frozenset[int], ...]:
    return (frozenset(node.group_by) | all_references(node.aggregates),)


def _can_merge(node: Reduce) -> bool:
    """Sums of doubles depend on the order of addition, so their parts do not add up to them."""
    return all(
        aggregate.function in _MERGED_BY
        and not aggregate.is_distinct
        and (
            aggregate.function != "sum"
            or aggregate.type.is_integer
            or aggregate.type.precision is not None
        )
        for aggregate in node.aggregates
    )


def _has_extremes(node: Reduce) -> bool:
    """Whether each aggregate is the least or largest value of all rows of the group."""
    return bool(node.aggregates) and all(
        aggregate.function in ("min", "max") and aggregate.filter is None
        for aggregate in node.aggregates
    )


def _is_extreme(node: Reduce, engine: str, rows: str) -> str:
    """Whether the row ``i`` of the input has a value of its group's row among ``rows``. If it has
    not, another row of the group has the value."""
    input_columns = columns(node.input, "i")
    group = [
        f"k.c{place} IS NOT DISTINCT FROM {input_columns[index]}"
        for place, index in enumerate(node.group_by)
    ]
    values = [
        f"k.c{place} IS NOT DISTINCT FROM {to_sql(aggregate.arguments[0], engine, input_columns)}"
        for place, aggregate in enumerate(node.aggregates, start=len(node.group_by))
    ]
    condition = " AND ".join([*group, f"({' OR '.join(values)})"])
    return f"EXISTS (SELECT 1 FROM {rows} AS k WHERE {condition})"


def _merged(node: Reduce, engine: str, parts: str) -> str:
    """One row a group of the rows in ``parts``, each computed from some of the group's rows."""
    input_columns = columns(node)
    keys = input_columns[: len(node.group_by)]
    values = []
    for index, aggregate in enumerate(node.aggregates, start=len(keys)):
        resolved = resolve_aggregate(_MERGED_BY[aggregate.function], (aggregate.type,))
        merging = Aggregate(resolved.function, (ColumnRef(index, aggregate.type),), resolved.result)
        values.append(
            write_cast(
                engine,
                aggregate_to_sql(merging, engine, input_columns),
                merging.type,
                aggregate.type,
            )
        )
    return _one_row_a_group(keys, values, parts)


def _one_row_a_group(keys: Sequence[str], aggregates: Sequence[str], relation: str) -> str:
    """The SELECT of ``aggregates`` for each group of ``keys``. Without keys it always gives exactly
    one row: it is an aggregation even when there are no aggregates to compute."""
    groups = f" GROUP BY {', '.join(dict.fromkeys(keys))}" if keys else ""
    values = (
        select_list([*keys, *aggregates]) if keys or aggregates else "count(*) IS NOT NULL AS c"
    )
    return f"SELECT {values} FROM {relation}{groups}"
