"""Rounding, roots, powers and logarithms.

A double rounds half to even, a numeric half away from zero. ``exp``, ``ln`` and ``power`` come from
each engine's library, so their last binary digit may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reclock.algebra.relations import (
    BIGINT,
    DOUBLE,
    INTEGER,
    MAX_PRECISION,
    TEXT,
    ScalarType,
    TypeName,
    numeric,
)
from reclock.plan.functions.casts import write_cast
from reclock.plan.functions.digits import FLOAT_SCALE
from reclock.plan.functions.floats import computed, is_infinite, with_operands, with_value
from reclock.plan.functions.registry import Site, Types, Writer, scalar
from reclock.plan.functions.sql_names import raised, type_sql
from reclock.plan.functions.typing import (
    a_number,
    as_numeric,
    declared,
    exact,
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


def _to_constant_or_column(site: Site, engine: str, to_digits: Callable[[str, int], str]) -> str:
    """The value of a number that ``to_digits`` writes for digits below the scale. Engines take a
    constant, so a column's number of digits is a choice among all."""
    x, (precision, scale) = site.arguments[0], parameters(site.types[0])
    result = type_sql(engine, site.result)
    digits = site.constants.get(1) if len(site.arguments) == 2 else 0
    if isinstance(digits, int):
        return f"CAST({x if digits >= scale else to_digits(x, digits)} AS {result})"
    count = site.arguments[1]

    def chosen(x: str, count: str) -> str:
        least = scale - precision
        choices = " ".join(
            f"WHEN {number} THEN CAST({to_digits(x, number)} AS {result})"
            for number in range(least, scale)
        )
        return (
            f"(CASE WHEN {count} >= {scale} THEN CAST({x} AS {result}) WHEN {count} < {least} THEN "
            f"CAST(0 * {x} AS {result}) ELSE CASE {count} {choices} END END)"
        )

    return with_operands(engine, x, count, chosen)


def _rounded(engine: str) -> Writer:
    def write(site: Site) -> str:
        x = site.arguments[0]
        if site.result.is_float:
            return f"rint({x})" if engine == "spark" else f"round_even({x}, 0)"
        return _to_constant_or_column(site, engine, lambda x, digits: f"round({x}, {digits})")

    return write


def _truncated(engine: str) -> Writer:
    def write(site: Site) -> str:
        x = site.arguments[0]
        if site.result.is_float:
            return (
                f"(CASE WHEN {x} < 0 THEN {_step('ceil', engine, x)} ELSE "
                f"{_step('floor', engine, x)} END)"
            )

        def to_digits(x: str, digits: int) -> str:
            if engine == "duckdb":
                return f"trunc({x}, {digits})"
            return f"(CASE WHEN {x} < 0 THEN ceil({x}, {digits}) ELSE floor({x}, {digits}) END)"

        return _to_constant_or_column(site, engine, to_digits)

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

scalar("cbrt", "Cube root.", exact(((DOUBLE,), DOUBLE)), "cbrt({0})")


def _divisor(site: Site) -> str:
    """Euclid's algorithm, whose steps are at most as many as numbers of Fibonacci below 2^64."""
    type = type_sql("spark", site.result)
    one, other = (f"abs({argument})" for argument in site.arguments)
    start = f"named_struct('a', CAST({one} AS {type}), 'b', CAST({other} AS {type}))"
    step = "CASE WHEN s.b = 0 THEN s ELSE named_struct('a', s.b, 'b', s.a % s.b) END"
    return f"aggregate(sequence(1, 92), {start}, (s, i) -> {step}, s -> s.a)"


def _multiple(site: Site) -> str:
    one, other = site.arguments
    divisor = f"CASE WHEN {one} <> 0 THEN {_divisor(site)} ELSE 1 END"
    return f"CAST(abs({one} / ({divisor}) * {other}) AS {type_sql('spark', site.result)})"


def _called_by_duckdb(name: str) -> Writer:
    return lambda site: (
        f"CAST({name}({', '.join(site.arguments)}) AS {type_sql('duckdb', site.result)})"
    )


for _name, _about, _spark in (
    ("gcd", "The greatest common divisor.", _divisor),
    ("lcm", "The least common multiple.", _multiple),
):
    scalar(
        _name,
        _about,
        exact(*(((type, type), type) for type in (INTEGER, BIGINT))),
        duckdb=_called_by_duckdb(_name),
        spark=_spark,
    )


def _scale(engine: str) -> Writer:
    def write(site: Site) -> str:
        text = write_cast(engine, site.arguments[0], site.types[0], TEXT)
        return f"CAST(length(split_part({text}, '.', 2)) AS {type_sql(engine, INTEGER)})"

    return write


def _a_numeric(types: Types, constants: Mapping[int, object]) -> Signature | None:
    if len(types) != 1 or not is_implicit(types[0], numeric()):
        return None
    return (as_numeric(types[0] or numeric()),), INTEGER


scalar(
    "scale",
    "How many digits after the point a numeric has.",
    _a_numeric,
    duckdb=_scale("duckdb"),
    spark=_scale("spark"),
)


def _any_types(types: Types, constants: Mapping[int, object]) -> Signature | None:
    return (tuple(type or TEXT for type in types), INTEGER) if types else None


def _counted(condition: str) -> Writer:
    def write(site: Site) -> str:
        ones = [f"CASE WHEN {value} {condition} THEN 1 ELSE 0 END" for value in site.arguments]
        return f"({' + '.join(ones)})"

    return write


for _name, _about, _condition in (
    ("num_nulls", "How many of the arguments are NULL.", "IS NULL"),
    ("num_nonnulls", "How many of the arguments are not NULL.", "IS NOT NULL"),
):
    scalar(
        _name,
        _about,
        _any_types,
        _counted(_condition),
    )
