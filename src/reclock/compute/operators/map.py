"""Map: computed columns behind the input's."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.compute.expressions import all_references, to_sql
from reclock.compute.operators.rules import Rendering, columns, demand, select_list, snapshot
from reclock.compute.plan import Map


@snapshot.register
def _(node: Map, rendering: Rendering, inputs: Sequence[str]) -> str:
    given = columns(node.input)
    computed = [to_sql(scalar, rendering.engine, given) for scalar in node.scalars]
    return f"SELECT {select_list([*given, *computed])} FROM {inputs[0]}"


@demand.register
def _(node: Map, wanted: frozenset[int]) -> tuple[frozenset[int], ...]:
    width = len(node.input.desc)
    computed = [scalar for index, scalar in enumerate(node.scalars, start=width) if index in wanted]
    return (frozenset(index for index in wanted if index < width) | all_references(computed),)
