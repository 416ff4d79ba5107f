"""Union, Except, Intersect: sums, differences and minima of multiplicities."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.compute.operators.groups import regrouped
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
from reclock.plan.relational import Except, Intersect, Union


@snapshot.register
def _(node: Union, rendering: Rendering, inputs: Sequence[str]) -> str:
    return " UNION ALL ".join(f"SELECT * FROM {name}" for name in inputs)


@snapshot.register
def _(node: Except, rendering: Rendering, inputs: Sequence[str]) -> str:
    return f"SELECT * FROM {inputs[0]} EXCEPT ALL SELECT * FROM {inputs[1]}"


@snapshot.register
def _(node: Intersect, rendering: Rendering, inputs: Sequence[str]) -> str:
    return f"SELECT * FROM {inputs[0]} INTERSECT ALL SELECT * FROM {inputs[1]}"


@delta.register
def _(node: Union, step: DeltaStep) -> str:
    return " UNION ALL ".join(
        f"SELECT * FROM {changed}" for input in node.inputs if (changed := step.changes(input))
    )


@delta.register(Except)
@delta.register(Intersect)
def _(node: Except | Intersect, step: DeltaStep) -> str:
    whole = tuple(range(len(node.desc)))
    return regrouped(node, step, [whole, whole], whole)


@is_monotone.register(Union)
@is_monotone.register(Intersect)
def _(node: Union | Intersect) -> bool:
    """A row's multiplicity is the sum, or the minimum, of those in the inputs. Except is not
    monotone: a row added to its second input takes one away."""
    return True


@origin.register
def _(node: Union, column: int) -> tuple[int | None, ...]:
    return tuple(column for _ in node.inputs)


@origin.register(Except)
@origin.register(Intersect)
def _(node: Except | Intersect, column: int) -> tuple[int | None, ...]:
    return column, column


@demand.register
def _(node: Union, required: frozenset[int]) -> tuple[frozenset[int], ...]:
    return tuple(required for _ in node.inputs)


@demand.register(Except)
@demand.register(Intersect)
def _(node: Except | Intersect, required: frozenset[int]) -> tuple[frozenset[int], ...]:
    return every(node), every(node)
