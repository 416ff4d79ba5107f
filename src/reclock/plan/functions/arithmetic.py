"""``+ - * / %`` and negation: on numbers, and on moments and intervals.

Integers overflow with an error; integer division truncates towards zero and the remainder has the
dividend's sign. Sums and products of numerics are exact, and an error where 38 digits do not hold
them. Where the type of a product would be longer than 38 digits, 18 digits after the point are kept
(or an operand's, if those are more). A value that has more is an error too. A product with a factor
that was rounded to 18 digits, as quotients and averages are, is rounded as that was. A numeric
quotient has 18 digits after the point; that its operands have no more is checked. It is
rounded half away from zero once: here if all 18 are printed, else when it is printed. Division by
zero is an error for every type. Intervals are computed in ``intervals``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from reclock.algebra.relations import (
    BIGINT,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    MAX_PRECISION,
    TIME,
    TIMESTAMP,
    ScalarType,
    TypeName,
    numeric,
)
from reclock.plan.functions import floats, intervals, times
from reclock.plan.functions.digits import narrowed
from reclock.plan.functions.registry import Resolver, Site, Types, Writer, scalar
from reclock.plan.functions.sql_names import raised, type_sql
from reclock.plan.functions.typing import (
    as_numeric,
    common_type,
    least_digits,
    operand_type,
    parameters,
    widened,
)

QUOTIENT_SCALE = 18
PRODUCT_SCALE = 18
Signature = tuple[tuple[ScalarType, ...], ScalarType]


def _resolve_numbers(operator: str, left: ScalarType, right: ScalarType) -> Signature | None:
    common = operand_type((left, right))
    if common is None or not common.is_number:
        return None
    if common.is_integer:
        return (common, common), common
    if common.is_float:
        return None if operator == "%" else ((common, common), common)
    left, right = as_numeric(left), as_numeric(right)
    (p1, s1), (p2, s2) = parameters(left), parameters(right)
    scale, integral = max(s1, s2), max(p1 - s1, p2 - s2)
    match operator:
        case "+" | "-":
            result = widened(integral + 1, scale, left, right)
            return (result, result), result
        case "*":
            return _resolve_product(left, right)
        case "/":
            operand = (
                numeric(scale=QUOTIENT_SCALE)
                if scale > QUOTIENT_SCALE
                else numeric(MAX_PRECISION, scale)
            )
            least = max(least_digits(left), least_digits(right))
            return (operand, operand), quotient(least, p1 - s1 + s2)
        case _:
            result = widened(integral, scale, left, right)
            return (result, result), result


def quotient(least: int, integral: int) -> ScalarType:
    """The type of quotients and averages: ``least`` digits after the point are printed at least,
    and a value has at most ``integral`` digits before it."""
    return replace(
        numeric(MAX_PRECISION, QUOTIENT_SCALE),
        least_digits=min(least, QUOTIENT_SCALE),
        is_quotient=True,
        integral_digits=integral if integral + QUOTIENT_SCALE < MAX_PRECISION else None,
    )


def _resolve_product(left: ScalarType, right: ScalarType) -> Signature:
    """The exact product if 38 digits hold it whatever the values are, else an unconstrained numeric
    of fewer digits. That of a quotient is rounded as the quotient was."""
    if (parameters(left)[1] + parameters(right)[1]) > MAX_PRECISION:
        left, right = (
            type if parameters(type)[1] <= PRODUCT_SCALE else numeric(scale=PRODUCT_SCALE)
            for type in (left, right)
        )
    (p1, s1), (p2, s2) = parameters(left), parameters(right)
    scale, integral = s1 + s2, integral_digits(left) + integral_digits(right)
    if p1 + p2 <= MAX_PRECISION:
        return (left, right), widened(integral, scale, left, right, digits=sum)
    result_scale = min(scale, max(PRODUCT_SCALE, s1, s2))
    result = widened(MAX_PRECISION, result_scale, left, right, digits=sum)
    if result.is_quotient and integral + result_scale < MAX_PRECISION:
        result = replace(result, integral_digits=integral)
    return (left, right), result if result_scale == scale else replace(
        result, is_unconstrained=True
    )


def integral_digits(type: ScalarType) -> int:
    """How many digits before the point the values of an integer or numeric type have at most."""
    precision, scale = parameters(type)
    return precision - scale if type.integral_digits is None else type.integral_digits


def has_rounded_operand(types: Sequence[ScalarType]) -> bool:
    """Whether a factor was rounded to 18 digits or more: a quotient, or what was computed of one,
    or a number that was declared so."""
    return any(
        type.is_quotient or (parameters(type)[1] >= PRODUCT_SCALE and not type.is_unconstrained)
        for type in types
    )


def _resolve_moments(
    operator: str, left: ScalarType | None, right: ScalarType | None
) -> Signature | None:
    """Dates and integers, moments and intervals, in either order where the operator is ``+``. A
    constant of open type has the type of what is subtracted from it."""
    if left is None and operator == "-":
        left = right
    signature = _resolve_shift(operator, left, right)
    if signature is None and operator == "+" and (swapped := _resolve_shift(operator, right, left)):
        (second, first), result = swapped
        return (first, second), result
    return signature


def _resolve_shift(
    operator: str, left: ScalarType | None, right: ScalarType | None
) -> Signature | None:
    """With the moment on the left; an untyped right side takes the type that makes sense there."""
    if left is None or not (left.is_moment or left.name in (TypeName.INTERVAL, TypeName.TIME)):
        return None
    if left.name is TypeName.TIME:
        return _resolve_time_shift(operator, right)
    if left.name is TypeName.INTERVAL:
        if right in (None, INTERVAL) or (right == TIME and operator == "-"):
            return (INTERVAL, INTERVAL), INTERVAL
        return None
    if right is None:
        right = INTERVAL if operator == "+" else left
    if left.name is TypeName.DATE and right.is_integer and right.name is not TypeName.BIGINT:
        return (DATE, INTEGER), DATE
    if right.name is TypeName.TIME:
        if left.name is TypeName.DATE and operator == "+":
            return (DATE, TIME), TIMESTAMP
        right = INTERVAL
    if right.name is TypeName.INTERVAL:
        moment = TIMESTAMP if left.name is TypeName.DATE else left
        return (moment, INTERVAL), moment
    if operator == "-" and right.is_moment:
        common = common_type((left, right)) or left
        return (common, common), INTEGER if common.name is TypeName.DATE else INTERVAL
    return None


def _resolve_time_shift(operator: str, right: ScalarType | None) -> Signature | None:
    """With a time of day on the left."""
    if operator == "-" and right in (None, TIME):
        return (TIME, TIME), INTERVAL
    return ((TIME, INTERVAL), TIME) if right == INTERVAL else None


def _resolve_multiple(left: ScalarType | None, right: ScalarType | None) -> Signature | None:
    """A multiple of an interval, with the operands in either order."""
    if left in (INTERVAL, TIME) and (right is None or right.is_number):
        return (INTERVAL, _factor(right)), INTERVAL
    if right in (INTERVAL, TIME) and (left is None or left.is_number):
        return (_factor(left), INTERVAL), INTERVAL
    return None


def _factor(type: ScalarType | None) -> ScalarType:
    """What an interval is multiplied by. A whole number makes no fractions, so less is computed."""
    return BIGINT if type is not None and type.is_integer else DOUBLE


def _resolver(operator: str) -> Resolver:
    def resolve(types: Types, constants: Mapping[int, object]) -> Signature | None:
        if len(types) == 1 and operator in "+-":
            operand = types[0] or DOUBLE
            return ((operand,), operand) if operand.is_number or operand == INTERVAL else None
        if len(types) != 2:
            return None
        left, right = types
        if operator in "+-" and (signature := _resolve_moments(operator, left, right)):
            return signature
        if operator == "*" and (signature := _resolve_multiple(left, right)):
            return signature
        if operator == "/" and left in (INTERVAL, TIME) and (right is None or right.is_number):
            return (INTERVAL, DOUBLE), INTERVAL
        left, right = left or right, right or left
        return _resolve_numbers(operator, left, right) if left and right else None

    return resolve


def _infix(operator: str, engine: str) -> Writer:
    def write(site: Site) -> str:
        if len(site.arguments) == 1:
            return f"({site.arguments[0]})" if operator == "+" else _negation(engine)(site)
        if TIME in site.types:
            return times.write_arithmetic(engine, operator, site)
        if any(type.is_moment for type in site.types):
            return _write_moments(operator, site, engine)
        if site.result.name is TypeName.INTERVAL:
            return _write_intervals(operator, site, engine)
        left, right = site.arguments
        if operator == "*" and site.result.name is TypeName.NUMERIC:
            return _write_product(site, engine)
        if (
            operator == "%"
            and engine == "duckdb"
            and site.result.is_integer
            and site.constants.get(1) in (None, -1)
        ):
            # it divides, and the quotient may be out of range
            right = f"(CASE WHEN {right} = -1 THEN 1 ELSE {right} END)"
        plain = f"({left} {operator} {right})"
        if site.result.is_float:
            vanishes = "{0} <> 0 AND {1} <> 0" if operator == "*" else None
            return floats.computed(engine, f"({{0}} {operator} {{1}})", left, right, vanishes)
        return f"CAST({plain} AS {type_sql(engine, site.result)})"

    return write


def _write_product(site: Site, engine: str) -> str:
    """Of numerics. Where 38 digits might not hold the exact product, and it has more digits after
    the point than the result, only that of the operands' fractions has them, and no digits before
    the point: all other parts of the product fit where the result fits."""
    left, right = site.arguments
    (_, left_scale), (_, right_scale) = map(parameters, site.types)
    scale = left_scale + right_scale
    is_rounded = has_rounded_operand(site.types)
    if scale == parameters(site.result)[1] or (
        is_rounded and sum(map(integral_digits, site.types)) + scale <= MAX_PRECISION
    ):
        if engine == "duckdb":  # or it multiplies in 64 bits
            left = f"CAST({left} AS {_decimal(left_scale)})"
        return f"CAST(({left} * {right}) AS {type_sql(engine, site.result)})"

    def in_parts(left: str, right: str) -> str:
        whole_left, left_fraction = _parts(engine, left, left_scale)
        whole_right, right_fraction = _parts(engine, right, right_scale)
        fraction = f"({left_fraction} * {right_fraction})"
        if is_rounded:
            fraction = f"CAST({fraction} AS {type_sql(engine, site.result)})"
        else:
            fraction = narrowed(engine, fraction, numeric(MAX_PRECISION, scale), site.result)
        total = f"{whole_left} * {right} + {left_fraction} * {whole_right} + {fraction}"
        return f"CAST(({total}) AS {type_sql(engine, site.result)})"

    return floats.with_operands(engine, left, right, in_parts)


def _parts(engine: str, number: str, scale: int) -> tuple[str, str]:
    """What is before the point of a numeric of ``scale``, and what is after it."""
    whole = f"trunc({number})" if engine == "duckdb" else f"({number} - {number} % 1)"
    whole = f"CAST({whole} AS {_decimal(0, MAX_PRECISION - scale)})"
    return whole, f"CAST(({number} - {whole}) AS {_decimal(scale, scale)})"


def _decimal(scale: int, precision: int = MAX_PRECISION) -> str:
    return f"DECIMAL({precision}, {scale})"


def _negation(engine: str) -> Writer:
    """By subtraction: Spark's minus sign rounds numerics to 34 digits, and that of a float makes a
    negative zero."""

    def write(site: Site) -> str:
        if site.result.name is TypeName.INTERVAL:
            return intervals.negative(engine, site.arguments[0])
        return f"CAST((0 - {site.arguments[0]}) AS {type_sql(engine, site.result)})"

    return write


def _write_intervals(operator: str, site: Site, engine: str) -> str:
    if operator in "+-":
        return intervals.sum_of_two(engine, operator, site)
    at, factor_at = (0, 1) if site.types[0].name is TypeName.INTERVAL else (1, 0)
    interval, factor = site.arguments[at], site.arguments[factor_at]
    if site.types[factor_at].is_integer:
        return intervals.whole_multiple(engine, interval, site.constants.get(at), factor)
    return intervals.multiple(engine, operator, interval, factor)


def _write_moments(operator: str, site: Site, engine: str) -> str:
    if site.result.is_moment and TypeName.INTERVAL in (type.name for type in site.types):
        return intervals.shift(engine, operator, site, 0 if site.types[0].is_moment else 1)
    is_spark = engine == "spark"
    left, right = site.arguments
    left_type, right_type = site.types
    if not left_type.is_moment:
        left, right, left_type, right_type = right, left, right_type, left_type
    if left_type.name is TypeName.DATE:
        if right_type.name is TypeName.DATE:
            return (
                f"datediff({left}, {right})" if is_spark else f"CAST(({left} - {right}) AS INTEGER)"
            )
        days = site.constants.get(0 if left == site.arguments[1] else 1)
        return intervals.days_later(engine, operator, left, right, days)
    elapsed = (
        f"timestampdiff(MICROSECOND, {right}, {left})"
        if is_spark
        else f"(epoch_us({left}) - epoch_us({right}))"
    )
    return intervals.difference_of_moments(engine, elapsed)


def _divide_duckdb(site: Site) -> str:
    left, right = site.arguments
    if site.result.name is TypeName.INTERVAL:
        return intervals.multiple("duckdb", "/", left, right)
    error = raised("duckdb", "22012", "'division by zero'")
    if site.result.is_integer:
        return f"CAST(({left} // {right}) AS {type_sql('duckdb', site.result)})"
    if site.result.is_float:
        return _guarded_quotient("duckdb", error, "({0} / {1})", left, right)
    return duckdb_quotient(left, right, parameters(site.types[0])[1], site.result)


def _guarded_quotient(engine: str, error: str, quotient: str, left: str, right: str) -> str:
    """Of floating-point numbers. Division by zero is an error, but not of NaN or NULL."""
    special = "isnan({0}) OR {0} IS NULL"
    guarded = (
        f"(CASE WHEN {{1}} = 0 THEN CASE WHEN {special} THEN {{0}} ELSE {error} END ELSE "
        f"{quotient} END)"
    )
    return floats.computed(
        engine, guarded, left, right, f"{{0}} <> 0 AND NOT {floats.is_infinite(engine, '{1}')}"
    )


_QUOTIENT, _NUMBERS, _LONG = "reclock_quotient", "mz_numbers", 400


def duckdb_quotient(left: str, right: str, scale: int, result: ScalarType) -> str:
    """Of numerics of ``scale``, by macros of the engine's connection.

    The macros write an operand many times: what is long, or a quotient itself, has a name for its
    value, and one for its digits.
    """
    if _QUOTIENT not in left + right and len(left) + len(right) < _LONG:
        digits = duckdb_digits(left, scale), duckdb_digits(right, scale)
        return duckdb_quotient_of_digits(*digits, result)
    of_names = (duckdb_digits(f"{_NUMBERS}.{side}", scale) for side in "lr")
    values = floats.with_value(
        "duckdb", _pair(*of_names), duckdb_quotient_of_digits("v.l", "v.r", result)
    )
    return floats.with_value("duckdb", _pair(left, right), values, _NUMBERS)


def _pair(left: str, right: str) -> str:
    return f"{{'l': {left}, 'r': {right}}}"


def duckdb_quotient_of_digits(left: str, right: str, result: ScalarType) -> str:
    """Of ``duckdb_digits`` of one scale."""
    return f"{_QUOTIENT}({left}, {right}, {least_digits(result) == QUOTIENT_SCALE})"


def duckdb_digits(number: str, scale: int) -> str:
    """A numeric of ``scale`` without its point, as a HUGEINT, which ``reclock_quotient``
    divides."""
    return (
        f"reclock_unscaled({number}, {10**scale}::HUGEINT)"
        if scale
        else f"CAST({number} AS HUGEINT)"
    )


def _divide_spark(site: Site) -> str:
    left, right = site.arguments
    if site.result.name is TypeName.INTERVAL:
        return intervals.multiple("spark", "/", left, right)
    if site.result.is_integer:
        return f"CAST(({left} DIV {right}) AS {type_sql('spark', site.result)})"
    if site.result.is_float:
        error = raised("spark", "22012", "'division by zero'")
        quotient = f"CAST(({{0}} / {{1}}) AS {type_sql('spark', site.result)})"
        return _guarded_quotient("spark", error, quotient, left, right)
    return spark_quotient(left, right, parameters(site.types[0])[1], site.result)


def spark_quotient(left: str, right: str, scale: int, result: ScalarType) -> str:
    """As ``reclock_quotient`` computes it, for operands of DECIMAL(38, scale). With divisors that
    leave no room for remainders, Spark's own quotient, which is rounded."""
    operand, type = f"DECIMAL(38, {scale})", type_sql("spark", result)
    room = 10 ** (MAX_PRECISION - 6 - scale)
    quotient = (
        f"CAST((p.a - p.a % p.b) / p.b AS {type}) + ((p.r DIV p.b) * 1000000000000 + (p.s DIV p.b) "
        f"* 1000000 + p.t DIV p.b + {_spark_half(result)}) * 0.000000000000000001BD"
    )
    steps = [
        f"named_struct('a', CAST({left} AS {operand}), 'b', CAST({right} AS {operand}))",
        "named_struct('a', p.a, 'b', p.b, 'r', (p.a % p.b) * 1000000)",
        "named_struct('a', p.a, 'b', p.b, 'r', p.r, 's', (p.r % p.b) * 1000000)",
        "named_struct('a', p.a, 'b', p.b, 'r', p.r, 's', p.s, 't', (p.s % p.b) * 1000000)",
        f"CAST({quotient} AS {type})",
    ]
    exact = "p"
    for step in reversed(steps[1:]):
        exact = step if exact == "p" else f"get(transform(array({step}), p -> {exact}), 0)"
    return (
        f"get(transform(array({steps[0]}), p -> CASE WHEN abs(p.b) < {room}BD THEN {exact} ELSE "
        f"CAST(p.a / p.b AS {type}) END), 0)"
    )


