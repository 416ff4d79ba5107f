"""Casts of numbers, which `casts` chooses among. Numbers become integers by rounding: a double half
to even, a numeric half away from zero. A double becomes a numeric by rounding its product with the
power of ten half away from zero."""

from __future__ import annotations

from reclock.algebra.relations import ScalarType, TypeName
from reclock.errors import UnsupportedSql
from reclock.plan.functions.digits import of_float, scaled, unscaled
from reclock.plan.functions.floats import with_value, within_range
from reclock.plan.functions.sql_names import type_sql
from reclock.plan.functions.typing import parameters


def native_cast(engine: str, sql: str, source: ScalarType, target: ScalarType) -> str:
    return f"CAST({sql} AS {type_sql(engine, target)})"


def to_integer(engine: str, sql: str, source: ScalarType, target: ScalarType) -> str:
    if engine == "spark":
        sql = f"round({sql}, 0)" if source.name is TypeName.NUMERIC else f"rint({sql})"
    return native_cast(engine, sql, source, target)


def numeric_to_double(engine: str, sql: str, source: ScalarType, target: ScalarType) -> str:
    """The nearest double. DuckDB divides two doubles instead, unless it reads the digits."""
    return native_cast(
        engine, f"CAST({sql} AS VARCHAR)" if engine == "duckdb" else sql, source, target
    )


def double_to_real(engine: str, sql: str, source: ScalarType, target: ScalarType) -> str:
    """DuckDB sees for itself that a number is too large."""
    if engine == "duckdb":
        return native_cast(engine, sql, source, target)
    return with_value(
        engine, sql, within_range(engine, f"CAST(v AS {type_sql(engine, target)})", "v")
    )


def double_to_numeric(engine: str, sql: str, source: ScalarType, target: ScalarType) -> str:
    if target.is_unconstrained:
        return of_float(engine, sql, source, target)
    scale = parameters(target)[1]
    return native_cast(engine, scaled(engine, unscaled(engine, sql, scale), scale), source, target)


def float_to_text(engine: str, sql: str) -> str:
    if engine == "spark":
        raise UnsupportedSql("the text of a floating-point number is not computed by Spark")
    named = (
        f"WHEN isnan({sql}) THEN 'NaN' WHEN isinf({sql}) THEN CASE WHEN {sql} > 0 THEN "
        "'Infinity' ELSE '-Infinity' END"
    )
    return f"(CASE {named} ELSE regexp_replace(CAST({sql} AS VARCHAR), '\\.0$', '') END)"
