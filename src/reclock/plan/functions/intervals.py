"""Intervals in the engines' SQL: structs of months, days and microseconds.

An engine never compares two of them: it compares their spans, numbers of microseconds with months
of 30 days and days of 24 hours, as PostgreSQL does. An expression is written, and computed, once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from reclock.algebra.intervals import DAY_US, DAYS_PER_MONTH, Interval
from reclock.algebra.relations import ScalarType, TypeName, numeric
from reclock.errors import UnsupportedSql
from reclock.plan.functions.floats import with_value
from reclock.plan.functions.registry import Site, Types, Writer, scalar
from reclock.plan.functions.sql_names import (
    case_sql,
    each_element,
    field_names,
    interval_struct,
    raised,
    struct,
)
from reclock.plan.functions.sums import call

SPAN = "interval span"
"""The function that comparisons are made of. Its name is none that SQL can call."""
SPAN_TYPE = numeric(38, 0)
_SECOND_US = 1_000_000
_COLUMN = re.compile(r'[\w."`]+')


@dataclass(frozen=True, slots=True)
class Parts:
    """SQL of the parts of an interval."""

    months: str
    days: str
    microseconds: str

    def negative(self) -> Parts:
        return Parts(*(f"(-{part})" for part in (self.months, self.days, self.microseconds)))


def parts(sql: str, constant: object = None) -> Parts:
    """The parts of an interval whose SQL can be written several times; of a ``constant``, the
    numbers."""
    if isinstance(constant, Interval):
        return Parts(*(f"({n})" for n in (constant.months, constant.days, constant.microseconds)))
    return Parts(f"({sql}).months", f"({sql}).days", f"({sql}).microseconds")


def computed(engine: str, operands: Sequence[str], body: Callable[..., str]) -> str:
    """``body`` of operands that it may write several times; NULL if one of them is NULL."""

    def guarded(*names: str) -> str:
        known = " AND ".join(f"{name} IS NOT NULL" for name in names)
        return case_sql(engine, f" WHEN {known} THEN {body(*names)}")

    if all(_COLUMN.fullmatch(operand) for operand in operands):
        return guarded(*operands)
    names = [f"a{place}" for place in range(len(operands))]
    packed = struct(engine, dict(zip(names, operands, strict=True)))
    return with_value(engine, packed, guarded(*(f"v.{name}" for name in names)))


def span(engine: str, sql: str) -> str:
    """The span of an interval, as ``SPAN_TYPE``."""
    return computed(engine, [sql], lambda x: _span_of(engine, parts(x)))


def compared(engine: str, sql: str, type: ScalarType) -> str:
    """What an engine compares for ``sql``, a value of ``type``, as ``compared_type``: an interval by
    its span, also within an array or a record."""
    if type.name is TypeName.INTERVAL:
        return span(engine, sql)
    if not type.has_intervals:
        return sql
    if type.element is not None:
        return each_element(engine, sql, compared(engine, "e", type.element))

    def fields(record: str) -> str:
        names = field_names(type)
        return struct(
            engine,
            {
                name: compared(engine, f"({record}).{name}", field.type)
                for name, field in zip(names, type.fields, strict=True)
            },
        )

    return computed(engine, [sql], fields)


def compared_type(type: ScalarType) -> ScalarType:
    """``type`` with spans for intervals."""
    if type.name is TypeName.INTERVAL:
        return SPAN_TYPE
    return replace(
        type,
        element=None if type.element is None else compared_type(type.element),
        fields=tuple(replace(field, type=compared_type(field.type)) for field in type.fields),
    )


def _span_of(engine: str, interval: Parts) -> str:
    wide = "HUGEINT" if engine == "duckdb" else "DECIMAL(12, 0)"
    days = f"(CAST({interval.months} AS {wide}) * {DAYS_PER_MONTH} + {interval.days})"
    day = f"CAST({DAY_US} AS {'HUGEINT' if engine == 'duckdb' else 'DECIMAL(11, 0)'})"
    return f"CAST({days} * {day} + {interval.microseconds} AS DECIMAL(38, 0))"


_HOURS = 3600 * _SECOND_US
_FIELDS = {
    "epoch": (
        f"({{y}} * 31557600 + {{m}} * {DAYS_PER_MONTH * 86400} + {{d}} * 86400) * "
        f"{_SECOND_US} + {{us}}"
    ),
    "microseconds": f"{{us}} % {60 * _SECOND_US}",
    "milliseconds": f"{{us}} % {60 * _SECOND_US}",
    "second": f"{{us}} % {60 * _SECOND_US}",
    "minute": f"{{us}} {{div}} {60 * _SECOND_US} % 60",
    "hour": f"{{us}} {{div}} {_HOURS}",
    "day": "{d}",
    "month": "{m}",
    "quarter": "{m} {div} 3 + {sign}",
    "year": "{y}",
    "decade": "{y} {div} 10",
    "century": "{y} {div} 100",
    "millennium": "{y} {div} 1000",
}
FIELDS = tuple(_FIELDS)
"""The fields of an interval that ``extract`` and ``date_part`` return."""


def field(engine: str, name: str, interval: str) -> str:
    """What ``name``, one of ``FIELDS``, takes out of an interval: a whole number of its smallest
    parts.

    A year has 365.25 days in its epoch.
    """
    div = "//" if engine == "duckdb" else "DIV"
    wide = "HUGEINT" if engine == "duckdb" else "BIGINT"

    def body(x: str) -> str:
        step = parts(x)
        months = f"CAST({step.months} AS {wide})"
        return (
            "("
            + _FIELDS[name].format(
                y=f"({months} {div} 12)",
                m=f"({months} % 12)",
                sign=f"CASE WHEN {months} < 0 THEN -1 ELSE 1 END",
                d=f"CAST({step.days} AS {wide})",
                us=f"CAST({step.microseconds} AS {wide})",
                div=div,
            )
            + ")"
        )

    return computed(engine, [interval], body)


def shift(engine: str, operator: str, site: Site, moment: int) -> str:
    """The argument at ``moment`` later, or earlier, by the other one: by its months first, to the
    end of a shorter month."""
    at, by = site.arguments[moment], site.arguments[1 - moment]
    constant = site.constants.get(1 - moment)
    if isinstance(constant, Interval):
        return _shifted(engine, at, -constant if operator == "-" else constant)

    def body(at: str, by: str) -> str:
        step = parts(by).negative() if operator == "-" else parts(by)
        return _moved(engine, at, step)

    return computed(engine, [at, by], body)


def _shifted(engine: str, at: str, by: Interval) -> str:
    """The moment shifted by a constant; parts that are zero are not written."""
    names = (("MONTH", "months", by.months), ("DAY", "days", by.days))
    for unit, function, count in (*names, ("MICROSECOND", "microseconds", by.microseconds)):
        if count:
            at = _moved_by(engine, at, unit, function, f"({count})")
    return at


def _moved(engine: str, at: str, by: Parts) -> str:
    for unit, function, count in (
        ("MONTH", "months", by.months),
        ("DAY", "days", by.days),
        ("MICROSECOND", "microseconds", by.microseconds),
    ):
        at = _moved_by(engine, at, unit, function, count)
    return at


def _moved_by(engine: str, at: str, unit: str, function: str, count: str) -> str:
    if engine == "spark":
        return f"timestampadd({unit}, {count}, {at})"
    return f"({at} + to_{function}({count}))"


def native(by: Parts) -> str:
    """DuckDB's own interval of these parts."""
    return f"(to_months({by.months}) + to_days({by.days}) + to_microseconds({by.microseconds}))"


