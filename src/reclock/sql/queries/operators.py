"""Operators and predicates of expressions."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from sqlglot import exp

from reclock.algebra.relations import (
    BOOLEAN,
    JSONB,
    REGNAMESPACE,
    SMALLINT,
    TEXT,
    TypeName,
    array,
)
from reclock.errors import (
    AmbiguousFunction,
    ArrayRequired,
    IndeterminateType,
    SqlSyntaxError,
    SubqueryWidth,
    TypeMismatch,
    UnequalRows,
    UnknownFunction,
    UnknownOperator,
    UnsupportedSql,
)
from reclock.plan.functions.arrays import LOOKED_UP
from reclock.plan.scalars import Literal
from reclock.sql.queries.coercion import cast, common_type, default_to_text, unified
from reclock.sql.queries.expressions import (
    ExprContext,
    function_name,
    reject_unsupported,
    row_items,
    row_values,
    scalar,
)
from reclock.sql.queries.list_calls import array_of_list, list_operator
from reclock.sql.queries.literals import fit, number
from reclock.sql.queries.overloads import (
    ROW_COMPARISONS,
    ROW_OPERATORS,
    balanced,
    call,
    is_open,
    negated,
    operator,
    row_comparison,
)
from reclock.sql.queries.planned import OpenParameter, Planned, TypedExpr, Untyped
from reclock.sql.syntax.collations import check_collation
from reclock.sql.syntax.consumption import consume
from reclock.sql.syntax.places import at, place_of_word

OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "#",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
    exp.DPipe: "concat",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.Like: "like",
    exp.ILike: "ilike",
    exp.NullSafeEQ: "is_not_distinct",
    exp.RegexpLike: "~",
    exp.RegexpILike: "~*",
    exp.StartsWith: "starts_with",
    exp.JSONExtract: "->",
    exp.JSONExtractScalar: "->>",
    exp.JSONBExtract: "#>",
    exp.JSONBExtractScalar: "#>>",
    exp.ArrayOverlaps: "array_overlaps",
    exp.ArrayContainsAll: "jsonb_contains",
    exp.ArrayContainedBy: "jsonb_contained",
    exp.JSONBContainsTopKey: "jsonb_exists",
    exp.JSONBContainsAnyTopKeys: "jsonb_exists_any",
    exp.JSONBContainsAllTopKeys: "jsonb_exists_all",
    exp.JSONBDeleteAtPath: "jsonb_delete_path",
    exp.ExtendsLeft: "range_overleft",
    exp.ExtendsRight: "range_overright",
    exp.Adjacent: "range_adjacent",
}


WRITTEN_OPERATORS: dict[type[exp.Expr], str] = {
    exp.DPipe: "||",
    exp.Like: "LIKE",
    exp.ILike: "ILIKE",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.StartsWith: "^@",
}


WRITTEN_OPERATORS |= {
    exp.ArrayOverlaps: "&&",
    exp.ArrayContainsAll: "@>",
    exp.ArrayContainedBy: "<@",
    exp.JSONBContainsTopKey: "?",
    exp.JSONBContainsAnyTopKeys: "?|",
    exp.JSONBContainsAllTopKeys: "?&",
    exp.JSONBDeleteAtPath: "#-",
    exp.ExtendsLeft: "&<",
    exp.ExtendsRight: "&>",
    exp.Adjacent: "-|-",
}


_OF_ARRAYS = {"jsonb_contains": "array_contains", "jsonb_contained": "array_contained"}
_OF_NETWORKS = {
    "&": "inetand",
    "|": "inetor",
    "+": "inetpl",
    "-": "inetmi",
    "<<": "network_sub",
    "<<=": "network_subeq",
    ">>": "network_sup",
    ">>=": "network_supeq",
    "array_overlaps": "network_overlaps",
}
_OF_RANGES = {
    "jsonb_contains": "range_contains",
    "jsonb_contained": "range_contained_by",
    "array_overlaps": "range_overlaps",
    "<<": "range_before",
    ">>": "range_after",
    "+": "range_union",
    "*": "range_intersect",
    "-": "range_minus",
}


def _binary(node: exp.Binary, context: ExprContext) -> TypedExpr:
    reject_unsupported(node, "this", "expression", "typed", "safe", "negate")
    name = OPERATORS[type(node)]
    symbol = WRITTEN_OPERATORS.get(type(node), name)
    with at(node, UnknownOperator, ArrayRequired, SubqueryWidth, UnequalRows, sign=symbol):
        if isinstance(node.expression, exp.Any | exp.All) or _is_all(node.expression):
            return _quantified(node, context)
        result = _applied(node, name, symbol, context)
    return negated(result) if node.args.get("negate") else result


def _applied(node: exp.Binary, name: str, symbol: str, context: ExprContext) -> TypedExpr:
    negate = bool(node.args.get("negate"))
    left, right = _operand(node.this), _operand(node.expression)
    left_row, right_row = row_items(left), row_items(right)
    if left_row is not None and name in ROW_COMPARISONS and isinstance(right, exp.Subquery):
        values = row_values(left_row, context)
        return context.subqueries.compared(values, name, right, context.scope)
    if left_row is not None and right_row is not None and name in ROW_OPERATORS:
        return _rows_compared(name, left_row, right_row, context)
    values = [scalar(left, context), scalar(right, context)]
    if any(value.type is not None and value.type.is_list_or_map for value in values):
        return list_operator(name, values, symbol)
    name = _of_types(name, values)
    sign = _SIGNS.get(symbol, symbol)
    return operator(name, values, f"!{sign}" if symbol in _SIGNS and negate else sign)


_SIGNS = {"LIKE": "~~", "ILIKE": "~~*"}
"""How messages write an operator that is a word."""


for _kind in OPERATORS:
    scalar.register(_kind)(_binary)


def _of_types(name: str, values: Sequence[Planned]) -> str:
    """The function that the operator is of operands of these types."""
    types = [value.type for value in values if value.type is not None]
    if name == "-" and values[0].type == JSONB:
        return "jsonb_delete"
    if name == "concat" and {value.type for value in values} in ({JSONB}, {JSONB, None}):
        return "jsonb_concat"
    if any(type.is_array for type in types):
        return _concatenation(values) if name == "concat" else _OF_ARRAYS.get(name, name)
    if any(type.is_range for type in types):
        return _OF_RANGES.get(name, name)
    if any(type.is_network for type in types):
        return _OF_NETWORKS.get(name, name)
    return name


def _concatenation(values: Sequence[Planned]) -> str:
    """The function that ``||`` is of an array and another one or an element."""
    for place, value in enumerate(values):
        if value.type is not None and not value.type.is_array:
            return "array_append" if place else "array_prepend"
    return "array_cat"


def _operand(node: exp.Expr) -> exp.Expr:
    return node.unnest() if isinstance(node, exp.Paren) else node


def _rows_compared(
    name: str, left: Sequence[exp.Expr], right: Sequence[exp.Expr], context: ExprContext
) -> TypedExpr:
    left_values, right_values = row_values(left, context), row_values(right, context)
    if len(left_values) != len(right_values):
        raise UnequalRows()
    if not left_values:
        raise UnsupportedSql("cannot compare rows of zero length")
    return row_comparison(name, left_values, right_values)


def _row_equals(row: Sequence[exp.Expr], item: exp.Expr, context: ExprContext) -> TypedExpr:
    """Whether an item of IN is the row; unknown for NULL."""
    if isinstance(item, exp.Null):
        row_values(row, context)  # an error in it is one here too
        return Literal(None, BOOLEAN)
    return _rows_compared("=", row, row_items(item) or (), context)


def _is_all(node: exp.Expr) -> bool:
    return (
        isinstance(node, exp.Anonymous)
        and function_name(node) == "all"
        and len(node.expressions) == 1
    )


def _quantified(node: exp.Binary, context: ExprContext) -> TypedExpr:
    among = (
        node.expression.this
        if isinstance(node.expression, exp.Any | exp.All)
        else node.expression.expressions[0]
    )
    is_any = isinstance(node.expression, exp.Any)
    name = OPERATORS[type(node)]
    if isinstance(_operand(among), exp.Query | exp.Values):
        return _quantified_query(node, name, _operand(among), is_any, context)
    if isinstance(node, exp.EQ if is_any else exp.NEQ):
        membership = _is_member(scalar(node.this, context), name, _operand(among), context)
        return membership if is_any else negated(membership)
    items = _operand(among)
    if isinstance(items, exp.Array) and items.expressions and not _has_arrays(items):
        operand = scalar(node.this, context)
        values = [scalar(item, context) for item in items.expressions]
        _check_elements(operand, values, name)
        compared = [operator(name, [operand, value]) for value in values]
        if node.args.get("negate"):
            compared = [negated(result) for result in compared]
        return balanced("or" if is_any else "and", compared)
    is_negated = bool(node.args.get("negate"))
    operand = scalar(node.this, context)
    function = f"{name} {'any' if is_any != is_negated else 'all'}"
    result = _beside_array(function, name, operand, _array_beside(operand, items, context))
    return negated(result) if is_negated else result


def _quantified_query(
    node: exp.Binary, name: str, query: exp.Expr, is_any: bool, context: ExprContext
) -> TypedExpr:
    items = row_items(_operand(node.this))
    operands = row_values(items, context) if items is not None else [scalar(node.this, context)]
    is_negated = bool(node.args.get("negate"))
    if not is_negated and name == ("=" if is_any else "<>"):
        membership = context.subqueries.contains(operands, query, context.scope)
        return membership if is_any else negated(membership)
    holds = context.subqueries.any(
        operands, name, query, context.scope, is_negated=is_negated == is_any
    )
    return holds if is_any else negated(holds)


def _is_member(operand: Planned, name: str, among: exp.Expr, context: ExprContext) -> TypedExpr:
    """Whether ``operand`` is an element of an array: of one that is written out, equal to one of
    its items. The operator that was written is ``name``."""
    if isinstance(among, exp.Array) and among.expressions:
        items = [scalar(item, context) for item in among.expressions]
        if operand.type is not None and operand.type.name is TypeName.BPCHAR:
            items = [default_to_text(item) for item in items]  # compared as texts
            return balanced("or", [operator("=", [operand, item]) for item in items])
        if not any(item.type is not None and item.type.dimensions for item in items):
            _check_elements(operand, items, name)
            return _is_one_of(operand, items)
        return _beside_array("= any", "=", operand, call("array", items))
    return _beside_array("= any", "=", operand, _array_beside(operand, among, context))


def _check_elements(operand: Planned, items: Sequence[Planned], name: str) -> None:
    """Raises ``UnknownOperator`` for an operand that cannot be compared with the elements of the
    array of these items: where all of them are of open type, these are texts."""
    is_open = isinstance(operand, Untyped) and not isinstance(operand, OpenParameter)
    if is_open or not all(
        isinstance(item, Untyped) and not isinstance(item, OpenParameter) for item in items
    ):
        return
    operator(name, [operand, Literal(None, TEXT)])


def _beside_array(function: str, name: str, operand: Planned, array: Planned) -> TypedExpr:
    """Whether the operator ``name`` holds for any, or all, of the elements."""
    try:
        return operator(function, [operand, array], name)
    except UnknownOperator as error:
        if array.type is None or array.type.element is None:
            raise
        element = str(array.type.element.unconstrained)
        raise UnknownOperator(name, [error.argument_types[0], element]) from error


def _array_beside(operand: Planned, node: exp.Expr, context: ExprContext) -> Planned:
    """An array whose elements are compared with ``operand``, which gives a text its type."""
    value = array_of_list(scalar(node, context))
    if value.type is not None and value.type.element is None:
        raise ArrayRequired()
    return cast(value, array(operand.type or TEXT)) if isinstance(value, Untyped) else value


def _has_arrays(node: exp.Array) -> bool:
    """Whether the items of an array that is written out are such arrays too."""
    return any(isinstance(item, exp.Array) for item in node.expressions)


_FEW = 16
"""So many comparisons are as good as a set."""


def _is_one_of(value: Planned, values: Sequence[Planned]) -> TypedExpr:
    if len(values) == 1:
        return operator("=", [value, *values])
    try:
        (value, *items), type = unified([value, *values], "IN")
    except TypeMismatch:
        for item in values:
            operator("=", [value, item])  # raises for the first that is not comparable
        raise
    if len(items) > _FEW and type.name in LOOKED_UP:
        constants = [item.value for item in items if isinstance(item, Literal)]
        if len(constants) == len(items):
            return call("= any", [value, Literal(tuple(constants), array(type))])
    return balanced("or", [call("=", [value, item]) for item in items])


@scalar.register
def _array(node: exp.Array, context: ExprContext) -> TypedExpr:
    if not node.expressions:
        with at(node):
            raise IndeterminateType(
                "cannot determine type of empty array",
                hint="cast it to the type it shall have, as in '{}'::integer[]",
            )
    items = [scalar(item, context) for item in node.expressions]
    try:
        return call("array", items)
    except UnknownFunction:
        common_type([item.type for item in items], "ARRAY", node.expressions)
        raise


_FUNCTION_OF_OPERATOR = {
    **{WRITTEN_OPERATORS.get(kind, name): name for kind, name in OPERATORS.items()},
    "!~": "~",
    "!~*": "~*",
    "!~~": "like",
    "~~": "like",
    "!=": "<>",
}
"""The function of an operator, or of what it negates, where their names differ."""


@scalar.register
def _operator(node: exp.Operator, context: ExprContext) -> TypedExpr:
    """``OPERATOR(schema.op)``. Raises ``UnknownOperator`` for another schema than ``pg_catalog``."""
    schema, _, name = str(node.args["operator"]).rpartition(".")
    if schema not in ("", "pg_catalog"):
        context.subqueries.object_id(Untyped(schema), REGNAMESPACE)  # raises if there is none
        types = [scalar(side, context).type for side in (node.this, node.expression)]
        raise UnknownOperator(
            f"{schema}.{name}", ["unknown" if type is None else str(type) for type in types]
        )
    values = [scalar(_operand(side), context) for side in (node.this, node.expression)]
    function = _FUNCTION_OF_OPERATOR.get(name, name)
    with at(node, UnknownOperator, sign=name):
        result = operator(_of_types(function, values), values, name)
    return negated(result) if name in ("!~", "!~*", "!~~") else result


@scalar.register
def _collate(node: exp.Collate, context: ExprContext) -> Planned:
    """Every collation compares text by its bytes."""
    collation = node.expression
    check_collation(collation, collation.args.get("table"))
    consume(collation)
    return scalar(node.this, context)


@scalar.register
def _not_distinct(node: exp.NullSafeNEQ, context: ExprContext) -> TypedExpr:
    rows = [row_items(_operand(side)) for side in (node.this, node.expression)]
    if rows[0] is not None and rows[1] is not None:
        return negated(_rows_compared("is_not_distinct", rows[0], rows[1], context))
    values = [scalar(node.this, context), scalar(node.expression, context)]
    return negated(operator("is_not_distinct", values, "IS DISTINCT FROM"))


@scalar.register
def _negate(node: exp.Neg, context: ExprContext) -> TypedExpr:
    if (written_number := _written_number(node)) is not None:
        return Literal(*number(written_number))
    operand = scalar(node.this, context)
    if is_open(operand):
        raise AmbiguousFunction("-", ["unknown"], is_operator=True)
    if isinstance(operand, Literal) and operand.type.is_number and operand.value is not None:
        value = operand.value  # of a Decimal, "-" would keep 28 digits
        return Literal(
            fit(value.copy_negate() if isinstance(value, Decimal) else -value, operand.type),
            operand.type,
        )
    with at(node, UnknownOperator, place=place_of_word):
        return operator("negate", [operand], "-")


def _written_number(node: exp.Expr) -> str | None:
    """A number with the minus signs before it, of which two are none; None of anything else. The type
    follows from the whole: -2147483648 is an integer, 2147483648 is none."""
    if isinstance(node, exp.Literal):
        return None if node.is_string else node.name
    negative = isinstance(node, exp.Neg) and _written_number(_operand(node.this))
    if not negative:
        return None
    return negative[1:] if negative.startswith("-") else f"-{negative}"


@scalar.register
def _bitwise_not(node: exp.BitwiseNot, context: ExprContext) -> TypedExpr:
    operand = scalar(node.this, context)
    if operand.type is not None and operand.type.is_network:
        return call("network_not", [operand])
    try:
        return operator("#", [operand, Literal(-1, SMALLINT)], "~")
    except UnknownOperator as error:
        with at(node, place=place_of_word):
            raise UnknownOperator("~", error.argument_types[:1]) from error


@scalar.register
def _power(node: exp.Pow, context: ExprContext) -> TypedExpr:
    return operator("power", [scalar(node.this, context), scalar(node.expression, context)], "^")


@scalar.register
def _in(node: exp.In, context: ExprContext) -> TypedExpr:
    reject_unsupported(node, "this", "expressions", "query")
    operand, query = _operand(node.this), node.args.get("query")
    if query is not None:
        row = row_items(operand)
        operands = row_values(row, context) if row is not None else [scalar(operand, context)]
        with at(node, SubqueryWidth, UnknownOperator, sign="IN"):
            return context.subqueries.contains(operands, query, context.scope)
    items = [_operand(item) for item in node.expressions]
    if not items:
        raise SqlSyntaxError("IN needs at least one value")
    if (row := row_items(operand)) is not None:
        with at(node, UnequalRows, sign="IN"):
            return balanced("or", [_row_equals(row, item, context) for item in items])
    value, values = scalar(operand, context), [scalar(item, context) for item in items]
    with at(node, UnknownOperator, sign="IN"):
        return _is_one_of(value, values)


@scalar.register
def _at_time_zone(node: exp.AtTimeZone, context: ExprContext) -> TypedExpr:
    return call("timezone", [scalar(node.args["zone"], context), scalar(node.this, context)])
