"""Functions that decompose, compose and round intervals, and their text."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reclock.algebra.intervals import DAY_US, DAYS_PER_MONTH
from reclock.algebra.relations import (
    DOUBLE,
    INTEGER,
    INTERVAL,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    ScalarType,
)
from reclock.plan.functions.intervals import computed, parts, span
from reclock.plan.functions.registry import Site, Types, scalar
from reclock.plan.functions.sql_names import interval_struct, raised
from reclock.plan.functions.typing import exact, is_implicit

_SECOND_US, _MINUTE_US, _HOUR_US = 10**6, 60 * 10**6, 3600 * 10**6


def _div(engine: str) -> str:
    """The operator of division that truncates toward zero."""
    return "//" if engine == "duckdb" else "DIV"


def _wide(sql: str) -> str:
    return f"CAST({sql} AS BIGINT)"


def interval_to_text(engine: str, interval: str) -> str:
    """As ``interval_text`` prints it."""

    def body(x: str) -> str:
        step, div = parts(x), _div(engine)
        months, days, us = step.months, step.days, step.microseconds
        is_after_negative = f"({days} < 0 OR ({days} = 0 AND {months} < 0))"
        sign = f"CASE WHEN {us} < 0 THEN '-' WHEN {is_after_negative} THEN '+' ELSE '' END"
        size = f"abs({us})"
        clock_text = f"concat({sign}, {clock(engine, size)})"
        plus = f"CASE WHEN {days} > 0 AND {months} < 0 THEN '+' ELSE '' END"
        parts_of_text = [
            _counted(f"({months} {div} 12)", "year", "''", text),
            _counted(f"({months} % 12)", "mon", "''", text),
            _counted(days, "day", plus, text),
            f"CASE WHEN {us} <> 0 OR ({months} = 0 AND {days} = 0) THEN {clock_text} END",
        ]
        return f"concat_ws(' ', {', '.join(parts_of_text)})"

    text = _TEXT[engine]
    return computed(engine, [interval], body)


_TEXT = {"duckdb": "VARCHAR", "spark": "STRING"}
ISO_TEXT = "interval iso text"
"""The function that writes intervals as in ISO 8601. Its name is none that SQL can call."""


def _iso_text(engine: str, interval: str) -> str:
    """As ``interval_iso_text`` prints it."""
    text, div = _TEXT[engine], _div(engine)

    def counted(count: str, unit: str) -> str:
        return f"CASE WHEN {count} <> 0 THEN concat(CAST({count} AS {text}), '{unit}') ELSE '' END"

    def body(x: str) -> str:
        step = parts(x)
        us = step.microseconds
        sign, size = f"CASE WHEN {us} < 0 THEN '-' ELSE '' END", f"abs({us})"
        date = [
            counted(f"({step.months} {div} 12)", "Y"),
            counted(f"({step.months} % 12)", "M"),
            counted(step.days, "D"),
        ]
        hours, minutes = f"({size} {div} {_HOUR_US})", f"({size} {div} {_MINUTE_US} % 60)"
        fraction = f"lpad(CAST({size} % {_SECOND_US} AS {text}), 6, '0')"
        rest = f"rtrim({fraction}, '0')" if engine == "duckdb" else f"rtrim('0', {fraction})"
        digits = f"CASE WHEN {us} % {_SECOND_US} <> 0 THEN concat('.', {rest}) ELSE '' END"
        seconds = f"CAST({size} {div} {_SECOND_US} % 60 AS {text})"
        time = [
            f"CASE WHEN {hours} <> 0 THEN concat({sign}, {counted(hours, 'H')}) ELSE '' END",
            f"CASE WHEN {minutes} <> 0 THEN concat({sign}, {counted(minutes, 'M')}) ELSE '' END",
            f"CASE WHEN {us} % {_MINUTE_US} <> 0 THEN concat({sign}, {seconds}, {digits}, 'S') "
            "ELSE '' END",
        ]
        clock_part = f"CASE WHEN {us} <> 0 THEN concat('T', {', '.join(time)}) ELSE '' END"
        is_zero = f"{step.months} = 0 AND {step.days} = 0 AND {us} = 0"
        return (
            f"CASE WHEN {is_zero} THEN 'PT0S' ELSE concat('P', {', '.join(date)}, {clock_part}) END"
        )

    return computed(engine, [interval], body)


def clock(engine: str, us: str) -> str:
    """Microseconds as hours, minutes, seconds and, if there is one, a fraction. ``us`` is not
    negative, and can be written several times."""
    text, div = _TEXT[engine], _div(engine)
    hours = f"({us} {div} {_HOUR_US})"
    long_hours = f"CASE WHEN {hours} < 10 THEN '0' ELSE '' END, CAST({hours} AS {text})"
    minutes = _two_digits(f"{us} {div} {_MINUTE_US} % 60", text)
    seconds = _two_digits(f"{us} {div} {_SECOND_US} % 60", text)
    fraction = f"lpad(CAST({us} % {_SECOND_US} AS {text}), 6, '0')"
    rest = f"rtrim({fraction}, '0')" if engine == "duckdb" else f"rtrim('0', {fraction})"
    digits = f"CASE WHEN {us} % {_SECOND_US} <> 0 THEN concat('.', {rest}) ELSE '' END"
    return f"concat({long_hours}, ':', {minutes}, ':', {seconds}, {digits})"


def _counted(count: str, unit: str, plus: str, text: str) -> str:
    plural = f"CASE WHEN {count} = 1 THEN ' {unit}' ELSE ' {unit}s' END"
    return f"CASE WHEN {count} <> 0 THEN concat({plus}, CAST({count} AS {text}), {plural}) END"


def _two_digits(number: str, text: str) -> str:
    return f"lpad(CAST({number} AS {text}), 2, '0')"


def _with_whole_days(engine: str, interval: str) -> str:
    """The interval with full days of its time moved to its days."""

    def body(x: str) -> str:
        step, div = parts(x), _div(engine)
        us = step.microseconds
        days = f"{_wide(step.days)} + {us} {div} {DAY_US}"
        return interval_struct(engine, step.months, days, f"{us} % {DAY_US}")

    return computed(engine, [interval], body)


def _with_whole_months(engine: str, interval: str) -> str:
    """The interval with full months of 30 days of its days moved to its months."""

    def body(x: str) -> str:
        step, div = parts(x), _div(engine)
        months = f"{_wide(step.months)} + {step.days} {div} {DAYS_PER_MONTH}"
        return interval_struct(engine, months, f"{step.days} % {DAYS_PER_MONTH}", step.microseconds)

    return computed(engine, [interval], body)


def _days_and_time_of_one_sign(engine: str, interval: str) -> str:
    def body(x: str) -> str:
        step = parts(x)
        days, us = step.days, step.microseconds
        sign = (
            f"(CASE WHEN {days} > 0 AND {us} < 0 THEN 1 WHEN {days} < 0 AND {us} > 0 THEN -1 "
            "ELSE 0 END)"
        )
        return interval_struct(engine, step.months, f"{days} - {sign}", f"{us} + {sign} * {DAY_US}")

    return computed(engine, [interval], body)


def _months_and_days_of_one_sign(engine: str, interval: str, *, with_time: bool) -> str:
    def body(x: str) -> str:
        step = parts(x)
        months, days, us = step.months, step.days, step.microseconds
        is_less, is_more = f"{days} < 0", f"{days} > 0"
        if with_time:
            is_less = f"({is_less} OR ({days} = 0 AND {us} < 0))"
            is_more = f"({is_more} OR ({days} = 0 AND {us} > 0))"
        sign = (
            f"(CASE WHEN {months} > 0 AND {is_less} THEN 1 WHEN {months} < 0 AND {is_more} "
            "THEN -1 ELSE 0 END)"
        )
        return interval_struct(
            engine, f"{months} - {sign}", f"{days} + {sign} * {DAYS_PER_MONTH}", us
        )

    return computed(engine, [interval], body)


def _justify_hours(engine: str, site: Site) -> str:
    return _days_and_time_of_one_sign(engine, _with_whole_days(engine, site.arguments[0]))


def _justify_days(engine: str, site: Site) -> str:
    whole = _with_whole_months(engine, site.arguments[0])
    return _months_and_days_of_one_sign(engine, whole, with_time=False)


def _justify_interval(engine: str, site: Site) -> str:
    whole = _with_whole_months(engine, _with_whole_days(engine, site.arguments[0]))
    return _days_and_time_of_one_sign(
        engine, _months_and_days_of_one_sign(engine, whole, with_time=True)
    )


def _age(engine: str, site: Site) -> str:
    """By years, months, days and time of day, with the days of the earlier month."""

    def body(end: str, start: str) -> str:
        later, earlier = f"greatest({end}, {start})", f"least({end}, {start})"
        since_day = "epoch_us({0}) - epoch_us(date_trunc('day', {0}))"
        if engine == "spark":
            since_day = "timestampdiff(MICROSECOND, date_trunc('day', {0}), {0})"
        us = f"({since_day.format(later)} - ({since_day.format(earlier)}))"
        days = f"(day({later}) - day({earlier}) - CASE WHEN {us} < 0 THEN 1 ELSE 0 END)"
        months = f"((year({later}) - year({earlier})) * 12 + month({later}) - month({earlier}))"
        borrowed = f"CASE WHEN {days} < 0 THEN day(last_day({earlier})) ELSE 0 END"
        sign = f"CASE WHEN {end} < {start} THEN -1 ELSE 1 END"
        return interval_struct(
            engine,
            f"({sign}) * ({months} - CASE WHEN {days} < 0 THEN 1 ELSE 0 END)",
            f"({sign}) * ({days} + {borrowed})",
            f"({sign}) * ({us} + CASE WHEN {us} < 0 THEN {DAY_US} ELSE 0 END)",
        )

    return computed(engine, site.arguments, body)


def _make_interval(engine: str, site: Site) -> str:
    def body(*parts: str) -> str:
        years, months, weeks, days, hours, minutes, seconds = (*parts, *["0"] * (7 - len(parts)))
        rounded = (
            f"round_even({seconds} * {_SECOND_US}, 0)"
            if engine == "duckdb"
            else f"rint({seconds} * {_SECOND_US})"
        )
        return interval_struct(
            engine,
            f"{_wide(years)} * 12 + {months}",
            f"{_wide(weeks)} * 7 + {days}",
            f"{_wide(hours)} * {_HOUR_US} + {_wide(minutes)} * {_MINUTE_US} + {_wide(rounded)}",
        )

    return computed(engine, site.arguments, body) if site.arguments else body()


def _make_interval_types(
    types: Types, constants: Mapping[int, object]
) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
    """An interval of years, months, weeks, days, hours and minutes as integers, and seconds as a
    double; missing arguments are 0."""
    argument_types = (*[INTEGER] * 6, DOUBLE)[: len(types)]
    if len(types) > 7 or not all(map(is_implicit, types, argument_types)):
        return None
    return argument_types, INTERVAL


def _date_bin(engine: str, site: Site) -> str:
    """The start of the timestamp's bin. All bins have one size; one of them starts at the origin."""

    def body(stride: str, moment: str, origin: str) -> str:
        size = f"CAST({span(engine, stride)} AS BIGINT)"
        elapsed = f"(epoch_us({moment}) - epoch_us({origin}))"
        if engine == "spark":
            elapsed = f"timestampdiff(MICROSECOND, {origin}, {moment})"
        before = f"CASE WHEN {elapsed} % {size} < 0 THEN {size} ELSE 0 END"
        shift = f"({elapsed} - {elapsed} % {size} - {before})"
        binned = f"({origin} + to_microseconds({shift}))"
        if engine == "spark":
            binned = f"timestampadd(MICROSECOND, {shift}, {origin})"
        months = raised(
            engine,
            "0A000",
            "'timestamps cannot be binned into intervals containing months or years'",
        )
        negative = raised(engine, "22008", "'stride must be greater than zero'")
        return (
            f"CASE WHEN ({stride}).months <> 0 THEN {months} WHEN {size} <= 0 THEN "
            f"{negative} ELSE {binned} END"
        )

    return computed(engine, site.arguments, body)


