"""Lists and maps, Materialize's types: constructors, parts, operators and functions.

Engines hold a list as an array, so its functions are those of arrays, between casts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    INTEGER,
    TEXT,
    ScalarType,
    TypeName,
    array,
    list_of,
)
from reclock.errors import (
    EvaluationError,
    IndeterminateType,
    TypeMismatch,
    UnknownOperator,
    UnsupportedSql,
)
from reclock.plan.functions import common_type as common_of
from reclock.plan.functions.maps import MAP_ENTRIES, MAP_KEYS, MAP_VALUES
from reclock.plan.scalars import Case, Cast, Literal
from reclock.sql.names import fold
from reclock.sql.queries.coercion import cast, coerce, default_to_text, expect, unified
from reclock.sql.queries.expressions import ExprContext, scalar
from reclock.sql.queries.overloads import call, is_null, negated, operator, unknown_function
from reclock.sql.queries.planned import Planned, TypedExpr, Untyped
from reclock.sql.queries.record_values import record_of
from reclock.sql.queries.type_names import check_part
from reclock.sql.syntax.expressions import is_word


def is_list(value: Planned) -> bool:
    return value.type is not None and value.type.name is TypeName.LIST


def is_map(value: Planned) -> bool:
    return value.type is not None and value.type.name is TypeName.MAP


def array_of_list(value: Planned) -> Planned:
    """A list as an array; any other value itself."""
    if isinstance(value, Untyped) or not is_list(value) or value.type.element is None:
        return value
    return _retyped(value, array(value.type.element))


def as_list(value: TypedExpr) -> TypedExpr:
    """An array of one dimension as a list. Raises ``UnsupportedSql`` if there are more."""
    assert value.type.element is not None
    check_part(value.type.element, "a list")
    return _retyped(value, list_of(value.type.element))


def _retyped(value: TypedExpr, type: ScalarType) -> TypedExpr:
    return replace(value, type=type) if isinstance(value, Literal) else Cast(value, type)


# --- constructors ---


def written_list(node: exp.Expr, context: ExprContext) -> list[exp.Expr] | None:
    """The elements of ``LIST[…]``; None of any other syntax, such as the subscript of a column of
    that name."""
    return _written(node, "list", context)


def _written(node: exp.Expr, word: str, context: ExprContext) -> list[exp.Expr] | None:
    if not isinstance(node, exp.Bracket) or not is_word(node.this, word):
        return None
    if context.scope.find(fold(node.this.this)) is not None:
        return None
    return list(node.expressions)


def list_value(items: Sequence[exp.Expr], context: ExprContext) -> TypedExpr:
    """``LIST[…]``."""
    if not items:
        raise IndeterminateType(
            "cannot determine type of empty list",
            hint="cast it to the type it shall have, as in LIST[]::integer list",
        )
    values, _ = unified([scalar(item, context) for item in items], "LIST")
    return as_list(call("array", values))


@scalar.register
def _map(node: exp.ToMap, context: ExprContext) -> TypedExpr:
    entries = _entries(node)
    values, _ = unified([scalar(value, context) for _, value in entries], "MAP")
    return _map_of([key for key, _ in entries], values, context)


def _entries(node: exp.ToMap) -> list[tuple[exp.Expr, exp.Expr]]:
    return [(entry.this, entry.expression) for entry in node.this.expressions]


def _map_of(
    keys: Sequence[exp.Expr], values: Sequence[TypedExpr], context: ExprContext
) -> TypedExpr:
    for value in values:
        check_part(value.type, "a map")
    records = [
        record_of([expect(scalar(key, context), TEXT, "map key"), value])
        for key, value in zip(keys, values, strict=True)
    ]
    return call("map_build", [call("array", records)])


def written_as(
    node: exp.Expr, kind: exp.Expr, target: ScalarType, context: ExprContext
) -> TypedExpr | None:
    """``LIST[…]::kind`` and ``MAP[…]::kind``, whose parts are cast; None of any other syntax."""
    node = node.unnest()
    if target.name is TypeName.LIST:
        items = written_list(node, context)
        if items is None:
            return None
        [element] = kind.expressions
        casts = [scalar(exp.Cast(this=item, to=element), context) for item in items]
        return as_list(call("array", casts)) if casts else Literal((), target)
    if target.name is not TypeName.MAP:
        return None
    if isinstance(node, exp.ToMap):
        _, value = kind.expressions
        entries = _entries(node)
        casts = [scalar(exp.Cast(this=part, to=value), context) for _, part in entries]
        return _map_of([key for key, _ in entries], list(map(default_to_text, casts)), context)
    return Literal((), target) if _written(node, "map", context) == [] else None


def list_of_rows(rows: TypedExpr) -> TypedExpr:
    """``LIST(query)``, whose array is ``rows``."""
    return as_list(rows)


def map_of_rows(rows: TypedExpr) -> TypedExpr:
    """``MAP(query)``, of whose rows ``rows`` is an array."""
    assert rows.type.element is not None
    fields = rows.type.element.fields
    if len(fields) != 2:
        raise TypeMismatch(f"expected map subquery to return 2 columns, got {len(fields)} columns")
    if fields[0].type != TEXT:
        raise TypeMismatch(
            "cannot build map from subquery because first column is not of type text"
        )
    check_part(fields[1].type, "a map")
    return call("map_build", [rows])


# --- parts ---


def part_of_list(value: Planned, subscripts: Sequence[exp.Expr], context: ExprContext) -> TypedExpr:
    """The element or the slice that each subscript is of what the ones before it are. Beyond the
    ends, an element is NULL and a slice has less."""
    for subscript in subscripts:
        if not is_list(value):
            raise TypeMismatch(
                f"cannot subscript type {value.type} because it does not support subscripting"
            )
        items = array_of_list(value)
        if isinstance(subscript, exp.Slice):
            first, last = (
                Literal(default, INTEGER) if node is None else _index(node, context)
                for node, default in ((subscript.this, 1), (subscript.expression, _MOST))
            )
            value = as_list(call("slice", [items, first, last]))
        else:
            value = call("subscript", [items, _index(subscript, context)])
    return default_to_text(value)


_MOST = 2**31 - 1


def _index(node: exp.Expr, context: ExprContext) -> TypedExpr:
    """An index, which is beyond the ends if it is no integer."""
    written = scalar(node, context)
    if written.type is not None and written.type.is_number:
        written = cast(written, BIGINT) if written.type != INTEGER else written
    index = expect(written, BIGINT, "list subscript")
    if isinstance(index, Literal):
        clamped = index.value if index.value is None else max(-_MOST, min(index.value, _MOST))
        return Literal(clamped, INTEGER)
    if written.type == INTEGER and not isinstance(written, Untyped):
        return written
    most, least = Literal(_MOST, BIGINT), Literal(-_MOST, BIGINT)
    branches = ((call(">", [index, most]), most), (call("<", [index, least]), least))
    return cast(Case(branches, index, BIGINT), INTEGER)


# --- operators ---

_OF_SETS = {"jsonb_contains": "array_contains", "jsonb_contained": "array_contained"}


def list_operator(name: str, operands: Sequence[Planned], symbol: str) -> TypedExpr:
    """An operator of which an operand is a list or a map."""
    if name == "concat":
        return _concatenated(operands)
    if name in _OF_SETS:
        known = next(value.type for value in operands if value.type and value.type.is_list_or_map)
        left, right = (
            coerce(value, known) if isinstance(value, Untyped) else value for value in operands
        )
        common = common_of([left.type, right.type])
        if left.type.name is not right.type.name or common is None:
            raise UnknownOperator(symbol, [str(left.type), str(right.type)])
        sets = [_as_set(coerce(value, common)) for value in (left, right)]
        return operator(_OF_SETS[name], sets, symbol)
    if name in _OF_MAPS and is_map(operands[0]):
        return _of_map(name, operands, symbol)
    return operator(name, operands, symbol)


def _as_set(value: TypedExpr) -> Planned:
    return call(MAP_ENTRIES, [value]) if is_map(value) else array_of_list(value)


def _concatenated(operands: Sequence[Planned]) -> TypedExpr:
    """Two lists, or a list and an element, which may be a list too."""
    left, right = operands
    types = [value.type for value in operands]
    if isinstance(left, Untyped) or isinstance(right, Untyped) or common_of(types) is not None:
        return _cat([left, right])
    for place, name in ((0, "list_append"), (1, "list_prepend")):
        whole = operands[place]
        if is_list(whole) and common_of([_element(whole), types[1 - place]]) is not None:
            return _ON_LISTS[name](operands)
    raise UnknownOperator("||", [str(type) for type in types])


_OF_MAPS = ("->", "jsonb_exists", "jsonb_exists_any", "jsonb_exists_all")


def _of_map(name: str, operands: Sequence[Planned], symbol: str) -> TypedExpr:
    """What a map has for a key, or whether it has a key, or some or all of an array."""
    map, key = operands
    key_type = TEXT if name in ("->", "jsonb_exists") else array(TEXT)
    if key.type not in (None, key_type):
        raise UnknownOperator(symbol, [str(map.type), str(key.type)])
    key, keys = coerce(key, key_type), call(MAP_KEYS, [map])
    if name == "->":
        place = call("array_position", [keys, key])
        return call("subscript", [call(MAP_VALUES, [map]), place])
    if name == "jsonb_exists":
        has_key = call("= any", [key, keys])
        return Case(((negated(is_null(key)), has_key),), Literal(None, BOOLEAN), BOOLEAN)
    of_sets = "array_overlaps" if name == "jsonb_exists_any" else "array_contains"
    return call(of_sets, [keys, key])


# --- functions ---


def _cat(operands: Sequence[Planned]) -> TypedExpr:
    known = next((value.type for value in operands if is_list(value)), None)
    lists = [
        coerce(value, known) if known is not None and isinstance(value, Untyped) else value
        for value in operands
    ]
    if not all(map(is_list, lists)):
        raise unknown_function(["list_cat"], operands)
    return as_list(call("array_cat", [array_of_list(value) for value in lists]))


def _with_element(name: str, place: int) -> Callable[[Sequence[Planned]], TypedExpr]:
    """The list at ``place`` with the other operand as one more element."""

    def added(operands: Sequence[Planned]) -> TypedExpr:
        if len(operands) != 2:
            raise unknown_function([f"list_{name}"], operands)
        whole, element = operands[place], operands[1 - place]
        if isinstance(whole, Untyped):
            whole = coerce(whole, list_of(default_to_text(element).type))
        if not is_list(whole) or common_of([_element(whole), element.type]) is None:
            raise unknown_function([f"list_{name}"], operands)
        arguments = [array_of_list(whole), element]
        if place:
            arguments.reverse()
        return as_list(call(f"array_{name}", arguments))

    return added


def _element(value: Planned) -> ScalarType | None:
    return None if value.type is None else value.type.element


def _removed(operands: Sequence[Planned]) -> TypedExpr:
    if len(operands) != 2 or not is_list(operands[0]):
        raise unknown_function(["list_remove"], operands)
    element = common_of([_element(operands[0]), operands[1].type])
    if element is None:
        raise unknown_function(["list_remove"], operands)
    items = coerce(array_of_list(operands[0]), array(element))
    return as_list(call("array_remove", [items, coerce(operands[1], element)]))


def _length(operands: Sequence[Planned]) -> TypedExpr:
    if len(operands) != 1 or not is_list(operands[0]):
        raise unknown_function(["list_length"], operands)
    return call("cardinality", [array_of_list(operands[0])])


def _layers(operands: Sequence[Planned]) -> TypedExpr:
    if len(operands) != 1 or not is_list(operands[0]):
        raise unknown_function(["list_n_layers"], operands)
    return Literal(_depth(operands[0].type), INTEGER)


def _depth(type: ScalarType | None) -> int:
    return 1 + _depth(type.element) if type is not None and type.name is TypeName.LIST else 0


def _longest(operands: Sequence[Planned]) -> TypedExpr:
    if len(operands) != 2 or not is_list(operands[0]):
        raise unknown_function(["list_length_max"], operands)
    layer, layers = expect(operands[1], INTEGER, "layer"), _depth(operands[0].type)
    if not isinstance(layer, Literal) or layer.value is None:
        raise UnsupportedSql("a layer that is no constant is not supported in list_length_max")
    if not 1 <= layer.value <= layers:
        raise EvaluationError(
            f"invalid layer: {layer.value}; must use value within [1, {layers}]", sqlstate="22023"
        )
    return call("list_length_max", [operands[0], layer])


def _map_length(operands: Sequence[Planned]) -> TypedExpr:
    if len(operands) != 1 or not is_map(operands[0]):
        raise unknown_function(["map_length"], operands)
    return call("cardinality", [call(MAP_KEYS, operands)])


def _both(operands: Sequence[Planned]) -> TypedExpr:
    if len(operands) != 2:
        raise unknown_function(["list_cat"], operands)
    return _cat(operands)


_ON_LISTS: dict[str, Callable[[Sequence[Planned]], TypedExpr]] = {
    "list_append": _with_element("append", 0),
    "list_prepend": _with_element("prepend", 1),
    "list_cat": _both,
    "list_remove": _removed,
    "list_length": _length,
    "list_n_layers": _layers,
    "list_length_max": _longest,
    "map_length": _map_length,
}
LIST_FUNCTIONS = tuple(_ON_LISTS)


def list_call(name: str, operands: Sequence[Planned]) -> TypedExpr:
    """A call of one of ``LIST_FUNCTIONS``."""
    return _ON_LISTS[name](operands)


UNNESTED_MAP = "unnest of a map"


def row_function(name: str, arguments: Sequence[Planned]) -> tuple[str, Sequence[Planned]]:
    """The function of rows that ``name`` means of these arguments, and its arguments."""
    if name != "unnest":
        return name, arguments
    if len(arguments) == 1 and is_map(arguments[0]):
        return UNNESTED_MAP, arguments
    return name, [array_of_list(argument) for argument in arguments]
