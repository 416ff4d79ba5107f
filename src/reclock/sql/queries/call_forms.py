"""Forms of calls: functions by several names, arguments by name, whole rows as arguments, and types
as functions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sqlglot import exp

from reclock.errors import InvalidOption, SqlSyntaxError, UnknownFunction
from reclock.sql.names import fold, identifier
from reclock.sql.queries.scope import Scope

_OF_DOCUMENTS = (
    *("agg", "array_elements", "array_elements_text", "array_length", "build_array"),
    *("build_object", "each", "each_text", "extract_path", "extract_path_text"),
    *("object_agg", "object_keys", "strip_nulls", "to_record", "to_recordset", "typeof"),
)
SAME_FUNCTIONS = {
    **{f"json_{name}": f"jsonb_{name}" for name in _OF_DOCUMENTS},
    **dict.fromkeys(("to_json", "array_to_json", "row_to_json"), "to_jsonb"),
    "uuid_generate_v4": "gen_random_uuid",
    "uuidv4": "gen_random_uuid",
}
"""Other names of functions. ``json`` is ``jsonb`` here."""
_TAKE_ROWS = frozenset({"to_jsonb", "jsonb_agg"})

_PARAMETERS = {"make_interval": ("years", "months", "weeks", "days", "hours", "mins", "secs")}
"""The names of the parameters of functions, which are 0 if they are not given."""


_PART = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^\W\d][\w$]*))\s*(\.|$)')


def name_parts(text: str) -> tuple[str, ...]:
    """The parts of a qualified name. Raises ``InvalidOption``."""
    parts: list[str] = []
    position = 0
    while not parts or text[position - 1 : position] == ".":
        match = _PART.match(text, position)
        if match is None:
            raise InvalidOption(f'string is not a valid identifier: "{text}"')
        parts.append(match[1].replace('""', '"') if match[1] else match[2].lower())
        if not match[3]:
            break
        position = match.end()
    return tuple(parts)


def positional(name: str, arguments: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The arguments in the order of the parameters. Raises ``UnknownFunction``."""
    count = sum(not isinstance(argument, exp.Kwarg) for argument in arguments)
    named = {fold(argument.this): argument for argument in arguments[count:]}
    if not named:
        return list(arguments)
    names = _PARAMETERS.get(name, ())
    if not all(isinstance(argument, exp.Kwarg) for argument in arguments[count:]):
        raise SqlSyntaxError("positional argument cannot follow named argument")
    if len(named) < len(arguments) - count or not set(named) <= set(names[count:]):
        raise UnknownFunction(name, [], hint="it has no parameters of these names")
    last = max(names.index(parameter) for parameter in named)
    return [
        *arguments[:count],
        *(
            named[parameter].expression if parameter in named else exp.Literal.number(0)
            for parameter in names[count : last + 1]
        ),
    ]


def with_rows(name: str, arguments: Sequence[exp.Expr], scope: Scope) -> list[exp.Expr]:
    """The arguments, with an object of its columns for each that is a whole row: the name of a
    relation, ``t.*`` or ``ROW(…)``."""
    if name not in _TAKE_ROWS:
        return list(arguments)
    return [_row_object(argument, scope) or argument for argument in arguments]


def _row_object(node: exp.Expr, scope: Scope) -> exp.Expr | None:
    if isinstance(node, exp.Order | exp.Distinct):
        inner = node.this if isinstance(node, exp.Order) else node.expressions[0]
        row = _row_object(inner, scope)
        if row is not None:
            inner.replace(row)
        return None
    if isinstance(node, exp.Anonymous) and node.name.lower() == "row":
        return _object({f"f{i}": item for i, item in enumerate(node.expressions, 1)})
    if not isinstance(node, exp.Column):
        return None
    if isinstance(node.this, exp.Star):
        qualifier = [fold(node.args.get("table"))]
    elif node.args.get("table") or scope.find(fold(node.this)) is not None:
        return None
    else:
        qualifier = [fold(node.this)]
    while not scope.of_relation(qualifier):
        if scope.outer is None:
            return None
        scope = scope.outer
    names = [scope.columns[i].name for i in scope.of_relation(qualifier)]
    return _object(
        {name: exp.column(identifier(name), *map(identifier, qualifier)) for name in names}
    )


def _object(members: Mapping[str, exp.Expr]) -> exp.Expr:
    parts = [part for name, value in members.items() for part in (exp.Literal.string(name), value)]
    return exp.Anonymous(this="jsonb_build_object", expressions=parts)
