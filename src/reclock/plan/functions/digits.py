"""Digits of numerics: casts that lose none, and the digits of floating-point numbers and texts."""

from __future__ import annotations

from decimal import Decimal

from reclock.algebra.numerics import quotient_digits
from reclock.algebra.relations import MAX_PRECISION, ScalarType, TypeName, numeric
from reclock.plan.functions.floats import with_value
from reclock.plan.functions.sql_names import literal, raised, string, type_sql
from reclock.plan.functions.typing import parameters

_SIGNIFICANT = {TypeName.REAL: 6, TypeName.DOUBLE: 15}
"""``FLT_DIG`` and ``DBL_DIG``: how many digits PostgreSQL keeps when a floating-point number
becomes a numeric."""

FLOAT_SCALE = 18
"""Digits after the point of a numeric converted from a floating-point number."""


def too_many_digits(engine: str, scale: int) -> str:
    """An expression that fails the statement because a value has more than ``scale`` digits after
    the point."""
    return raised(
        engine,
        "22003",
        string(engine, f"a numeric value has more than {scale} digits after the decimal point"),
    )


def narrowed(engine: str, sql: str, source: ScalarType, target: ScalarType) -> str:
    """``sql``, a numeric of ``source``, as ``target``: rounded to its scale, or an error where that
    would lose digits of an unconstrained numeric. A quotient, which is rounded itself, is rounded
    again."""
    narrow = type_sql(engine, target)
    if (
        not target.is_unconstrained
        or source.is_quotient
        or parameters(source)[1] <= parameters(target)[1]
    ):
        return f"CAST({sql} AS {narrow})"
    same = f"CAST(CAST(v AS {narrow}) AS {type_sql(engine, source)}) = v"
    error = too_many_digits(engine, parameters(target)[1])
    return with_value(
        engine, sql, f"CASE WHEN v IS NULL OR {same} THEN CAST(v AS {narrow}) ELSE {error} END"
    )


def of_float(engine: str, sql: str, source: ScalarType, target: ScalarType) -> str:
    """``sql``, a floating-point number, as an unconstrained numeric: its 15 (6, of a real)
    significant digits."""
    whole = type_sql(engine, numeric(MAX_PRECISION, 0))
    digits = (
        f"CAST(greatest(length(CAST(abs(v) AS {_text(engine)})) - "
        f"{_SIGNIFICANT[source.name]}, 0) AS INTEGER)"
    )
    ten, half = (
        f"CAST({number} AS {whole})"
        for number in (
            f"concat('1', rpad('', {digits}, '0'))",
            f"concat('0', rpad('5', {digits}, '0'))",
        )
    )
    half = f"CASE WHEN {digits} > 0 THEN {half} ELSE 0 END"
    size = f"(abs(v) + {half})"
    rounded = f"CAST(({size} - {size} % {ten}) * CASE WHEN v < 0 THEN -1 ELSE 1 END AS {whole})"
    restored = with_value(engine, unscaled(engine, sql, FLOAT_SCALE), rounded)
    return narrowed(
        engine, scaled(engine, restored, FLOAT_SCALE), numeric(MAX_PRECISION, FLOAT_SCALE), target
    )


def unscaled(engine: str, sql: str, scale: int) -> str:
    """``sql``, a double, times the power of ten, rounded half away from zero to a ``DECIMAL(38,
    0)``.

    Spark would go through the text of the double, so its 128-bit product is put together from two
    halves of 64 bits.
    """
    product = f"round(CAST({sql} AS DOUBLE) * CAST('1e{scale}' AS DOUBLE))"
    if engine == "duckdb":
        return f"CAST(CAST({product} AS HUGEINT) AS DECIMAL(38, 0))"
    high = f"CAST({product} / 18446744073709551616D AS BIGINT)"
    low = f"CAST(({product} - CAST({high} AS DOUBLE) * 18446744073709551616D) / 2 AS BIGINT)"
    high_part = f"CAST({high} AS DECIMAL(19, 0)) * CAST('18446744073709551616' AS DECIMAL(20, 0))"
    wide = f"({high_part} + CAST({low} AS DECIMAL(19, 0)) * 2)"
    small = f"CAST({product} AS BIGINT)"
    return (
        f"CAST(CASE WHEN abs({product}) < 9223372036854774784D THEN {small} ELSE {wide} END "
        "AS DECIMAL(38, 0))"
    )


def scaled(engine: str, whole: str, scale: int) -> str:
    """``whole``, a ``DECIMAL(38, 0)``, divided by the power of ten, exactly."""
    if not scale:
        return whole
    return f"({whole} * CAST('0.{'0' * (scale - 1)}1' AS DECIMAL({scale}, {scale})))"


def has_more_digits(engine: str, text: str, scale: int) -> str:
    """Whether ``text``, a number in text form, has more than ``scale`` digits after the point,
    without trailing zeros."""

    def part(pattern: str) -> str:
        return f"regexp_extract({text}, {string(engine, pattern)}, 1)"

    fraction = part(r"[.]([0-9]*)")
    digits = f"concat({part('^[ ]*[-+]?([0-9]*)')}, {fraction})"
    significant = (
        f"rtrim({digits}, '0')" if engine == "duckdb" else f"trim(TRAILING '0' FROM {digits})"
    )
    exponent = (
        f"CAST(concat('0', {part('[eE][+]?([0-9]+)')}) AS INT) - CAST(concat('0', "
        f"{part('[eE]-([0-9]+)')}) AS INT)"
    )
    zeros = f"(length({digits}) - length({significant}))"
    return f"({significant} <> '' AND length({fraction}) - ({exponent}) - {zeros} > {scale})"


def numeric_text(engine: str, sql: str, source: ScalarType) -> str:
    """The text of a numeric, as `algebra.numerics.printed` says."""
    if source.least_digits is None or not source.scale:
        return _all_digits(engine, sql, source)
    if not source.is_quotient:
        zeros = string(
            engine,
            f"([.][0-9]{{{source.least_digits}}}[0-9]*?)0+$"
            if source.least_digits
            else "([.]?)0+$",
        )
        group = "" if not source.least_digits else "$1" if engine == "spark" else "\\1"
        return f"regexp_replace({_all_digits(engine, sql, source)}, {zeros}, '{group}')"
    whens = [f"WHEN v >= -1 AND v <= 1 THEN {_all_digits(engine, 'v', source)}"]
    for limit, digits in quotient_digits(source):
        text = _all_digits(
            engine, f"CAST(v AS DECIMAL({MAX_PRECISION}, {digits}))", numeric(MAX_PRECISION, digits)
        )
        least, most = (
            literal(engine, Decimal(sign * limit), numeric(MAX_PRECISION, 0)) for sign in (-1, 1)
        )
        is_last = limit >= 10 ** (MAX_PRECISION - source.scale) or digits == (
            source.least_digits or 0
        )
        whens.append(f"ELSE {text}" if is_last else f"WHEN v > {least} AND v < {most} THEN {text}")
        if is_last:
            break
    return with_value(engine, sql, f"CASE WHEN v IS NULL THEN NULL {' '.join(whens)} END")


def _all_digits(engine: str, sql: str, source: ScalarType) -> str:
    text = f"CAST({sql} AS {_text(engine)})"
    # it prints no zero before the point
    if engine == "duckdb" and len(set(parameters(source))) == 1:
        return f"regexp_replace({text}, '^(-?)[.]', '\\10.')"
    return text


def _text(engine: str) -> str:
    return "VARCHAR" if engine == "duckdb" else "STRING"
