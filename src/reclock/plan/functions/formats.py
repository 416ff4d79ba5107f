"""``to_char`` of moments, by a constant format: each of its patterns is a part of the moment, which
both engines can compute."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from reclock.algebra.relations import (
    DOUBLE,
    INTERVAL,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    ScalarType,
    TypeName,
    numeric,
)
from reclock.errors import UnsupportedSql
from reclock.plan.functions import intervals
from reclock.plan.functions.casts import write_cast
from reclock.plan.functions.floats import with_value
from reclock.plan.functions.interval_formats import (
    FRACTIONS,
    half_of_day,
    not_of_intervals,
    number_of_interval,
)
from reclock.plan.functions.json_calls import checked, json_call
from reclock.plan.functions.moments import field
from reclock.plan.functions.registry import Site, Types, Writer, scalar
from reclock.plan.functions.sql_names import literal, type_sql
from reclock.plan.functions.typing import as_numeric, exact

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_CASES: tuple[Callable[[str], str], ...] = (str.upper, str.lower, str.capitalize)


@dataclass(frozen=True, slots=True)
class _Number:
    """A whole number of ``digits`` (0: as many as it has): ``of`` the field, which stands for
    ``{0}``, and the ISO week, ``{week}``; ``//`` divides."""

    field: str
    digits: int
    of: str = "{0}"


_TIME_OF_DAY = "(({0} % 86400000000 + 86400000000) % 86400000000)"
_SECONDS_OF_DAY = _Number("epoch", 0, f"{_TIME_OF_DAY} // 1000000")
_NUMBERS = {
    "YYYY": _Number("year", 4, "abs({0})"),
    "YYY": _Number("year", 3, "abs({0}) % 1000"),
    "YY": _Number("year", 2, "abs({0}) % 100"),
    "Y": _Number("year", 1, "abs({0}) % 10"),
    "CC": _Number("century", 2),
    "J": _Number("epoch", 0, f"({{0}} - {_TIME_OF_DAY}) // 86400000000 + 2440588"),
    "WW": _Number("doy", 2, "({0} - 1) // 7 + 1"),
    "W": _Number("day", 1, "({0} - 1) // 7 + 1"),
    "IYYY": _Number("isoyear", 4, "abs({0})"),
    "IYY": _Number("isoyear", 3, "abs({0}) % 1000"),
    "IY": _Number("isoyear", 2, "abs({0}) % 100"),
    "I": _Number("isoyear", 1, "abs({0}) % 10"),
    "IW": _Number("week", 2),
    "Q": _Number("quarter", 1),
    "MM": _Number("month", 2),
    "DDD": _Number("doy", 3),
    "DD": _Number("day", 2),
    "D": _Number("dow", 1, "{0} + 1"),
    "IDDD": _Number("isodow", 3, "({week} - 1) * 7 + {0}"),
    "ID": _Number("isodow", 1),
    "HH24": _Number("hour", 2),
    "HH12": _Number("hour", 2, "({0} + 11) % 12 + 1"),
    "HH": _Number("hour", 2, "({0} + 11) % 12 + 1"),
    "MI": _Number("minute", 2),
    "SS": _Number("microseconds", 2, "{0} // 1000000"),
    "SSSS": _SECONDS_OF_DAY,
    "SSSSS": _SECONDS_OF_DAY,
    "MS": _Number("microseconds", 3, "{0} // 1000 % 1000"),
    "US": _Number("microseconds", 6, "{0} % 1000000"),
    **{
        f"FF{n}": _Number("microseconds", n, f"{{0}} % 1000000 // {10 ** (6 - n)}")
        for n in range(1, 7)
    },
}


def _cased(word: str) -> dict[str, Callable[[str], str]]:
    return {case(word): case for case in _CASES}


# word: the field, from 1, that chooses one of the names; the names; how wide they are filled up
_NAMES: Mapping[str, tuple[str, tuple[str, ...], int]] = {
    **{w: ("month", tuple(map(case, _MONTHS)), 9) for w, case in _cased("month").items()},
    **{
        w: ("month", tuple(case(name[:3]) for name in _MONTHS), 0)
        for w, case in _cased("mon").items()
    },
    **{w: ("isodow", tuple(map(case, _DAYS)), 9) for w, case in _cased("day").items()},
    **{
        w: ("isodow", tuple(case(name[:3]) for name in _DAYS), 0)
        for w, case in _cased("dy").items()
    },
}
_HALVES = {
    spelling: halves
    for halves in (("AM", "PM"), ("am", "pm"), ("A.M.", "P.M."), ("a.m.", "p.m."))
    for spelling in halves
}
_ERAS = {
    spelling: eras
    for eras in (("AD", "BC"), ("ad", "bc"), ("A.D.", "B.C."), ("a.d.", "b.c."))
    for spelling in eras
}
_CONSTANTS = {
    **dict.fromkeys(("OF", "of", "TZH", "tzh"), "+00"),
    **dict.fromkeys(("TZM", "tzm"), "00"),
    "TZ": "UTC",
    "tz": "utc",
}
"""In UTC."""
_ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
_NAMES = {
    **_NAMES,
    "RM": ("month", _ROMAN, 4),
    "rm": ("month", tuple(map(str.lower, _ROMAN)), 4),
}

