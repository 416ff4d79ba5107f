"""The select list, and what ORDER BY, DISTINCT ON and GROUP BY name of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from sqlglot import exp

from reclock.algebra.relations import ScalarType
from reclock.errors import AmbiguousColumn, InvalidColumnReference, NotInFromClause, SqlSyntaxError
from reclock.plan.relational import Ordering
from reclock.plan.scalars import ColumnRef
from reclock.sql.names import fold
from reclock.sql.queries.coercion import (
    coerce,
    default_to_text,
    is_written_record,
    with_own_digits,
)
from reclock.sql.queries.context import Context
from reclock.sql.queries.expressions import ExprContext, reject_unsupported, scalar, starred
from reclock.sql.queries.output_names import output_name
from reclock.sql.queries.planned import Planned, TypedExpr, Untyped
from reclock.sql.queries.scope import Scope, ScopedPlan
from reclock.sql.queries.subqueries import SubqueryPlanner
from reclock.sql.syntax.consumption import consume
from reclock.sql.syntax.places import at

V = TypeVar("V", Planned, TypedExpr, covariant=True)


@dataclass(frozen=True, slots=True)
class SelectItem(Generic[V]):
    """A column of the select list."""

    name: str
    value: V


def select_values(node: exp.Select, relation: ScopedPlan, context: Context) -> list[TypedExpr]:
    """The values of the select list over the rows of ``relation``."""
    expr_context = ExprContext(
        relation.scope, SubqueryPlanner(context), "SELECT", takes_aggregates=True
    )
    return [
        default_to_text(item.value)
        for projection in node.expressions
        for item in select_items(projection, expr_context)
    ]


def select_order(
    node: exp.Select, relation: ScopedPlan, context: Context
) -> list[tuple[TypedExpr, bool, bool]]:
    """The keys of ORDER BY over the rows of ``relation``, and for each whether it is descending,
    and begins with NULLs."""
    expr_context = ExprContext(
        relation.scope, SubqueryPlanner(context), "SELECT", takes_aggregates=True
    )
    items = [
        SelectItem(item.name, default_to_text(item.value))
        for projection in node.expressions
        for item in select_items(projection, expr_context)
    ]
    order = node.args["order"].expressions if node.args.get("order") else []
    terms = [
        (
            by_output(ordering.this, items) or by_input(ordering.this, expr_context, "ORDER BY"),
            ordering_of(0, ordering),
        )
        for ordering in order
    ]
    return [(value, how.is_descending, how.nulls_first) for value, how in terms]


def select_list(
    expressions: Sequence[exp.Expr], scope: Scope, context: Context, clause: str
) -> list[tuple[str, TypedExpr]]:
    """The names and scalars of a list outside of a SELECT; no aggregates."""
    expr_context = ExprContext(scope, SubqueryPlanner(context), clause)
    return [
        (item.name, default_to_text(item.value))
        for expression in expressions
        for item in select_items(expression, expr_context)
    ]


def typed_by_hint(value: Planned, hint: ScalarType | None) -> TypedExpr:
    if hint is not None and is_written_record(value) and hint.composite is not None:
        return coerce(value, hint)
    if not isinstance(value, Untyped) or hint is None:
        return default_to_text(value)
    (number,) = with_own_digits([value], [hint])
    return coerce(number, hint) if isinstance(number, Untyped) else number


def ordering_of(index: int, node: exp.Expr) -> Ordering:
    reject_unsupported(node, "this", "desc", "nulls_first")
    return Ordering(index, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))


def select_items(node: exp.Expr, expr_context: ExprContext) -> list[SelectItem[Planned]]:
    if isinstance(node, exp.Star):
        reject_unsupported(node)
        return _star(node, expr_context.scope, [])
    node = _star_within(node)
    if isinstance(node, exp.Dot) and (columns := starred(node, expr_context)) is not None:
        return [SelectItem(name, value) for name, value in columns]
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        reject_unsupported(node.this)
        qualifier = [
            fold(part)
            for part in (node.args.get("catalog"), node.args.get("db"), node.args.get("table"))
            if part
        ]
        return _star(node, expr_context.scope, qualifier)
    if isinstance(node, exp.Alias):
        return [SelectItem(fold(node.args["alias"]), scalar(node.this, expr_context))]
    if isinstance(node, exp.Aliases):
        raise SqlSyntaxError("a column has one alias")
    return [SelectItem(output_name(node), scalar(node, expr_context))]


def _star_within(node: exp.Expr) -> exp.Expr:
    """The star in parentheses, or before AS, both of which mean nothing there; any
    other ``node`` itself."""
    inner = node
    while isinstance(inner, exp.Paren | exp.Alias):
        inner = inner.this
    last = inner.this if isinstance(inner, exp.Column) else inner.args.get("expression")
    if not isinstance(last, exp.Star):
        return node
    consume(node)
    return inner


def _star(node: exp.Expr, scope: Scope, qualifier: list[str]) -> list[SelectItem[Planned]]:
    if not scope.columns:
        query = node.parent_select
        if query is not None and query.args.get("from_") is not None:
            return []  # of a table without columns
        raise SqlSyntaxError("SELECT * with no tables specified is not valid")
    if qualifier:
        chosen = scope.of_relation(qualifier)
    else:
        chosen = [
            i
            for i, column in enumerate(scope.columns)
            if not column.is_merged_away and not column.is_around
        ]
    if not chosen:
        with at(node):
            raise NotInFromClause(".".join(qualifier))
    return [SelectItem(scope.columns[i].name, ColumnRef(i, scope.columns[i].type)) for i in chosen]


def item_at_position(
    node: exp.Expr, items: Sequence[SelectItem[TypedExpr]], clause: str
) -> int | None:
    inner = node.unnest()
    if not isinstance(inner, exp.Literal):
        return None
    if inner.is_string or not inner.name.isdigit():
        raise SqlSyntaxError(f"non-integer constant in {clause}")
    if not 1 <= int(inner.name[:9]) <= len(items):
        with at(inner):
            raise InvalidColumnReference(f"{clause} position {inner.name} is not in select list")
    return int(inner.name) - 1


def item_named(node: exp.Expr, items: Sequence[SelectItem[TypedExpr]], clause: str) -> int | None:
    node = node.unnest()
    if not isinstance(node, exp.Column) or len(node.parts) > 1 or isinstance(node.this, exp.Star):
        return None
    named = [i for i, item in enumerate(items) if item.name == fold(node.this)]
    if len({items[i].value for i in named}) > 1:
        raise AmbiguousColumn(fold(node.this), clause)
    return named[0] if named else None


def by_output(
    node: exp.Expr, items: Sequence[SelectItem[TypedExpr]], clause: str = "ORDER BY"
) -> TypedExpr | None:
    position = item_at_position(node, items, clause)
    position = position if position is not None else item_named(node, items, clause)
    return None if position is None else items[position].value


def by_input(node: exp.Expr, expr_context: ExprContext, clause: str) -> TypedExpr:
    return default_to_text(scalar(node, replace(expr_context, clause=clause)))


def distinct_on(
    node: exp.Select, items: Sequence[SelectItem[TypedExpr]], expr_context: ExprContext
) -> list[TypedExpr]:
    distinct = node.args.get("distinct")
    on = distinct.args.get("on") if distinct is not None else None
    if on is None:
        return []
    nodes = on.expressions if isinstance(on, exp.Tuple) else [on]
    return [
        by_output(node, items, "DISTINCT ON") or by_input(node, expr_context, "DISTINCT ON")
        for node in nodes
    ]
