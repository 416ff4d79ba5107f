"""Comparison, boolean logic, and the functions that choose among values."""

from __future__ import annotations

from reclock.algebra.relations import BOOLEAN
from reclock.compute.functions.registry import scalar
from reclock.compute.functions.typing import exact, same

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
