"""Rounding, roots, powers and logarithms.

A double rounds half to even, a numeric half away from zero. ``exp``, ``ln`` and ``power`` come from each engine's library: their
last binary digit is not promised.
"""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra.relations import DOUBLE, INTEGER, MAX_PRECISION, ScalarType, TypeName, numeric
from reclock.errors import UnsupportedSql
from reclock.plan.functions.floats import computed, with_value
from reclock.plan.functions.registry import Site, Types, Writer, scalar
from reclock.plan.functions.sql_names import raised, type_sql
from reclock.plan.functions.typing import a_number, as_numeric, exact, is_implicit, parameters, widened

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
    """``f(numeric, digits)``; with the digits known, that many after the point are kept in the type too."""
    if len(types) == 1:
        return _whole(types, constants)
    if len(types) != 2 or not is_implicit(types[0], numeric()) or not is_implicit(types[1], INTEGER):
        return None
    operand = as_numeric(types[0] or numeric())
    precision, scale = parameters(operand)
    digits = constants.get(1)
    if not isinstance(digits, int):
        return (operand, INTEGER), widened(precision - scale + 1, scale, operand)
    if digits < scale:
        return (operand, INTEGER), widened(precision - scale + 1, max(0, digits), operand)
    room = precision - scale
    return (operand, INTEGER), widened(room, max(scale, min(digits, MAX_PRECISION - room)), operand)


def _digits(site: Site) -> int:
    digits = site.constants.get(1)
    if not isinstance(digits, int):
        raise UnsupportedSql("rounding to a number of digits that is not a constant is not supported")
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
            return f"(CASE WHEN {x} < 0 THEN {_step('ceil', engine, x)} ELSE {_step('floor', engine, x)} END)"
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
    """Floor or ceiling of a double. Spark's is a BIGINT, so a double too large to have a fraction passes as it is; never ``-0``."""
    if engine == "duckdb":
        return f"({function}({x}) + 0)"
    return f"(CASE WHEN abs({x}) < 9007199254740992D THEN CAST({function}({x}) AS DOUBLE) ELSE {x} END)"


def _stepped(function: str, engine: str) -> Writer:
    def write(site: Site) -> str:
        if site.result.is_float:
            return _step(function, engine, site.arguments[0])
        return f"CAST({function}({site.arguments[0]}) AS {type_sql(engine, site.result)})"

    return write


def _within(condition: str, sqlstate: str, message: str, template: str, engine: str) -> Writer:
    error = raised(engine, sqlstate, f"'{message}'")
    return lambda site: f"(CASE WHEN {condition} THEN {error} ELSE {template} END)".format(*site.arguments)


def _signed(engine: str) -> Writer:
    def write(site: Site) -> str:
        (x,) = site.arguments
        return f"CAST(CASE WHEN {x} > 0 THEN 1 WHEN {x} < 0 THEN -1 WHEN {x} = 0 THEN 0 END AS {type_sql(engine, site.result)})"

    return write


def _magnitude_spark(site: Site) -> str:
    """Spark's ``abs`` rounds numerics to 34 digits."""
    (x,) = site.arguments
    if site.result.name is not TypeName.NUMERIC:
        return f"abs({x})"
    return with_value("spark", x, f"CAST(CASE WHEN v < 0 THEN 0 - v ELSE v END AS {type_sql('spark', site.result)})")


scalar("abs", "The absolute value.", a_number, duckdb="abs({0})", spark=_magnitude_spark)
scalar("sign", "-1, 0 or 1.", _whole, duckdb=_signed("duckdb"), spark=_signed("spark"))
scalar(
    "round",
    "Rounded to a number of digits, 0 if not given: a double half to even, a numeric half away from zero.",
    _to_digits,
    duckdb=_rounded("duckdb"),
    spark=_rounded("spark"),
)
scalar("trunc", "Truncated toward zero, to a number of digits.", _to_digits, duckdb=_truncated("duckdb"), spark=_truncated("spark"))
_UP, _DOWN = "The smallest whole number that is not less.", "The largest whole number that is not greater."
for _name, _function, _description in (("ceil", "ceil", _UP), ("ceiling", "ceil", _UP), ("floor", "floor", _DOWN)):
    scalar(_name, _description, _whole, duckdb=_stepped(_function, "duckdb"), spark=_stepped(_function, "spark"))

_double = exact(((DOUBLE,), DOUBLE))
_ROOT = ("{0} < 0", "2201F", "cannot take square root of a negative number", "sqrt({0})")
_LOGARITHM = ("{0} <= 0", "2201E", "cannot take logarithm of a number that is not positive", "ln({0})")
scalar("sqrt", "Square root.", _double, duckdb=_within(*_ROOT, "duckdb"), spark=_within(*_ROOT, "spark"))
scalar("ln", "Natural logarithm.", _double, duckdb=_within(*_LOGARITHM, "duckdb"), spark=_within(*_LOGARITHM, "spark"))

for _name in ("log", "log10"):
    scalar(
        _name,
        "Logarithm to base 10.",
        _double,
        duckdb=_within(*_LOGARITHM[:3], "log10({0})", "duckdb"),
        spark=_within(*_LOGARITHM[:3], "log10({0})", "spark"),
    )


def _raised(template: str, engine: str) -> Writer:
    return lambda site: computed(engine, template, site.arguments[0], site.arguments[-1])


scalar("exp", "e raised to a power.", _double, duckdb=_raised("exp({0})", "duckdb"), spark=_raised("exp({0})", "spark"))


def _power(engine: str) -> Writer:
    whole = _step("floor", engine, "{1}")
    of_zero = raised(engine, "2201F", "'zero raised to a negative power is undefined'")
    of_negative = raised(engine, "2201F", "'a negative number raised to a non-integer power yields a complex result'")
    return _raised(
        f"(CASE WHEN {{0}} = 0 AND {{1}} < 0 THEN {of_zero} WHEN {{0}} < 0 AND {{1}} <> {whole} THEN {of_negative} "
        "ELSE power({0}, {1}) END)",
        engine,
    )


scalar(
    "power",
    "The first raised to the power of the second.",
    exact(((DOUBLE, DOUBLE), DOUBLE)),
    duckdb=_power("duckdb"),
    spark=_power("spark"),
)
