"""Intervals in text: every form that PostgreSQL reads.

Source of the rules: ``ParseDateTime``, ``DecodeInterval`` and ``DecodeISO8601Interval`` of
PostgreSQL's ``src/backend/utils/adt/datetime.c``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from reclock.algebra.intervals import DAY_US, DAYS_PER_MONTH, Interval
from reclock.errors import IntervalOutOfRange, InvalidInterval

_SECOND_US, _MINUTE_US, _HOUR_US = 10**6, 60 * 10**6, 3600 * 10**6
_TIME_UNITS = {
    "microsecond": 1,
    "millisecond": 1000,
    "second": _SECOND_US,
    "minute": _MINUTE_US,
    "hour": _HOUR_US,
}
_SECONDS = {"second", "millisecond", "microsecond"}
_YEARS = {"year": 1, "decade": 10, "century": 100, "millennium": 1000}
_WORDS = {
    "microsecond": "us usec usecs usecond useconds microsecon",
    "millisecond": "ms msec msecs msecond mseconds millisecon",
    "second": "s sec secs second seconds",
    "minute": "m min mins minute minutes",
    "hour": "h hr hrs hour hours",
    "day": "d day days",
    "week": "w week weeks",
    "month": "mon mons month months",
    "year": "y yr yrs year years",
    "decade": "dec decs decade decades",
    "century": "c cent century centuries",
    "millennium": "mil mils millennia millennium",
}
_UNITS = {word: unit for unit, words in _WORDS.items() for word in words.split()}
_WORD_LENGTH = 10
"""How many characters of a unit PostgreSQL compares."""
_TOKEN = re.compile(
    r"(?P<time>\d+:[\d:.]*)"
    r"|(?P<date>\d+(?:-\d*)+)"
    r"|(?P<number>\d+(?:\.\d*)?|\.\d+)"
    r"|(?P<signed>[+-]\s*\d[\d:.-]*)"
    r"|(?P<word>[A-Za-z]+)"
)
_SKIPPED = re.compile(r"[^\w+.-]*", re.ASCII)
_TIME = re.compile(r"(\d+):(\d*)(?::(\d*)(\.\d*)?|(\.\d*))?")
_NUMBER = re.compile(r"([+-]?\d*)(\.\d*)?")
_YEARS_MONTHS = re.compile(r"([+-]?)(\d+)-(\d*)")
_ISO_NUMBER = re.compile(r"([+-]?)(\d*)(\.\d*)?")
_ISO_DATE = {"Y": "year", "M": "month", "W": "week", "D": "day"}
_ISO_TIME = {"H": "hour", "M": "minute", "S": "second"}


@dataclass(slots=True)
class _Sum:
    """The parts added so far."""

    months: int = 0
    days: int = 0
    microseconds: int = 0

    def add(self, unit: str, whole: int, fraction: float) -> None:
        """Add a number of units. A fraction becomes smaller parts; a fraction of a year becomes
        whole months."""
        if unit in _TIME_UNITS:
            self.microseconds += whole * _TIME_UNITS[unit]
            self._add_fraction(fraction * _TIME_UNITS[unit])
        elif unit in _YEARS:
            self.months += whole * _YEARS[unit] * 12 + round(fraction * _YEARS[unit] * 12)
        elif unit == "month":
            self.months += whole
            self._add_days(fraction * DAYS_PER_MONTH)
        else:
            size = 7 if unit == "week" else 1
            self.days += whole * size
            self._add_days(fraction * size)

    def _add_days(self, days: float) -> None:
        self.days += int(days)
        self._add_fraction((days - int(days)) * DAY_US)

    def _add_fraction(self, microseconds: float) -> None:
        whole = int(microseconds)
        rest = microseconds - whole
        self.microseconds += whole + (1 if rest > 0.5 else -1 if rest < -0.5 else 0)

    def interval(self) -> Interval:
        """Raises ``OverflowError`` if a part is out of range."""
        interval = Interval(self.months, self.days, self.microseconds)
        if not interval.fits():
            raise OverflowError("interval out of range")
        return interval


def parse_interval(text: str, fields: str = "", precision: int | None = None) -> Interval:
    """The interval that ``text`` spells.

    ``fields``, such as ``month`` or ``day to second``, names the unit of a number without one and
    truncates the smaller parts; ``precision`` rounds the seconds to so many digits. Raises
    ``ValueError``, and ``OverflowError`` if the value is out of range.
    """
    first, _, last = fields.lower().partition(" to ")
    try:
        is_minutes = (first, last) == ("minute", "second")
        interval = _verbose(text, last or first or "second", is_minutes=is_minutes)
    except ValueError:
        interval = _iso(text.strip())
    return _rounded(_truncated(interval, last or first), precision)


def interval_of(text: str, fields: str = "", precision: int | None = None) -> Interval:
    """As ``parse_interval``. Raises ``InvalidInterval`` and ``IntervalOutOfRange``."""
    try:
        return parse_interval(text, fields, precision)
    except (ValueError, KeyError) as error:
        raise InvalidInterval("interval", text) from error
    except OverflowError as error:
        raise IntervalOutOfRange(text) from error


def parts_of_interval(text: str) -> str:
    """The months, days and microseconds of an interval, separated by blanks. Raises as
    ``interval_of``."""
    return " ".join(map(str, interval_of(text)))


def _verbose(text: str, default_unit: str, *, is_minutes: bool) -> Interval:
    """PostgreSQL's and the SQL standard's forms, read from right to left as PostgreSQL does.

    With ``is_minutes``, ``12:34`` is minutes and seconds."""
    total, given_units, unit = _Sum(), set[str](), ""
    is_unit_open = is_ago = False
    for place, (kind, field) in enumerate(reversed(_tokens(text))):
        if kind == "word":
            if is_unit_open:
                raise ValueError(text)
            if field == "ago":
                if place:
                    raise ValueError(text)
                is_ago = True
                continue
            unit, is_unit_open = _UNITS[field[:_WORD_LENGTH]], True
            continue
        is_unit_open = False
        if ":" in field:
            _mark(given_units, {"hour", "minute", *_SECONDS})
            total.microseconds += _time(field, is_minutes=is_minutes)
            unit = "day"
            continue
        unit = unit or default_unit
        if years := _YEARS_MONTHS.fullmatch(field):
            unit = "month"
            _mark(given_units, {unit})
            total.months += _years_months(years)
            continue
        whole, fraction = _number(field)
        is_all_seconds = unit == "second" and fraction
        _mark(given_units, _SECONDS if is_all_seconds else {unit})
        total.add(unit, whole, fraction)
        unit = "day" if unit == "hour" else unit
    if not given_units or is_unit_open:
        raise ValueError(text)
    return -total.interval() if is_ago else total.interval()


def _tokens(text: str) -> list[tuple[str, str]]:
    """The numbers, times and words of ``text``; other characters only part them."""
    tokens: list[tuple[str, str]] = []
    at = len(_leading(text, 0))
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match:
            raise ValueError(text)
        assert match.lastgroup is not None
        tokens.append((match.lastgroup, "".join(match[0].lower().split())))
        at = match.end()
        at += len(_leading(text, at))
    if any(kind == "word" and word != "ago" and word[:10] not in _UNITS for kind, word in tokens):
        raise ValueError(text)
    return tokens


def _leading(text: str, at: int) -> str:
    match = _SKIPPED.match(text, at)
    return match[0] if match else ""


def _mark(given_units: set[str], units: set[str]) -> None:
    """Raises ``ValueError`` if a unit was given before."""
    if given_units & units:
        raise ValueError("a unit is given twice")
    given_units |= units


def _time(token: str, *, is_minutes: bool) -> int:
    """``hours:minutes[:seconds]``, or ``minutes:seconds.fraction``, with a sign."""
    match = _TIME.fullmatch(token.lstrip("+-"))
    if not match:
        raise ValueError(token)
    first, second, third, fraction, short_fraction = match.groups()
    if short_fraction is not None or (third is None and is_minutes):
        hours, minutes, seconds, fraction = 0, int(first), int(second or 0), short_fraction
    else:
        hours, minutes, seconds = int(first), int(second or 0), int(third or 0)
    if minutes > 59 or seconds > 60:
        raise OverflowError(token)
    rest = round(float(f"0{fraction or '.0'}") * _SECOND_US)
    total = hours * _HOUR_US + minutes * _MINUTE_US + seconds * _SECOND_US + rest
    return -total if token.startswith("-") else total


def _years_months(match: re.Match[str]) -> int:
    years, months = int(match[2]), int(match[3] or 0)
    if months >= 12:
        raise OverflowError(match[0])
    months += years * 12
    return -months if match[1] == "-" else months


def _number(token: str) -> tuple[int, float]:
    """The whole part and the fraction, of the number's sign."""
    match = _NUMBER.fullmatch(token)
    if not match:
        raise ValueError(token)
    whole, fraction = match[1], float(f"0{match[2] or '.0'}0")
    return int(whole) if whole.lstrip("+-") else 0, -fraction if token[0] == "-" else fraction


