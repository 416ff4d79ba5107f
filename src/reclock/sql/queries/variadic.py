"""Calls whose last arguments are the elements of an array: ``f(VARIADIC array)``."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from reclock.errors import SqlSyntaxError, UnknownFunction, UnsupportedSql
from reclock.plan.functions.array_dimensions import FLATTENED
from reclock.sql.syntax.consumption import tracked_copy
from reclock.sql.syntax.nodes import Variadic

_FIXED_ARGUMENTS = {
    **dict.fromkeys(("concat", "num_nonnulls", "num_nulls"), 0),
    **dict.fromkeys(("json_build_array", "json_build_object"), 0),
    **dict.fromkeys(("jsonb_build_array", "jsonb_build_object"), 0),
    **dict.fromkeys(("concat_ws", "format"), 1),
    **dict.fromkeys(("json_extract_path", "json_extract_path_text"), 1),
    **dict.fromkeys(("jsonb_extract_path", "jsonb_extract_path_text"), 1),
}
"""How many arguments of each function come before the array."""
_OF_WHOLE_ARRAY: dict[str, Callable[..., tuple[str, list[exp.Expr]]]] = {
    "concat": lambda array: ("array_to_string", [array, exp.Literal.string("")]),
    "concat_ws": lambda separator, array: ("array_to_string", [array, separator]),
    "json_build_array": lambda array: ("to_json", [_all_elements(array)]),
    "jsonb_build_array": lambda array: ("to_jsonb", [_all_elements(array)]),
}
"""The calls that mean the same for an array that is not written as ``ARRAY[…]``."""


def _all_elements(array: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=FLATTENED, expressions=[array])


def is_variadic(node: exp.Anonymous) -> bool:
    """Whether an argument of the call is written after VARIADIC."""
    return any(isinstance(argument, Variadic) for argument in node.expressions)


def without_variadic(node: exp.Anonymous, name: str) -> exp.Anonymous:
    """The call with the elements of the array as its last arguments. Raises ``UnknownFunction``,
    ``UnsupportedSql``."""
    *before, last = (tracked_copy(argument) for argument in node.expressions)
    if not isinstance(last, Variadic) or any(isinstance(argument, Variadic) for argument in before):
        raise SqlSyntaxError("VARIADIC may precede only the last argument")
    if len(before) != _FIXED_ARGUMENTS.get(name):
        raise UnknownFunction(name, [], hint="it takes no VARIADIC array there")
    if isinstance(last.this, exp.Array):
        return exp.Anonymous(this=name, expressions=[*before, *last.this.expressions])
    if name not in _OF_WHOLE_ARRAY:
        raise UnsupportedSql(f"{name} takes only a VARIADIC array that is written as ARRAY[…]")
    function, arguments = _OF_WHOLE_ARRAY[name](*before, last.this)
    return exp.Anonymous(this=function, expressions=arguments)
