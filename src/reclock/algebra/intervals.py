"""PostgreSQL's intervals: months, days and microseconds, which do not add up to each other."""

from __future__ import annotations

import calendar
from datetime import datetime, timedelta
from typing import Any, NamedTuple

_SECOND_US, _MINUTE_US, _HOUR_US = 10**6, 60 * 10**6, 3600 * 10**6
DAY_US = 24 * _HOUR_US
DAYS_PER_MONTH = 30
"""Where months are compared with days, and where a fraction of a month becomes days."""


class Interval(NamedTuple):
    """Equal only if all parts are; SQL compares by ``span_us``. Arrow takes it for a struct."""

    months: int = 0
    days: int = 0
    microseconds: int = 0

    @property
    def span_us(self) -> int:
        """What SQL compares: microseconds, with months of 30 days and days of 24 hours."""
        return (self.months * DAYS_PER_MONTH + self.days) * DAY_US + self.microseconds

    def __neg__(self) -> Interval:
        return Interval(-self.months, -self.days, -self.microseconds)

    def __add__(self, other: Interval) -> Interval:  # type: ignore[override]
        return Interval(
            self.months + other.months,
            self.days + other.days,
            self.microseconds + other.microseconds,
        )

    def __str__(self) -> str:
        return interval_text(self)

    def fits(self) -> bool:
        """Whether the parts are in the range of PostgreSQL: 32, 32 and 64 bits."""
        parts = ((self.months, 31), (self.days, 31), (self.microseconds, 63))
        return all(-(2**bits) <= part < 2**bits for part, bits in parts)


def interval_of(value: Any) -> Interval:
    """The interval that an Arrow struct of its parts became in Python."""
    return value if isinstance(value, Interval) else Interval(**value)


def between(start: datetime, end: datetime) -> Interval:
    """``end - start`` in days and microseconds of one sign."""
    difference = (end - start) // timedelta(microseconds=1)
    days, microseconds = divmod(abs(difference), DAY_US)
    return Interval(0, days, microseconds) if difference >= 0 else Interval(0, -days, -microseconds)


def shifted(moment: datetime, interval: Interval) -> datetime:
    """``moment + interval``: first the months, to the end of a shorter month; then days and time.

    Raises ``OverflowError`` or ``ValueError`` outside of Python's years.
    """
    month = moment.year * 12 + moment.month - 1 + interval.months
    year, month = month // 12, month % 12 + 1
    if not 1 <= year <= 9999:
        raise OverflowError(year)
    day = min(moment.day, calendar.monthrange(year, month)[1])
    time = timedelta(days=interval.days, microseconds=interval.microseconds)
    return moment.replace(year=year, month=month, day=day) + time


def interval_text(interval: Interval) -> str:
    """As PostgreSQL prints it, such as ``1 year 2 mons -3 days +04:05:06.5``.

    Source of the rules: ``EncodeInterval`` of PostgreSQL's ``src/backend/utils/adt/datetime.c``.
    """
    sign = -1 if interval.months < 0 else 1
    years, months = (sign * part for part in divmod(abs(interval.months), 12))
    texts: list[str] = []
    was_negative = False
    for count, unit in ((years, "year"), (months, "mon"), (interval.days, "day")):
        if count:
            plus = "+" if was_negative and count > 0 else ""
            texts.append(f"{plus}{count} {unit}{'' if count == 1 else 's'}")
            was_negative = count < 0
    if interval.microseconds or not texts:
        texts.append(_time(interval.microseconds, "+" if was_negative else ""))
    return " ".join(texts)


def interval_iso_text(interval: Interval) -> str:
    """In the style ``iso_8601``, such as ``P1Y2M-3DT4H5M6.5S``; the source is that of
    ``interval_text``."""
    sign = -1 if interval.months < 0 else 1
    years, months = (sign * part for part in divmod(abs(interval.months), 12))
    date = ((years, "Y"), (months, "M"), (interval.days, "D"))
    sign, size = (-1 if interval.microseconds < 0 else 1), abs(interval.microseconds)
    hours, minutes = sign * (size // _HOUR_US), sign * (size % _HOUR_US // _MINUTE_US)
    seconds, fraction = size % _MINUTE_US // _SECOND_US, size % _SECOND_US
    time = "".join(f"{count}{unit}" for count, unit in ((hours, "H"), (minutes, "M")) if count)
    if seconds or fraction:
        digits = f".{fraction:06d}".rstrip("0") if fraction else ""
        time += f"{'-' if sign < 0 else ''}{seconds}{digits}S"
    text = "".join(f"{count}{unit}" for count, unit in date if count)
    return f"P{text}{'T' if time else ''}{time}" if text or time else "PT0S"


def _time(microseconds: int, plus: str) -> str:
    size = abs(microseconds)
    hours, minutes = size // _HOUR_US, size % _HOUR_US // _MINUTE_US
    seconds, fraction = size % _MINUTE_US // _SECOND_US, size % _SECOND_US
    digits = f".{fraction:06d}".rstrip("0") if fraction else ""
    return f"{'-' if microseconds < 0 else plus}{hours:02d}:{minutes:02d}:{seconds:02d}{digits}"
