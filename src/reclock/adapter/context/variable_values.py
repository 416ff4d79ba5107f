"""Values of session variables: what may be set, and its normal form.

A check returns the value to store, or raises ``ValueError`` with the values that are allowed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from decimal import Decimal
from functools import lru_cache

from reclock.algebra.byte_sizes import BYTE_UNITS, bytes_of
from reclock.algebra.zones import UTC_NAME, fixed_offset, session_zone_name
from reclock.sql.names import quote

STRICT_SERIALIZABLE = "strict serializable"
SERIALIZABLE = "serializable"
_WEAKER_LEVELS = ("read uncommitted", "read committed", "repeatable read")
SEARCH_PATH = "search_path"


def one_of(*values: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        folded = value.lower()
        if folded not in values:
            raise ValueError(f"one of {', '.join(values)}")
        return folded

    return check


isolation_level = one_of(STRICT_SERIALIZABLE, SERIALIZABLE, *_WEAKER_LEVELS)


def is_strict(level: str) -> bool:
    """Whether a level of isolation has the guarantees of strict serializability. Levels that are
    weaker than serializable have them, as the SQL standard allows."""
    return level != SERIALIZABLE


def standard_level(level: str) -> str:
    """A level of the SQL standard that means ``level``: clients know only these."""
    return "read committed" if level == STRICT_SERIALIZABLE else level


def always(value: str, *same: str) -> Callable[[str], str]:
    """Accepts only spellings of the one value of a variable that cannot be changed."""
    spellings = {spelling.lower().replace(" ", "") for spelling in (value, *same)}

    def check(text: str) -> str:
        if text.lower().replace(" ", "").strip("'") not in spellings:
            raise ValueError(f"it is always {value}")
        return value

    return check


def client_encoding(text: str) -> str:
    """Accepts PostgreSQL's names of UTF-8, and ``SQL_ASCII``, by which bytes stay as they are."""
    name = "".join(filter(str.isalnum, text.lower()))
    if name not in ("utf8", "unicode", "sqlascii"):
        raise ValueError(
            "texts are in UTF8: set the environment variable PGCLIENTENCODING=UTF8 for psql and "
            "other clients of libpq, which on Windows ask for the code page"
        )
    return "SQL_ASCII" if name == "sqlascii" else "UTF8"


_MONTH_FIRST = frozenset({"iso", "mdy", "us", "noneuro", "noneuropean"})


def date_style(text: str) -> str:
    """Accepts PostgreSQL's words for ISO 8601 and for reading the month before the day."""
    words = {word for word in re.split(r"[\s,']+", text.lower()) if word}
    if not words or not words <= _MONTH_FIRST:
        raise ValueError("it is always ISO, MDY: write dates as in 2024-01-31")
    return "ISO, MDY"


_TIME_UNITS = {
    "us": Decimal("0.001"),
    "ms": Decimal(1),
    "s": Decimal(1000),
    "min": Decimal(60_000),
    "h": Decimal(3_600_000),
    "d": Decimal(86_400_000),
}


@lru_cache(maxsize=256)
def milliseconds_of(value: str) -> int:
    """The value of a setting in milliseconds. Raises ``ValueError``."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,9})?)\s*([a-z]*)", value.strip())
    if match is None or (match[2] and match[2] not in _TIME_UNITS):
        raise ValueError("milliseconds, or a number with us, ms, s, min, h or d after it")
    return round(Decimal(match[1]) * _TIME_UNITS[match[2] or "ms"])


def milliseconds(value: str) -> str:
    return _with_unit(milliseconds_of(value), _SHOWN_TIME_UNITS)


_SHOWN_TIME_UNITS = {unit: int(ms) for unit, ms in _TIME_UNITS.items() if ms >= 1}


def _with_unit(value: int, units: Mapping[str, int]) -> str:
    """``value`` as PostgreSQL shows a setting: in the largest unit in which it is whole. ``units``
    are ascending."""
    if value == 0:
        return "0"
    unit = max((unit for unit in units if value % units[unit] == 0), key=units.__getitem__)
    return f"{value // units[unit]}{unit}"


def positive(value: str) -> str:
    if re.fullmatch(r"\d{1,9}", value.strip()) is None or int(value) == 0:
        raise ValueError("a whole number from 1 to 999999999")
    return str(int(value))


def time_zone(value: str) -> str:
    """The name of the zone. A number is an offset from UTC in whole hours; ``+02:00`` and ``UTC+2``
    are POSIX's names of a zone behind UTC."""
    name = value.strip("'")
    ahead = None
    if re.fullmatch(r"[-+]?\d{1,2}(\.0*)?", name):
        ahead = timedelta(hours=round(float(name)))
    elif name.lower().replace(" ", "") in _UTC_NAMES:
        name = UTC_NAME
    elif name[-1:].isdigit():
        ahead = fixed_offset(name)
    if ahead is not None and not ahead % timedelta(hours=1):
        hours = ahead // timedelta(hours=1)
        name = f"Etc/GMT{-hours:+d}" if hours else UTC_NAME
    if (zone := session_zone_name(name)) is None:
        raise ValueError("one of pg_timezone_names, such as Europe/Berlin, or hours ahead of UTC")
    return zone


_UTC_NAMES = ("local", "default", "00:00", "+00:00", "gmt", "etc/utc")
"""Other names of UTC, which is also the zone of the server."""


USER_SCHEMA = "$user"
_SCHEMA = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^",]*?))\s*(,|$)')


@lru_cache(maxsize=256)
def schemas_of(path: str) -> tuple[str, ...]:
    """The schemas that a search path names, in their order. A name without quotes folds to lower
    case. Raises ``ValueError``."""
    names, at = [], 0
    while path.strip():
        match = _SCHEMA.match(path, at)
        if match is None:
            raise ValueError("names of schemas, separated by commas")
        quoted, plain, comma = match.groups()
        names.append(plain.lower() if quoted is None else quoted.replace('""', '"'))
        if not comma:
            break
        at = match.end()
    return tuple(name for name in names if name)


def search_path(value: str) -> str:
    return ", ".join(map(quote, schemas_of(value)))


def text_of_values(name: str, values: Iterable[str]) -> str:
    """The text of what a statement sets a variable to, such as ``SET name = a, b``."""
    return ", ".join(map(quote, values)) if name.lower() == SEARCH_PATH else ",".join(values)


def on_or_off(value: str) -> str:
    if value.lower() not in ("on", "off", "true", "false", "yes", "no", "1", "0"):
        raise ValueError("on or off")
    return "on" if value.lower() in ("on", "true", "yes", "1") else "off"


def byte_size(value: str) -> str:
    return _with_unit(bytes_of(value), BYTE_UNITS)
