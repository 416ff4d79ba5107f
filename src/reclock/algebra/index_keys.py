"""What an index clusters the rows of its relation by."""

from __future__ import annotations

from dataclasses import dataclass

from reclock.algebra.relations import Column

EXPRESSION = "expr"
"""What a part that is no column is called."""


@dataclass(frozen=True, slots=True)
class KeyPart:
    """The column at ``position`` of the relation, or, without one, an expression over its columns. ``sql`` is how it is written."""

    column: Column
    sql: str
    position: int | None = None