_DATES = "BETWEEN -2440588 AND 2145042905"
"""PostgreSQL's dates, as days since 1970."""
_FEW_DAYS = 1_000_000
"""So many days lead from no date to one that an engine does not have."""


def days_later(engine: str, operator: str, date: str, days: str, constant: object) -> str:
    """The date so many days later, or earlier. An engine's own sum may wrap around."""
    is_spark = engine == "spark"

    def moved(date: str, days: str) -> str:
        return (
            f"date_add({date}, ({operator} {days}))" if is_spark else f"({date} {operator} {days})"
        )

    def checked(date: str, days: str) -> str:
        since = (
            f"CAST(unix_date({date}) AS BIGINT)" if is_spark else f"({date} - DATE '1970-01-01')"
        )
        error = raised(engine, "22008", "'date out of range'")
        is_date = f"{since} {operator} {days} {_DATES}"
        return f"CASE WHEN {is_date} THEN {moved(date, days)} ELSE {error} END"

    if isinstance(constant, int) and abs(constant) <= _FEW_DAYS:
        return moved(date, days)
    return computed(engine, [date, days], checked)


def difference_of_moments(engine: str, microseconds: str) -> str:
    """The difference in microseconds, as days and a rest of the same sign."""
    quotient = "{0} // {1}" if engine == "duckdb" else "{0} DIV {1}"
    return computed(
        engine,
        [microseconds],
        lambda us: interval_struct(engine, "0", quotient.format(us, DAY_US), f"{us} % {DAY_US}"),
    )


def sum_of_two(engine: str, operator: str, site: Site) -> str:
    def body(a: str, b: str) -> str:
        left, right = parts(a), parts(b)
        return interval_struct(
            engine,
            f"{left.months} {operator} {right.months}",
            f"{left.days} {operator} {right.days}",
            f"{left.microseconds} {operator} {right.microseconds}",
        )

    return computed(engine, site.arguments, body)


def negative(engine: str, sql: str) -> str:
    def body(x: str) -> str:
        step = parts(x).negative()
        return interval_struct(engine, step.months, step.days, step.microseconds)

    return computed(engine, [sql], body)


