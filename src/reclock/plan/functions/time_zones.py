"""Moments and the local times of time zones."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial

from reclock.algebra.intervals import Interval
from reclock.algebra.relations import (
    INTERVAL,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    ScalarType,
    TypeName,
    array,
)
from reclock.algebra.zones import fixed_offset, known_zone, zone_name
from reclock.errors import InvalidOption, UnsupportedSql
from reclock.plan.functions import intervals
from reclock.plan.functions.interval_functions import clock
from reclock.plan.functions.registry import Site, Types, Writer, scalar
from reclock.plan.functions.sql_names import case_sql, each_element, type_sql
from reclock.plan.functions.typing import exact


def _zone(name: object) -> str | timedelta:
    """The time zone that a constant names, or how far ahead of UTC it always is. Raises
    ``InvalidOption`` if it does not exist, ``UnsupportedSql`` if it is not a constant."""
    if isinstance(name, Interval):
        if name.months or name.days:
            raise InvalidOption("an interval that is a time zone has neither months nor days")
        return timedelta(seconds=int(name.microseconds / 10**6))
    if not isinstance(name, str):
        raise UnsupportedSql("a time zone that is not a constant is not supported")
    ahead = fixed_offset(name) if zone_name(name) is None else None
    return known_zone(name) if ahead is None else ahead


def _timezone(
    types: Types, constants: Mapping[int, object]
) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
    """The local time of a moment, or the moment of a local time. Text counts as a moment, as in
    PostgreSQL."""
    if 0 in constants:
        _zone(constants[0])
    local, moment = ((TIMESTAMPTZ,), TIMESTAMP), ((TIMESTAMP,), TIMESTAMPTZ)
    return exact(
        *(((zone, *of), result) for zone in (TEXT, INTERVAL) for of, result in (local, moment))
    )(types, constants)


def _shifted(engine: str, site: Site, ahead: timedelta) -> str:
    """The moment or local time, of a zone that is always so far ahead of UTC."""
    sign = 1 if site.result.name is TypeName.TIMESTAMP else -1
    by = sign * ahead // timedelta(microseconds=1)
    if engine == "duckdb":
        return f"({site.arguments[1]} + to_microseconds({by}))"
    us = f"unix_micros(CAST({site.arguments[1]} AS TIMESTAMP)) + {by}"
    return f"CAST(timestamp_micros({us}) AS {type_sql(engine, site.result)})"


def _timezone_of_duckdb(site: Site) -> str:
    """A moment is a timestamp of UTC there."""
    zone = _zone(site.constants.get(0))
    if isinstance(zone, timedelta):
        return _shifted("duckdb", site, zone)
    ends = "UTC", zone
    source, target = ends if site.result.name is TypeName.TIMESTAMP else reversed(ends)
    return f"timezone('{target}', timezone('{source}', {site.arguments[1]}))"


def _timezone_of_spark(site: Site) -> str:
    """Of a local time that was there twice PostgreSQL means the later moment, Spark the earlier:
    the offset of the day after makes a second candidate, which is right if it has that local
    time."""
    zone, value = _zone(site.constants.get(0)), site.arguments[1]
    if isinstance(zone, timedelta):
        return _shifted("spark", site, zone)
    if site.result.name is TypeName.TIMESTAMP:
        return f"CAST(from_utc_timestamp({value}, '{zone}') AS TIMESTAMP_NTZ)"
    return intervals.computed("spark", [value], partial(_moment_of_spark, zone))


def _moment_of_spark(zone: str, value: str) -> str:
    local = f"CAST({value} AS TIMESTAMP)"
    earlier = f"to_utc_timestamp({local}, '{zone}')"
    day_after = f"timestamp_micros(unix_micros({earlier}) + 86400000000)"
    offset = f"(unix_micros(from_utc_timestamp({day_after}, '{zone}')) - unix_micros({day_after}))"
    later = f"timestamp_micros(unix_micros({local}) - {offset})"
    is_later = f"from_utc_timestamp({later}, '{zone}') = {local}"
    return case_sql("spark", f" WHEN {is_later} THEN {later} ELSE {earlier}")


scalar(
    "timezone",
    "The local time of a moment in a time zone, or the moment of a local time.",
    _timezone,
    duckdb=_timezone_of_duckdb,
    spark=_timezone_of_spark,
)

_TIMEZONE = {"duckdb": _timezone_of_duckdb, "spark": _timezone_of_spark}


def local_time(engine: str, moment: str, zone: str) -> str:
    """The ``timestamp`` that clocks of the zone show at a ``timestamptz``."""
    return _TIMEZONE[engine](Site(("", moment), (TEXT, TIMESTAMPTZ), TIMESTAMP, {0: zone}))


def moment_of(engine: str, local: str, zone: str) -> str:
    """The ``timestamptz`` at which clocks of the zone show a ``timestamp``."""
    return _TIMEZONE[engine](Site(("", local), (TEXT, TIMESTAMP), TIMESTAMPTZ, {0: zone}))


LOCAL_TIMES = "moments of local times"


def _each_moment(of_one: Writer, engine: str) -> Writer:
    def write(site: Site) -> str:
        one = of_one(Site(("", "e"), (TEXT, TIMESTAMP), TIMESTAMPTZ, site.constants))
        _, local_times, local, moment = site.arguments
        return each_element(
            engine, local_times, f"CASE WHEN e = {local} THEN {moment} ELSE {one} END"
        )

    return write


scalar(
    LOCAL_TIMES,
    "The moments at which clocks of a time zone show the timestamps of an array. Of one of these the "
    "moment is known: it may be there twice.",
    exact(((TEXT, array(TIMESTAMP), TIMESTAMP, TIMESTAMPTZ), array(TIMESTAMPTZ))),
    duckdb=_each_moment(_timezone_of_duckdb, "duckdb"),
    spark=_each_moment(_timezone_of_spark, "spark"),
)


OFFSET = "offset from UTC"


def offset(engine: str, local: str, moment: str) -> str:
    """``+01``, ``-03:30``, ``+00:53:28``: how far a local time is ahead of UTC at its moment."""

    def body(local: str, moment: str) -> str:
        us = f"(epoch_us({local}) - epoch_us({moment}))"
        if engine == "spark":
            us = f"(unix_micros(CAST({local} AS TIMESTAMP)) - unix_micros({moment}))"
        sign = f"CASE WHEN {us} < 0 THEN '-' ELSE '+' END"
        digits = f"regexp_replace({clock(engine, f'abs({us})')}, '(:00)?:00$', '')"
        return f"concat({sign}, {digits})"

    return intervals.computed(engine, [local, moment], body)


scalar(
    OFFSET,
    "How far a local time is ahead of UTC at its moment, as it is written after it.",
    exact(((TIMESTAMP, TIMESTAMPTZ), TEXT)),
    duckdb=lambda site: offset("duckdb", *site.arguments),
    spark=lambda site: offset("spark", *site.arguments),
)
