"""The forms other than ISO 8601 in which PostgreSQL reads dates and moments: ``Feb 10 5:32PM
1997``, ``2/10/1997`` (the month first, as with its ``DateStyle`` ``ISO, MDY``), ``19970210
173201-08``, ``1997.041``, ``J2450490``."""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from datetime import date, timedelta

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORT = {"sept": 9, **{name[:3]: number for number, name in enumerate(_MONTHS, 1)}}
_MONTH_NUMBERS = {**_SHORT, **{name: number for number, name in enumerate(_MONTHS, 1)}}
_IGNORED = {*_DAYS, *(name[:3] for name in _DAYS), *("tues", "wednes", "thur", "thurs"), "at"}
_IGNORED_SIGNS = frozenset(string.whitespace + string.punctuation) - {"+", "-"}
_JULIAN_DAY_OF_YEAR_1 = 1721426
"""The Julian day of 0001-01-01."""

_PART = re.compile(
    r"""(?P<julian>j\d{1,7})(?![\w])
    | (?P<clock>\d{1,2}:(\d{1,2}|(?=:))(:\d{1,2}(\.\d+)?)?)(?=\D|$)
    | (?P<day_of_year>\d{4}\.\d{3})(?![\d.])
    | (?P<triple>(\d+|[a-z]+)(?P<mark>[-/.])(\d{1,2}|[a-z]+)(?P=mark)\d+)(?![\w/])
    | (?P<pair>\d{1,2}-\d{1,2})(?![\w./:-])
    | (?P<digits>\d{8}|\d{6}(\.\d+)?)(?=\D|$)
    | (?P<number>\d+)(?![\w./:-])
    | (?P<half>[ap]m)\b
    | (?P<shift>[+-]\s*\d{1,2}(:?\d\d(:\d\d)?)?)(?![\w.:-])
    | (?P<posix>[a-z]{3,}[+-]\d{1,2}(:\d\d(:\d\d)?)?)(?![\w.:-])
    | (?P<start>t)(?=\d)
    | (?P<word>[a-z]\w*(/[\w+-]+)*)""",
    re.VERBOSE | re.IGNORECASE,
)
"""The next part of a text. A clock and the digits of one may be followed by ``PM`` or a zone at
once."""


def iso_form(text: str) -> str | None:
    """``text`` as ``YYYY-MM-DD HH:MM:SS zone``, whose parts after the date may be absent; None if
    it is no moment."""
    read, at = _Moment(), 0
    while at < len(text):
        if text[at] in _IGNORED_SIGNS:
            at += 1
            continue
        part = _PART.match(text, at)
        if part is None or part.lastgroup is None or not read.take(part):
            return None
        at = part.end()
    return read.written()


@dataclass(slots=True)
class _Moment:
    """What was read so far."""

    year: str = ""
    month: int = 0
    day: str = ""
    clock: str = ""
    is_afternoon: bool | None = None
    zone: str = ""
    has_start: bool = False

    @property
    def has_date(self) -> bool:
        return bool(self.year and self.month and self.day)

    def take(self, part: re.Match[str]) -> bool:
        """Whether the part fits to those before."""
        fields = {name: value for name, value in part.groupdict().items() if value}
        fields.pop("mark", None)
        [(kind, written)] = fields.items()
        match kind:
            case "julian":
                return self._take_day(int(written[1:]) - _JULIAN_DAY_OF_YEAR_1)
            case "day_of_year":
                new_year = date(max(int(written[:4]), 1), 1, 1).toordinal() - 1
                return self._take_day(new_year + int(written[5:]) - 1)
            case "triple":
                return self._take_triple(re.split(r"[-/.]", written))
            case "digits":
                return self._take_digits(written)
            case "pair":
                return all(self._take_number(number) for number in written.split("-"))
            case "number":
                return self._take_number(written)
            case "clock":
                is_first, self.clock = not self.clock, written
                return is_first
            case "half":
                is_first, self.is_afternoon = self.is_afternoon is None, written.lower() == "pm"
                return is_first
            case "posix":  # the sign says what to add to get UTC
                sign = "-" if "+" in written else "+"
                return self._take_zone(sign + re.split("[+-]", written)[1])
            case "shift":
                return bool(self.clock) and self._take_zone("".join(written.split()))
            case "start":
                return self._take_start()
            case _:
                return self._take_word(written)

    def _take_day(self, days: int) -> bool:
        """Days since 0001-01-01."""
        if self.year or self.month or self.day or not 0 <= days < date.max.toordinal():
            return False
        moment = date.min + timedelta(days=days)
        self.year, self.month, self.day = f"{moment.year:04d}", moment.month, str(moment.day)
        return True

    def _take_triple(self, parts: list[str]) -> bool:
        if self.year or self.month or self.day:
            return False
        named = [place for place, part in enumerate(parts) if part.isalpha()]
        if len(named) > 1:
            return False
        if len(parts[0]) > 2 and not named:
            self.year, month, self.day = parts
        elif not named or named == [0]:
            month, self.day, self.year = parts
        elif len(parts[0]) > 2:
            self.year, month, self.day = parts
        else:
            self.day, month, self.year = parts
        self.month = _MONTH_NUMBERS.get(month.lower(), 0) if named else int(month)
        return bool(self.month)

    def _take_digits(self, digits: str) -> bool:
        if not (self.year or self.month or self.day) and "." not in digits:
            *rest, self.month, self.day = digits[:-4], int(digits[-4:-2]), digits[-2:]
            [self.year] = rest
            return True
        if not self.has_date or self.clock or len(digits.partition(".")[0]) != 6:
            return False
        self.clock = f"{digits[:2]}:{digits[2:4]}:{digits[4:]}"
        return True

    def _take_number(self, digits: str) -> bool:
        """The day or the year beside the name of a month, or one of year, month and day."""
        if len(digits) <= 2 and not self.day:
            self.day = digits
        elif not self.year:
            self.year = digits
        elif not self.month and len(digits) <= 2:
            self.month, self.day = int(self.day), digits
        else:
            return False
        return True

    def _take_zone(self, zone: str) -> bool:
        is_first, self.zone = not self.zone, zone
        return is_first

    def _take_start(self) -> bool:
        """``T``, between the date and the time of day."""
        is_first, self.has_start = not self.has_start, True
        return is_first and self.has_date and not self.clock

    def _take_word(self, word: str) -> bool:
        lower = word.lower()
        if lower in _IGNORED:
            return True
        if lower == "t":
            return self._take_start()
        if lower in _MONTH_NUMBERS:
            is_first, self.month = not self.month, _MONTH_NUMBERS[lower]
            return is_first
        return self._take_zone(word)

    def written(self) -> str | None:
        if not self.has_date or (self.has_start and not self.clock):
            return None
        year = int(self.year)
        if len(self.year) <= 2:
            year += 2000 if year < 70 else 1900
        written = f"{year:04d}-{self.month:02d}-{int(self.day):02d}"
        if self.clock:
            hour, *later_fields = self.clock.split(":")
            if self.is_afternoon is not None:
                is_on_clock = 1 <= int(hour) <= 12
                hour = str(int(hour) % 12 + 12 * self.is_afternoon) if is_on_clock else "99"
            written += " " + ":".join(
                [hour, *(part if part[1:2].isdigit() else f"0{part or 0}" for part in later_fields)]
            )
        elif self.is_afternoon is not None:
            return None
        return f"{written} {self.zone}".rstrip()
