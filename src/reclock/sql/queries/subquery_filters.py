"""Conditions of WHERE that are subqueries: EXISTS and IN become semi-joins and anti-joins."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from sqlglot import exp

from reclock.algebra.relations import BIGINT, BOOLEAN
from reclock.errors import SubqueryWidth, UnknownOperator
from reclock.plan.build import compute, filter_rows, join, map_columns, project
from reclock.plan.relational import JoinKind, Plan
from reclock.plan.scalar_trees import is_nullable
from reclock.plan.scalars import Call, ColumnRef, Literal, Scalar
from reclock.plan.totality import could_error
from reclock.sql.queries.around import NOT_ALONE
from reclock.sql.queries.attach import attach, shift_inner
from reclock.sql.queries.coercion import equal
from reclock.sql.queries.expressions import (
    ExprContext,
    condition,
    row_items,
    row_values,
    scalar,
)
from reclock.sql.queries.overloads import balanced, is_null, negated
from reclock.sql.queries.planned import (
    OuterRef,
    SubqueryRows,
    TypedExpr,
    has,
    is_scalar,
    scalars_of,
)
from reclock.sql.queries.required_rows import required_rows
from reclock.sql.queries.subquery_rows import (
    correlated_error,
    counted_values,
    of_type,
    shown_columns,
)
from reclock.sql.syntax.places import at


def _parts(node: exp.Expr) -> tuple[exp.Expr, bool]:
    """The predicate without its NOTs and parentheses, and whether it is negated."""
    is_negated = False
    while isinstance(node, exp.Not | exp.Paren):
        is_negated ^= isinstance(node, exp.Not)
        node = node.this
    return node, is_negated


def is_subquery_filter(node: exp.Expr) -> bool:
    """Whether a condition of WHERE is [NOT] EXISTS or [NOT] IN with a subquery."""
    predicate, _ = _parts(node)
    return isinstance(predicate, exp.Exists) or (
        isinstance(predicate, exp.In) and predicate.args.get("query") is not None
    )


def filter_by_subquery(node: exp.Expr, plan: Plan, expr_context: ExprContext, rows: Plan) -> Plan:
    """The rows of ``plan`` for which the condition holds; ``expr_context`` is that of its WHERE.

    ``rows``, with the same columns, has these rows and others: the subquery is computed for them.
    """
    with suppress(*NOT_ALONE):
        return _joined_filter(node, plan, expr_context, rows)
    width = len(plan.desc)
    predicate = condition(node, expr_context)
    if has(predicate, OuterRef):
        raise correlated_error()
    plan, predicates = attach(plan, [predicate])
    return project(filter_rows(plan, scalars_of(predicates)), range(width))


def _joined_filter(node: exp.Expr, plan: Plan, expr_context: ExprContext, rows: Plan) -> Plan:
    """The same by a semi-join or an anti-join."""
    predicate, is_negated = _parts(node)
    kind = JoinKind.ANTI if is_negated else JoinKind.SEMI
    planner = expr_context.subqueries
    if isinstance(predicate, exp.Exists):
        inner = planner.rows(predicate.this, expr_context.scope)
        width = len(plan.desc)
        conditions = _shifted(inner.conditions, width)
        return join(plan, required_rows(inner.plan, conditions, rows, width), kind, conditions)
    visible = range(len(plan.desc))
    operand = predicate.this.unnest() if isinstance(predicate.this, exp.Paren) else predicate.this
    row = row_items(operand)
    operands = row_values(row, expr_context) if row is not None else [scalar(operand, expr_context)]
    inner = _with_values(planner.rows(predicate.args["query"], expr_context.scope))
    width = len(plan.desc)
    required = required_rows(inner.plan, _shifted(inner.conditions, width), rows, width)
    inner = replace(inner, plan=required)
    with at(predicate, SubqueryWidth, sign="IN"):
        columns = shown_columns(inner, len(operands))
    plan, attached = attach(plan, [of_type(*pair) for pair in zip(operands, columns, strict=True)])
    if any(has(operand, OuterRef) for operand in attached):
        raise correlated_error()
    with at(predicate, UnknownOperator, sign="IN"):
        return project(_match(plan, scalars_of(attached), inner, is_negated), visible)


def _with_values(inner: SubqueryRows) -> SubqueryRows:
    """Rows whose values that could fail are columns, so that a join compares them as keys."""
    late = [part for part in inner.select_list if is_scalar(part) and could_error(part)]
    width = len(inner.plan.desc)
    columns: dict[TypedExpr, TypedExpr] = {
        part: ColumnRef(width + i, part.type) for i, part in enumerate(late)
    }
    select_list = [columns.get(part, part) for part in inner.select_list]
    return replace(inner, plan=map_columns(inner.plan, late), select_list=tuple(select_list))


def _shifted(expressions: Sequence[TypedExpr], width: int) -> list[Scalar]:
    return scalars_of(shift_inner(expression, width) for expression in expressions)


def _match(plan: Plan, operands: Sequence[Scalar], inner: SubqueryRows, is_negated: bool) -> Plan:
    """The rows of ``plan`` whose operands are (or, negated, for certain are not) among the
    subquery's rows."""
    width = len(plan.desc)
    columns = shown_columns(inner, len(operands))
    conditions = _shifted(inner.conditions, width)
    pairs = [
        equal(mine, theirs) for mine, theirs in zip(operands, _shifted(columns, width), strict=True)
    ]
    if not is_negated:
        return join(plan, inner.plan, JoinKind.SEMI, [*conditions, *pairs])
    unmatched = join(plan, inner.plan, JoinKind.ANTI, [*conditions, *pairs])
    if not any(is_nullable(operand, plan.desc.columns) for operand in operands) and not any(
        has(column, OuterRef) or is_nullable(column, inner.plan.desc.columns) for column in columns
    ):
        return unmatched
    if len(pairs) > 1 or conditions:
        # A NULL on either side leaves the comparison open, and then the row goes too.
        unsure = [balanced("or", [pair, is_null(pair)]) for pair in pairs]
        return join(plan, inner.plan, JoinKind.ANTI, [*conditions, *unsure])
    rows, not_null = ColumnRef(width, BIGINT), ColumnRef(width + 1, BIGINT)
    counted = join(
        unmatched, counted_values(compute(inner.plan, scalars_of(columns))), JoinKind.INNER, ()
    )
    is_empty: Scalar = Call("=", (rows, Literal(0, BIGINT)), BOOLEAN)
    are_not_null: Scalar = Call("=", (rows, not_null), BOOLEAN)
    is_sure = balanced("and", [negated(is_null(operands[0])), are_not_null])
    return filter_rows(counted, [balanced("or", [is_empty, is_sure])])
