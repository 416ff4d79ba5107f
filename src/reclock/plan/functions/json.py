"""JSON as text."""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra.relations import TEXT, ScalarType, TypeName
from reclock.errors import UnsupportedSql
from reclock.plan.functions.jsonb import document_of
from reclock.plan.functions.registry import Site, Types, scalar
from reclock.plan.functions.sql_names import raised


def _pairs(
    types: Types, constants: Mapping[int, object]
) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
    known = tuple(type or TEXT for type in types)
    return (
        (known, TEXT) if len(types) % 2 == 0 and all(name == TEXT for name in known[::2]) else None
    )


def _object(site: Site) -> str:
    """Spaced as PostgreSQL does."""
    names, values = site.arguments[::2], site.arguments[1::2]
    error = raised("duckdb", "22004", "'null value not allowed for object key'")
    written = [
        f"CASE WHEN {name} IS NULL THEN {error} ELSE to_json({name}) END || ' : ' || "
        f"coalesce({_value(value, type)}, 'null')"
        for name, value, type in zip(names, values, site.types[1::2], strict=True)
    ]
    inner = " || ', ' || ".join(written) or "''"
    return f"('{{' || {inner} || '}}')"


def _value(sql: str, type: ScalarType) -> str:
    """An array has no blanks between its elements, other than one in a document."""
    if type.element is None and type.name is not TypeName.INTERVAL:
        return document_of("duckdb", sql, type)
    return f"CAST(to_json({sql}) AS VARCHAR)"


def _not_on_spark(site: Site) -> str:
    raise UnsupportedSql("json_build_object is not computed by Spark")


scalar(
    "json_build_object",
    "A JSON object, as text, of alternating names and values.",
    _pairs,
    duckdb=_object,
    spark=_not_on_spark,
)
