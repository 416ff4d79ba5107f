"""Calls with FILTER or WITHIN GROUP."""

from __future__ import annotations

from sqlglot import exp

from reclock.errors import WithinGroupRequired
from reclock.plan.functions import AGGREGATES
from reclock.sql.queries.aggregate_calls import (
    COLLECTING_AGGREGATES,
    aggregate_call,
    collecting_aggregate,
    reject_clause,
)
from reclock.sql.queries.expressions import ExprContext, function_name, scalar
from reclock.sql.queries.ordered_sets import ORDERED_SETS, ordered_set
from reclock.sql.queries.planned import TypedExpr


@scalar.register
def _within_group(node: exp.WithinGroup, context: ExprContext) -> TypedExpr:
    return ordered_set(node, node, None, context)


@scalar.register
def _filtered(node: exp.Filter, context: ExprContext) -> TypedExpr:
    function = node.this
    if isinstance(function, exp.WithinGroup):
        return ordered_set(node, function, node.expression.this, context)
    if isinstance(function, exp.Anonymous) and function_name(function) in COLLECTING_AGGREGATES:
        return collecting_aggregate(
            node, function_name(function), function.expressions, node.expression.this, context
        )
    if isinstance(function, exp.Anonymous) and function_name(function) in ORDERED_SETS:
        raise WithinGroupRequired(function_name(function))
    if not isinstance(function, exp.Anonymous) or function_name(function) not in AGGREGATES:
        reject_clause("FILTER", function, context)
    return aggregate_call(
        node, function_name(function), function.expressions, node.expression.this, context
    )
