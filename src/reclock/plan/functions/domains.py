"""The check of a value by the constraints of a domain."""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra.relations import TEXT, ScalarType
from reclock.plan.functions.registry import Site, Types, Writer, scalar
from reclock.plan.functions.sql_names import raised

IN_DOMAIN = "in domain"
"""The function, by a name that SQL cannot call."""


def _value(
    types: Types, constants: Mapping[int, object]
) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
    if len(types) != 3 or types[0] is None:
        return None
    return (types[0], TEXT, TEXT), types[0]


def _in_domain(engine: str) -> Writer:
    def write(site: Site) -> str:
        value, message, _ = site.arguments
        failure = raised(engine, str(site.constants[2]), message)
        return f"CASE WHEN {message} IS NULL THEN {value} ELSE {failure} END"

    return write


scalar(
    IN_DOMAIN,
    "The value, unless the message, which fails the statement with a code, is there.",
    _value,
    duckdb=_in_domain("duckdb"),
    spark=_in_domain("spark"),
)
