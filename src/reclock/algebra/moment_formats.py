"""``to_timestamp`` and ``to_date``: moments read by a format, as PostgreSQL's ``formatting.c``
does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import lru_cache

from reclock.errors import InvalidFormattedMoment, MomentOutOfRange

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_ROMAN = ("xii", "xi", "x", "ix", "viii", "vii", "vi", "v", "iv", "iii", "ii", "i")
_NUMBERS = {
    # keyword: the field, and the most digits that are read if another number follows
    "cc": ("cc", 2),
    "ddd": ("ddd", 3),
    "dd": ("dd", 2),
    "d": ("d", 1),
    "hh24": ("hh", 2),
    "hh12": ("hh", 2),
    "hh": ("hh", 2),
    "mi": ("mi", 2),
    "mm": ("mm", 2),
    "iddd": ("ddd", 3),
    "id": ("d", 1),
    "iw": ("ww", 2),
    "j": ("j", 1),
    "ms": ("ms", 3),
    "iyyy": ("year", 4),
    "iyy": ("year", 3),
    "iy": ("year", 2),
    "i": ("year", 1),
    "q": ("", 1),
    "sssss": ("ssss", 5),
    "ssss": ("ssss", 4),
    "ss": ("ss", 2),
    "us": ("us", 6),
    "ww": ("ww", 2),
    "w": ("w", 1),
    "y,yyy": ("year", 5),
    "yyyy": ("year", 4),
    "yyy": ("year", 3),
    "yy": ("year", 2),
    "y": ("year", 1),
    "tzh": ("tzh", 2),
    "tzm": ("tzm", 2),
    **{f"ff{digits}": ("us", digits) for digits in range(1, 7)},
}
_WORDS: dict[str, tuple[str, Sequence[str]]] = {
    **dict.fromkeys(("am", "pm"), ("half", ("am", "pm"))),
    **dict.fromkeys(("a.m.", "p.m."), ("half", ("a.m.", "p.m."))),
    **dict.fromkeys(("ad", "bc"), ("era", ("ad", "bc"))),
    **dict.fromkeys(("a.d.", "b.c."), ("era", ("a.d.", "b.c."))),
    "month": ("mm", _MONTHS),
    "mon": ("mm", tuple(month[:3] for month in _MONTHS)),
    "day": ("d", _DAYS),
    "dy": ("d", tuple(day[:3] for day in _DAYS)),
    "rm": ("mm", _ROMAN),
}
_ISO = frozenset({"iddd", "id", "iw", "iyyy", "iyy", "iy", "i"})
_GREGORIAN = frozenset({"ddd", "dd", "d", "mm", "month", "mon", "rm", "ww", "w"})
_GREGORIAN |= {"y,yyy", "yyyy", "yyy", "yy", "y"}
_NOT_DIGITS = frozenset({*_WORDS, "fx", "of", "tzh", "tz"})
_CAPITALIZED = ("Month", "Mon", "Day", "Dy")
_KEYWORDS = sorted({*_NUMBERS, *_WORDS, "fx", "of", "tz"}, key=len, reverse=True)
_SPELLINGS = [
    spelling for word in _KEYWORDS for spelling in (word.upper(), word, word.capitalize())
]
_NODE = re.compile(
    r'(?P<quoted>"(?:[^"\\]|\\.)*"?)|(?P<prefix>(?:FM|fm|TM|tm)*)(?P<keyword>'
    + "|".join(
        re.escape(spelling)
        for spelling in _SPELLINGS
        if spelling in _CAPITALIZED or spelling.isupper() or spelling.islower()
    )
    + r')(?P<suffix>TH|th|SP)?|(?P<prefix_alone>FM|fm|TM|tm)|(?:\\(?="))?(?P<other>.)',
    re.DOTALL,
)
_INTEGER = re.compile(r"\s*[-+]?\d+")
_MILLENNIA = re.compile(r"\s*([-+]?\d+),\s*([-+]\d{1,2}|\d{1,3})")


@dataclass(frozen=True, slots=True)
class _Node:
    """A keyword in small letters, or one character: a blank, a separator, or another."""

    keyword: str = ""
    spelling: str = ""
    is_filled: bool = False
    is_ordinal: bool = False
    character: str = ""

    @property
    def is_separator(self) -> bool:
        return " " < self.character < "\x7f" and not self.character.isalnum()

    @property
    def is_loose(self) -> bool:
        """Whether it matches any blank or separator, or nothing."""
        return self.character.isspace() or self.is_separator


@lru_cache(maxsize=256)
def _nodes(pattern: str) -> tuple[_Node, ...]:
    nodes: list[_Node] = []
    for match in _NODE.finditer(pattern):
        if (quoted := match["quoted"]) is not None:
            text = re.sub(r"\\(.)", r"\1", quoted[1:].removesuffix('"'), flags=re.DOTALL)
            nodes += [_Node(character=f"\0{character}") for character in text]
        elif match["keyword"]:
            nodes.append(
                _Node(
                    match["keyword"].lower(),
                    match["keyword"],
                    "fm" in match["prefix"].lower(),
                    match["suffix"] in ("TH", "th"),
                )
            )
        elif match["other"]:
            nodes.append(_Node(character=match["other"]))
    return tuple(nodes)


def _invalid(message: str, detail: str | None = None, hint: str | None = None) -> Exception:
    return InvalidFormattedMoment(message, detail, hint)


@dataclass(slots=True)
class _Reader:
    """The input, what is read of it, and the fields so far."""

    text: str
    at: int = 0
    fields: dict[str, int] = field(default_factory=dict)
    is_iso: bool | None = None
    is_12_hours: bool = False
    year_digits: int = 0
    fraction_digits: int = 6
    sign: int = 0
    skipped: int = 0
    """How many blanks there were more than the format has."""

    def read(self, nodes: Sequence[_Node]) -> None:
        is_fixed = False
        for place, node in enumerate(nodes):
            if self.at >= len(self.text):
                return
            if not is_fixed and (node.keyword or place == 0):
                self._skip_blanks()
            if node.keyword == "fx":
                is_fixed = True
            elif node.keyword:
                self._keyword(node, _is_followed_by_no_digit(nodes, place))
                if not is_fixed:
                    self.skipped = 0
                    self._skip_blanks()
            elif is_fixed:
                self.at += 1
            elif node.is_loose:
                self.skipped -= 1
                character = self.text[self.at : self.at + 1]
                if character.isspace() or _Node(character=character).is_separator:
                    self.at += 1
                    self.skipped += 1
            elif self.skipped > 0:
                self.skipped -= 1
            else:
                self.at += 1

    def _skip_blanks(self) -> None:
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1
            self.skipped += 1

    def _keyword(self, node: _Node, is_open: bool) -> None:
        keyword = node.keyword
        if keyword in _ISO or keyword in _GREGORIAN:
            if self.is_iso is not None and self.is_iso != (keyword in _ISO):
                raise _invalid(
                    "invalid combination of date conventions",
                    hint="Do not mix Gregorian and ISO week date conventions in a formatting "
                    "template.",
                )
            self.is_iso = keyword in _ISO
        if keyword in _WORDS:
            self._word(node)
        elif keyword in ("of", "tz"):
            raise _invalid(f'formatting field "{node.spelling}" is only supported in to_char')
        elif keyword == "y,yyy":
            self._millennia(node)
        else:
            self._number(node, is_open)
        if node.is_ordinal:
            self.at += 2

    def _word(self, node: _Node) -> None:
        name, words = _WORDS[node.keyword]
        rest = self.text[self.at :].lower()
        word = next((word for word in words if rest.startswith(word)), None)
        if word is None:
            value = re.split(r"\s", self.text[self.at :], maxsplit=1)[0]
            raise _invalid(
                f'invalid value "{value}" for "{node.spelling}"',
                "The given value did not match any of the allowed values for this field.",
            )
        self.at += len(word)
        number = words.index(word)
        if name == "half":
            self.is_12_hours = True
        if name == "mm":
            number = 12 - number if words is _ROMAN else number + 1
        self._set(name, number, node)
        if name == "d":
            self.fields[name] += 1

    def _millennia(self, node: _Node) -> None:
        match = _MILLENNIA.match(self.text, self.at)
        if match is None:
            raise _invalid('invalid input string for "Y,YYY"')
        self.at = match.end()
        self._set("year", int(match[1]) * 1000 + int(match[2]), node)
        self.year_digits = 4

    def _number(self, node: _Node, is_open: bool) -> None:
        name, digits = _NUMBERS[node.keyword]
        if name == "tzh":
            self._zone_sign()
        elif name == "tzm":
            self.sign = self.sign or 1
        start = self.at
        value = self._integer(node, digits, is_open)
        width = self.at - start
        if name == "ms":
            value *= {1: 100, 2: 10}.get(width, 1)
        elif name == "us":
            value *= {1: 100_000, 2: 10_000, 3: 1000, 4: 100, 5: 10}.get(width, 1)
            if node.keyword != "us":
                self.fraction_digits = digits
        elif name == "year":
            self.year_digits = min(digits, 4)
        self.is_12_hours |= node.keyword in ("hh", "hh12")
        if name:
            self._set(name, value, node)
        if name == "year" and digits < 4 and width < 4:
            self.fields[name] = _near_2020(value)
        if node.keyword == "id":
            self.fields[name] = value + 1 if value < 7 else 1

    def _zone_sign(self) -> None:
        character = self.text[self.at : self.at + 1]
        if character in ("+", "-", " ") and character:
            self.sign = -1 if character == "-" else 1
            self.at += 1
        else:
            self.sign = -1 if self.skipped > 0 and self.text[self.at - 1] == "-" else 1

    def _integer(self, node: _Node, digits: int, is_open: bool) -> int:
        """The number at this place: of so many digits, unless no digit can follow it."""
        start, spelling = self.at, node.spelling
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1
        copy = self.text[self.at : self.at + digits]
        if node.is_filled or is_open:
            match = _INTEGER.match(self.text, start)
            self.at = start if match is None else match.end()
        else:
            if len(copy) < digits:
                raise _invalid(
                    f'source string too short for "{spelling}" formatting field',
                    f"Field requires {digits} characters, but only {len(copy)} remain.",
                    'If your source string is not fixed-width, try using the "FM" modifier.',
                )
            match = _INTEGER.match(copy)
            used = 0 if match is None else match.end()
            if 0 < used < digits:
                raise _invalid(
                    f'invalid value "{copy}" for "{spelling}"',
                    f"Field requires {digits} characters, but only {used} could be parsed.",
                    'If your source string is not fixed-width, try using the "FM" modifier.',
                )
            self.at += used
        if match is None or self.at == start:
            raise _invalid(f'invalid value "{copy}" for "{spelling}"', "Value must be an integer.")
        value = int(match[0])
        if not -(2**31) <= value < 2**31:
            raise MomentOutOfRange(
                message=f'value for "{spelling}" in source string is out of range'
            )
        return value

    def _set(self, name: str, value: int, node: _Node) -> None:
        if self.fields.get(name, 0) not in (0, value):
            raise _invalid(
                f'conflicting values for "{node.spelling}" field in formatting string',
                "This value contradicts a previous setting for the same field type.",
            )
        self.fields[name] = value


def _is_followed_by_no_digit(nodes: Sequence[_Node], place: int) -> bool:
    if nodes[place].is_ordinal or place + 1 == len(nodes):
        return True
    following = nodes[place + 1]
    if following.keyword:
        return following.keyword in _NOT_DIGITS
    return not following.character.removeprefix("\0").isdigit()


def _near_2020(year: int) -> int:
    """The year of less than four digits that is nearest to 2020."""
    if year < 70:
        return year + 2000
    if year < 100:
        return year + 1900
    if year < 520:
        return year + 2000
    return year + 1000 if year < 1000 else year


def moment_of(text: str, pattern: str) -> str:
    """The moment, in UTC, as the text of a timestamp.

    Raises ``InvalidFormattedMoment`` and ``MomentOutOfRange``.
    """
    reader = _Reader(text)
    reader.read(_nodes(pattern))
    fields = reader.fields
    hour = _hour(fields, reader)
    try:
        day = _day(fields, reader)
        moment = datetime(day.year, day.month, day.day) + _clock(hour, fields, reader)
        zone = timedelta(hours=fields.get("tzh", 0), minutes=fields.get("tzm", 0))
        if not (0 <= fields.get("tzh", 0) <= 15 and 0 <= fields.get("tzm", 0) < 60):
            raise MomentOutOfRange(text)
        return _rounded(moment - reader.sign * zone, reader.fraction_digits).isoformat(" ")
    except (ValueError, OverflowError) as error:
        raise MomentOutOfRange(text) from error


def _rounded(moment: datetime, digits: int) -> datetime:
    """To so many digits of a second, as ``FF3`` says; halves away from 2000."""
    unit, micros = 10 ** (6 - digits), (moment - _EPOCH) // timedelta(microseconds=1)
    whole = (abs(micros) + unit // 2) // unit * unit
    return _EPOCH + timedelta(microseconds=whole if micros >= 0 else -whole)


_EPOCH = datetime(2000, 1, 1)
"""PostgreSQL's."""


