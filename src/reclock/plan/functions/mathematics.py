"""Rounding, roots, powers and logarithms.

A double rounds half to even, a numeric half away from zero. ``exp``, ``ln`` and ``power`` come from
each engine's library, so their last binary digit may differ.
"""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra.relations import DOUBLE, INTEGER, MAX_PRECISION, ScalarType, TypeName, numeric
from reclock.errors import UnsupportedSql
from reclock.plan.functions.casts import write_cast
from reclock.plan.functions.digits import FLOAT_SCALE
from reclock.plan.functions.floats import computed, is_infinite, with_value
from reclock.plan.functions.registry import Site, Types, Writer, scalar
from reclock.plan.functions.sql_names import raised, type_sql
from reclock.plan.functions.typing import (
    a_number,
    as_numeric,
    declared,
    is_implicit,
    parameters,
    widened,
)

Signature = tuple[tuple[ScalarType, ...], ScalarType]


def _whole(types: Types, constants: Mapping[int, object]) -> Signature | None:
    """A numeric becomes one without a fraction; every other number is a double."""
    if len(types) != 1 or not (types[0] is None or types[0].is_number):
        return None
    if types[0] and types[0].name is TypeName.NUMERIC:
        precision, scale = parameters(types[0])
        return (types[0],), widened(precision - scale + 1, 0, types[0])
    return (DOUBLE,), DOUBLE


def _to_digits(types: Types, constants: Mapping[int, object]) -> Signature | None:
    """``f(numeric, digits)``; with the digits known, that many after the point are kept in the type
    too."""
    if len(types) == 1:
        return _whole(types, constants)
    if (
        len(types) != 2
        or not is_implicit(types[0], numeric())
        or not is_implicit(types[1], INTEGER)
    ):
        return None
    operand = as_numeric(types[0] or numeric())
    precision, scale = parameters(operand)
    digits = constants.get(1)
    if not isinstance(digits, int):
        return (operand, INTEGER), widened(precision - scale + 1, scale, operand)
    if digits < scale:
        return (operand, INTEGER), declared(widened(precision - scale + 1, max(0, digits), operand))
    room = precision - scale
    return (operand, INTEGER), declared(
        widened(room, max(scale, min(digits, MAX_PRECISION - room)), operand)
    )


def _digits(site: Site) -> int:
    digits = site.constants.get(1)
    if not isinstance(digits, int):
        raise UnsupportedSql(
            "rounding to a number of digits that is not a constant is not supported"
        )
    return digits


def _rounded(engine: str) -> Writer:
    def write(site: Site) -> str:
        x = site.arguments[0]
        if site.result.is_float:
            return f"rint({x})" if engine == "spark" else f"round_even({x}, 0)"
        digits = _digits(site) if len(site.arguments) == 2 else 0
        scale = parameters(site.types[0])[1]
        kept = x if digits >= scale else f"round({x}, {digits})"
        return f"CAST({kept} AS {type_sql(engine, site.result)})"

    return write


def _truncated(engine: str) -> Writer:
    def write(site: Site) -> str:
        x = site.arguments[0]
        if site.result.is_float:
            return (
                f"(CASE WHEN {x} < 0 THEN {_step('ceil', engine, x)} ELSE "
                f"{_step('floor', engine, x)} END)"
            )
        digits = _digits(site) if len(site.arguments) == 2 else 0
        if digits >= parameters(site.types[0])[1]:
            kept = x
        elif engine == "duckdb":
            kept = f"trunc({x}, {digits})"
        else:
            kept = f"(CASE WHEN {x} < 0 THEN ceil({x}, {digits}) ELSE floor({x}, {digits}) END)"
        return f"CAST({kept} AS {type_sql(engine, site.result)})"

    return write


def _step(function: str, engine: str, x: str) -> str:
    """Floor or ceiling of a double. Spark's is a BIGINT, so a double too large to have a fraction
    passes as it is; never ``-0``."""
    if engine == "duckdb":
        return f"({function}({x}) + 0)"
    return (
        f"(CASE WHEN abs({x}) < 9007199254740992D THEN CAST({function}({x}) AS DOUBLE) ELSE "
        f"{x} END)"
    )


def _stepped(function: str, engine: str) -> Writer:
    def write(site: Site) -> str:
        if site.result.is_float:
            return _step(function, engine, site.arguments[0])
        return f"CAST({function}({site.arguments[0]}) AS {type_sql(engine, site.result)})"

    return write


def _within(condition: str, sqlstate: str, message: str, template: str, engine: str) -> Writer:
    error = raised(engine, sqlstate, f"'{message}'")
    return lambda site: f"(CASE WHEN {condition} THEN {error} ELSE {template} END)".format(
        *site.arguments
    )


def _signed(engine: str) -> Writer:
    def write(site: Site) -> str:
        (x,) = site.arguments
        return (
            f"CAST(CASE WHEN {x} > 0 THEN 1 WHEN {x} < 0 THEN -1 WHEN {x} = 0 THEN 0 END AS "
            f"{type_sql(engine, site.result)})"
        )

    return write


