"""Comparison, boolean logic, and the functions that choose among values."""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra.relations import BIGINT, BOOLEAN, ScalarType
from reclock.plan.functions.registry import Types, Writer, scalar
from reclock.plan.functions.sql_names import raised
from reclock.plan.functions.typing import exact, same

for _operator, _relation in (
    ("=", "equal to"),
    ("<>", "different from"),
    ("<", "less than"),
    ("<=", "less than or equal to"),
    (">", "greater than"),
    (">=", "greater than or equal to"),
):
    scalar(
        _operator,
        f"Whether the first is {_relation} the second.",
        same(BOOLEAN, at_least=2, at_most=2),
        f"({{0}} {_operator} {{1}})",
    )

scalar(
    "is_not_distinct",
    "Whether both are equal, or both NULL.",
    same(BOOLEAN, at_least=2, at_most=2),
    duckdb="({0} IS NOT DISTINCT FROM {1})",
    spark="({0} <=> {1})",
)
scalar("is_null", "Whether the value is NULL.", same(BOOLEAN, at_most=1), "({0} IS NULL)")
scalar("and", "True if both are; false if either is false.", exact(((BOOLEAN, BOOLEAN), BOOLEAN)), "({0} AND {1})")
scalar("or", "True if either is; false if both are false.", exact(((BOOLEAN, BOOLEAN), BOOLEAN)), "({0} OR {1})")
scalar("not", "The opposite.", exact(((BOOLEAN,), BOOLEAN)), "(NOT {0})")
scalar("is_true", "Whether the value is true, not false or NULL.", exact(((BOOLEAN,), BOOLEAN)), "({0} IS TRUE)")
scalar("is_false", "Whether the value is false, not true or NULL.", exact(((BOOLEAN,), BOOLEAN)), "({0} IS FALSE)")

scalar("coalesce", "The first argument that is not NULL.", same(), "coalesce({all})")
scalar("nullif", "NULL if both are equal, else the first.", same(at_least=2, at_most=2), "nullif({0}, {1})")


# NULLs are passed over, as in PostgreSQL; Spark wants two arguments, so the first is said twice.
scalar(
    "greatest", "The largest of the arguments that are not NULL.", same(), duckdb="greatest({all})", spark="greatest({0}, {all})"
)
scalar("least", "The smallest of the arguments that are not NULL.", same(), duckdb="least({all})", spark="least({0}, {all})")


def _of_rows(types: Types, constants: Mapping[int, object]) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
    """A count of rows and a value; answers the value."""
    return ((BIGINT, types[1]), types[1]) if len(types) == 2 and types[1] is not None else None


def _only_row(engine: str) -> Writer:
    message = "'more than one row returned by a subquery used as an expression'"
    failure = raised(engine, "21000", message)
    return lambda site: f"CASE WHEN {site.arguments[0]} > 1 THEN {failure} ELSE {site.arguments[1]} END"


# The value of the only one of so many rows: of several, it raises. Its name is none that SQL can call.
scalar(
    "only row",
    "The value of a subquery that returns one row; more than one is an error.",
    _of_rows,
    duckdb=_only_row("duckdb"),
    spark=_only_row("spark"),
)
