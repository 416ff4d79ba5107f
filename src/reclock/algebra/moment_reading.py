"""Dates and timestamps as PostgreSQL reads them from text."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from reclock.algebra.relations import ScalarType, TypeName
from reclock.algebra.written_moments import iso_form
from reclock.algebra.zones import UTC_CLOCK, LocalClock, numeric_offset, offset, zone_name
from reclock.errors import InvalidMoment, MomentOutOfRange, ZoneOutOfRange

BEYOND = "-?[iI][nN][fF][iI][nN][iI][tT][yY]|[0-9]+-[0-9]+-[0-9]+.* [bB][cC]"
"""A regular expression of texts of moments that PostgreSQL's types have and ours have not."""

_DATE = re.compile(r"(\d{4,})-(\d{1,2})-(\d{1,2})")
_ERA = re.compile(r"(?<=\d)\s*AD$", re.IGNORECASE)
_MOMENT = re.compile(
    r"(?P<date>\d{4,}-\d{1,2}-\d{1,2})(?:(?: +"
    r"| *T *)(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d+))?)?)?"
    r"\s*(?P<zone>[+-]\d{1,2}(?::?\d\d(?::\d\d)?)?|[A-Za-z]\w*(?:/[\w+-]+)*)?"
)


_DAY_WORD = re.compile(r"(today|tomorrow|yesterday)\b", re.IGNORECASE)
_DAYS_AHEAD = {"today": 0, "tomorrow": 1, "yesterday": -1}


def read_moment(text: str, type: ScalarType, clock: LocalClock = UTC_CLOCK) -> date | datetime:
    """The ``date``, ``timestamp`` or ``timestamptz`` that ``text`` spells. A ``timestamptz`` is in
    UTC. ``clock`` has the zone of a text that names none, and the time of ``now`` and ``today``.

    Raises ``InvalidMoment``, ``MomentOutOfRange`` and, for an unknown zone, ``InvalidOption``.
    """
    stripped = text.strip()
    if stripped.lower() == "now":
        return _now(type, clock)
    if word := _DAY_WORD.match(stripped):
        day = clock.local_now().date() + timedelta(days=_DAYS_AHEAD[word[0].lower()])
        stripped = f"{day}{stripped[word.end() :]}"
    if stripped.lower() == "epoch":
        stripped = "1970-01-01 00:00Z"
    try:
        moment, ahead = _moment(stripped)
        if type.name is TypeName.DATE:
            return moment.date()
        if type.name is TypeName.TIMESTAMP:
            return moment
        return (moment - (offset(clock.zone(), moment) if ahead is None else ahead)).replace(
            tzinfo=UTC
        )
    except (ValueError, OverflowError) as error:
        if re.fullmatch(BEYOND, stripped) or (
            (match := _matched(stripped)) and _has_zone(match["zone"])
        ):
            raise MomentOutOfRange(text) from error
        raise InvalidMoment(type.name, text) from error


def _now(type: ScalarType, clock: LocalClock) -> date | datetime:
    if type.name is TypeName.TIMESTAMPTZ:
        return clock.now()
    local = clock.local_now()
    return local.date() if type.name is TypeName.DATE else local


def _matched(text: str) -> re.Match[str] | None:
    text = _ERA.sub("", text)
    return _MOMENT.fullmatch(text) or _MOMENT.fullmatch(iso_form(text) or "")


def _moment(text: str) -> tuple[datetime, timedelta | None]:
    match = _matched(text)
    if not match or not (day := _DATE.fullmatch(match["date"])):
        raise ValueError(text)
    microseconds = round(Decimal("0." + (match["fraction"] or "0")) * 10**6)
    clock = timedelta(seconds=int(match["second"] or 0), microseconds=microseconds)
    if int(match["second"] or 0) > 60:
        raise ValueError(text)
    moment = (
        datetime(
            int(day[1]),
            int(day[2]),
            int(day[3]),
            int(match["hour"] or 0),
            int(match["minute"] or 0),
        )
        + clock
    )
    zone = match["zone"]
    if zone is None:
        return moment, None
    if zone[0] not in "+-":
        return moment, offset(zone, moment)
    ahead = numeric_offset(zone)
    if ahead is None:
        raise ZoneOutOfRange(text)
    return moment, ahead


def _has_zone(name: str | None) -> bool:
    """Whether there is no zone, an offset, or the name of a zone."""
    return name is None or name[0] in "+-" or zone_name(name) is not None