_WORDS = "|".join(
    map(re.escape, sorted([*_NAMES, *_HALVES, *_ERAS, *_CONSTANTS], key=len, reverse=True))
)
_COUNTS = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_PIECE = re.compile(
    rf'"(?P<quoted>(?:[^"\\]|\\.)*)"?|(?i:FX)|(?P<fm>(?i:FM|TM))?'
    rf"(?:(?P<word>{_WORDS})|(?P<millennia>(?i:Y,YYY))|(?P<count>(?i:{_COUNTS}))(?P<th>TH|th)?)"
    r'|(?P<bare>\\"|.)',
    re.DOTALL,
)
"""Matches the next part of a format. Text that is no pattern is itself."""


def _pieces(format: object) -> Iterator[re.Match[str]]:
    """Raises ``UnsupportedSql``."""
    if not isinstance(format, str):
        raise UnsupportedSql("a format that is not a constant is not supported")
    return _PIECE.finditer(format)


def names_zone(format: str) -> bool:
    """Whether a pattern of the format shows or reads a time zone."""
    return any(piece["word"] in _CONSTANTS for piece in _pieces(format))


def parts_of_zone(format: str) -> Iterator[tuple[str, bool]]:
    """The format cut before and after the patterns of a time zone: each part, and whether it is
    one."""
    begin = 0
    for piece in _pieces(format):
        if piece["word"] in _CONSTANTS:
            if begin < piece.start():
                yield format[begin : piece.start()], False
            yield piece["word"], True
            begin = piece.end()
    if begin < len(format):
        yield format[begin:], False


def _to_char(engine: str) -> Writer:
    def write(site: Site) -> str:
        if site.types[0].is_float:
            return checked(engine, json_call("double_text", *site.arguments))
        if site.types[0].is_number:
            number = write_cast(engine, site.arguments[0], site.types[0], TEXT)
            return checked(engine, json_call("number_text", number, site.arguments[1]))
        if site.types[0].name is TypeName.INTERVAL:
            return intervals.computed(engine, site.arguments[:1], partial(formatted, site))
        return formatted(site, site.arguments[0])

    def formatted(site: Site, moment: str) -> str:
        pieces = _pieces(site.constants.get(1))
        parts = [_formatted_piece(engine, piece, moment, site.types[0]) for piece in pieces]
        nothing = f"(CASE WHEN {moment} IS NOT NULL THEN '' END)"
        return f"({' || '.join([nothing, *parts])})"

    return write


def _formatted_piece(engine: str, piece: re.Match[str], moment: str, type_: ScalarType) -> str:
    """The text that a piece of a format stands for, of a moment or an interval."""
    is_pattern = piece["word"] or piece["millennia"] or piece["count"]
    if not is_pattern:
        return _text_of_format(engine, piece)
    if type_.name is TypeName.INTERVAL:
        return _part_of_interval(engine, piece, moment)
    if piece["word"]:
        return _word_of_moment(engine, piece, moment, type_)
    if piece["millennia"]:
        return _year_with_comma(engine, moment)
    return _with_ordinal(engine, piece, _number_of_moment(engine, piece, moment))


def _text_of_format(engine: str, piece: re.Match[str]) -> str:
    """Text that is no pattern, without its quotes."""
    bare = '"' if piece["bare"] == '\\"' else piece["bare"] or ""
    quoted = re.sub(r"\\(.)", r"\1", piece["quoted"] or "", flags=re.DOTALL)
    return literal(engine, bare + quoted, TEXT)


def _part_of_interval(engine: str, piece: re.Match[str], interval: str) -> str:
    if piece["millennia"] or piece["word"] not in {None, *_HALVES}:
        raise not_of_intervals()
    if piece["word"]:
        return half_of_day(engine, interval, _HALVES[piece["word"]])
    is_padded = piece["fm"] is None
    number = number_of_interval(engine, piece["count"], interval, is_padded=is_padded)
    return _with_ordinal(engine, piece, number)


