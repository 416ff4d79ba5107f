"""Distinct: each row once."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.compute.operators.rules import Rendering, demand, every, snapshot
from reclock.compute.plan import Distinct


@snapshot.register
def _(node: Distinct, rendering: Rendering, inputs: Sequence[str]) -> str:
    return f"SELECT DISTINCT * FROM {inputs[0]}"


@demand.register
def _(node: Distinct, wanted: frozenset[int]) -> tuple[frozenset[int], ...]:
    return (every(node),)