def _iso(text: str) -> Interval:
    """ISO 8601: ``P1Y2M3DT4H5M6S``, ``P0001-02-03T04:05:06`` and ``P00010203T040506``."""
    if len(text) < 2 or text[0] != "P":
        raise ValueError(text)
    date, has_time, time = text[1:].partition("T")
    total = _Sum()
    if date:
        _add_iso(total, date, _ISO_DATE, ("year", "month", "day"), "-", (4, 2, 2))
    if has_time and time:
        _add_iso(total, time, _ISO_TIME, ("hour", "minute", "second"), ":", (2, 2, 2))
    elif not date:
        raise ValueError(text)
    return total.interval()


def _add_iso(
    total: _Sum,
    text: str,
    designators: dict[str, str],
    units: tuple[str, ...],
    separator: str,
    widths: tuple[int, ...],
) -> None:
    """One side of the ``T``: numbers with designators, parted by ``separator``, or by width."""
    at = 0
    numbers: list[tuple[int, float]] = []
    while at < len(text):
        match = _ISO_NUMBER.match(text, at)
        if not match or not (match[2] or (match[3] or ".") != "."):
            raise ValueError(text)
        number = _number(match[0])
        at = match.end()
        if at < len(text) and text[at] in designators and not numbers:
            total.add(designators[text[at]], *number)
        else:
            has_digits_alone = at == len(text) and at == match.start() + sum(widths)
            if not numbers and match.start() == 0 and has_digits_alone and text.isdigit():
                numbers = [(int(part), 0.0) for part in _by_width(text, widths)]
                break
            if (at < len(text) and text[at] != separator) or len(numbers) == 3:
                raise ValueError(text)
            if not numbers and match.start():  # after designators
                raise ValueError(text)
            numbers.append(number)
        at += 1
    if text[-1] == separator:
        raise ValueError(text)
    for unit, number in zip(units, numbers, strict=False):
        total.add(unit, *number)


def _by_width(text: str, widths: tuple[int, ...]) -> list[str]:
    parts, at = [], 0
    for width in widths:
        parts.append(text[at : at + width])
        at += width
    return parts


def _truncated(interval: Interval, last_unit: str) -> Interval:
    """Without the parts smaller than ``last_unit``, toward zero."""
    match last_unit:
        case "year":
            sign = -1 if interval.months < 0 else 1
            return Interval(sign * (abs(interval.months) // 12 * 12))
        case "month":
            return Interval(interval.months)
        case "day":
            return Interval(interval.months, interval.days)
        case "hour" | "minute":
            size = _TIME_UNITS[last_unit]
            sign = -1 if interval.microseconds < 0 else 1
            whole = sign * (abs(interval.microseconds) // size * size)
            return Interval(interval.months, interval.days, whole)
        case _:
            return interval


def _rounded(interval: Interval, precision: int | None) -> Interval:
    """Half away from zero."""
    if precision is None or precision >= 6:
        return interval
    size = 10 ** (6 - precision)
    sign = -1 if interval.microseconds < 0 else 1
    rounded = sign * ((abs(interval.microseconds) + size // 2) // size * size)
    return Interval(interval.months, interval.days, rounded)
