"""Project: some of the columns, in another order, or more than once."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.compute.operators.rules import Rendering, demand, select_list, snapshot
from reclock.compute.plan import Project


@snapshot.register
def _(node: Project, rendering: Rendering, inputs: Sequence[str]) -> str:
    return f"SELECT {select_list([f'c{index}' for index in node.indexes])} FROM {inputs[0]}"


@demand.register
def _(node: Project, wanted: frozenset[int]) -> tuple[frozenset[int], ...]:
    return (frozenset(node.indexes[index] for index in wanted),)