def _word_of_moment(engine: str, piece: re.Match[str], moment: str, type_: ScalarType) -> str:
    """The half of the day, the era, the zone, or the name of the month or day."""
    word = piece["word"]
    if word in _HALVES:
        before, after = (literal(engine, half, TEXT) for half in _HALVES[word])
        return f"(CASE WHEN {field(engine, 'hour', moment)} < 12 THEN {before} ELSE {after} END)"
    if word in _ERAS:
        after, before = (literal(engine, era, TEXT) for era in _ERAS[word])
        return f"(CASE WHEN {field(engine, 'year', moment)} < 0 THEN {before} ELSE {after} END)"
    if word in _CONSTANTS:
        has_no_zone = word.upper() == "TZ" and type_.name is not TypeName.TIMESTAMPTZ
        return literal(engine, "" if has_no_zone else _CONSTANTS[word], TEXT)
    field_name, names, width = _NAMES[word]
    cases = [
        f"WHEN {n} THEN {literal(engine, name.ljust(0 if piece['fm'] else width), TEXT)}"
        for n, name in enumerate(names, 1)
    ]
    return f"(CASE {field(engine, field_name, moment)} {' '.join(cases)} END)"


def _year_with_comma(engine: str, moment: str) -> str:
    text, year = type_sql(engine, TEXT), f"abs({field(engine, 'year', moment)})"
    thousands = f"CAST({_quotients(engine, f'{year} // 1000')} AS {text})"
    rest = f"CAST({year} % 1000 AS {text})"
    return f"concat({thousands}, ',', lpad({rest}, 3, '0'))"


def _number_of_moment(engine: str, piece: re.Match[str], moment: str) -> str:
    pattern = piece["count"].upper()
    number = _NUMBERS[pattern]
    week = field(engine, "week", moment)
    whole = number.of.format(field(engine, number.field, moment), week=week)
    digits = f"CAST({_quotients(engine, whole)} AS {type_sql(engine, TEXT)})"
    is_padded = piece["fm"] is None or pattern in FRACTIONS
    return f"lpad({digits}, {number.digits}, '0')" if number.digits and is_padded else digits


def _quotients(engine: str, whole: str) -> str:
    """``whole``, an expression in which ``//`` divides, as the engine writes it."""
    return f"({whole.replace('//', 'DIV') if engine == 'spark' else whole})"


def _with_ordinal(engine: str, piece: re.Match[str], number: str) -> str:
    """``number`` with its ordinal suffix, if the pattern asks for it."""
    suffix = piece["th"]
    if not suffix:
        return number
    st, nd, rd, th = (
        f"'{end if suffix == 'th' else end.upper()}'" for end in ("st", "nd", "rd", "th")
    )
    ends = f"CASE right(v, 1) WHEN '1' THEN {st} WHEN '2' THEN {nd} WHEN '3' THEN {rd}"
    is_teen = "length(v) > 1 AND left(right(v, 2), 1) = '1'"
    ordinal = f"concat(v, CASE WHEN {is_teen} THEN {th} ELSE {ends} ELSE {th} END END)"
    return with_value(engine, number, ordinal)


def _formatted(
    types: Types, constants: Mapping[int, object]
) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
    if len(types) == 2 and types[0] is not None and types[0].is_number:
        number = DOUBLE if types[0].is_float else as_numeric(types[0])
        return exact(((number, TEXT), TEXT))(types, constants)
    if 1 in constants:
        list(_pieces(constants[1]))
    if len(types) == 2 and types[0] is not None and types[0].name is TypeName.TIME:
        types = (INTERVAL, types[1])
    moments = (TIMESTAMPTZ, TIMESTAMP, INTERVAL)
    return exact(*(((moment, TEXT), TEXT) for moment in moments))(types, constants)


scalar(
    "to_char",
    "A moment, an interval or a time formatted by a pattern, such as `'YYYY-MM-DD HH24:MI'`, or a "
    "number, by one such as `'FM999,990.00'`.",
    _formatted,
    duckdb=_to_char("duckdb"),
    spark=_to_char("spark"),
)


def _to_number(engine: str) -> Writer:
    def write(site: Site) -> str:
        number = checked(engine, json_call("number_of", *site.arguments))
        return write_cast(engine, number, TEXT, site.result)

    return write


scalar(
    "to_number",
    "The number that a text spells in a format, such as `'999,999.99'`.",
    exact(((TEXT, TEXT), numeric())),
    duckdb=_to_number("duckdb"),
    spark=_to_number("spark"),
)
