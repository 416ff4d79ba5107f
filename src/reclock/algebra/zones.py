"""Names of time zones, as PostgreSQL reads them: of the IANA database, or abbreviations."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from reclock.errors import InvalidOption, UnsupportedSql

UTC_NAME = "UTC"


@dataclass(frozen=True, slots=True)
class LocalClock:
    """What a text of a moment leaves to its reader, asked for where it matters."""

    zone: Callable[[], str]
    """The name of the time zone of a text that names none."""
    now: Callable[[], datetime]
    """The time that ``now`` and ``today`` mean. May raise ``UnsupportedSql``."""

    def local_now(self) -> datetime:
        """The time that clocks of the zone show."""
        return self.now().astimezone(ZoneInfo(self.zone())).replace(tzinfo=None)


def no_time() -> datetime:
    """The time of a reader who has none: of a definition, which means the same at all times."""
    raise UnsupportedSql(
        "now, today, tomorrow and yesterday are not supported as constants here",
        detail="their value depends on who asks and when",
        hint="call now(), or write a constant date",
    )


UTC_CLOCK = LocalClock(lambda: UTC_NAME, no_time)


_HOURS_OF_ABBREVIATIONS = {
    "acst": 9.5,
    "acdt": 10.5,
    "adt": -3,
    "aedt": 11,
    "aest": 10,
    "akdt": -8,
    "akst": -9,
    "ast": -4,
    "awst": 8,
    "bst": 1,
    "cdt": -5,
    "cest": 2,
    "cet": 1,
    "cst": -6,
    "eat": 3,
    "edt": -4,
    "eest": 3,
    "eet": 2,
    "est": -5,
    "gmt": 0,
    "hkt": 8,
    "hst": -10,
    "idt": 3,
    "ist": 2,
    "jst": 9,
    "kst": 9,
    "mdt": -6,
    "mest": 2,
    "met": 1,
    "msd": 4,
    "mst": -7,
    "ndt": -2.5,
    "nst": -3.5,
    "nzdt": 13,
    "nzst": 12,
    "pdt": -7,
    "pkt": 5,
    "pst": -8,
    "sast": 2,
    "uct": 0,
    "ut": 0,
    "utc": 0,
    "west": 1,
    "wet": 0,
    "z": 0,
    "zulu": 0,
}
"""Those of PostgreSQL's default abbreviations that are in use. Summer time has its own."""
_ALIASES = {"msk": "Europe/Moscow", "sgt": "Asia/Singapore"}
"""Abbreviations whose meaning has changed over the years."""


@lru_cache(maxsize=1)
def zones() -> Mapping[str, str]:
    """The time zones by their names in small letters, as the IANA database spells them."""
    others = ("posix/", "right/", "localtime", "Factory", "ROC")
    return {
        name.lower(): name for name in sorted(available_timezones()) if not name.startswith(others)
    }


_NUMERIC = re.compile(r"([+-])(\d{1,2})(?::?(\d\d)(?::(\d\d))?)?", re.ASCII)
_POSIX = re.compile(
    r"(?:[A-Za-z]+|<[\w+-]+>)?([+-]?)(\d{1,3})(?::(\d{1,2})(?::(\d{1,2}))?)?", re.ASCII
)
_MOST_HOURS_AHEAD = 15
"""PostgreSQL reads no larger offset of a moment."""


def numeric_offset(zone: str) -> timedelta | None:
    """How far ahead of UTC ``+05:30`` is, after a moment; None if no zone is so far."""
    match = _NUMERIC.fullmatch(zone)
    if match is None or int(match[2]) > _MOST_HOURS_AHEAD:
        return None
    hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:])
    if minutes > 59 or seconds > 59:
        return None
    ahead = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return -ahead if match[1] == "-" else ahead


def fixed_offset(name: str) -> timedelta | None:
    """How far ahead of UTC a zone is that never changes: an abbreviation, or an offset as POSIX
    writes it, ``+5`` or ``UTC+5``, which is what must be added to get UTC. None for others."""
    if (hours := _HOURS_OF_ABBREVIATIONS.get(name.lower())) is not None:
        return timedelta(hours=hours)
    match = _POSIX.fullmatch(name)
    if match is None or name.lower() in zones():
        return None
    hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:])
    if hours > _MOST_POSIX_HOURS or minutes > 59 or seconds > 59:
        return None
    behind = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return behind if match[1] == "-" else -behind


_MOST_POSIX_HOURS = 167


def zone_name(name: str) -> str | None:
    """The name by which every engine knows the zone, or None if there is none of this name."""
    hours = _HOURS_OF_ABBREVIATIONS.get(name.lower())
    if hours is None:
        return _ALIASES.get(name.lower()) or zones().get(name.lower())
    if hours % 1:
        return None
    return f"Etc/GMT{-int(hours):+d}" if hours else UTC_NAME


def known_zone(name: str) -> str:
    """As ``zone_name``. Raises ``InvalidOption`` if there is none."""
    return _require_zone(name, zone_name(name))


def session_zone_name(name: str) -> str | None:
    """As ``zone_name`` of a zone that a session is in: no abbreviation, so that ``CET`` has summer
    time there."""
    if name.lower() not in zones():
        return None
    return _ALSO_ABBREVIATIONS.get(name.lower()) or zone_name(name)


def known_session_zone(name: str) -> str:
    """As ``session_zone_name``. Raises ``InvalidOption`` if there is none."""
    return _require_zone(name, session_zone_name(name))


_ALSO_ABBREVIATIONS = {
    "cet": "Europe/Brussels",
    "eet": "Europe/Athens",
    "met": "Europe/Brussels",
    "wet": "Europe/Lisbon",
}
"""Zones with summer time, the IANA database's other names of cities, that are called as their
winter time."""


def _require_zone(name: str, zone: str | None) -> str:
    if zone is None:
        raise InvalidOption(
            f'time zone "{name}" not recognized',
            hint="one of pg_timezone_names, such as Europe/Berlin",
        )
    return zone


def offset(name: str, local: datetime) -> timedelta:
    """How far the zone is ahead of UTC at a local time. Raises ``ValueError`` or ``InvalidOption``
    for an unknown name.

    A local time that is skipped counts as before the change, or, for an abbreviation, as after it;
    one that is there twice counts as the later.
    """
    if (hours := _HOURS_OF_ABBREVIATIONS.get(name.lower())) is not None:
        return timedelta(hours=hours)
    canonical_name = zone_name(name)
    if canonical_name is None and "/" in name:
        raise InvalidOption(f'time zone "{name.lower()}" not recognized')
    if canonical_name is None:
        raise ValueError(name)
    zone = ZoneInfo(canonical_name)
    folds = (1,) if name.lower() in _ALIASES else (0, 1)
    offsets = [local.replace(tzinfo=zone, fold=fold).utcoffset() for fold in folds]
    return min(ahead for ahead in offsets if ahead is not None)