def multiple(engine: str, operator: str, interval: str, factor: str) -> str:
    """An interval times, or divided by, a double: a fraction of a month becomes days, that of a day
    time.

    Source of the rounding: ``interval_mul`` and ``interval_div`` of PostgreSQL's ``timestamp.c``.
    """

    def scaled(x: str, f: str) -> str:
        step = parts(x)
        if operator == "/":
            error = raised(engine, "22012", "'division by zero'")
            f = f"(CASE WHEN {f} = 0 THEN {error} ELSE {f} END)"
        named = {"m": step.months, "d": step.days, "u": step.microseconds}
        fields = {name: f"CAST({part} AS DOUBLE) {operator} {f}" for name, part in named.items()}
        return struct(engine, fields)

    products = computed(engine, [interval, factor], scaled)
    return computed(engine, [products], lambda product: _cascaded(engine, product))


def whole_multiple(engine: str, interval: str, constant: object, factor: str) -> str:
    """An interval, or the ``constant`` that it is, times a whole number, by which no part gets a
    fraction."""

    def scaled(x: str, f: str) -> str:
        step = parts(x, constant)
        months, days, microseconds = (
            f"CAST({part} AS DOUBLE) * {f}" for part in (step.months, step.days, step.microseconds)
        )
        return interval_struct(engine, months, days, microseconds)

    return computed(engine, [interval, f"CAST({factor} AS DOUBLE)"], scaled)


def _cascaded(engine: str, product: str) -> str:
    """From doubles ``m``, ``d`` and ``u`` of months, days and microseconds, with fractions."""
    m, d, u = (f"({product}).{name}" for name in "mdu")
    month_days = _to_microsecond(engine, f"({m} - {_trunc(engine, m)}) * {DAYS_PER_MONTH}")
    whole_month_days = _trunc(engine, month_days)
    day_fraction = f"{d} - {_trunc(engine, d)} + {month_days} - {whole_month_days}"
    seconds = _to_microsecond(engine, f"({day_fraction}) * 86400")
    carried = _trunc(engine, f"{seconds} / 86400")
    days = f"{_trunc(engine, d)} + {carried} + {whole_month_days}"
    microseconds = _rint(engine, f"{u} + ({seconds} - {carried} * 86400) * {_SECOND_US}")
    return interval_struct(engine, _trunc(engine, m), days, microseconds)


def _trunc(engine: str, sql: str) -> str:
    """Of a double, toward zero."""
    return f"trunc({sql})" if engine == "duckdb" else f"CAST(CAST({sql} AS BIGINT) AS DOUBLE)"


def _to_microsecond(engine: str, seconds: str) -> str:
    """Rounded to six digits, as PostgreSQL's ``TSROUND`` does."""
    return f"({_rint(engine, f'({seconds}) * {_SECOND_US}')} / {_SECOND_US})"


def _rint(engine: str, sql: str) -> str:
    return f"CAST(round_even({sql}, 0) AS DOUBLE)" if engine == "duckdb" else f"rint({sql})"


def with_span(engine: str, sql: str) -> str:
    """A pair that an engine orders as SQL orders the interval, which is its ``v``. Equal spans are
    ordered by the parts."""
    return computed(
        engine, [sql], lambda x: struct(engine, {"s": _span_of(engine, parts(x)), "v": x})
    )


def extreme(function: str, engine: str, site: Site) -> str:
    """The smallest or largest interval of a group."""
    return f"({call(function, site, with_span(engine, site.arguments[0]))}).v"


def total(engine: str, site: Site) -> str:
    """The sum of a group, part by part; NULL if there is no value."""
    if site.is_distinct:
        raise UnsupportedSql("sums and averages of distinct intervals are not supported")
    interval = parts(site.arguments[0])
    wide = "HUGEINT" if engine == "duckdb" else "DECIMAL(20, 0)"
    names = (interval.months, interval.days, interval.microseconds)
    sums = [call("sum", site, f"CAST({part} AS {wide})") for part in names]
    has_some = f"{call('count', site)} > 0"
    return case_sql(engine, f" WHEN {has_some} THEN {interval_struct(engine, *sums)}")


def average(engine: str, site: Site) -> str:
    count = call("count", site)
    return multiple(engine, "/", total(engine, site), f"CAST({count} AS DOUBLE)")


def _with_intervals(
    types: Types, constants: Mapping[int, object]
) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
    type = types[0] if len(types) == 1 else None
    return ((type,), compared_type(type)) if type is not None and type.has_intervals else None


def _write_compared(engine: str) -> Writer:
    return lambda site: compared(engine, site.arguments[0], site.types[0])


scalar(
    SPAN,
    "The microseconds that an interval, alone or in an array or a record, is compared by, with "
    "months of 30 days.",
    _with_intervals,
    duckdb=_write_compared("duckdb"),
    spark=_write_compared("spark"),
)
