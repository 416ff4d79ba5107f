"""What sums are made of. A sum has one value for a multiset of rows, whatever order an engine adds
them in.

Doubles are added in ascending order. Of numerics a partial sum may have more digits than the sum,
and than the 38 that both engines add in, so large values are added apart.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from reclock.algebra.relations import MAX_PRECISION, ScalarType, TypeName, numeric
from reclock.plan.functions.digits import scaled
from reclock.plan.functions.floats import with_value, within_range
from reclock.plan.functions.registry import Site
from reclock.plan.functions.sql_names import literal, type_sql
from reclock.plan.functions.typing import parameters

SAFE_DIGITS = 28
"""The sum of fewer than ten billion values with so many digits has at most 38."""
_HALF = 10**19
"""Where the digits of a large value are parted."""


def call(function: str, site: Site, argument: str | None = None) -> str:
    inside = argument or ", ".join(site.arguments) or "*"
    return f"{function}({'DISTINCT ' if site.is_distinct else ''}{inside}){site.filter}{site.over}"


def ascending_values(engine: str, site: Site) -> str:
    """The group's values that are not NULL, as an ascending list."""
    if engine == "duckdb":
        x = site.arguments[0]
        filter = (
            f"{site.filter[:-1]} AND {x} IS NOT NULL)"
            if site.filter
            else f" FILTER (WHERE {x} IS NOT NULL)"
        )
        return f"list({'DISTINCT ' if site.is_distinct else ''}{x} ORDER BY {x}){filter}{site.over}"
    return f"array_sort(collect_{'set' if site.is_distinct else 'list'}({site.arguments[0]}){site.filter}{site.over})"


def sum_of(engine: str, site: Site) -> str:
    x = site.arguments[0]
    if site.types[0].is_float:
        if engine == "duckdb":
            return within_range(
                engine, call("sum", site, f"{x} ORDER BY {x}"), call("max", site, f"abs({x})")
            )
        folded = (
            f"aggregate({ascending_values(engine, site)}, CAST(0 AS DOUBLE), (total, x) -> "
            "total + x)"
        )
        total = f"(CASE WHEN {call('count', site)} = 0 THEN CAST(NULL AS DOUBLE) ELSE {folded} END)"
        return within_range(engine, total, call("max", site, f"abs({x})"))
    if site.types[0].name is TypeName.NUMERIC:
        return _total_of_numerics(engine, site)
    if site.types[0].name is TypeName.BIGINT and engine == "spark":
        return call("sum", site, f"CAST({x} AS DECIMAL(19, 0))")
    return call("sum", site)


def _total_of_numerics(engine: str, site: Site) -> str:
    """It fails only if the sum itself does not fit. Large values are added as integers: their upper
    digits, and their lower 19.

    Spark's ``abs`` rounds to 34 digits.
    """
    precision, scale = parameters(site.types[0])
    type = numeric(MAX_PRECISION, scale)
    wide = type_sql(engine, type)
    if precision <= SAFE_DIGITS:
        return _added(
            engine, site, lambda x: f"CAST({x} AS {wide})" if engine == "spark" else x, type
        )
    least, most = (
        literal(engine, Decimal(sign).scaleb(SAFE_DIGITS - scale), type) for sign in (-1, 1)
    )

    def large(digits: Callable[[str], str]) -> str:
        whole = numeric(MAX_PRECISION, 0)
        return _added(
            engine,
            site,
            lambda x: (
                f"CASE WHEN {x} <= {least} OR {x} >= {most} THEN {digits(_digits(engine, x))} END"
            ),
            whole,
        )

    small = _added(
        engine,
        site,
        lambda x: f"CASE WHEN {x} <= {least} OR {x} >= {most} THEN CAST(0 AS {wide}) ELSE {x} END",
        type,
    )
    if engine == "duckdb":  # which adds integers in 39 digits
        half = f"{_HALF}::HUGEINT"
        upper = large(lambda digits: f"{digits} // {half}")
        lower = large(lambda digits: f"{digits} % {half}")
        together = f"CAST({upper} * {half} + {lower} + {_digits(engine, small)} AS DECIMAL(38, 0))"
    else:
        half = f"CAST({_HALF} AS DECIMAL(20, 0))"
        upper = large(lambda digits: _quotient(digits, half))
        lower = large(lambda digits: f"CAST({digits} % {half} AS DECIMAL(19, 0))")
        rest = f"CAST({lower} + {_digits(engine, small)} AS DECIMAL(38, 0))"
        halves = f"named_struct('u', {upper} + {_quotient(rest, half)}, 'l', {rest} % {half})"
        together = with_value(engine, halves, _of_halves(half))
    return f"(CASE WHEN {upper} IS NULL THEN {small} ELSE {scaled(engine, together, scale)} END)"


def _quotient(digits: str, half: str) -> str:
    return f"CAST(({digits} - {digits} % {half}) / {half} AS DECIMAL(20, 0))"


def _of_halves(half: str) -> str:
    """The number of the halves ``v.u`` and ``v.l``, which get the same sign, so that neither is
    larger than the number."""
    signs = f"CASE WHEN v.u > 0 AND v.l < 0 THEN (v.u - 1) * {half} + (v.l + {half})"
    signs += f" WHEN v.u < 0 AND v.l > 0 THEN (v.u + 1) * {half} + (v.l - {half})"
    return f"CAST({signs} ELSE v.u * {half} + v.l END AS DECIMAL(38, 0))"


def _digits(engine: str, x: str) -> str:
    """The digits of ``x``, a numeric, as an integer."""
    if engine == "duckdb":
        return f"CAST(replace(CAST({x} AS VARCHAR), '.', '') AS HUGEINT)"
    return f"CAST(replace(CAST({x} AS STRING), '.', '') AS DECIMAL(38, 0))"


def _added(engine: str, site: Site, term: Callable[[str], str], type: ScalarType) -> str:
    """The sum of ``term`` of each value; NULL if there are none. Different values may have the same
    term."""
    if not site.is_distinct:
        return call("sum", site, term(site.arguments[0]))
    values = ascending_values(engine, site)
    if engine == "duckdb":
        return f"list_sum(list_transform({values}, lambda x: {term('x')}))"
    wide = type_sql(engine, type)
    total = f"(total, x) -> coalesce(CAST(total + x AS {wide}), x, total)"
    return f"aggregate(transform({values}, x -> {term('x')}), CAST(NULL AS {wide}), {total})"