def _spark_half(result: ScalarType) -> str:
    rounded = (
        "CASE WHEN abs(p.t % p.b) * 2 >= abs(p.b) THEN CASE WHEN (p.a < 0) = (p.b < 0) THEN 1 "
        "ELSE -1 END ELSE 0 END"
    )
    if least_digits(result) == QUOTIENT_SCALE:
        return rounded
    return f"CASE WHEN abs(p.a) < abs(p.b) THEN {rounded} ELSE 0 END"


DUCKDB_MACROS = (
    # The digits of a decimal as an integer, given the power of ten of its scale.
    """CREATE MACRO reclock_unscaled(x, ten) AS
       CAST(trunc(x) AS HUGEINT) * ten + CAST((x - trunc(x)) * CAST(ten AS DECIMAL(20, 0)) AS HUGEINT)""",
    # Long division, six digits at a time, so that no remainder leaves 128 bits. All 18 digits are
    # printed of what is less than 1, or if ``is_whole``: then half away from zero. Else the digits
    # beyond are cut off, since the quotient is rounded when it is printed, with fewer digits.
    """CREATE MACRO reclock_rest(a, b) AS (a % b) * 1000000::HUGEINT""",
    """CREATE MACRO reclock_quotient(a, b, is_whole) AS
       CAST((a // b) * 1000000000000000000::HUGEINT
            + (reclock_rest(a, b) // b) * 1000000000000::HUGEINT
            + (reclock_rest(reclock_rest(a, b), b) // b) * 1000000::HUGEINT
            + (reclock_rest(reclock_rest(reclock_rest(a, b), b), b) // b)
            + CASE WHEN (is_whole OR abs(a) < abs(b))
                   AND abs(reclock_rest(reclock_rest(reclock_rest(a, b), b), b) % b) * 2 >= abs(b)
                   THEN CASE WHEN (a < 0) = (b < 0) THEN 1 ELSE -1 END ELSE 0 END AS DECIMAL(38, 0))
       * CAST('0.000000000000000001' AS DECIMAL(18, 18))""",
)
"""What the DuckDB engine defines on its connection for numeric division, which DuckDB itself does
in floating point."""

for _name, _operator, _description in (
    ("+", "+", "Sum; of a moment and an interval, the moment that much later."),
    ("-", "-", "Difference; of moments an interval, of dates a number of days."),
    ("*", "*", "Product."),
    ("%", "%", "Remainder, with the sign of the first."),
    ("mod", "%", "Remainder, with the sign of the first."),
):
    scalar(
        _name,
        _description,
        _resolver(_operator),
        duckdb=_infix(_operator, "duckdb"),
        spark=_infix(_operator, "spark"),
    )
scalar(
    "/",
    "Quotient; of integers it is truncated toward zero. Division by zero is an error.",
    _resolver("/"),
    duckdb=_divide_duckdb,
    spark=_divide_spark,
)
scalar(
    "negate", "The negative.", _resolver("-"), duckdb=_negation("duckdb"), spark=_negation("spark")
)
