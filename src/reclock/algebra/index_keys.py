"""What an index clusters the rows of its relation by."""

from __future__ import annotations

import re
from dataclasses import dataclass

from reclock.algebra.relations import Column

EXPRESSION = "expr"
"""What a part that is no column is called."""
DEFAULT_SUFFIX = "_primary_idx"
"""What the name of a default index ends with, by which a materialized view is kept; a number
follows if the name was taken."""


def is_default_name(name: str) -> bool:
    """Whether an index of this name is one that Reclock made and named itself."""
    return re.search(rf"{DEFAULT_SUFFIX}[0-9]*$", name) is not None


@dataclass(frozen=True, slots=True)
class KeyPart:
    """The column at ``position`` of the relation, or, without one, an expression over its columns.
    ``sql`` is how it is written."""

    column: Column
    sql: str
    position: int | None = None
