"""``width_bucket``: between two bounds, and among the lower bounds of an array."""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra.relations import DOUBLE, INTEGER, TEXT, ScalarType, array
from reclock.plan.functions.floats import is_infinite
from reclock.plan.functions.intervals import computed
from reclock.plan.functions.registry import Types, Writer, scalar
from reclock.plan.functions.sql_names import raised, string, type_sql
from reclock.plan.functions.typing import exact, operand_type

Signature = tuple[tuple[ScalarType, ...], ScalarType]

_BETWEEN = exact(((DOUBLE, DOUBLE, DOUBLE, INTEGER), INTEGER))
_PASSED = {
    "duckdb": "len(list_filter({items}, lambda e: {condition}))",
    "spark": "size(filter({items}, e -> {condition}))",
}
"""How many elements meet a condition."""


def _bucket_types(types: Types, constants: Mapping[int, object]) -> Signature | None:
    """Four numbers; or a value beside an array, both of the type that they have in common."""
    if len(types) != 2:
        return _BETWEEN(types, constants)
    if types[1] is None or not types[1].is_array or types[1].element is None:
        return None
    common = operand_type([types[0], types[1].element])
    if common is None or not (common.is_number or common.is_moment or common == TEXT):
        return None
    return (common, array(common)), INTEGER


def _bucket(engine: str) -> Writer:
    between, among = _between(engine), _among(engine)
    return lambda site: among(site) if len(site.arguments) == 2 else between(site)


def _among(engine: str) -> Writer:
    """The bounds are ascending: the bucket is the number of those that are not greater."""

    def body(value: str, bounds: str) -> str:
        below, nulls = (
            _PASSED[engine].format(items=bounds, condition=condition)
            for condition in (f"e <= {value}", "e IS NULL")
        )
        error = raised(engine, "22004", "'thresholds array must not contain NULLs'")
        return f"CASE WHEN {nulls} > 0 THEN {error} ELSE {below} END"

    return lambda site: (
        f"CAST({computed(engine, site.arguments, body)} AS {type_sql(engine, INTEGER)})"
    )


def _between(engine: str) -> Writer:
    failures = (
        ("{3} <= 0", "count must be greater than zero"),
        (
            "isnan({0}) OR isnan({1}) OR isnan({2})",
            "operand, lower bound, and upper bound cannot be NaN",
        ),
        (
            f"{is_infinite(engine, '{1}')} OR {is_infinite(engine, '{2}')}",
            "lower and upper bounds must be finite",
        ),
        ("{1} = {2}", "lower bound cannot equal upper bound"),
    )
    raises = " ".join(
        f"WHEN {condition} THEN {raised(engine, '2201G', string(engine, message))}"
        for condition, message in failures
    )
    is_null = " OR ".join(f"{{{place}}} IS NULL" for place in range(4))
    share = "({0} / 2 - {1} / 2) / ({2} / 2 - {1} / 2)"  # halves, whose difference is finite
    inside = f"CAST(least(floor({share} * {{3}}), {{3}} - 1) AS {type_sql(engine, INTEGER)})"
    is_below = "({0} < {1} AND {1} < {2}) OR ({0} > {1} AND {1} > {2})"
    is_above = "({0} >= {2} AND {1} < {2}) OR ({0} <= {2} AND {1} > {2})"
    template = (
        f"(CASE WHEN {is_null} THEN NULL {raises} WHEN {is_below} THEN 0 "
        f"WHEN {is_above} THEN {{3}} + 1 ELSE {inside} + 1 END)"
    )
    return lambda site: template.format(*site.arguments)


scalar(
    "width_bucket",
    "The number of the bucket, from 1, in which a number is, of so many buckets of one width between "
    "two bounds; 0 before the first, and one more than there are after the last. Or among the buckets "
    "that the lower bounds in an ascending array begin.",
    _bucket_types,
    duckdb=_bucket("duckdb"),
    spark=_bucket("spark"),
)
