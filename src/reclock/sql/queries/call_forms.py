"""Forms of calls: functions by several names, arguments by name, and types as functions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sqlglot import exp

from reclock.errors import InvalidOption, SqlSyntaxError, UnknownFunction
from reclock.sql.names import fold

_OF_DOCUMENTS = (
    *("agg", "array_elements", "array_elements_text", "array_length", "build_array"),
    *("build_object", "each", "each_text", "extract_path", "extract_path_text"),
    *("object", "object_agg", "object_keys", "populate_record", "populate_recordset"),
    *("strip_nulls", "to_record", "to_recordset", "typeof"),
)
SAME_FUNCTIONS = {
    **{f"json_{name}": f"jsonb_{name}" for name in _OF_DOCUMENTS},
    **dict.fromkeys(("to_json", "array_to_json", "row_to_json"), "to_jsonb"),
    "pow": "power",
    "uuid_generate_v4": "gen_random_uuid",
    "uuidv4": "gen_random_uuid",
}
"""Other names of functions. ``json`` is ``jsonb`` here."""

_UNITS = ("years", "months", "weeks", "days", "hours", "mins", "secs")
_Parameters = Mapping[str, exp.Expr | None]
_BY_PATH: _Parameters = {
    "target": None,
    "path": None,
    "vars": exp.Literal.string("{}"),
    "silent": exp.false(),
}
_CHANGED: _Parameters = {"jsonb_in": None, "path": None, "replacement": None}
_PARAMETERS: Mapping[str, _Parameters] = {
    "make_interval": dict.fromkeys(_UNITS, exp.Literal.number(0)),
    "jsonb_set": {**_CHANGED, "create_if_missing": exp.true()},
    "jsonb_insert": {**_CHANGED, "insert_after": exp.false()},
    **{
        f"jsonb_path_{name}": _BY_PATH
        for name in ("exists", "match", "query", "query_array", "query_first")
    },
}
"""The names of the parameters of functions, and what they are if they are not given."""


_PART = re.compile(
    r'\s*(?:"((?:[^"]|"")+)"|([A-Za-z_\u0080-\U0010ffff][\w$\u0080-\U0010ffff]*))\s*'
)


def name_parts(text: str, *, is_strict: bool = True) -> tuple[str, ...]:
    """The parts of a qualified name. Raises ``InvalidOption``, for what follows the name only if
    ``is_strict``."""
    parts: list[str] = []
    position = 0
    while not parts or text.startswith(".", position):
        match = _PART.match(text, position + bool(parts))
        if match is None:
            raise InvalidOption(f'string is not a valid identifier: "{text}"')
        parts.append(match[1].replace('""', '"') if match[1] else match[2].lower())
        position = match.end()
    if is_strict and position < len(text):
        raise InvalidOption(f'string is not a valid identifier: "{text}"')
    return tuple(parts)


def named_arguments(arguments: Sequence[exp.Expr]) -> dict[str, exp.Kwarg]:
    """Those that are named, by the names. Raises ``SqlSyntaxError`` if others follow, or if a name
    is there twice."""
    named: dict[str, exp.Kwarg] = {}
    for argument in arguments:
        if not isinstance(argument, exp.Kwarg):
            if named:
                raise SqlSyntaxError("positional argument cannot follow named argument")
            continue
        name = fold(argument.this)
        if name in named:
            raise SqlSyntaxError(f'argument name "{name}" used more than once')
        named[name] = argument
    return named


def positional(name: str, arguments: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The arguments in the order of the parameters. Raises ``UnknownFunction``, and as
    ``named_arguments``."""
    named = named_arguments(arguments)
    count = len(arguments) - len(named)
    if not named:
        return list(arguments)
    defaults = _PARAMETERS.get(name, {})
    names = list(defaults)
    if not set(named) <= set(names[count:]):
        raise UnknownFunction(name, [], hint="it has no parameters of these names")
    placed = list(arguments[:count])
    last = max(names.index(parameter) for parameter in named)
    for parameter in names[count : last + 1]:
        default = defaults[parameter]
        if parameter not in named and default is None:
            raise UnknownFunction(name, [], hint=f'it needs a value for "{parameter}"')
        placed.append(
            named[parameter].expression if parameter in named or default is None else default.copy()
        )
    return placed
