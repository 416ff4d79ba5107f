"""The functions ``regexp_…`` of a pattern that is a constant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from reclock.algebra.relations import BOOLEAN, INTEGER, TEXT, ScalarType, array
from reclock.errors import EvaluationError, UnsupportedSql
from reclock.plan.functions.registry import Resolver, Site, Types, Writer, scalar
from reclock.plan.functions.regular_expressions import (
    INVALID_PARAMETER,
    Group,
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
    if expression is not None and expression.may_be_empty:
        raise UnsupportedSql(
            "splitting by a regular expression that matches the empty text is not supported"
        )
    return expression


def _flags(count: int, first: int) -> int | None:
    """Where the flags stand, if they are there: at ``first``, the last of ``count`` arguments."""
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
    pattern = string(engine, expression.text)
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


def _group(
    engine: str, text: str, expression: RegularExpression, number: int, group: Group | None
) -> str:
    """What the group matched in the first match; NULL if the match does not go through it."""
    captured = f"regexp_extract({text}, {string(engine, expression.text)}, {number})"
    if group is None or not group.may_be_skipped:
        return captured
    if group.may_be_empty:
        raise UnsupportedSql(
            "a group of a regular expression that may be skipped and may be empty is not supported"
        )
    return f"nullif({captured}, '')"


def _match(engine: str) -> Writer:
    def write(site: Site) -> str:
        expression = _expression(site.constants, _flags(len(site.arguments), 2))
        if expression is None:
            return _null(engine, site)
        text = site.arguments[0]
        groups: Sequence[tuple[int, Group | None]] = [*enumerate(expression.groups, 1)] or [
            (0, None)
        ]
        items = ", ".join(
            _group(engine, text, expression, number, group) for number, group in groups
        )
        found = f"[{items}]" if engine == "duckdb" else f"array({items})"
        return f"(CASE WHEN {_matches(engine, text, expression)} THEN {found} END)"

    return write


def _replace(engine: str) -> Writer:
    def write(site: Site) -> str:
        flags = _flags(len(site.arguments), 3)
        expression = _expression(site.constants, flags, takes_global=True)
        replaced = _constant(site.constants, 2, "a replacement by a regular expression")
        if expression is None or replaced is None:
            return _null(engine, site)
        is_global = flags is not None and "g" in str(site.constants[flags])
        parts = [
            part if isinstance(part, str) or part <= len(expression.groups) else ""
            for part in replacement(str(replaced))
        ]
        text = site.arguments[0]
        if engine == "duckdb":
            by = "".join(
                part.replace("\\", "\\\\") if isinstance(part, str) else f"\\{part}"
                for part in parts
            )
            option = ", 'g'" if is_global else ""
            return (
                f"regexp_replace({text}, {string(engine, expression.text)}, "
                f"{string(engine, by)}{option})"
            )
        # Spark replaces every match: the first is found behind the shortest start
        shift = 0 if is_global else 2
        quoted = {"\\": "\\\\", "$": "\\$"}
        by = "".join(
            quoted.get(part, part) if isinstance(part, str) else f"${part + shift}"
            for part in parts
        )
        pattern = expression.text
        if not is_global:
            options, _, rest = pattern.partition(")")
            pattern, by = rf"{options})\A(.*?)({rest})", f"$1{by}"
        return f"regexp_replace({text}, {string(engine, pattern)}, {string(engine, by)})"

    return write


def _all_matches(engine: str, text: str, expression: RegularExpression, group: int = 0) -> str:
    return f"regexp_extract_all({text}, {string(engine, expression.text)}, {group})"


def _count(engine: str) -> Writer:
    def write(site: Site) -> str:
        expression = _expression(site.constants)
        if expression is None:
            return _null(engine, site)
        size = "len" if engine == "duckdb" else "size"
        return (
            f"CAST({size}({_all_matches(engine, site.arguments[0], expression)}) AS "
            f"{type_sql(engine, INTEGER)})"
        )

    return write


def _substr(engine: str) -> Writer:
    def write(site: Site) -> str:
        expression = _expression(site.constants)
        if expression is None:
            return _null(engine, site)
        text = site.arguments[0]
        found = f"regexp_extract({text}, {string(engine, expression.text)}, 0)"
        return f"(CASE WHEN {_matches(engine, text, expression)} THEN {found} END)"

    return write


def _split(engine: str) -> Writer:
    def write(site: Site) -> str:
        expression = _separator(site.constants, _flags(len(site.arguments), 2))
        if expression is None:
            return _null(engine, site)
        pattern = string(engine, expression.text)
        split = f"string_split_regex({site.arguments[0]}, {pattern})"
        return split if engine == "duckdb" else f"split({site.arguments[0]}, {pattern}, -1)"

    return write


SPLIT = "regexp_split_to_array"
_ARGUMENTS = (TEXT, TEXT)


def _signatures(result: ScalarType) -> Resolver:
    return exact((_ARGUMENTS, result), ((*_ARGUMENTS, TEXT), result))


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
    _checked(
        3,
        exact(((TEXT, TEXT, TEXT), TEXT), ((TEXT, TEXT, TEXT, TEXT), TEXT)),
        partial(_expression, takes_global=True),
    ),
    duckdb=_replace("duckdb"),
    spark=_replace("spark"),
)
scalar(
    "regexp_count",
    "How often a regular expression, a constant, matches.",
    _checked(2, exact((_ARGUMENTS, INTEGER))),
    duckdb=_count("duckdb"),
    spark=_count("spark"),
)
scalar(
    "regexp_substr",
    "The first match of a regular expression, a constant; NULL without one.",
    _checked(2, exact((_ARGUMENTS, TEXT))),
    duckdb=_substr("duckdb"),
    spark=_substr("spark"),
)
scalar(
    SPLIT,
    "The parts between the matches of a regular expression, a constant.",
    _checked(2, _signatures(_TEXTS), _separator),
    duckdb=_split("duckdb"),
    spark=_split("spark"),
)