def _hour(fields: dict[str, int], reader: _Reader) -> int:
    hour = fields.get("hh") or fields.get("ssss", 0) // 3600
    if not reader.is_12_hours:
        return hour
    if not 1 <= hour <= 12:
        raise _invalid(
            f'hour "{hour}" is invalid for the 12-hour clock',
            hint="Use the 24-hour clock, or give an hour between 1 and 12.",
        )
    return hour % 12 + (12 if fields.get("half") else 0)


def _clock(hour: int, fields: dict[str, int], reader: _Reader) -> timedelta:
    of_day = fields.get("ssss", 0)
    minute = fields.get("mi") or of_day // 60 % 60
    second = fields.get("ss") or of_day % 60
    micros = fields.get("ms", 0) * 1000 + fields.get("us", 0)
    if not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60 and 0 <= micros < 1_000_000):
        raise MomentOutOfRange(reader.text)
    return timedelta(hours=hour, minutes=minute, seconds=second, microseconds=micros)


def _day(fields: dict[str, int], reader: _Reader) -> date:
    """Raises ``ValueError`` for a day that there is not, or that is before Christ."""
    year = _year(fields, reader)
    month, day = 1, 1
    if fields.get("j"):
        start = date.fromordinal(fields["j"] - _JULIAN)
        year, month, day = start.year, start.month, start.day
    of_year = fields.get("ddd", 0)
    if week := fields.get("ww"):
        if reader.is_iso:
            weekday = fields.get("d") or 2
            weekday = weekday - 2 if weekday > 1 else 6
            start = _first_monday(year) + timedelta(7 * (week - 1) + weekday)
            year, month, day = start.year, start.month, start.day
        else:
            of_year = (week - 1) * 7 + 1
    of_month = (fields["w"] - 1) * 7 + 1 if fields.get("w") else fields.get("dd")
    day, month = of_month or day, fields.get("mm") or month
    if of_year and (month <= 1 or day <= 1):
        if not year and not fields.get("era"):
            raise _invalid("cannot calculate day of year without year information")
        if reader.is_iso:
            return _first_monday(year) + timedelta(of_year - 1)
        if not 1 <= of_year <= 366:
            raise ValueError
        start = date(year, 1, 1) + timedelta(of_year - 1)
        if start.year != year:
            raise ValueError
        month = start.month if month <= 1 else month
        day = start.day if day <= 1 else day
    return date(year, month, day)


_JULIAN = 2451545 - date(2000, 1, 1).toordinal()
"""The Julian day of the day before the first one of Python."""


def _first_monday(year: int) -> date:
    return date.fromisocalendar(year, 1, 1)


def _year(fields: dict[str, int], reader: _Reader) -> int:
    """0 is the year before the first one."""
    year, century, is_bc = fields.get("year", 0), fields.get("cc", 0), bool(fields.get("era"))
    century = -century if is_bc else century
    if year and century and reader.year_digits <= 2:
        year %= 100
        if year:
            return year + (century - 1) * 100 if century >= 0 else (century + 1) * 100 - year + 1
        return century * 100 + (century < 0)
    if year:
        year = -year if is_bc else year
        return year + 1 if year < 0 else year
    if century:
        return (century - 1) * 100 + 1 if century >= 0 else century * 100 + 1
    return 0
