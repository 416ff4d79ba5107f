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
    if not node.rows:
        nothing = select_list([literal(rendering.engine, None, type) for type in node.desc.types])
        return f"SELECT {nothing} WHERE FALSE"
    rows = [
        select_list(
            [
                literal(rendering.engine, value, type)
                for value, type in zip(row, node.desc.types, strict=True)
            ]
        )
        for row in node.rows
    ]
    return " UNION ALL ".join(f"SELECT {row}" for row in rows)


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
