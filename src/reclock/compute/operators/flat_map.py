"""FlatMap: elements of arrays, one row each."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.compute.expressions import all_references, to_sql
from reclock.compute.operators.rules import Rendering, columns, demand, select_list, snapshot
from reclock.compute.plan import FlatMap


@snapshot.register
def _(node: FlatMap, rendering: Rendering, inputs: Sequence[str]) -> str:
    given = columns(node.input)
    arrays = [to_sql(each, rendering.engine, given) for each in node.arrays]
    if rendering.engine == "duckdb":
        return f"SELECT {select_list([*given, *(f'unnest({each})' for each in arrays)])} FROM {inputs[0]}"
    zipped = ", ".join(f"coalesce({each}, array())" for each in arrays)
    elements = [f"element['{i}']" for i in range(len(arrays))]
    source = f"{inputs[0]} LATERAL VIEW explode(arrays_zip({zipped})) elements AS element"
    return f"SELECT {select_list([*given, *elements])} FROM {source}"


@demand.register
def _(node: FlatMap, wanted: frozenset[int]) -> tuple[frozenset[int], ...]:
    width = len(node.input.desc)
    return (frozenset(index for index in wanted if index < width) | all_references(node.arrays),)