def _magnitude_spark(site: Site) -> str:
    """Spark's ``abs`` rounds numerics to 34 digits."""
    (x,) = site.arguments
    if site.result.name is not TypeName.NUMERIC:
        return f"abs({x})"
    return with_value(
        "spark",
        x,
        f"CAST(CASE WHEN v < 0 THEN 0 - v ELSE v END AS {type_sql('spark', site.result)})",
    )


scalar("abs", "The absolute value.", a_number, duckdb="abs({0})", spark=_magnitude_spark)
scalar("sign", "-1, 0 or 1.", _whole, duckdb=_signed("duckdb"), spark=_signed("spark"))
scalar(
    "round",
    (
        "Rounded to a number of digits, 0 if not given: a double half to even, a numeric "
        "half away from zero."
    ),
    _to_digits,
    duckdb=_rounded("duckdb"),
    spark=_rounded("spark"),
)
scalar(
    "trunc",
    "Truncated toward zero, to a number of digits.",
    _to_digits,
    duckdb=_truncated("duckdb"),
    spark=_truncated("spark"),
)
_UP = "The smallest whole number that is not less."
_DOWN = "The largest whole number that is not greater."
for _name, _function, _description in (
    ("ceil", "ceil", _UP),
    ("ceiling", "ceil", _UP),
    ("floor", "floor", _DOWN),
):
    scalar(
        _name,
        _description,
        _whole,
        duckdb=_stepped(_function, "duckdb"),
        spark=_stepped(_function, "spark"),
    )


def _approximate(types: Types, constants: Mapping[int, object]) -> Signature | None:
    """Computed in floating point. Of numerics, and of numerics and integers, it is a numeric."""
    if any(type is not None and not type.is_number for type in types):
        return None
    kinds = {None if type is None else type.name for type in types}
    is_exact = TypeName.NUMERIC in kinds and not kinds & {TypeName.REAL, TypeName.DOUBLE}
    return (DOUBLE,) * len(types), numeric(scale=FLOAT_SCALE) if is_exact else DOUBLE


def _of_one(types: Types, constants: Mapping[int, object]) -> Signature | None:
    return _approximate(types, constants) if len(types) == 1 else None


def _of_two(types: Types, constants: Mapping[int, object]) -> Signature | None:
    return _approximate(types, constants) if len(types) == 2 else None


def _as_result(engine: str, write: Writer) -> Writer:
    """What ``write`` computes, a double, as the call's type."""
    return lambda site: write_cast(engine, write(site), DOUBLE, site.result)


_ROOT = ("{0} < 0", "2201F", "cannot take square root of a negative number", "sqrt({0})")
_LOGARITHM = (
    "{0} <= 0",
    "2201E",
    "cannot take logarithm of a number that is not positive",
    "ln({0})",
)
for _name, _description, _checks in (
    ("sqrt", "Square root.", _ROOT),
    ("ln", "Natural logarithm.", _LOGARITHM),
    ("log", "Logarithm to base 10.", (*_LOGARITHM[:3], "log10({0})")),
    ("log10", "Logarithm to base 10.", (*_LOGARITHM[:3], "log10({0})")),
):
    scalar(
        _name,
        _description,
        _of_one,
        duckdb=_as_result("duckdb", _within(*_checks, "duckdb")),
        spark=_as_result("spark", _within(*_checks, "spark")),
    )


def _raised(template: str, engine: str, vanishes: str) -> Writer:
    def write(site: Site) -> str:
        is_double = site.result.is_float  # a numeric rounds what is too small to 0
        return computed(
            engine, template, site.arguments[0], site.arguments[-1], vanishes if is_double else None
        )

    return _as_result(engine, write)


def _exponential(engine: str) -> Writer:
    return _raised("exp({0})", engine, f"NOT {is_infinite(engine, '{0}')}")


scalar(
    "exp",
    "e raised to a power.",
    _of_one,
    duckdb=_exponential("duckdb"),
    spark=_exponential("spark"),
)


def _power(engine: str) -> Writer:
    whole = _step("floor", engine, "{1}")
    of_zero = raised(engine, "2201F", "'zero raised to a negative power is undefined'")
    of_negative = raised(
        engine, "2201F", "'a negative number raised to a non-integer power yields a complex result'"
    )
    return _raised(
        f"(CASE WHEN {{0}} = 0 AND {{1}} < 0 THEN {of_zero} WHEN {{0}} < 0 AND {{1}} <> "
        f"{whole} THEN {of_negative} "
        "ELSE power({0}, {1}) END)",
        engine,
        f"{{0}} <> 0 AND NOT {is_infinite(engine, '{0}')} AND NOT {is_infinite(engine, '{1}')}",
    )


scalar(
    "power",
    "The first raised to the power of the second.",
    _of_two,
    duckdb=_power("duckdb"),
    spark=_power("spark"),
)