def truncated_interval(engine: str, unit: str, interval: str) -> str:
    """The interval without the parts smaller than ``unit``, rounded toward zero."""

    def body(x: str) -> str:
        step, div = parts(x), _div(engine)
        if unit in _MONTHS:
            return interval_struct(
                engine, f"{step.months} {div} {_MONTHS[unit]} * {_MONTHS[unit]}", "0", "0"
            )
        if unit == "day":
            return interval_struct(engine, step.months, step.days, "0")
        us = f"{step.microseconds} {div} {_TIMES[unit]} * {_TIMES[unit]}"
        return interval_struct(engine, step.months, step.days, us)

    return computed(engine, [interval], body)


_MONTHS = {
    "month": 1,
    "quarter": 3,
    **{unit: 12 * years for unit, years in (("year", 1), ("decade", 10), ("century", 100))},
    "millennium": 12_000,
}
_TIMES = {
    "microseconds": 1,
    "milliseconds": 1000,
    "second": _SECOND_US,
    "minute": _MINUTE_US,
    "hour": _HOUR_US,
}
UNITS = (*_TIMES, "day", *_MONTHS)
"""The units to which ``date_trunc`` truncates an interval."""


def _register(
    name: str,
    description: str,
    resolve: Callable[..., tuple[tuple[ScalarType, ...], ScalarType] | None],
    write: Callable[[str, Site], str],
) -> None:
    scalar(
        name,
        description,
        resolve,
        duckdb=lambda site: write("duckdb", site),
        spark=lambda site: write("spark", site),
    )


_OF_ONE = exact(((INTERVAL,), INTERVAL))
_register("justify_hours", "The interval with full 24 hours as days.", _OF_ONE, _justify_hours)
_register(
    ISO_TEXT,
    "The text of an interval as in ISO 8601.",
    exact(((INTERVAL,), TEXT)),
    lambda engine, site: _iso_text(engine, site.arguments[0]),
)
_register("justify_days", "The interval with full 30 days as months.", _OF_ONE, _justify_days)
_register(
    "justify_interval",
    "The interval with full hours, days and months, all of one sign.",
    _OF_ONE,
    _justify_interval,
)
_register(
    "age",
    "The time from the second moment to the first, in years, months, days and time.",
    exact(((TIMESTAMP, TIMESTAMP), INTERVAL), ((TIMESTAMPTZ, TIMESTAMPTZ), INTERVAL)),
    _age,
)
_register(
    "make_interval",
    "The interval of so many years, months, weeks, days, hours, minutes and seconds.",
    _make_interval_types,
    _make_interval,
)
_register(
    "date_bin",
    "The start of the bin of a given size, counted from an origin, that holds a moment.",
    exact(*(((INTERVAL, type, type), type) for type in (TIMESTAMPTZ, TIMESTAMP))),
    _date_bin,
)
