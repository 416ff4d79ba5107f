"""Calls of functions and operators by name: the types of the arguments choose the overload."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.algebra.relations import BIGINT, BOOLEAN, TypeName
from reclock.algebra.timestamps import MAXIMUM
from reclock.errors import (
    AmbiguousFunction,
    EvaluationError,
    UnknownFunction,
    UnknownOperator,
    UnsupportedSql,
)
from reclock.plan.functions import resolve_scalar
from reclock.plan.functions.array_dimensions import FLATTENED, SHAPE
from reclock.plan.functions.printed import PRINTED, is_printed_otherwise
from reclock.plan.scalars import Call, Case, Literal
from reclock.plan.temporal import NOW
from reclock.sql.queries.coercion import (
    cast,
    coerce,
    comparable,
    with_dimensions_of_others,
    with_own_digits,
)
from reclock.sql.queries.folding import comparable_moments, folded
from reclock.sql.queries.local_times import zoned
from reclock.sql.queries.planned import E, OpenParameter, Planned, TypedExpr, Untyped


def call(name: str, arguments: Sequence[Planned]) -> TypedExpr:
    """``name`` on ``arguments``, cast to the types it takes. Raises ``UnknownFunction``."""
    check_unique(name, arguments)
    if name in _OF_PRINTED and arguments:
        arguments = [_printed(name, arguments[0]), *arguments[1:]]
    arguments = _arrays_of(name, arguments)
    resolved = resolve_scalar(
        name, [argument.type for argument in arguments], _constants(arguments)
    )
    numbers = with_own_digits(arguments, resolved.argument_types)
    if any(number is not argument for number, argument in zip(numbers, arguments, strict=True)):
        return call(name, numbers)
    cast_arguments: tuple[TypedExpr, ...] = tuple(
        coerce(a, type) for a, type in zip(arguments, resolved.argument_types, strict=True)
    )
    if resolved.function in _CHANGES and cast_arguments[0].type.has_intervals:
        raise UnsupportedSql(f"{name} of intervals is not supported")
    if resolved.function in _COMPARISONS:
        cast_arguments = tuple(comparable(moment) for moment in comparable_moments(cast_arguments))
    elif resolved.function in _SEARCHES:
        cast_arguments = tuple(map(comparable, cast_arguments))
    called = Call(resolved.function, cast_arguments, resolved.result)
    local = zoned(called)
    return folded(called) if local is None else local


_OF_PRINTED_ELEMENTS = ("array_to_string", "elements or")
_OF_PRINTED = ("like", "ilike", "~", "~*", "octet_length", *_OF_PRINTED_ELEMENTS)
"""Functions of PostgreSQL for which the blanks at the end of ``char(n)`` count."""


def _printed(name: str, value: Planned) -> Planned:
    is_char = value.type is not None and value.type.base.name is TypeName.BPCHAR
    return printed(value) if is_char or name in _OF_PRINTED_ELEMENTS else value


def printed(value: Planned) -> Planned:
    """``value`` as clients see it, if a cast to text gives another text."""
    return call(PRINTED, [value]) if is_printed_otherwise(value.type) else value


def unknown_function(names: Sequence[str], values: Sequence[Planned]) -> UnknownFunction:
    types = ["unknown" if v.type is None else str(v.type.unconstrained) for v in values]
    return UnknownFunction(".".join(names), types)


def _arrays_of(name: str, arguments: Sequence[Planned]) -> Sequence[Planned]:
    """The arguments of ``name``, with arrays of several dimensions as it takes them. Raises
    ``UnsupportedSql`` if it takes none."""
    if name in _COMPARISONS or name in _OF_TWO_ARRAYS:
        arguments = _arrays_beside_arrays(arguments)
    arguments = with_dimensions_of_others(arguments)
    dimensions = {value.type.dimensions for value in arguments if value.type is not None} - {0}
    if not dimensions or dimensions == {1}:
        return arguments
    if name in _OF_ONE_DIMENSION:
        raise EvaluationError(_OF_ONE_DIMENSION[name][1], sqlstate=_OF_ONE_DIMENSION[name][0])
    if name in _OF_ELEMENTS or name.endswith((" any", " all")):
        return [flattened_array(value) for value in arguments]
    if name in _COMPARISONS and len(dimensions) > 1:
        return [call(SHAPE, [value]) for value in arguments]
    return arguments


def _arrays_beside_arrays(arguments: Sequence[Planned]) -> Sequence[Planned]:
    """``arguments`` with constants of open type as arrays of their own dimensions, if one is an
    array."""
    types = [value.type for value in arguments if value.type is not None]
    known = next((type for type in types if type.name is TypeName.ARRAY), None)
    if known is None:
        return arguments
    return [cast(value, known) if isinstance(value, Untyped) else value for value in arguments]


def flattened_array(value: Planned) -> Planned:
    return call(FLATTENED, [value]) if value.type and value.type.dimensions > 1 else value


_OF_SETS = ("array_contains", "array_contained", "array_overlaps")
_OF_TWO_ARRAYS = ("array_cat", *_OF_SETS)
_OF_ELEMENTS = ("elements", "elements or", "cardinality", "array_to_string", *_OF_SETS)
"""Functions of the elements of an array, whatever its dimensions."""
_SEARCHED = ("0A000", "searching for elements in multidimensional arrays is not supported")
_EXTENDED = ("22000", "argument must be empty or one-dimensional array")
_OF_ONE_DIMENSION = {
    "array_position": _SEARCHED,
    "array_position from": _SEARCHED,
    "array_positions": _SEARCHED,
    "array_remove": ("0A000", "removing elements from multidimensional arrays is not supported"),
    "array_append": _EXTENDED,
    "array_prepend": _EXTENDED,
    "array_sort": ("0A000", "sorting multidimensional arrays is not supported"),
}
"""Functions of arrays of one dimension alone, with SQLSTATE and message of their error."""


def operator(name: str, arguments: Sequence[Planned], written: str | None = None) -> TypedExpr:
    """As ``call``, with an operator's message."""
    try:
        if name in _COMPARISONS and any(map(_is_now, arguments)):
            return _compared_with_now(name, arguments)
        return call(name, arguments)
    except UnknownFunction as error:
        if all(is_open(argument) for argument in arguments):
            raise AmbiguousFunction(
                written or name, error.argument_types, is_operator=True
            ) from error
        raise UnknownOperator(written or name, error.argument_types) from error


