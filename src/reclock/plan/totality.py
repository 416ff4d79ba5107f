"""Scalars that have a value for every row, so that they may be evaluated on more rows than SQL
says."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reclock.algebra.relations import DATE, MAX_PRECISION, TIMESTAMP, ScalarType, TypeName
from reclock.plan.functions import networks, ranges
from reclock.plan.functions.arithmetic import has_rounded_operand, integral_digits
from reclock.plan.functions.intervals import SPAN
from reclock.plan.functions.records import FIELD_OF, RECORD_OF
from reclock.plan.functions.typing import parameters
from reclock.plan.scalars import Call, Case, Cast, Literal

_TOTAL = frozenset(
    {
        "=",
        "<>",
        "<",
        "<=",
        ">",
        ">=",
        "and",
        "or",
        "not",
        "is_null",
        "is_not_distinct",
        "concat",
        "||",
        "like",
        "ilike",
        "= any",
        "coalesce",
        "mz_now",
        "mz_timestamp",
        SPAN,
        RECORD_OF,
        FIELD_OF,
        "->",
        "->>",
        "#>",
        "#>>",
        "jsonb_contains",
        "jsonb_contained",
        "jsonb_exists",
        "jsonb_exists_any",
        "jsonb_exists_all",
        "jsonb_concat",
        "jsonb_typeof",
        "kind of text",
        *networks.TOTAL,
        *ranges.TOTAL,
        "is_true",
        "is_false",
        "nullif",
        "greatest",
        "least",
        "num_nulls",
        "num_nonnulls",
        "lower",
        "upper",
        "initcap",
        "length",
        "char_length",
        "character_length",
        "octet_length",
        "trim",
        "btrim",
        "ltrim",
        "rtrim",
        "reverse",
        "strpos",
        "position",
        "starts_with",
        "concat_ws",
        "translate",
        "ascii",
        "md5",
    }
)
"""Operators and functions that have a result for all arguments."""


def _is_whole(scalar: object, *, but: Callable[[int], bool] = lambda number: False) -> bool:
    """Whether it is a constant whole number other than these, or NULL."""
    match scalar:
        case Literal(None):
            return True
        case Literal(int() as number):
            return not but(number)
        case _:
            return False


def _is_known_part(arguments: Sequence[object]) -> bool:
    """Whether the position and length of a ``substring`` are constants, and no length negative."""
    start, *length = arguments[1:]
    return _is_whole(start) and all(_is_whole(n, but=lambda n: n < 0) for n in length)


_TOTAL_OF: dict[str, Callable[[Sequence[object]], bool]] = {
    "substring": _is_known_part,
    "substr": _is_known_part,
    "left": lambda arguments: _is_whole(arguments[1]),
    "right": lambda arguments: _is_whole(arguments[1]),
    "split_part": lambda arguments: _is_whole(arguments[2], but=lambda n: n == 0),
    "extract": lambda arguments: isinstance(arguments[0], Literal),
    "date_part": lambda arguments: isinstance(arguments[0], Literal),
}
"""Functions that have a result for all arguments of which some are such constants. A constant field
of a moment is checked when the query is planned."""


def could_error(scalar: object) -> bool:
    """Whether evaluating the scalar could raise an error for some row. Columns, constants and
    unplanned scalars could not."""
    match scalar:
        case Cast(operand, target):
            return not _is_widening(operand.type, target) or could_error(operand)
        case Call(function, arguments):
            is_total = (
                function in _TOTAL
                or (function in _TOTAL_OF and _TOTAL_OF[function](arguments))
                or _has_room(scalar)
            )
            return not is_total or any(could_error(part) for part in arguments)
        case Case(branches, otherwise):
            return any(could_error(part) for branch in branches for part in branch) or could_error(
                otherwise
            )
        case _:
            return False


def _has_room(call: Call) -> bool:
    """Whether it is a sum, a difference or a product of numerics whose type holds the result
    whatever the values are. That of a sum has all 38 digits if they might not do."""
    if call.type.name is not TypeName.NUMERIC or len(call.arguments) != 2:
        return False
    precision, scale = parameters(call.type)
    match call.function:
        case "+" | "-":
            return precision < MAX_PRECISION
        case "*":
            types = [argument.type for argument in call.arguments]
            has_all_digits = scale == sum(parameters(type)[1] for type in types)
            return sum(map(integral_digits, types)) + scale <= MAX_PRECISION and (
                has_all_digits or has_rounded_operand(types)
            )
        case _:
            return False


_INTEGER_DIGITS = {"smallint": 5, "integer": 10, "bigint": 19}


def _is_widening(source: ScalarType, target: ScalarType) -> bool:
    if source == DATE and target == TIMESTAMP:
        return True
    if target.name.value == "text" or (target.is_object_id and source.is_object_id):
        return True
    if target.is_float and (source.is_integer or source.is_float):
        return target.name.value == "double precision" or not source.is_float
    if source.is_integer and target.is_integer:
        return _INTEGER_DIGITS[source.name.value] <= _INTEGER_DIGITS[target.name.value]
    if target.precision is not None:
        whole = target.precision - (target.scale or 0)
        if source.is_integer:
            return whole >= _INTEGER_DIGITS[source.name.value]
        if source.precision is not None:
            return whole >= source.precision - (source.scale or 0) and (target.scale or 0) >= (
                source.scale or 0
            )
    return False
