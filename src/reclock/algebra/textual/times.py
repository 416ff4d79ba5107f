"""``time``: hours, minutes, seconds and, if there is one, a fraction, as PostgreSQL prints it.

The text of an earlier time is smaller: a fraction only makes a text longer.
"""

from __future__ import annotations

import re
import struct
from decimal import Decimal

from reclock.algebra.intervals import DAY_US, Interval, interval_text
from reclock.algebra.relations import TIME
from reclock.algebra.textual.description import TextualType
from reclock.errors import InvalidMoment, MomentOutOfRange

_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{0,2})(?::(?P<second>\d{0,2}(?:\.\d*)?))?"
_OF_AN_HOUR = r"(?P<minute>\d{1,2}):(?P<second>\d{1,2}\.\d+)"
_DIGITS = r"(?P<hour>\d{2})(?P<minute>\d{2})(?P<second>\d{2}(?:\.\d*)?)?"
_REST = (
    r"(?:\s*(?P<half>[aApP][mM]))?\s*(?:[zZ]|[uU][tT][cC]|[gG][mM][tT]|[+-]\d{1,2}(?::?\d{2})?)?"
)
_DAY = r"(?:\d{4,}-\d{1,2}-\d{1,2}[ ]+|[tT])?"
_FORMS = [
    re.compile(rf"\s*{_DAY}{form}{_REST}\s*", re.ASCII) for form in (_CLOCK, _OF_AN_HOUR, _DIGITS)
]
"""What PostgreSQL reads: also a day before, and a zone behind, which do not count."""


def normal_form(text: str) -> str:
    """Raises ``InvalidMoment`` and ``MomentOutOfRange``."""
    if text.strip().lower() == "allballs":
        return time_text(0)
    for form in _FORMS:
        if (match := form.fullmatch(text)) is not None:
            return time_text(_microseconds(match, text))
    raise InvalidMoment(TIME.name.value.split()[0], text)


def _microseconds(match: re.Match[str], text: str) -> int:
    parts = match.groupdict()
    hour, minute = int(parts.get("hour") or 0), int(parts["minute"] or 0)
    second = Decimal((parts["second"] or "").rstrip(".") or "0")
    if parts["half"]:
        if hour > 12:
            raise MomentOutOfRange(text)
        hour = hour % 12 + (12 if parts["half"].lower() == "pm" else 0)
    microseconds = (hour * 60 + minute) * 60_000_000 + round(second * 1_000_000)
    if minute > 59 or second >= 61 or microseconds > DAY_US:
        raise MomentOutOfRange(text)
    return microseconds


def time_text(microseconds: int) -> str:
    """The time so long after midnight, up to 24:00."""
    return interval_text(Interval(0, 0, microseconds))


def round_time(text: str, digits: int) -> str:
    """The nearest time with so many digits after the seconds."""
    step = 10 ** (6 - digits)
    return time_text((_elapsed(text) + step // 2) // step * step)


def _elapsed(text: str) -> int:
    """The microseconds since midnight of a time in normal form."""
    hour, minute, second = text.split(":")
    return (int(hour) * 60 + int(minute)) * 60_000_000 + int(Decimal(second) * 1_000_000)


def _to_binary(text: str) -> bytes:
    return struct.pack("!q", _elapsed(text))


def _from_binary(raw: bytes) -> str:
    (microseconds,) = struct.unpack("!q", raw)
    if not 0 <= microseconds <= DAY_US:
        raise ValueError("time out of range")
    return time_text(microseconds)


TIMES = TextualType(
    TIME,
    oid=1083,
    array_oid=1183,
    size=8,
    category="D",
    functions=(1143, 1144, 2470, 2471),
    normal_form=normal_form,
    to_binary=_to_binary,
    from_binary=_from_binary,
    has_extremes=True,
)