def _compared_with_now(name: str, operands: Sequence[Planned]) -> TypedExpr:
    """A comparison with ``mz_now()``, of which an index can tell when its truth changes: a date or
    timestamp is compared as milliseconds, and a number with a fraction as the next whole one."""
    operands = [_in_milliseconds(operand) for operand in operands]
    if name not in _ORDERS or not any(_has_fraction(operand) for operand in operands):
        return call(name, operands)
    if name == "=":
        return balanced("and", [_compared_with_now(other, operands) for other in (">=", "<=")])
    rounded = "floor" if (name in ("<=", ">")) is _is_now(operands[0]) else "ceil"
    return call(name, [_whole(o, rounded) if _has_fraction(o) else o for o in operands])


def _is_now(operand: Planned) -> bool:
    return isinstance(operand, Call) and operand.function == NOW


def _in_milliseconds(operand: Planned) -> Planned:
    is_moment = operand.type is not None and operand.type.name in _MOMENTS
    return call("mz_timestamp", [operand]) if is_moment else operand


def _has_fraction(operand: Planned) -> bool:
    return operand.type is not None and operand.type.is_number and not operand.type.is_integer


def _whole(value: Planned, rounded: str) -> TypedExpr:
    """The rounded ``value``, as a bigint. What is before or after every time stays so."""
    whole = call(rounded, [value])
    ends = [(">=", Literal(int(MAXIMUM), BIGINT)), ("<", Literal(-1, BIGINT))]
    branches = tuple((call(compared, [whole, end]), end) for compared, end in ends)
    return Case(branches, cast(whole, BIGINT), BIGINT)


_MOMENTS = (TypeName.DATE, TypeName.TIMESTAMP, TypeName.TIMESTAMPTZ)

_ORDERS = frozenset({"=", "<", "<=", ">", ">="})
_COMPARISONS = _ORDERS | {"<>", "is_not_distinct"}
_SEARCHES = {
    *("array_position", "array_position from", "array_positions"),
    *("array_contains", "array_contained", "array_overlaps"),
}
"""Functions that compare elements of arrays."""
_CHANGES = ("array_remove", "array_replace")
"""Functions that compare elements of arrays, and return some of them."""

_OVERLOADED: dict[str, tuple[str, tuple[int, ...]]] = {
    # name: as it is written, the arguments of which one must have a type
    "sum": ("sum", (0,)),
    "avg": ("avg", (0,)),
    "array_agg": ("array_agg", (0,)),
    "trunc": ("trunc", (0,)),
    "date_trunc": ("date_trunc", (1,)),
    "extract": ("extract", (1,)),
    "mod": ("mod", (0, 1)),
    "series": ("generate_series", (0, 1)),
    "elements": ("unnest", (0,)),
}
"""PostgreSQL's functions of several types, none of which it prefers."""


def is_open(value: Planned) -> bool:
    """Whether a constant's type is open, and cannot be inferred from what a client sends."""
    return isinstance(value, Untyped) and not isinstance(value, OpenParameter)


def check_unique(name: str, arguments: Sequence[Planned]) -> None:
    """Raises ``AmbiguousFunction`` if the types of the arguments do not choose an overload."""
    written, deciding = _OVERLOADED.get(name, (name, ()))
    if deciding and len(arguments) > deciding[-1] and all(is_open(arguments[i]) for i in deciding):
        raise AmbiguousFunction(
            written,
            ["unknown" if argument.type is None else str(argument.type) for argument in arguments],
        )


def _constants(arguments: Sequence[Planned]) -> dict[int, object]:
    constants: dict[int, object] = {
        i: a.value for i, a in enumerate(arguments) if isinstance(a, Literal)
    }
    return constants | {i: a.text for i, a in enumerate(arguments) if isinstance(a, Untyped)}


def balanced(name: str, terms: Sequence[E]) -> E:
    """``terms`` joined by ``and`` or ``or``, as a balanced tree."""
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return Call(name, (balanced(name, terms[:middle]), balanced(name, terms[middle:])), BOOLEAN)


ROW_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
ROW_OPERATORS = (*ROW_COMPARISONS, "is_not_distinct")


def row_comparison(name: str, left: Sequence[Planned], right: Sequence[Planned]) -> TypedExpr:
    """Two rows compared as PostgreSQL does: by the first column in which they differ, or in which a
    NULL leaves it open."""
    pairs = list(zip(left, right, strict=True))
    if len(pairs) == 1 or name not in ROW_OPERATORS:
        return operator(name, pairs[0])
    if name in ("=", "<>", "is_not_distinct"):
        return balanced("or" if name == "<>" else "and", [operator(name, pair) for pair in pairs])
    result = operator(name, pairs[-1])
    for pair in reversed(pairs[:-1]):
        differs, same = operator(name.rstrip("="), pair), operator("=", pair)
        result = balanced("or", [differs, balanced("and", [same, result])])
    return result


def negated(value: E) -> E:
    return Call("not", (value,), BOOLEAN)


def is_null(value: E) -> E:
    return Call("is_null", (value,), BOOLEAN)
