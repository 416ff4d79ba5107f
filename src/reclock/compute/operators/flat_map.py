"""FlatMap: elements of arrays, one row each."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.compute.expressions import all_references, to_sql
from reclock.compute.operators.rules import Rendering, Step, columns, delta, demand, origin, select_list, snapshot
from reclock.compute.plan import FlatMap


@snapshot.register
def _(node: FlatMap, rendering: Rendering, inputs: Sequence[str]) -> str:
    return _select(node, rendering.engine, inputs[0])


@delta.register
def _(node: FlatMap, step: Step) -> str:
    return _select(node, step.rendering.engine, step.changes(node.input) or "", ", n")


@origin.register
def _(node: FlatMap, columns: tuple[int, ...]) -> tuple[tuple[int, ...] | None, ...]:
    return (columns if all(index < len(node.input.desc) for index in columns) else None,)


@demand.register
def _(node: FlatMap, wanted: frozenset[int]) -> tuple[frozenset[int], ...]:
    width = len(node.input.desc)
    return (frozenset(index for index in wanted if index < width) | all_references(node.arrays),)


def _select(node: FlatMap, engine: str, relation: str, carried: str = "") -> str:
    given = columns(node.input)
    arrays = [to_sql(each, engine, given) for each in node.arrays]
    if engine == "duckdb":
        return f"SELECT {select_list([*given, *(f'unnest({each})' for each in arrays)])}{carried} FROM {relation}"
    zipped = ", ".join(f"coalesce({each}, array())" for each in arrays)
    elements = [f"element['{i}']" for i in range(len(arrays))]
    source = f"{relation} LATERAL VIEW explode(arrays_zip({zipped})) elements AS element"
    return f"SELECT {select_list([*given, *elements])}{carried} FROM {source}"
