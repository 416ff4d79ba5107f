"""The functions ``regexp_…`` of a pattern that is a constant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from reclock.algebra.relations import BOOLEAN, INTEGER, TEXT, ScalarType, array
from reclock.errors import EvaluationError, UnsupportedSql
from reclock.plan.functions.intervals import computed
from reclock.plan.functions.registry import Resolver, Site, Types, Writer, scalar
from reclock.plan.functions.regular_expressions import (
    INVALID_PARAMETER,
    RegularExpression,
    regular_expression,
    replacement,
)
from reclock.plan.functions.sql_names import string, type_sql
from reclock.plan.functions.typing import exact

_TEXTS = array(TEXT)
_PATTERN = 1


def _constant(constants: Mapping[int, object], place: int, what: str) -> object:
    if place not in constants:
        raise UnsupportedSql(f"{what} that is not a constant is not supported")
    return constants[place]


def _expression(
    constants: Mapping[int, object], flags: int | None = None, *, takes_global: bool = False
) -> RegularExpression | None:
    """The regular expression of a call whose flags are argument ``flags``; None if either is
    NULL."""
    pattern = _constant(constants, _PATTERN, "a regular expression")
    options = (
        _constant(constants, flags, "an option of a regular expression")
        if flags is not None
        else ""
    )
    if pattern is None or options is None:
        return None
    if "g" in str(options) and not takes_global:
        raise EvaluationError(
            'this function does not support the "global" option', sqlstate=INVALID_PARAMETER
        )
    return regular_expression(str(pattern), str(options))


def _separator(constants: Mapping[int, object], flags: int | None) -> RegularExpression | None:
    """A regular expression to split by. Raises ``UnsupportedSql`` if it matches the empty text."""
    expression = _expression(constants, flags)
    if expression is not None and expression.may_be_empty and constants[_PATTERN] != "":
        raise UnsupportedSql(
            "splitting by a regular expression that matches the empty text is not supported"
        )
    return expression


def _flags(count: int, first: int) -> int | None:
    """Where the flags are, if there are any: at ``first``, the last of ``count`` arguments."""
    return first if count > first else None


def _checked(
    first_flag: int, resolve: Resolver, translate: Callable[..., object] = _expression
) -> Resolver:
    """As ``resolve``, for a pattern that can be translated. One that is not known yet is translated
    when it is written."""

    def checked(
        types: Types, constants: Mapping[int, object]
    ) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
        signature = resolve(types, constants)
        flags = _flags(len(types), first_flag)
        if (
            signature is not None
            and _PATTERN in constants
            and (flags is None or flags in constants)
        ):
            translate(constants, flags)
        return signature

    return checked


def _null(engine: str, site: Site) -> str:
    return f"CAST(NULL AS {type_sql(engine, site.result)})"


def _matches(engine: str, text: str, expression: RegularExpression) -> str:
    pattern = string(engine, expression.written(engine))
    return (
        f"regexp_matches({text}, {pattern})" if engine == "duckdb" else f"({text} RLIKE {pattern})"
    )


def _like(engine: str) -> Writer:
    def write(site: Site) -> str:
        expression = _expression(site.constants, _flags(len(site.arguments), 2))
        return (
            _null(engine, site)
            if expression is None
            else _matches(engine, site.arguments[0], expression)
        )

    return write


def _group(engine: str, text: str, expression: RegularExpression, number: int) -> str:
    """What the group matched in the first match; NULL if the match does not go through it."""
    captured = f"regexp_extract({text}, {string(engine, expression.written(engine))}, {number})"
    return _or_null(captured, expression, number)


def _match(engine: str) -> Writer:
    def write(site: Site) -> str:
        expression = _expression(site.constants, _flags(len(site.arguments), 2))
        if expression is None:
            return _null(engine, site)
        text = site.arguments[0]
        groups = range(1, len(expression.groups) + 1) or (0,)
        items = ", ".join(_group(engine, text, expression, number) for number in groups)
        array = f"[{items}]" if engine == "duckdb" else f"array({items})"
        return f"(CASE WHEN {_matches(engine, text, expression)} THEN {array} END)"

    return write


def _replaced(
    engine: str, text: str, expression: RegularExpression, by: object, *, is_global: bool
) -> str:
    """``text`` with the first match, or with all, replaced."""
    parts = [
        part if isinstance(part, str) or part <= len(expression.groups) else ""
        for part in replacement(str(by))
    ]
    if engine == "duckdb":
        if is_global and expression.may_be_empty and any(isinstance(part, str) for part in parts):
            # RE2 finds no empty match right after another match
            raise UnsupportedSql(
                "replacing all matches of a regular expression that matches the empty text, by a "
                "text, is not supported",
                hint="write + in place of * where at least one character shall match",
            )
        new = "".join(
            part.replace("\\", "\\\\") if isinstance(part, str) else f"\\{part}" for part in parts
        )
        option = ", 'g'" if is_global else ""
        pattern = string(engine, expression.written(engine))
        return f"regexp_replace({text}, {pattern}, {string(engine, new)}{option})"
    # Spark replaces every match: the first is found after the shortest start
    shift = 0 if is_global else 2
    quoted = {"\\": "\\\\", "$": "\\$"}
    new = "".join(
        quoted.get(part, part) if isinstance(part, str) else f"${part + shift}" for part in parts
    )
    pattern = expression.written(engine)
    if not is_global:
        options, _, body = pattern.partition(")")
        pattern, new = rf"{options})\A(.*?)({body})", f"$1{new}"
    return f"regexp_replace({text}, {string(engine, pattern)}, {string(engine, new)})"


def _replace(engine: str) -> Writer:
    """With a start as fourth argument, the number of the match follows, which is all for 0, and the
    flags."""

    def write(site: Site) -> str:
        has_start = len(site.arguments) > 3 and site.types[3] == INTEGER
        flags = _flags(len(site.arguments), 5 if has_start else 3)
        expression = _expression(site.constants, flags, takes_global=not has_start)
        by = _constant(site.constants, 2, "a replacement by a regular expression")
        if not has_start:
            if expression is None or by is None:
                return _null(engine, site)
            is_global = flags is not None and "g" in str(site.constants[flags])
            return _replaced(engine, site.arguments[0], expression, by, is_global=is_global)
        start, number = _counts(site, (3, 1, 1), (4, 1, 0))
        if expression is None or by is None or start is None or number is None:
            return _null(engine, site)
        regex = expression

        def body(text: str) -> str:
            searched = _from_start(text, start, regex)
            before = f"substr({text}, 1, {start - 1})"
            if number < 2:
                replaced = _replaced(engine, searched, regex, by, is_global=number == 0)
                return f"concat({before}, {replaced})"
            place = _place(engine, searched, regex, number)
            match = _nth(engine, _all_matches(engine, searched, regex), number)
            new = _replaced(engine, match, regex, by, is_global=False)
            behind = f"substr({searched}, {place} + length({match}))"
            return (
                f"CASE WHEN {match} IS NULL THEN {text} ELSE concat({before}, "
                f"substr({searched}, 1, CAST({place} - 1 AS INT)), {new}, {behind}) END"
            )

        return computed(engine, [site.arguments[0]], body)

    return write


def _counts(site: Site, *places: tuple[int, int, int]) -> list[int | None]:
    """The constants at these places, each given with its default and its least value."""
    values: list[int | None] = []
    for place, default, least in places:
        if place >= len(site.arguments):
            values.append(default)
            continue
        value = _constant(site.constants, place, "a place among the matches")
        if isinstance(value, int) and value < least:
            raise EvaluationError(
                f"invalid value for a place among the matches: {value}", sqlstate=INVALID_PARAMETER
            )
        values.append(value if isinstance(value, int) else None)
    return values


def _at_end(site: Site, place: int) -> bool | None:
    """Whether the end of a match is asked for, by a constant 1; None if the constant is NULL."""
    value, *_ = _counts(site, (place, 0, 0))
    if value is not None and value > 1:
        raise EvaluationError(
            f'invalid value for parameter "endoption": {value}', sqlstate=INVALID_PARAMETER
        )
    return None if value is None else value == 1


def _from_start(text: str, start: int, expression: RegularExpression) -> str:
    """``text`` from ``start`` on, where the expression has the same matches as in the whole."""
    if start == 1:
        return text
    if expression.has_edges:
        raise UnsupportedSql(
            "a regular expression with ^, $ or an edge of words after a start is not supported"
        )
    return f"substr({text}, {start})"


def _nth(engine: str, items: str, number: int) -> str:
    """The element; NULL beyond the end."""
    return (
        f"list_extract({items}, {number})" if engine == "duckdb" else f"get({items}, {number - 1})"
    )


def _length_of(engine: str, items: str, count: int) -> str:
    """The characters of the first so many texts."""
    if engine == "duckdb":
        return f"length(coalesce(array_to_string(list_slice({items}, 1, {count}), ''), ''))"
    return f"length(array_join(slice({items}, 1, {count}), ''))"


def _place(engine: str, text: str, expression: RegularExpression, number: int) -> str:
    """Where the match of this number starts, from 1, if it is there."""
    if expression.may_be_empty:
        raise UnsupportedSql(
            "the place of what a regular expression matches that may be empty is not supported"
        )
    between = _between(engine, text, expression)
    matches = _all_matches(engine, text, expression)
    place = f"{_length_of(engine, between, number)} + 1"
    return place if number == 1 else f"({place} + {_length_of(engine, matches, number - 1)})"


def _between(engine: str, text: str, expression: RegularExpression) -> str:
    pattern = string(engine, expression.written(engine))
    if engine == "duckdb":
        return f"string_split_regex({text}, {pattern})"
    return f"split({text}, {pattern}, -1)"


def _all_matches(engine: str, text: str, expression: RegularExpression, group: int = 0) -> str:
    return f"regexp_extract_all({text}, {string(engine, expression.written(engine))}, {group})"


def _count(engine: str) -> Writer:
    def write(site: Site) -> str:
        expression = _expression(site.constants, _flags(len(site.arguments), 3))
        (start,) = _counts(site, (2, 1, 1))
        if expression is None or start is None:
            return _null(engine, site)
        size = "len" if engine == "duckdb" else "size"
        matches = _all_matches(
            engine, _from_start(site.arguments[0], start, expression), expression
        )
        return f"CAST({size}({matches}) AS {type_sql(engine, INTEGER)})"

    return write


def _substr(engine: str) -> Writer:
    def write(site: Site) -> str:
        expression = _expression(site.constants, _flags(len(site.arguments), 4))
        start, number, group = _counts(site, (2, 1, 1), (3, 1, 1), (5, 0, 0))
        if expression is None or start is None or number is None or group is None:
            return _null(engine, site)
        text = _from_start(site.arguments[0], start, expression)
        if group > len(expression.groups):
            return _null(engine, site)
        if number == 1 and not group:
            match = f"regexp_extract({text}, {string(engine, expression.written(engine))}, 0)"
            return f"(CASE WHEN {_matches(engine, text, expression)} THEN {match} END)"
        captured = _nth(engine, _all_matches(engine, text, expression, group), number)
        return _or_null(captured, expression, group)

    return write


def _or_null(captured: str, expression: RegularExpression, number: int) -> str:
    """What a group captured; NULL if the match does not go through it."""
    group = expression.groups[number - 1] if number else None
    if group is None or not group.may_be_skipped:
        return captured
    if group.may_be_empty:
        raise UnsupportedSql(
            "a group of a regular expression that may be skipped and may be empty is not supported"
        )
    return f"nullif({captured}, '')"


def _instr(engine: str) -> Writer:
    def write(site: Site) -> str:
        expression = _expression(site.constants, _flags(len(site.arguments), 5))
        start, number = _counts(site, (2, 1, 1), (3, 1, 1))
        is_end = _at_end(site, 4)
        if expression is None or start is None or number is None or is_end is None:
            return _null(engine, site)
        regex = expression

        def body(text: str) -> str:
            searched = _from_start(text, start, regex)
            match = _nth(engine, _all_matches(engine, searched, regex), number)
            place = f"{_place(engine, searched, regex, number)} + {start - 1}"
            end = f" + length({match})" if is_end else ""
            position = f"CASE WHEN {match} IS NULL THEN 0 ELSE {place}{end} END"
            return f"CAST({position} AS {type_sql(engine, INTEGER)})"

        return computed(engine, [site.arguments[0]], body)

    return write


def _rows_of_matches(engine: str) -> Writer:
    """An array for each match, or only for the first: the texts of its groups, or of the match if the
    expression has no groups."""

    def write(site: Site) -> str:
        flags = _flags(len(site.arguments), 2)
        expression = _expression(site.constants, flags, takes_global=True)
        if expression is None:
            return _null(engine, site)
        if expression.may_be_empty:
            raise UnsupportedSql(
                "regexp_matches of a regular expression that matches the empty text is not supported"
            )
        is_global = flags is not None and "g" in str(site.constants[flags])
        regex, groups = expression, range(1, len(expression.groups) + 1)

        def body(text: str) -> str:
            columns = [_all_matches(engine, text, regex, group) for group in groups or (0,)]
            if engine == "duckdb":
                items = [f"list_extract({column}, i)" for column in columns]
            else:
                items = [f"get({column}, CAST(i - 1 AS INT))" for column in columns]
            written = ", ".join(
                _or_null(item, regex, group)
                for item, group in zip(items, groups or (0,), strict=True)
            )
            all_matches = _all_matches(engine, text, regex)
            if engine == "duckdb":
                last = f"len({all_matches})" if is_global else f"least(len({all_matches}), 1)"
                return f"list_transform(range(1, {last} + 1), lambda i: [{written}])"
            shown = all_matches if is_global else f"slice({all_matches}, 1, 1)"
            written = written.replace("CAST(i - 1 AS INT)", "i")
            return f"transform({shown}, (m, i) -> array({written}))"

        return computed(engine, [site.arguments[0]], body)

    return write


def _split(engine: str) -> Writer:
    def write(site: Site) -> str:
        expression = _separator(site.constants, _flags(len(site.arguments), 2))
        if expression is None:
            return _null(engine, site)
        text = site.arguments[0]
        if site.constants[_PATTERN] == "":
            letters = _all_matches(engine, text, regular_expression("."))
            whole = f"[{text}]" if engine == "duckdb" else f"array({text})"
            return f"(CASE WHEN {text} = '' THEN {whole} ELSE {letters} END)"
        return _between(engine, text, expression)

    return write


SPLIT, MATCHES = "regexp_split_to_array", "rows of regexp_matches"
_ARGUMENTS = (TEXT, TEXT)


def _signatures(result: ScalarType) -> Resolver:
    return exact((_ARGUMENTS, result), ((*_ARGUMENTS, TEXT), result))


def _with_places(result: ScalarType, *optional: ScalarType) -> Resolver:
    """The text and the pattern, and as many as there are of the ``optional`` arguments."""
    counts = range(len(optional) + 1)
    return exact(*((_ARGUMENTS + optional[:count], result) for count in counts))


_REST = ((), (TEXT,), (INTEGER,), (INTEGER, INTEGER), (INTEGER, INTEGER, TEXT))


def _replacement(
    types: Types, constants: Mapping[int, object]
) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
    resolve = exact(*(((TEXT, TEXT, TEXT, *others), TEXT) for others in _REST))
    signature = resolve(types, constants)
    has_start = signature is not None and INTEGER in signature[0]
    translate = partial(_expression, takes_global=not has_start)
    return _checked(5 if has_start else 3, resolve, translate)(types, constants)


scalar(
    "regexp_like",
    "Whether a regular expression, a constant, matches; with flags.",
    _checked(2, _signatures(BOOLEAN)),
    duckdb=_like("duckdb"),
    spark=_like("spark"),
)
scalar(
    "regexp_match",
    (
        "What the groups of a regular expression, a constant, matched first, or the whole "
        "match; NULL without one."
    ),
    _checked(2, _signatures(_TEXTS)),
    duckdb=_match("duckdb"),
    spark=_match("spark"),
)
scalar(
    "regexp_replace",
    (
        r"The text with the first match of a regular expression replaced, with the flag `g` "
        r"all; `\1` is a group, `\&` the match."
    ),
    _replacement,
    duckdb=_replace("duckdb"),
    spark=_replace("spark"),
)
scalar(
    "regexp_count",
    "How often a regular expression, a constant, matches, from a start on; with flags.",
    _checked(3, _with_places(INTEGER, INTEGER, TEXT)),
    duckdb=_count("duckdb"),
    spark=_count("spark"),
)
scalar(
    "regexp_substr",
    "The match of a regular expression, a constant, with a number, from a start on; with flags, and "
    "the number of a group. NULL without one.",
    _checked(4, _with_places(TEXT, INTEGER, INTEGER, TEXT, INTEGER)),
    duckdb=_substr("duckdb"),
    spark=_substr("spark"),
)
scalar(
    "regexp_instr",
    "Where the match of a regular expression, a constant, with a number begins, or ends, from a "
    "start on; with flags. 0 without one.",
    _checked(5, _with_places(INTEGER, INTEGER, INTEGER, INTEGER, TEXT)),
    duckdb=_instr("duckdb"),
    spark=_instr("spark"),
)
scalar(
    MATCHES,
    "A row for the first match of a regular expression, a constant, or for each with the flag `g`: "
    "what its groups matched, or the whole match.",
    _checked(2, _signatures(array(_TEXTS)), partial(_expression, takes_global=True)),
    duckdb=_rows_of_matches("duckdb"),
    spark=_rows_of_matches("spark"),
)
scalar(
    SPLIT,
    "The parts between the matches of a regular expression, a constant.",
    _checked(2, _signatures(_TEXTS), _separator),
    duckdb=_split("duckdb"),
    spark=_split("spark"),
)
