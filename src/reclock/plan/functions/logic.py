"""Comparison, boolean logic, and the functions that choose among values."""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra.relations import BIGINT, BOOLEAN, ScalarType
from reclock.plan.functions.registry import Types, Writer, scalar
from reclock.plan.functions.sql_names import raised
from reclock.plan.functions.typing import exact, same

for _operator in ("=", "<>", "<", "<=", ">", ">="):
    scalar(_operator, same(BOOLEAN, at_least=2, at_most=2), f"({{0}} {_operator} {{1}})")

scalar("is_not_distinct", same(BOOLEAN, at_least=2, at_most=2), duckdb="({0} IS NOT DISTINCT FROM {1})", spark="({0} <=> {1})")
scalar("is_null", same(BOOLEAN, at_most=1), "({0} IS NULL)")
scalar("and", exact(((BOOLEAN, BOOLEAN), BOOLEAN)), "({0} AND {1})")
scalar("or", exact(((BOOLEAN, BOOLEAN), BOOLEAN)), "({0} OR {1})")
scalar("not", exact(((BOOLEAN,), BOOLEAN)), "(NOT {0})")
scalar("is_true", exact(((BOOLEAN,), BOOLEAN)), "({0} IS TRUE)")
scalar("is_false", exact(((BOOLEAN,), BOOLEAN)), "({0} IS FALSE)")

scalar("coalesce", same(), "coalesce({all})")
scalar("nullif", same(at_least=2, at_most=2), "nullif({0}, {1})")


# NULLs are passed over, as in PostgreSQL; Spark wants two arguments, so the first is said twice.
scalar("greatest", same(), duckdb="greatest({all})", spark="greatest({0}, {all})")
scalar("least", same(), duckdb="least({all})", spark="least({0}, {all})")


def _of_rows(types: Types, constants: Mapping[int, object]) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
    """A count of rows and a value; answers the value."""
    return ((BIGINT, types[1]), types[1]) if len(types) == 2 and types[1] is not None else None


def _only_row(engine: str) -> Writer:
    message = "'more than one row returned by a subquery used as an expression'"
    failure = raised(engine, "21000", message)
    return lambda site: f"CASE WHEN {site.arguments[0]} > 1 THEN {failure} ELSE {site.arguments[1]} END"


# The value of the only one of so many rows: of several, it raises. Its name is none that SQL can call.
scalar("only row", _of_rows, duckdb=_only_row("duckdb"), spark=_only_row("spark"))
