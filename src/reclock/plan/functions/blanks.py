"""The blanks at the end of ``char(n)``: its values are without them, and are shown with them."""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra.relations import TEXT, ScalarType, TypeName, array
from reclock.plan.functions.floats import with_value
from reclock.plan.functions.registry import Site, Types, Writer, scalar
from reclock.plan.functions.sql_names import each_element


def without_blanks(engine: str, sql: str) -> str:
    """The text without blanks at the end."""
    return f"rtrim({sql}, ' ')" if engine == "duckdb" else f"trim(TRAILING ' ' FROM {sql})"


def with_blanks(engine: str, sql: str, type: ScalarType) -> str:
    """The text that shows ``sql``, a value of ``type``."""
    if not type.length:
        return sql
    return with_value(engine, sql, f"v || repeat(' ', {type.length} - length(v))")


WITH_BLANKS = "with blanks"


def _one_char(
    types: Types, constants: Mapping[int, object]
) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
    type = types[0] if len(types) == 1 else None
    if type is None or type.base.name is not TypeName.BPCHAR:
        return None
    return (type,), TEXT if type.element is None else array(TEXT)


def _with_blanks(engine: str) -> Writer:
    def write(site: Site) -> str:
        [value], [type] = site.arguments, site.types
        if type.element is None:
            return with_blanks(engine, value, type)
        return each_element(engine, value, with_blanks(engine, "e", type.element))

    return write


# Its name is none that SQL can call.
scalar(
    WITH_BLANKS,
    "The text that shows a ``char(n)``, with blanks at the end; of an array, each of its texts.",
    _one_char,
    duckdb=_with_blanks("duckdb"),
    spark=_with_blanks("spark"),
)
