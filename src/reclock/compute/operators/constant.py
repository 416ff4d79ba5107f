"""Constant: rows of the statement itself."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.compute.operators.rules import (
    Rendering,
    demand,
    is_monotone,
    origin,
    select_list,
    snapshot,
)
from reclock.plan.functions.sql_names import literal
from reclock.plan.relational import Constant


@snapshot.register
def _(node: Constant, rendering: Rendering, inputs: Sequence[str]) -> str:
    engine, types = rendering.engine, node.desc.types
    if not node.rows:
        nothing = select_list([literal(engine, None, type) for type in types])
        return f"SELECT {nothing} WHERE FALSE"
    rows = [
        [literal(engine, value, type) for value, type in zip(row, types, strict=True)]
        for row in node.rows
    ]
    if len(rows) == 1 or not types:
        return " UNION ALL ".join(f"SELECT {select_list(row)}" for row in rows)
    values = ", ".join(f"({', '.join(row)})" for row in rows)
    names = [f"c{place}" for place in range(len(types))]
    return f"SELECT {select_list(names)} FROM (VALUES {values}) AS v({', '.join(names)})"


@demand.register
def _(node: Constant, required: frozenset[int]) -> tuple[frozenset[int], ...]:
    return ()


@is_monotone.register
def _(node: Constant) -> bool:
    """It has no inputs and never changes."""
    return True


@origin.register
def _(node: Constant, column: int) -> tuple[int | None, ...]:
    return ()
