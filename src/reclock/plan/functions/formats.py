"""``to_char`` of moments, by a constant format: each of its patterns is a part of the moment, which
both engines can compute."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from reclock.algebra.relations import TEXT, TIMESTAMP, TIMESTAMPTZ, ScalarType
from reclock.errors import UnsupportedSql
from reclock.plan.functions.moments import field
from reclock.plan.functions.registry import Site, Types, Writer, scalar
from reclock.plan.functions.sql_names import literal, type_sql
from reclock.plan.functions.typing import exact

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_CASES: tuple[Callable[[str], str], ...] = (str.upper, str.lower, str.capitalize)


@dataclass(frozen=True, slots=True)
class _Number:
    """A whole number of ``digits`` (0: as many as it has): ``of`` the field, which stands for
    ``{0}``; ``//`` divides."""

    field: str
    digits: int
    of: str = "{0}"


_SECONDS_OF_DAY = _Number(
    "epoch", 0, "(({0} % 86400000000 + 86400000000) % 86400000000) // 1000000"
)
_NUMBERS = {
    "YYYY": _Number("year", 4),
    "YY": _Number("year", 2, "{0} % 100"),
    "IYYY": _Number("isoyear", 4),
    "IW": _Number("week", 2),
    "Q": _Number("quarter", 1),
    "MM": _Number("month", 2),
    "DDD": _Number("doy", 3),
    "DD": _Number("day", 2),
    "D": _Number("dow", 1, "{0} + 1"),
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
_HALVES = {"AM": ("AM", "PM"), "PM": ("AM", "PM"), "am": ("am", "pm"), "pm": ("am", "pm")}

_WORDS = "|".join(sorted([*_NAMES, *_HALVES], key=len, reverse=True))
_COUNTS = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_PIECE = re.compile(
    rf'"(?P<quoted>[^"\\]*)"|(?P<bare>[^A-Za-z"\\])|(?P<fm>FM)?(?:(?P<word>{_WORDS})|(?P<count>(?i:{_COUNTS})))'
)


def _pieces(format: object) -> Iterator[re.Match[str]]:
    """Raises ``UnsupportedSql``."""
    if not isinstance(format, str):
        raise UnsupportedSql("a format that is not a constant is not supported")
    position = 0
    while position < len(format):
        match = _PIECE.match(format, position)
        if match is None:
            known = ", ".join([*_NUMBERS, "Month", "Mon", "Day", "Dy", "AM"])
            raise UnsupportedSql(
                f'format "{format[position:]}" is not supported',
                hint=f"parts are {known}; text goes in double quotes",
            )
        yield match
        position = match.end()


def _to_char(engine: str) -> Writer:
    text = type_sql(engine, TEXT)

    def chosen(of: str, names: tuple[str, ...]) -> str:
        cases = " ".join(
            f"WHEN {n} THEN {literal(engine, name, TEXT)}" for n, name in enumerate(names, 1)
        )
        return f"(CASE {of} {cases} END)"

    def written(piece: re.Match[str], moment: str) -> str:
        is_padded = piece["fm"] is None
        if piece["word"] in _HALVES:
            before, after = (literal(engine, half, TEXT) for half in _HALVES[piece["word"]])
            return (
                f"(CASE WHEN {field(engine, 'hour', moment)} < 12 THEN {before} ELSE {after} END)"
            )
        if piece["word"]:
            name, names, width = _NAMES[piece["word"]]
            return chosen(
                field(engine, name, moment),
                tuple(name.ljust(width) if is_padded else name for name in names),
            )
        if piece["count"]:
            number = _NUMBERS[piece["count"].upper()]
            whole = number.of.format(field(engine, number.field, moment))
            digits = (
                f"CAST(({whole.replace('//', 'DIV') if engine == 'spark' else whole}) AS {text})"
            )
            return (
                f"lpad({digits}, {number.digits}, '0')" if is_padded and number.digits else digits
            )
        return literal(engine, piece["bare"] or piece["quoted"], TEXT)

    def write(site: Site) -> str:
        parts = [written(piece, site.arguments[0]) for piece in _pieces(site.constants.get(1))]
        nothing = f"(CASE WHEN {site.arguments[0]} IS NOT NULL THEN '' END)"
        return f"({' || '.join([nothing, *parts])})"

    return write


def _formatted(
    types: Types, constants: Mapping[int, object]
) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
    if 1 in constants:
        list(_pieces(constants[1]))
    return exact(((TIMESTAMPTZ, TEXT), TEXT), ((TIMESTAMP, TEXT), TEXT))(types, constants)


scalar(
    "to_char",
    "A moment formatted by a pattern, such as `'YYYY-MM-DD HH24:MI'`.",
    _formatted,
    duckdb=_to_char("duckdb"),
    spark=_to_char("spark"),
)
