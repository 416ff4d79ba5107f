"""What a path (``jsonpath``) finds in a JSON document.

Source of the rules: PostgreSQL's ``src/backend/utils/adt/jsonpath_exec.c``. A predicate is true,
false, or None if it is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal, localcontext
from functools import lru_cache
from itertools import product
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from reclock.algebra.json_path_syntax import (
    COMPARISONS,
    JsonAccess,
    JsonAccessor,
    JsonConstant,
    JsonCurrent,
    JsonDescendants,
    JsonElements,
    JsonExpression,
    JsonFilter,
    JsonLast,
    JsonMatches,
    JsonMember,
    JsonMethod,
    JsonOperation,
    JsonPath,
    JsonRoot,
    JsonVariable,
    is_predicate,
)
from reclock.errors import EvaluationError, JsonPathError, UnsupportedSql
from reclock.plan.functions.regular_expressions import regular_expression

Item = Any
ALWAYS_RAISED = frozenset({"0A000", "2201B", "22023", "22P02", "42601", "42704"})
"""Errors that are no matter of the document."""
_KINDS = {"object": dict, "array": list, "string": str, "boolean": bool}


@dataclass(frozen=True, slots=True)
class _Place:
    """What an expression is evaluated in: the whole document, the item that a filter looks at, the array of
    a subscript, and whether the path is lax, so that it passes over what is not there."""

    root: Item
    current: Item
    variables: Mapping[str, Item]
    is_lax: bool
    passes_over: bool
    size: int | None = None


def found_items(path: JsonPath, document: Item, variables: Item) -> Iterator[Item]:
    """The items, one after the other. Raises ``JsonPathError``."""
    if not isinstance(variables, dict):
        raise JsonPathError('"vars" argument is not an object', "22023")
    is_lax = not path.is_strict
    place = _Place(document, document, variables, is_lax, is_lax)
    yield from _items(path.expression, place)


def has_items(path: JsonPath, document: Item, variables: Item) -> bool:
    """Whether there is one. In a strict path, none may raise. Raises ``JsonPathError``."""
    items = found_items(path, document, variables)
    return bool(list(items)) if path.is_strict else any(True for _ in items)


def kind_of(item: Item) -> str:
    if item is None:
        return "null"
    return next((name for name, type in _KINDS.items() if isinstance(item, type)), "number")


def _items(expression: JsonExpression, place: _Place) -> Iterator[Item]:
    match expression:
        case JsonConstant(value):
            yield value
        case JsonRoot():
            yield place.root
        case JsonCurrent():
            yield place.current
        case JsonLast():
            if place.size is None:
                raise JsonPathError("LAST is allowed only in array subscripts", "42601")
            yield Decimal(place.size - 1)
        case JsonVariable(name):
            if name not in place.variables:
                raise JsonPathError(f'could not find jsonpath variable "{name}"', "42704")
            yield place.variables[name]
        case JsonAccess(of, accessors):
            yield from _accessed(_items(of, place), accessors, place)
        case _ if is_predicate(expression):
            yield _holds(expression, place)
        case JsonOperation(symbol, operands):
            yield from _computed(symbol, operands, place)


def _accessed(
    items: Iterator[Item], accessors: Sequence[JsonAccessor], place: _Place
) -> Iterator[Item]:
    if not accessors:
        yield from items
        return
    first, *later = accessors
    if isinstance(first, JsonDescendants):
        place = replace(place, passes_over=True)
    for item in items:
        yield from _accessed(_accessed_in(first, item, place), later, place)


def _accessed_in(accessor: JsonAccessor, item: Item, place: _Place) -> Iterator[Item]:
    """What the accessor selects of one item; a lax path looks into the elements of an array."""
    unwraps = place.is_lax and isinstance(item, list)
    match accessor:
        case JsonDescendants(first, last):
            yield from _descendants(item, first, last, 0)
        case JsonElements(ranges):
            yield from _elements(ranges, item, place)
        case JsonMethod("type"):
            yield kind_of(item)
        case JsonMethod("size"):
            yield _size(item, place)
        case _:
            for element in item if unwraps else [item]:
                yield from _accessed_in_one(accessor, element, place)


def _accessed_in_one(accessor: JsonAccessor, item: Item, place: _Place) -> Iterator[Item]:
    match accessor:
        case JsonMember(None) if isinstance(item, dict):
            yield from item.values()
        case JsonMember(str() as key) if isinstance(item, dict):
            if key in item:
                yield item[key]
            elif not place.passes_over:
                raise JsonPathError(f'JSON object does not contain key "{key}"', "2203A")
        case JsonMember(key):
            if not place.passes_over:
                which = "wildcard member" if key is None else "member"
                code = "2203C" if key is None else "2203A"
                raise JsonPathError(
                    f"jsonpath {which} accessor can only be applied to an object", code
                )
        case JsonFilter(predicate):
            if _holds(predicate, replace(place, current=item)):
                yield item
        case JsonMethod(name):
            yield _number_of(name, item)


def _descendants(item: Item, first: int, last: int, level: int) -> Iterator[Item]:
    """The item and what is in it, of the levels."""
    parts = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    is_deepest = not any(isinstance(part, dict | list) for part in parts) and not parts
    if (level >= first and first >= 0 and (last < 0 or level <= last)) or (
        first < 0 and is_deepest
    ):
        yield item
    if last < 0 or level < last:
        for part in parts:
            yield from _descendants(part, first, last, level + 1)


def _elements(
    ranges: Sequence[tuple[JsonExpression, JsonExpression | None]], item: Item, place: _Place
) -> Iterator[Item]:
    if not isinstance(item, list):
        if not place.is_lax:
            if place.passes_over:
                return
            which = "wildcard array" if not ranges else "array"
            raise JsonPathError(
                f"jsonpath {which} accessor can only be applied to an array", "22039"
            )
        item = [item]
    if not ranges:
        yield from item
    within = replace(place, size=len(item))
    for first, last in ranges:
        start = _subscript(first, within)
        end = start if last is None else _subscript(last, within)
        if not place.passes_over and (start < 0 or start > end or end >= len(item)):
            raise JsonPathError("jsonpath array subscript is out of bounds", "22033")
        yield from item[max(start, 0) : max(end + 1, 0)]


def _subscript(expression: JsonExpression, place: _Place) -> int:
    items = list(_items(expression, place))
    if len(items) != 1 or kind_of(items[0]) != "number":
        raise JsonPathError("jsonpath array subscript is not a single numeric value", "22033")
    index = int(items[0])
    if not -(2**31) <= index < 2**31:
        raise JsonPathError("jsonpath array subscript is out of integer range", "22033")
    return index


def _size(item: Item, place: _Place) -> Decimal:
    if isinstance(item, list):
        return Decimal(len(item))
    if not place.is_lax and not place.passes_over:
        raise JsonPathError("jsonpath item method .size() can only be applied to an array", "22039")
    return Decimal(1)


def _number_of(method: str, item: Item) -> Decimal:
    if method == "double":
        return _double(item)
    if kind_of(item) != "number":
        raise _not_a_number(method, "can only be applied to a numeric value")
    number = Decimal(item)
    match method:
        case "abs":
            return abs(number)
        case "floor":
            return number.to_integral_value(ROUND_FLOOR)
        case _:
            return number.to_integral_value(ROUND_CEILING)


def _double(item: Item) -> Decimal:
    if kind_of(item) not in ("number", "string"):
        raise _not_a_number("double", "can only be applied to a string or numeric value")
    try:
        as_double = float(item)
    except (ValueError, OverflowError):
        as_double = math.nan
    if not math.isfinite(as_double):
        raise _not_a_number("double", "is not a valid double precision number")
    return Decimal(repr(as_double))


def _not_a_number(method: str, why: str) -> JsonPathError:
    return JsonPathError(f"jsonpath item method .{method}() {why}", "22036")


# --- arithmetic ---


def _unwrapped(expression: JsonExpression, place: _Place) -> Iterator[Item]:
    """The items; in a lax path, the elements of those that are arrays."""
    for item in _items(expression, place):
        if place.is_lax and isinstance(item, list):
            yield from item
        else:
            yield item


def _computed(symbol: str, operands: Sequence[JsonExpression], place: _Place) -> Iterator[Item]:
    if len(operands) == 1:
        for item in _unwrapped(operands[0], place):
            if kind_of(item) != "number":
                message = f"operand of unary jsonpath operator {symbol} is not a numeric value"
                raise JsonPathError(message, "2203B")
            yield -Decimal(item) if symbol == "-" else Decimal(item)
        return
    numbers = []
    for side, operand in zip(("left", "right"), operands, strict=True):
        items = list(_unwrapped(operand, place))
        if len(items) != 1 or kind_of(items[0]) != "number":
            message = f"{side} operand of jsonpath operator {symbol} is not a single numeric value"
            raise JsonPathError(message, "22038")
        numbers.append(Decimal(items[0]))
    with localcontext() as context:
        context.prec = 2000
        yield _result(symbol, *numbers)


def _result(symbol: str, left: Decimal, right: Decimal) -> Decimal:
    match symbol:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
    if not right:
        raise JsonPathError("division by zero", "22012")
    if symbol == "%":
        return left % right
    scale = _scale_of_quotient(left, right)
    with localcontext() as context:
        context.prec = 2000
        return (left / right).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)


def _scale_of_quotient(left: Decimal, right: Decimal) -> int:
    """The digits after the point that PostgreSQL's ``select_div_scale`` gives a quotient."""
    weights = [(number.adjusted() // 4, number) for number in (left, right)]
    firsts = [int(abs(number).scaleb(-4 * weight)) for weight, number in weights]
    weight = weights[0][0] - weights[1][0] - (firsts[0] <= firsts[1])
    scales = [max(0, -int(number.as_tuple().exponent)) for number in (left, right)]
    return min(max(16 - 4 * weight, *scales, 0), 1000)


# --- predicates ---


def _holds(expression: JsonExpression, place: _Place) -> bool | None:
    match expression:
        case JsonOperation("&&" | "||" as symbol, (left, right)):
            decisive = symbol == "||"
            results = [_holds(left, place)]
            if results[0] is not decisive:
                results.append(_holds(right, place))
            return decisive if decisive in results else None if None in results else not decisive
        case JsonOperation("!", (operand,)):
            result = _holds(operand, place)
            return None if result is None else not result
        case JsonOperation("is unknown", (operand,)):
            return _holds(operand, place) is None
        case JsonOperation("exists", (operand,)):
            try:
                items = _items(operand, place)
                return any(True for _ in items) if place.is_lax else bool(list(items))
            except JsonPathError as error:
                _check_is_of_document(error)
                return None
        case JsonOperation("starts with", (left, right)):
            return _exists_pair(left, right, "starts with", place, unwraps_right=False)
        case JsonOperation(symbol, (left, right)) if symbol in COMPARISONS:
            return _exists_pair(left, right, symbol, place, unwraps_right=True)
        case JsonMatches(operand, _, _):
            return _exists_pair(operand, None, expression, place, unwraps_right=False)
    return None


def _check_is_of_document(error: JsonPathError) -> None:
    """Raises ``error`` if the path itself causes it. An error that the document causes makes a
    predicate unknown."""
    if error.sqlstate in ALWAYS_RAISED:
        raise error


def _exists_pair(
    left: JsonExpression,
    right: JsonExpression | None,
    test: str | JsonMatches,
    place: _Place,
    *,
    unwraps_right: bool,
) -> bool | None:
    """Whether the test holds for an item of each side. In a strict path, one pair that is unknown
    makes the answer unknown."""
    try:
        lefts = list(_unwrapped(left, place))
        rights: list[Item] = [None]
        if right is not None:
            rights = list(_unwrapped(right, place) if unwraps_right else _items(right, place))
    except JsonPathError as error:
        _check_is_of_document(error)
        return None
    answer: bool | None = False
    for pair in product(lefts, rights):
        result = _tested(test, *pair)
        if result is None:
            if not place.is_lax:
                return None
            answer = None if answer is False else answer
        elif result:
            if place.is_lax:
                return True
            answer = True
    return answer


def _tested(test: str | JsonMatches, left: Item, right: Item) -> bool | None:
    if isinstance(test, JsonMatches):
        return _matched(test, left) if isinstance(left, str) else None
    if test == "starts with":
        both = isinstance(left, str) and isinstance(right, str)
        return left.startswith(right) if both else None
    kinds = kind_of(left), kind_of(right)
    if kinds[0] != kinds[1]:
        if "null" in kinds:
            return test in ("!=", "<>")
        return None
    if kinds[0] in ("object", "array"):
        return None
    if kinds[0] == "null":
        left = right = 0
    if kinds[0] == "string":
        left, right = left.encode(), right.encode()
    match test:
        case "==":
            return bool(left == right)
        case "!=" | "<>":
            return bool(left != right)
        case "<":
            return bool(left < right)
        case "<=":
            return bool(left <= right)
        case ">":
            return bool(left > right)
        case _:
            return bool(left >= right)


def _matched(test: JsonMatches, text: str) -> bool:
    """By RE2, whose time is linear in the text."""
    pattern = _pattern(test.pattern, test.flags)
    try:
        return bool(pc.match_substring_regex(pa.scalar(text), pattern).as_py())
    except pa.ArrowInvalid as error:
        raise JsonPathError(f"invalid regular expression: {error}", "2201B") from error


@lru_cache(maxsize=256)
def _pattern(pattern: str, flags: str) -> str:
    """PostgreSQL's regular expression, for RE2. Without flag ``s``, a dot matches no line break, and
    with ``m``, ``^`` and ``$`` match at every line."""
    lines = {(False, False): "p", (False, True): "n", (True, True): "w", (True, False): "s"}
    options = lines["s" in flags, "m" in flags] + ("i" if "i" in flags else "")
    try:
        return regular_expression(pattern, options).text
    except (EvaluationError, UnsupportedSql) as error:
        raise JsonPathError(str(error), error.sqlstate) from error
