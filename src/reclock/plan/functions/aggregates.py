"""Aggregates. Their values do not depend on the order of the rows.

Sums of doubles depend on the order of addition, so the order is fixed: ascending. The second
argument of a percentile is its fraction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INET,
    INTERVAL,
    MAX_PRECISION,
    TEXT,
    ScalarType,
    TypeName,
    numeric,
)
from reclock.algebra.textual import textual
from reclock.errors import EvaluationError, UnsupportedSql
from reclock.plan.functions import intervals
from reclock.plan.functions.arithmetic import (
    QUOTIENT_SCALE,
    duckdb_digits,
    duckdb_quotient_of_digits,
    quotient,
    spark_quotient,
)
from reclock.plan.functions.casts import write_cast
from reclock.plan.functions.digits import FLOAT_SCALE
from reclock.plan.functions.floats import with_value, within_range
from reclock.plan.functions.orders import has_own_order, in_order, sort_key
from reclock.plan.functions.registry import Site, Types, Writer, aggregate
from reclock.plan.functions.sql_names import case_sql, struct, type_sql
from reclock.plan.functions.sums import ascending_values, call, sum_of
from reclock.plan.functions.typing import exact, least_digits, parameters

Signature = tuple[tuple[ScalarType, ...], ScalarType]

COUNTS = ("count", "regr_count")
"""Aggregates that are 0 over no rows; every other one is NULL."""


def _only_type(types: Types) -> ScalarType | None:
    return (types[0] or DOUBLE) if len(types) == 1 else None


def _sum(types: Types, constants: Mapping[int, object]) -> Signature | None:
    type = _only_type(types)
    if type is None:
        return None
    match type.name:
        case TypeName.SMALLINT | TypeName.INTEGER:
            return (type,), BIGINT
        case TypeName.BIGINT:
            return (BIGINT,), numeric(MAX_PRECISION, 0)
        case TypeName.NUMERIC:
            return (type,), replace(type, precision=MAX_PRECISION, integral_digits=None)
        case TypeName.REAL | TypeName.DOUBLE:
            return (DOUBLE,), type
        case TypeName.INTERVAL | TypeName.TIME:
            return (INTERVAL,), INTERVAL
        case _:
            return None


def _average(types: Types, constants: Mapping[int, object]) -> Signature | None:
    summed = _sum(types, constants)
    if summed is None or summed[1].name is TypeName.INTERVAL:
        return summed
    if summed[1].is_float:
        return summed[0], DOUBLE
    argument = summed[0][0]
    if not argument.is_integer and parameters(argument)[1] > QUOTIENT_SCALE:
        argument = numeric(scale=QUOTIENT_SCALE)
    return (argument,), _average_type(argument)


def _average_type(argument: ScalarType) -> ScalarType:
    """The type of an average of integers or numerics, which has no more digits before the point
    than they have."""
    precision, scale = parameters(argument)
    return quotient(least_digits(argument), precision - scale)


def _count(types: Types, constants: Mapping[int, object]) -> Signature | None:
    return (tuple(type or TEXT for type in types), BIGINT) if len(types) <= 1 else None


def _extreme(types: Types, constants: Mapping[int, object]) -> Signature | None:
    type = (types[0] or TEXT) if len(types) == 1 else None
    if type is None or type.name in (TypeName.BOOLEAN, TypeName.BYTEA, TypeName.RECORD):
        return None
    description = textual(type)
    if description is not None and not description.has_extremes:
        return None
    if type.is_network:
        return (INET,), INET
    return (type,), type.unconstrained if type.name is TypeName.BPCHAR else type


def _simple(function: str) -> Writer:
    return lambda site: call(function, site)


def _write_extreme(engine: str, function: str) -> Writer:
    def write(site: Site) -> str:
        if site.result.name is TypeName.INTERVAL:
            return intervals.extreme(function, engine, site)
        if site.result.element is not None and site.result.has_intervals:
            return _extreme_array(function, engine, site)
        if has_own_order(site.result) or (site.result.element is not None and engine == "spark"):
            [argument] = site.arguments
            return call(
                f"{function}_by", site, f"{argument}, {in_order(engine, argument, site.result)}"
            )
        return call(function, site)

    return write


def _extreme_array(function: str, engine: str, site: Site) -> str:
    """The smallest or largest array of intervals of a group; of equal ones, by their parts."""
    [value] = site.arguments
    pair = struct(engine, {"s": sort_key(engine, value, site.result), "v": value})
    return f"({call(function, site, case_sql(engine, f' WHEN {value} IS NOT NULL THEN {pair}'))}).v"


def _write_sum(engine: str) -> Writer:
    def write(site: Site) -> str:
        if site.result.name is TypeName.INTERVAL:
            return intervals.total(engine, site)
        total = sum_of(engine, site)
        if site.result.is_float:
            return write_cast(engine, total, DOUBLE, site.result)
        return f"CAST({total} AS {type_sql(engine, site.result)})"

    return write


def _write_average(engine: str) -> Writer:
    def write(site: Site) -> str:
        if site.result.name is TypeName.INTERVAL:
            return intervals.average(engine, site)
        total, count = sum_of(engine, site), call("count", site)
        if site.result.is_float:
            return f"({total} / CASE WHEN {count} = 0 THEN NULL ELSE {count} END)"
        return exact_average(engine, total, count, site.types[0])

    return write


def exact_average(engine: str, total: str, count: str, type: ScalarType) -> str:
    """The average of ``count`` values of an integer or numeric ``type`` whose sum is ``total``.

    NULL if the count is 0.
    """
    dividend, divisor = average_operands(engine, total, count, type)
    if engine == "spark":
        return average_quotient(engine, dividend, divisor, type)
    pair = f"{{'l': {dividend}, 'r': {divisor}}}"
    return with_value(engine, pair, average_quotient(engine, "v.l", "v.r", type))


def average_operands(engine: str, total: str, count: str, type: ScalarType) -> tuple[str, str]:
    """What ``average_quotient`` divides. It repeats its operands, so they are better columns than
    long expressions."""
    scale = 0 if type.is_integer else parameters(type)[1]
    operand = f"DECIMAL(38, {scale})"
    dividend = f"CAST({total} AS {operand})"
    divisor = f"CAST(CASE WHEN {count} = 0 THEN NULL ELSE {count} END AS {operand})"
    if engine == "spark":
        return dividend, divisor
    return duckdb_digits(dividend, scale), duckdb_digits(divisor, scale)


def average_quotient(engine: str, dividend: str, divisor: str, type: ScalarType) -> str:
    """The average of values of ``type`` from the ``average_operands``."""
    result = _average_type(type)
    if engine == "spark":
        scale = 0 if type.is_integer else parameters(type)[1]
        return spark_quotient(dividend, divisor, scale, result)
    return duckdb_quotient_of_digits(dividend, divisor, result)


def _write_deviation(engine: str, *, is_root: bool, is_sample: bool) -> Writer:
    """The two-pass formula over the ascending values: squares of distances from the mean,
    summed."""

    def write(site: Site) -> str:
        count = call("count", site)
        total = sum_of(engine, site)
        values = ascending_values(engine, site)
        mean, less = f"({total} / {count})", 1 if is_sample else 0
        if engine == "duckdb":
            # An aggregate within a lambda must not have one in its argument, as casts have.
            squares_of = "list_sum(list_transform(v.x, lambda x: (x - v.mean) * (x - v.mean)))"
            squares = with_value(engine, f"{{'x': {values}, 'mean': {mean}}}", squares_of)
        else:
            squares = (
                f"aggregate({values}, CAST(0 AS DOUBLE), (total, x) -> total + (x - {mean}) "
                f"* (x - {mean}))"
            )
        variance = f"({squares} / CAST({count} - {less} AS DOUBLE))"
        deviation = (
            f"(CASE WHEN {count} <= {less} THEN CAST(NULL AS DOUBLE) ELSE "
            f"{f'sqrt({variance})' if is_root else variance} END)"
        )
        largest = call("max", site, f"abs({site.arguments[0]})")
        return write_cast(engine, within_range(engine, deviation, largest), DOUBLE, site.result)

    return write


def _deviation(types: Types, constants: Mapping[int, object]) -> Signature | None:
    """A standard deviation or variance, computed in floating point. Of exact numbers it is a
    numeric of 15 significant digits."""
    type = _only_type(types)
    if type is None or not type.is_number:
        return None
    return (DOUBLE,), DOUBLE if type.is_float else numeric(scale=FLOAT_SCALE)


def _fraction(site: Site) -> object:
    """The fraction of a percentile. Raises ``InvalidOption``, or ``UnsupportedSql`` if it is not a
    constant."""
    fraction = site.constants.get(1)
    if not isinstance(fraction, float):
        raise UnsupportedSql("a fraction of a percentile that is not a constant is not supported")
    if not 0 <= fraction <= 1:
        raise EvaluationError(
            f"percentile value {fraction} is not between 0 and 1", sqlstate="22003"
        )
    return fraction


def _element(engine: str, values: str, place: str) -> str:
    """The value at ``place``, counted from 0; NULL if there is none."""
    return (
        f"list_extract({values}, CAST({place} AS BIGINT) + 1)"
        if engine == "duckdb"
        else f"get({values}, CAST({place} AS INT))"
    )


def _write_percentile(engine: str, *, is_continuous: bool) -> Writer:
    """PostgreSQL's formulas: the first value that so many are not above; or between two, in
    proportion to the distances. A third argument says that the values are in descending order."""

    def write(site: Site) -> str:
        values, count = ascending_values(engine, site), call("count", site, site.arguments[0])
        fraction = f"CAST('{_fraction(site)}' AS DOUBLE)"

        def value_at(place: str) -> str:
            is_descending = site.constants.get(2) is True
            return _element(engine, values, f"{count} - 1 - {place}" if is_descending else place)

        if not is_continuous:
            return value_at(f"greatest(ceil({fraction} * {count}) - 1, 0)")
        place = f"({fraction} * ({count} - 1))"
        low, high = (value_at(f"{rounded}({place})") for rounded in ("floor", "ceil"))
        between = f"({low} + ({high} - {low}) * ({place} - floor({place})))"
        return f"(CASE WHEN {count} > 0 THEN {between} END)"

    return write


def _continuous(types: Types, constants: Mapping[int, object]) -> Signature | None:
    is_number = len(types) in (2, 3) and (types[0] is None or types[0].is_number)
    return ((DOUBLE, DOUBLE, BOOLEAN)[: len(types)], DOUBLE) if is_number else None


def _discrete(types: Types, constants: Mapping[int, object]) -> Signature | None:
    signature = _sorted(types[:1], constants) if len(types) in (2, 3) else None
    return signature and ((*signature[0], DOUBLE, BOOLEAN)[: len(types)], signature[1])


def _sorted(types: Types, constants: Mapping[int, object]) -> Signature | None:
    """Of a value of a type that both engines sort. Booleans have an order, but no extremes."""
    if types == (BOOLEAN,):
        return (BOOLEAN,), BOOLEAN
    signature = _extreme(types, constants)
    if signature is None or signature[1].is_nested or signature[1].name is TypeName.INTERVAL:
        return None
    return signature


for _name, _resolve, _is_continuous, _description in (
    (
        "percentile_cont",
        _continuous,
        True,
        "The value at a fraction of the ordered values, interpolated.",
    ),
    (
        "percentile_disc",
        _discrete,
        False,
        "The first value at or beyond a fraction of the ordered values.",
    ),
):
    aggregate(
        _name,
        _description,
        _resolve,
        duckdb=_write_percentile("duckdb", is_continuous=_is_continuous),
        spark=_write_percentile("spark", is_continuous=_is_continuous),
    )


def _write_count(engine: str) -> Writer:
    def write(site: Site) -> str:
        if site.is_distinct and site.types:
            [type] = site.types
            return call("count", site, intervals.compared(engine, site.arguments[0], type))
        return call("count", site)

    return write


aggregate(
    "count",
    "The number of rows, or of values that are not NULL.",
    _count,
    duckdb=_write_count("duckdb"),
    spark=_write_count("spark"),
)
aggregate(
    "sum",
    "The sum. The same for the same rows in any order, also of doubles.",
    _sum,
    duckdb=_write_sum("duckdb"),
    spark=_write_sum("spark"),
)
aggregate(
    "avg", "The average.", _average, duckdb=_write_average("duckdb"), spark=_write_average("spark")
)


def _any(types: Types, constants: Mapping[int, object]) -> Signature | None:
    """One value of any type. An untyped argument is text."""
    return ((types[0] or TEXT,), types[0] or TEXT) if len(types) == 1 else None


def _of_bits(types: Types, constants: Mapping[int, object]) -> Signature | None:
    type = types[0] if len(types) == 1 else None
    return ((type,), type) if type is not None and type.is_integer else None


def _most_frequent(types: Types, constants: Mapping[int, object]) -> Signature | None:
    signature = _sorted(types[:1], constants) if len(types) in (1, 2) else None
    return signature and ((*signature[0], BOOLEAN)[: len(types)], signature[1])


def _write_mode(engine: str) -> Writer:
    """The smallest of the most frequent values; the largest if a second argument says so."""

    def write(site: Site) -> str:
        x, is_descending = site.arguments[0], site.constants.get(1) is True
        if engine == "duckdb":
            return call("mode", site, f"{x} ORDER BY {x} {'DESC' if is_descending else 'ASC'}")
        order = f"(ORDER BY {x} {'DESC' if is_descending else 'ASC'})"
        return f"mode() WITHIN GROUP {order}{site.filter}{site.over}"

    return write


aggregate(
    "any_value",
    "A value that is not NULL: the smallest.",
    _any,
    duckdb=_write_extreme("duckdb", "min"),
    spark=_write_extreme("spark", "min"),
)
for _name, _description in (("bit_and", "AND"), ("bit_or", "OR"), ("bit_xor", "exclusive OR")):
    aggregate(
        _name,
        f"The bitwise {_description} of the values that are not NULL.",
        _of_bits,
        _simple(_name),
    )
aggregate(
    "mode",
    "The most frequent value, the first in the order if there are several.",
    _most_frequent,
    duckdb=_write_mode("duckdb"),
    spark=_write_mode("spark"),
)
for _name, _description in (("min", "The smallest value."), ("max", "The largest value.")):
    aggregate(
        _name,
        _description,
        _extreme,
        duckdb=_write_extreme("duckdb", _name),
        spark=_write_extreme("spark", _name),
    )
_ALL_TRUE = "Whether all values that are not NULL are true."
for _name, _function, _description in (
    ("bool_and", "bool_and", _ALL_TRUE),
    ("every", "bool_and", _ALL_TRUE),
    ("bool_or", "bool_or", "Whether some value is true."),
):
    aggregate(_name, _description, exact(((BOOLEAN,), BOOLEAN)), _simple(_function))
for _name, _root, _sample in (
    ("variance", False, True),
    ("var_samp", False, True),
    ("var_pop", False, False),
    ("stddev", True, True),
    ("stddev_samp", True, True),
    ("stddev_pop", True, False),
):
    aggregate(
        _name,
        (
            f"{'Standard deviation' if _root else 'Variance'} of a "
            f"{'sample' if _sample else 'population'}."
        ),
        _deviation,
        duckdb=_write_deviation("duckdb", is_root=_root, is_sample=_sample),
        spark=_write_deviation("spark", is_root=_root, is_sample=_sample),
    )
