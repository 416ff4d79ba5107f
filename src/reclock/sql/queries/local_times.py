"""Moments in the time zone of the session.

Engines know moments in UTC alone. Here a cast or call whose result depends on the zone becomes one
of local times: ``date_trunc('day', at)`` is the moment of ``date_trunc('day', local time of at)``.
In UTC nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import reduce
from typing import TypeGuard
from zoneinfo import ZoneInfo

from reclock.algebra.intervals import Interval
from reclock.algebra.relations import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    ScalarType,
    TypeName,
    array,
)
from reclock.algebra.zones import UTC_NAME, offset
from reclock.errors import UnsupportedSql
from reclock.plan.functions.casts import ZONE_AT_END
from reclock.plan.functions.documents import IN_ZONE as DOCUMENTS_IN_ZONE
from reclock.plan.functions.formats import names_zone, parts_of_zone
from reclock.plan.functions.interval_functions import ISO_TEXT
from reclock.plan.functions.moments import is_part_of_day
from reclock.plan.functions.time_zones import LOCAL_TIMES, OFFSET
from reclock.plan.functions.zoned_casts import IN_ZONE
from reclock.plan.scalars import Call, Case, Cast, Literal
from reclock.sql.queries.folding import folded
from reclock.sql.queries.planned import TypedExpr
from reclock.sql.session_zone import has_iso_intervals, is_utc, session_zone

_TIMESTAMPS, _MOMENTS = array(TIMESTAMP), array(TIMESTAMPTZ)


def zoned_cast(value: TypedExpr, target: ScalarType) -> TypedExpr:
    """``value`` cast to ``target``, as the session means it."""
    if value.type == INTERVAL and target == TEXT and has_iso_intervals():
        return Call(ISO_TEXT, (value,), TEXT)
    if is_utc() or not _depends_on_zone(value.type, target):
        return Cast(value, target)
    if value.type.is_nested or target.is_nested:
        zone = Literal(session_zone(), TEXT)
        return Call(IN_ZONE, (zone, value, Literal(None, target)), target)
    if value.type == TIMESTAMPTZ:
        if target == TEXT:
            return _text(value)
        if target in (DATE, TIME, TIMESTAMP):
            return _cast(local_time(value, session_zone()), target)
    elif value.type in (DATE, TIMESTAMP):
        return moment_of(_cast(value, TIMESTAMP), session_zone())
    elif value.type == TEXT:
        local = moment_of(Cast(value, TIMESTAMP), session_zone())
        has_zone = Call("~", (value, Literal(ZONE_AT_END, TEXT)), BOOLEAN)
        return Case(((has_zone, Cast(value, target)),), local, target)
    return Cast(value, target)


def _depends_on_zone(source: ScalarType, target: ScalarType) -> bool:
    """Whether a cast reads or writes moments, also those in arrays, maps and records."""
    if source == target:
        return False
    if source.name is TypeName.RECORD and target.name is TypeName.RECORD:
        pairs = zip(source.fields, target.fields, strict=True)
        return any(_depends_on_zone(field.type, beside.type) for field, beside in pairs)
    if source.element is not None and target.element is not None:
        return _depends_on_zone(source.element, target.element)
    return _has_moments(source) or _has_moments(target)


def _has_moments(type: ScalarType) -> bool:
    """Whether values of the type are moments, or have some in them."""
    if type.name is TypeName.RECORD:
        return any(_has_moments(field.type) for field in type.fields)
    return type == TIMESTAMPTZ if type.element is None else _has_moments(type.element)


def zoned(call: Call[TypedExpr]) -> TypedExpr | None:
    """What ``call`` means in the session's zone: of moments, the same of their local times. None if
    the zone does not matter."""
    if is_utc():
        return None
    match call:
        case Call("date_trunc" | "date_part", (word, moment)) if (
            moment.type == TIMESTAMPTZ and not isinstance(word, Literal)
        ):
            raise UnsupportedSql(
                f"{call.function} of a moment by a column is supported in UTC only",
                hint="write AT TIME ZONE after the moment",
            )
        case Call("date_trunc", (unit, moment)) if moment.type == TIMESTAMPTZ:
            zone = session_zone()
            local = local_time(moment, zone)
            return truncated(unit, moment, local, lambda start: moment_of(start, zone))
        case Call("extract" | "date_part", (Literal("epoch"), _)):
            return None
        case Call("extract" | "date_part", (Literal(str() as field), moment)) if (
            field.lower().startswith("timezone") and moment.type == TIMESTAMPTZ
        ):
            return Cast(_ahead(field.lower(), moment, session_zone()), call.type)
        case Call("extract" | "date_part" as name, (field, moment)) if moment.type == TIMESTAMPTZ:
            return Call(name, (field, local_time(moment, session_zone())), call.type)
        case Call("to_char", (moment, format)) if moment.type == TIMESTAMPTZ:
            return _formatted(moment, format, session_zone())
        case Call("to_timestamp", (_, format)) if not (
            _is_text(format) and names_zone(format.value)
        ):
            return moment_of(local_time(call, UTC_NAME), session_zone())
        case Call("age", (end, start)) if end.type == start.type == TIMESTAMPTZ:
            zone = session_zone()
            return replace(call, arguments=(local_time(end, zone), local_time(start, zone)))
        case Call("series", (start, end, step)) if _are_shifted(start, step):
            zone = session_zone()
            first = local_time(start, zone)
            series: TypedExpr = Call("series", (first, local_time(end, zone), step), _TIMESTAMPS)
            return Call(LOCAL_TIMES, (Literal(zone, TEXT), series, first, start), _MOMENTS)
        case Call("+" | "-" as sign, (moment, interval)) if _are_shifted(moment, interval):
            return _shifted(sign, moment, interval)
        case Call("+", (interval, moment)) if _are_shifted(moment, interval):
            return _shifted("+", moment, interval)
        case Call("array_to_string", (items, *others)) if _has_moments(items.type):
            return replace(call, arguments=(zoned_cast(items, array(TEXT)), *others))
        case Call(name, values) if name in DOCUMENTS_IN_ZONE and any(
            _has_moments(value.type) for value in values
        ):
            named = (Literal(session_zone(), TEXT), *values)
            return Call(DOCUMENTS_IN_ZONE[name], named, call.type)
        case _:
            return None


def _ahead(field: str, moment: TypedExpr, zone: str) -> TypedExpr:
    """How far the zone is ahead of UTC at the moment, in seconds, or the hours or minutes of it."""
    epochs = (
        Call("date_part", (Literal("epoch", TEXT), at), DOUBLE)
        for at in (local_time(moment, zone), moment)
    )
    seconds: TypedExpr = Cast(Call("-", tuple(epochs), DOUBLE), INTEGER)
    if field == "timezone":
        return seconds
    hours: TypedExpr = Call("/", (seconds, Literal(3600, INTEGER)), INTEGER)
    if field == "timezone_hour":
        return hours
    minutes: TypedExpr = Call("/", (seconds, Literal(60, INTEGER)), INTEGER)
    return Call("%", (minutes, Literal(60, INTEGER)), INTEGER)


def _is_text(format: TypedExpr) -> TypeGuard[Literal]:
    return isinstance(format, Literal) and format.value is not None


def _are_shifted(moment: TypedExpr, interval: TypedExpr) -> bool:
    return moment.type == TIMESTAMPTZ and interval.type == INTERVAL and not _is_time(interval)


def local_time(moment: TypedExpr, zone: str) -> TypedExpr:
    """The ``timestamp`` that clocks of the zone show at a ``timestamptz``."""
    if isinstance(moment, Literal):
        at = moment.value
        local = None if at is None else at.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        return Literal(local, TIMESTAMP)
    return Call("timezone", (Literal(zone, TEXT), moment), TIMESTAMP)


def moment_of(local: TypedExpr, zone: str) -> TypedExpr:
    """The ``timestamptz`` at which clocks of the zone show a ``timestamp``; the later one if there
    are two."""
    if isinstance(local, Literal):
        at = local.value
        moment = None if at is None else (at - offset(zone, at)).replace(tzinfo=UTC)
        return Literal(moment, TIMESTAMPTZ)
    return Call("timezone", (Literal(zone, TEXT), local), TIMESTAMPTZ)


def truncated(
    unit: TypedExpr,
    moment: TypedExpr,
    local: TypedExpr,
    moment_at: Callable[[TypedExpr], TypedExpr],
) -> TypedExpr:
    """The moment at which the unit of the ``local`` time of a moment began. ``moment_at`` is that of
    a local time.

    What is smaller than a day is taken off the moment, because the local time at which an hour begins
    may be there twice.
    """
    start = Call("date_trunc", (unit, local), TIMESTAMP)
    if isinstance(unit, Literal) and is_part_of_day(unit.value):
        return Call("-", (moment, Call("-", (local, start), INTERVAL)), TIMESTAMPTZ)
    return moment_at(start)


def _shifted(sign: str, moment: TypedExpr, interval: TypedExpr) -> TypedExpr:
    """The moment later (``+``) or earlier (``-``): by the interval's months and days as a calendar of
    the zone counts them, and then by its time."""
    if isinstance(interval, Literal):
        by = interval.value
        later = _days_later(sign, moment, Literal(Interval(by.months, by.days), INTERVAL))
        time: TypedExpr = Literal(Interval(0, 0, by.microseconds), INTERVAL)
    else:
        days: TypedExpr = Call("date_trunc", (Literal("day", TEXT), interval), INTERVAL)
        time = Call("-", (interval, days), INTERVAL)
        # a moment that is one of two with this local time would become the later one
        has_none: TypedExpr = Call("=", (Cast(days, TEXT), Literal(str(Interval()), TEXT)), BOOLEAN)
        later = Case(((has_none, moment),), _days_later(sign, moment, days), TIMESTAMPTZ)
    return folded(Call(sign, (later, time), TIMESTAMPTZ))


def _is_time(interval: TypedExpr) -> bool:
    """Whether the interval is a constant without days and months."""
    return isinstance(interval, Literal) and (
        interval.value is None or not (interval.value.months or interval.value.days)
    )


def _days_later(sign: str, moment: TypedExpr, days: TypedExpr) -> TypedExpr:
    zone = session_zone()
    return moment_of(folded(Call(sign, (local_time(moment, zone), days), TIMESTAMP)), zone)


def _cast(value: TypedExpr, target: ScalarType) -> TypedExpr:
    """A cast between moments without a zone."""
    if value.type == target:
        return value
    if isinstance(value, Literal) and value.value is not None:
        if target == DATE:
            return Literal(value.value.date(), DATE)
        if target == TIMESTAMP:
            return Literal(datetime.combine(value.value, datetime.min.time()), TIMESTAMP)
    return Cast(value, target)


def _text(moment: TypedExpr) -> TypedExpr:
    local = local_time(moment, session_zone())
    ahead = Call(OFFSET, (local, moment), TEXT)
    return Call("concat", (Cast(local, TEXT), ahead), TEXT)


def _formatted(moment: TypedExpr, format: TypedExpr, zone: str) -> TypedExpr:
    """``to_char``. The parts of the format that name the zone are computed beside the others."""
    local = local_time(moment, zone)
    if not (_is_text(format) and names_zone(format.value)):
        return Call("to_char", (local, format), TEXT)
    written: list[TypedExpr] = []
    for part, is_zone in parts_of_zone(format.value):
        if is_zone:
            ahead = Call(OFFSET, (local, moment), TEXT)
            written.append(_offset_part(part, ahead))
        else:
            written.append(Call("to_char", (local, Literal(part, TEXT)), TEXT))
    return reduce(lambda left, right: Call("concat", (left, right), TEXT), written)


def _offset_part(pattern: str, ahead: TypedExpr) -> TypedExpr:
    """What ``OF``, ``TZH`` or ``TZM`` shows of an offset such as ``+05:30``."""
    match pattern.upper():
        case "OF":
            return ahead
        case "TZH":
            return Call("left", (ahead, Literal(3, INTEGER)), TEXT)
        case "TZM":
            minutes = Call("substring", (ahead, Literal(5, INTEGER), Literal(2, INTEGER)), TEXT)
            return Call("rpad", (minutes, Literal(2, INTEGER), Literal("0", TEXT)), TEXT)
        case _:
            raise UnsupportedSql(
                f'the pattern "{pattern}" is supported in UTC only',
                hint="TZH and TZM show the offset of the time zone",
            )
