"""JSON as text."""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra.relations import TEXT, ScalarType
from reclock.errors import UnsupportedSql
from reclock.plan.functions.registry import Site, Types, scalar


def _pairs(
    types: Types, constants: Mapping[int, object]
) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
    known = tuple(type or TEXT for type in types)
    return (
        (known, TEXT) if len(types) % 2 == 0 and all(name == TEXT for name in known[::2]) else None
    )


def _object(site: Site) -> str:
    """Spaced as PostgreSQL does."""
    pairs = zip(site.arguments[::2], site.arguments[1::2], strict=True)
    written = [
        f"to_json({name}) || ' : ' || coalesce(CAST(to_json({value}) AS VARCHAR), 'null')"
        for name, value in pairs
    ]
    inner = " || ', ' || ".join(written) or "''"
    return f"('{{' || {inner} || '}}')"


def _not_on_spark(site: Site) -> str:
    raise UnsupportedSql("json_build_object is not computed by Spark")


scalar(
    "json_build_object",
    "A JSON object, as text, of alternating names and values.",
    _pairs,
    duckdb=_object,
    spark=_not_on_spark,
)
