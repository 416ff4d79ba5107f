"""Union, Except, Intersect: sums, differences and minima of multiplicities."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.compute.operators.rules import Rendering, demand, every, snapshot
from reclock.compute.plan import Except, Intersect, Union


@snapshot.register
def _(node: Union, rendering: Rendering, inputs: Sequence[str]) -> str:
    return " UNION ALL ".join(f"SELECT * FROM {name}" for name in inputs)


@snapshot.register
def _(node: Except, rendering: Rendering, inputs: Sequence[str]) -> str:
    return f"SELECT * FROM {inputs[0]} EXCEPT ALL SELECT * FROM {inputs[1]}"


@snapshot.register
def _(node: Intersect, rendering: Rendering, inputs: Sequence[str]) -> str:
    return f"SELECT * FROM {inputs[0]} INTERSECT ALL SELECT * FROM {inputs[1]}"


@demand.register
def _(node: Union, wanted: frozenset[int]) -> tuple[frozenset[int], ...]:
    return tuple(wanted for _ in node.inputs)


@demand.register(Except)
@demand.register(Intersect)
def _(node: Except | Intersect, wanted: frozenset[int]) -> tuple[frozenset[int], ...]:
    return every(node), every(node)
