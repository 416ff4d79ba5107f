"""Reduce: one row a group."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.compute.expressions import aggregate_to_sql, all_references
from reclock.compute.operators.rules import Rendering, columns, demand, select_list, snapshot
from reclock.compute.plan import Reduce


@snapshot.register
def _(node: Reduce, rendering: Rendering, inputs: Sequence[str]) -> str:
    given = columns(node.input, "i")
    keys = [given[index] for index in node.group_by]
    aggregates = [aggregate_to_sql(aggregate, rendering.engine, given) for aggregate in node.aggregates]
    if not keys:
        return f"SELECT {select_list(aggregates) if aggregates else 'count(*) AS c'} FROM {inputs[0]} AS i"
    return f"SELECT {select_list([*keys, *aggregates])} FROM {inputs[0]} AS i GROUP BY {', '.join(dict.fromkeys(keys))}"


@demand.register
def _(node: Reduce, wanted: frozenset[int]) -> tuple[frozenset[int], ...]:
    return (frozenset(node.group_by) | all_references(node.aggregates),)
