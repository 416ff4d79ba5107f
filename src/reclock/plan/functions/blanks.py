"""The blanks at the end of ``char(n)``: its values are without them, and are shown with them."""

from __future__ import annotations

from reclock.algebra.relations import ScalarType
from reclock.plan.functions.floats import with_value


def without_blanks(engine: str, sql: str) -> str:
    """The text without blanks at the end."""
    return f"rtrim({sql}, ' ')" if engine == "duckdb" else f"trim(TRAILING ' ' FROM {sql})"


def with_blanks(engine: str, sql: str, type: ScalarType) -> str:
    """The text that shows ``sql``, a value of ``type``."""
    if not type.length:
        return sql
    return with_value(engine, sql, f"v || repeat(' ', {type.length} - length(v))")
