"""Calls of aggregate functions: their arguments, order and FILTER."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from sqlglot import exp

from reclock.algebra.relations import INTEGER, TEXT
from reclock.errors import (
    AggregateNotAllowed,
    InvalidColumnReference,
    NotAnAggregate,
    TypeMismatch,
    UnknownFunction,
    UnsupportedSql,
)
from reclock.plan.functions import resolve_aggregate
from reclock.plan.functions.array_dimensions import COLLECTED
from reclock.plan.functions.collected import direction
from reclock.plan.scalars import Aggregate, Case, ColumnRef, Literal
from reclock.plan.totality import could_error
from reclock.sql.queries.coercion import coerce, default_to_text
from reclock.sql.queries.expressions import (
    ExprContext,
    condition,
    function_name,
    reject_unsupported,
    scalar,
    typed,
)
from reclock.sql.queries.list_calls import as_list
from reclock.sql.queries.outer_aggregates import check_level
from reclock.sql.queries.overloads import call, check_unique, is_open
from reclock.sql.queries.planned import (
    AggregateCall,
    OuterRef,
    SubqueryValue,
    TypedExpr,
    Untyped,
    has,
)
from reclock.sql.queries.row_order import BY_PLACE
from reclock.sql.queries.scope import Scope
from reclock.sql.syntax.consumption import tracked_copy
from reclock.sql.syntax.places import at

COLLECTING_AGGREGATES = {"jsonb_agg": 1, "jsonb_object_agg": 2, "list_agg": 1, "map_agg": 2}
"""Aggregates that make something else of what ``array_agg`` returns, and their numbers of
arguments."""


SORTED = {"array_agg": 1, "string_agg": 2}
"""Aggregates whose value depends on the order of the rows, and how many arguments they take."""


def depends_on_order(node: exp.Select) -> bool:
    """Whether the query calls a function whose value depends on the order of the rows."""
    names = {*SORTED, *COLLECTING_AGGREGATES, *BY_PLACE}
    return any(function_name(function) in names for function in node.find_all(exp.Anonymous))


def reject_clause(clause: str, called: exp.Expr, context: ExprContext) -> NoReturn:
    """Raises what is wrong with a call of a plain function without ``clause``, such as FILTER; if
    nothing is, ``NotAnAggregate``."""
    plain = tracked_copy(called)
    if isinstance(plain, exp.Anonymous):
        plain.set(
            "expressions", [part for written in plain.expressions for part in _plain(written)]
        )
    scalar(plain, context)
    with at(called):
        raise NotAnAggregate(
            clause, function_name(called) if isinstance(called, exp.Anonymous) else ""
        )


def _plain(argument: exp.Expr) -> list[exp.Expr]:
    """The arguments of a plain function that ``argument`` holds."""
    match argument:
        case exp.Order():
            return _plain(argument.this)
        case exp.Distinct():
            return [part for written in argument.expressions for part in _plain(written)]
        case exp.Star():
            return []
        case _:
            return [argument]


def aggregate_call(
    node: exp.Expr,
    name: str,
    arguments: list[exp.Expr],
    filter: exp.Expr | None,
    context: ExprContext,
) -> TypedExpr:
    """The aggregate that ``node`` calls. Raises ``OuterAggregate`` if it is of a query around."""
    if name == "any_value" and len(arguments) == 1 and isinstance(arguments[0], exp.Order):
        return _first_value(node, arguments[0], filter, context)
    called = _called(node, name, arguments, filter, context)
    return of_arrays(called) if name == "array_agg" else called


def _called(
    node: exp.Expr,
    name: str,
    arguments: list[exp.Expr],
    filter: exp.Expr | None,
    context: ExprContext,
) -> TypedExpr:
    within = replace(context, takes_aggregates=False, clause=_IN_AGGREGATE)
    with at(node, UnknownFunction, NotAnAggregate):
        called = AggregateCall(aggregate(name, arguments, filter, within))
    check_level(node, called, context.scope)
    if not context.takes_aggregates:
        is_nested = context.clause == _IN_AGGREGATE
        with at(node):
            raise AggregateNotAllowed(
                "aggregate function calls cannot be nested"
                if is_nested
                else f"aggregate functions are not allowed in {context.clause}"
            )
    return called


_IN_AGGREGATE = "an aggregate function"


def of_arrays(collected: TypedExpr) -> TypedExpr:
    """The value of ``array_agg``: of arrays, an array of one more dimension."""
    return call(COLLECTED, [collected]) if collected.type.dimensions > 1 else collected


def _first_value(
    node: exp.Expr, ordered: exp.Order, filter: exp.Expr | None, context: ExprContext
) -> TypedExpr:
    """The value of ``any_value(x ORDER BY …)``: the first one that is not NULL."""
    value = ordered.this
    if isinstance(value, exp.Distinct):
        raise UnsupportedSql(
            "any_value of DISTINCT values is not supported",
            hint="leave out DISTINCT: it changes nothing",
        )
    is_known = exp.Not(this=exp.Is(this=tracked_copy(value), expression=exp.Null()))
    condition = is_known if filter is None else exp.And(this=filter, expression=is_known)
    values = _called(node, "array_agg", [ordered], condition, context)
    return call("subscript", [values, Literal(1, INTEGER)])


def collecting_aggregate(
    node: exp.Expr,
    name: str,
    arguments: list[exp.Expr],
    filter: exp.Expr | None,
    context: ExprContext,
) -> TypedExpr:
    """A document, list or map of the values of a group."""
    argument = collected_argument(name, arguments)
    return of_collected(name, aggregate_call(node, "array_agg", [argument], filter, context))


def collected_argument(name: str, arguments: Sequence[exp.Expr]) -> exp.Expr:
    """What ``array_agg`` collects for a call of ``name``: documents, values or entries. Raises
    ``UnknownFunction``, ``UnsupportedSql``."""
    if len(arguments) != COLLECTING_AGGREGATES[name]:
        raise UnknownFunction(name, [])
    if name == "list_agg":
        return arguments[0]
    *keys, last = arguments
    value = last.this if isinstance(last, exp.Order) else last
    if isinstance(value, exp.Distinct):
        if keys or len(value.expressions) != 1:
            raise UnsupportedSql(f"{name} of DISTINCT pairs is not supported")
        document: exp.Expr = exp.Distinct(expressions=[_document("to_jsonb", value.expressions)])
    elif name == "map_agg":
        document = exp.Anonymous(this="row", expressions=[keys[0], value])
    elif keys:
        is_null = exp.Is(this=tracked_copy(keys[0]), expression=exp.Null())
        member = _document("jsonb_build_object", [keys[0], value])
        document = exp.Case(ifs=[exp.If(this=is_null, true=exp.Null())], default=member)
    else:
        document = _document("to_jsonb", [value])
    if isinstance(last, exp.Order):
        return exp.Order(this=document, expressions=last.expressions)
    return document


def of_collected(name: str, collected: TypedExpr) -> TypedExpr:
    """The value of the call of ``name`` whose arguments are ``collected`` in an array."""
    match name:
        case "list_agg":
            return as_list(collected)
        case "map_agg":
            return call("map_build", [collected])
        case "jsonb_object_agg":
            return call("merged objects", [collected])
        case _:
            return call("to_jsonb", [collected])


def _document(function: str, arguments: list[exp.Expr]) -> exp.Expr:
    return exp.Anonymous(this=function, expressions=arguments)


def aggregate(
    name: str,
    arguments: Sequence[exp.Expr],
    filter: exp.Expr | None,
    within: ExprContext,
    *,
    order: Sequence[exp.Ordered] = (),
) -> Aggregate[TypedExpr]:
    """The aggregate function ``name`` of ``arguments``, which are read as ``within``, over the rows
    that ``filter`` keeps, in ``order`` unless the last argument has one."""
    orderings = order
    if arguments and isinstance(arguments[-1], exp.Order):
        orderings, arguments = arguments[-1].expressions, [*arguments[:-1], arguments[-1].this]
    is_distinct = len(arguments) == 1 and isinstance(arguments[0], exp.Distinct)
    if is_distinct:
        arguments = arguments[0].expressions
    if len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        if name != "count" or is_distinct:
            raise UnknownFunction(name, ["*"] if is_distinct else [])
        arguments = []
    elif not arguments and name == "count":
        raise NotAnAggregate.of_count()
    values = [scalar(argument, within) for argument in arguments]
    check_unique(name, values)
    if len(values) != SORTED.get(name, len(values)):
        raise UnknownFunction(
            name, ["unknown" if value.type is None else str(value.type) for value in values]
        )
    if name == "any_value" and len(values) == 1 and is_open(values[0]):
        raise TypeMismatch("could not determine polymorphic type because input has type unknown")
    keys = [typed(ordering.this, within) for ordering in orderings]
    if is_distinct and any(key not in [default_to_text(value) for value in values] for key in keys):
        raise InvalidColumnReference(
            "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list"
        )
    directions = [_direction(ordering) for ordering in orderings]
    if name in SORTED and not orderings and not is_distinct:
        keys, directions = _row_order(values, within.scope)
    if name in SORTED:  # every other aggregate has the same value in any order
        for key, word in zip(keys, directions, strict=True):
            values += [key, Literal(word, TEXT)]
    resolved = resolve_aggregate(name, [value.type for value in values])
    cast_values: tuple[TypedExpr, ...] = tuple(
        coerce(value, type) for value, type in zip(values, resolved.argument_types, strict=True)
    )
    filter_condition = (
        condition(filter, replace(within, clause="FILTER")) if filter is not None else None
    )
    if filter_condition is not None:
        cast_values = tuple(_only_where(filter_condition, value) for value in cast_values)
    return Aggregate(resolved.function, cast_values, resolved.result, is_distinct, filter_condition)


def _row_order(
    values: Sequence[TypedExpr | Untyped], scope: Scope
) -> tuple[list[TypedExpr], list[str]]:
    """The order in which FROM gives the rows, if it gives one: its keys, and a direction of each.
    An aggregate of an outer query's columns belongs to that query, so it takes none."""
    if any(has(default_to_text(value), OuterRef) for value in values):
        return [], []
    keys = [ColumnRef(order.index, scope.columns[order.index].type) for order in scope.row_order]
    return list(keys), [
        direction(is_descending=order.is_descending, nulls_first=order.nulls_first)
        for order in scope.row_order
    ]


def _only_where(filter_condition: TypedExpr, value: TypedExpr) -> TypedExpr:
    """``value``, which engines compute of every row, but not where FILTER leaves the row out and it
    could raise an error."""
    return (
        Case(((filter_condition, value),), Literal(None, value.type), value.type)
        if could_error(value) or has(value, SubqueryValue)
        else value
    )


def _direction(ordering: exp.Ordered) -> str:
    reject_unsupported(ordering, "this", "desc", "nulls_first")
    return direction(
        is_descending=bool(ordering.args.get("desc")),
        nulls_first=bool(ordering.args.get("nulls_first")),
    )
