"""``time`` in the engines' SQL: a text, of which the functions take the microseconds since
midnight."""

from __future__ import annotations

from reclock.algebra.intervals import DAY_US
from reclock.algebra.relations import DOUBLE, INTEGER, TIME, TypeName
from reclock.plan.functions.interval_functions import clock
from reclock.plan.functions.intervals import computed, parts
from reclock.plan.functions.registry import Site, Writer, scalar
from reclock.plan.functions.sql_names import interval_struct, raised
from reclock.plan.functions.typing import exact


def microseconds(time: str) -> str:
    """The microseconds since midnight of a time whose SQL can be written several times."""
    hours, minutes, seconds = (
        f"CAST(substring({time}, {start}, 2) AS BIGINT)" for start in (1, 4, 7)
    )
    fraction = f"CAST(rpad(substring({time}, 10), 6, '0') AS BIGINT)"
    return f"((({hours} * 60 + {minutes}) * 60 + {seconds}) * 1000000 + {fraction})"


def of_interval(engine: str, interval: str) -> str:
    """The time of day that an interval's time is, counted from midnight."""
    return computed(engine, [interval], lambda x: _of_day(engine, parts(x).microseconds))


def _of_day(engine: str, elapsed: str) -> str:
    day = DAY_US
    return computed(
        engine, [f"(({elapsed}) % {day} + {day}) % {day}"], lambda us: clock(engine, us)
    )


def rounded(engine: str, time: str, digits: str) -> str:
    """The time with so many digits after the seconds, up to 24:00."""
    division = "//" if engine == "duckdb" else "DIV"

    def body(time: str, digits: str) -> str:
        step = f"CAST(power(10, 6 - {digits}) AS BIGINT)"
        us = f"({microseconds(time)} + {step} {division} 2) {division} {step} * {step}"
        return computed(engine, [f"({us})"], lambda us: clock(engine, us))

    return computed(engine, [time, digits], body)


def to_interval(engine: str, time: str) -> str:
    return computed(engine, [time], lambda x: interval_struct(engine, "0", "0", microseconds(x)))


def of_moment(engine: str, moment: str) -> str:
    """The time of day of a moment, in UTC if it has a zone."""
    since_day = f"(epoch_us({moment}) % {DAY_US})"
    if engine == "spark":
        since_day = f"(unix_micros(CAST({moment} AS TIMESTAMP)) % {DAY_US})"
    return computed(engine, [since_day], lambda us: _of_day(engine, us))


def write_arithmetic(engine: str, operator: str, site: Site) -> str:
    """``date + time``, ``time - time``, and ``time ± interval`` within the day."""
    names = [type.name for type in site.types]
    if TypeName.DATE in names:
        ordered = site.arguments if names[0] is TypeName.DATE else site.arguments[::-1]
        return computed(engine, ordered, lambda day, time: _moment(engine, day, time))
    if names[0] is names[1]:

        def elapsed(end: str, start: str) -> str:
            us = f"{microseconds(end)} - {microseconds(start)}"
            return interval_struct(engine, "0", "0", us)

        return computed(engine, site.arguments, elapsed)
    ordered = site.arguments if names[0] is TypeName.TIME else site.arguments[::-1]

    def shifted(time: str, step: str) -> str:
        us = f"{microseconds(time)} {operator} {parts(step).microseconds} % {DAY_US}"
        return _of_day(engine, us)

    return computed(engine, ordered, shifted)


def _moment(engine: str, day: str, time: str) -> str:
    if engine == "spark":
        return f"timestampadd(MICROSECOND, {microseconds(time)}, CAST({day} AS TIMESTAMP_NTZ))"
    return f"(CAST({day} AS TIMESTAMP) + to_microseconds({microseconds(time)}))"


def _make_time(engine: str) -> Writer:
    def body(hour: str, minute: str, second: str) -> str:
        rounded = (
            f"CAST(round_even({second} * 1000000, 0) AS BIGINT)"
            if engine == "duckdb"
            else f"CAST(rint({second} * 1000000) AS BIGINT)"
        )
        us = f"((CAST({hour} AS BIGINT) * 60 + {minute}) * 60000000 + {rounded})"
        error = raised(
            engine,
            "22008",
            f"'time field value out of range: ', {hour}, ':', {minute}, ':', {second}",
        )
        return (
            f"CASE WHEN {hour} < 0 OR {minute} NOT BETWEEN 0 AND 59 OR NOT ({second} >= 0 AND "
            f"{second} <= 60) OR {us} > {DAY_US} THEN {error} ELSE {clock(engine, us)} END"
        )

    return lambda site: computed(engine, site.arguments, body)


scalar(
    "make_time",
    "The time of an hour, a minute and seconds.",
    exact(((INTEGER, INTEGER, DOUBLE), TIME)),
    duckdb=_make_time("duckdb"),
    spark=_make_time("spark"),
)
