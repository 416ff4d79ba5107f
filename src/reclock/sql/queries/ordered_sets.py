"""Calls with WITHIN GROUP: percentiles, the most frequent value, and hypothetical ranks."""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import Decimal

from sqlglot import exp

from reclock.algebra.relations import BIGINT
from reclock.errors import UnsupportedSql
from reclock.plan.scalars import Case, Literal
from reclock.sql.queries.aggregate_calls import aggregate_call
from reclock.sql.queries.expressions import ExprContext, function_name, reject_unsupported
from reclock.sql.queries.hypothetical_ranks import RANKS, hypothetical_rank
from reclock.sql.queries.overloads import call
from reclock.sql.queries.planned import TypedExpr
from reclock.sql.syntax.consumption import consume, tracked_copy
from reclock.sql.syntax.dialect import to_sql

PERCENTILES = ("percentile_cont", "percentile_disc")
ORDERED_SETS = (*PERCENTILES, "mode")
"""Aggregates that are called with WITHIN GROUP alone."""


def ordered_set(
    node: exp.Expr, called: exp.WithinGroup, filter: exp.Expr | None, context: ExprContext
) -> TypedExpr:
    """The aggregate that ``node`` calls, over the rows that ``filter`` keeps."""
    function, order = called.this, called.expression.expressions
    name = function_name(function) if isinstance(function, exp.Anonymous) else ""
    if name in RANKS:
        return hypothetical_rank(node, name, function.expressions, order, filter, context)
    if name not in ORDERED_SETS:
        known = ", ".join((*ORDERED_SETS, *RANKS))
        raise UnsupportedSql(f"{to_sql(called)[:80]} is not supported", hint=f"there are {known}")
    if len(order) != 1 or len(function.expressions) != (name in PERCENTILES):
        takes = "one fraction, and one value" if name in PERCENTILES else "one value"
        raise UnsupportedSql(f"{name} takes {takes} in an order")
    [ordering] = order
    reject_unsupported(ordering, "this", "desc", "nulls_first")
    ordering.args.get("nulls_first")  # wherever they come, NULLs do not count
    value, is_descending = ordering.this, bool(ordering.args.get("desc"))

    def percentile(*fraction: exp.Expr) -> TypedExpr:
        arguments = [tracked_copy(value), *fraction, *([exp.true()] if is_descending else [])]
        return aggregate_call(node, name, arguments, filter, context)

    if name not in PERCENTILES:
        return percentile()
    [argument] = function.expressions
    fractions = _fractions(argument)
    if not fractions:
        return percentile(_computed(argument))
    percentiles = call("array", [percentile(_computed(fraction)) for fraction in fractions])
    count = aggregate_call(node, "count", [tracked_copy(value)], filter, context)
    has_values = call(">", [count, Literal(0, BIGINT)])
    return Case(((has_values, percentiles),), Literal(None, percentiles.type), percentiles.type)


def _fractions(argument: exp.Expr) -> list[exp.Expr]:
    """The fractions of a percentile that are written as an array, perhaps with a cast; empty if it
    is none."""
    if isinstance(argument, exp.Array):
        return list(argument.expressions)
    if isinstance(argument, exp.Cast) and isinstance(argument.this, exp.Array):
        kind = argument.args["to"]
        items = kind.expressions if kind.this == exp.DType.ARRAY else []
        return [exp.Cast(this=item, to=items[0]) for item in argument.this.expressions if items]
    return []


_ARITHMETIC: dict[type[exp.Expr], Callable[[Decimal, Decimal], Decimal]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: operator.truediv,
}


def _computed(fraction: exp.Expr) -> exp.Expr:
    """``fraction`` as a number, if it is arithmetic of constants: ``1 - 0.05``."""
    value = _number(fraction)
    if value is None or value < 0 or isinstance(fraction, exp.Literal):
        return fraction
    consume(fraction)
    return exp.Literal.number(f"{value:f}")


def _number(node: exp.Expr) -> Decimal | None:
    """The value of constants and their arithmetic; None if ``node`` is something else."""
    match node:
        case exp.Literal(is_string=False):
            return Decimal(node.name)
        case exp.Paren():
            return _number(node.this)
        case exp.Binary() if type(node) in _ARITHMETIC:
            left, right = _number(node.this), _number(node.expression)
            if left is None or right is None or (isinstance(node, exp.Div) and not right):
                return None
            value = _ARITHMETIC[type(node)](left, right)
            if isinstance(node, exp.Div) and _is_integer(left) and _is_integer(right):
                return Decimal(int(value))
            return value
        case _:
            return None


def _is_integer(number: Decimal) -> bool:
    """Whether it has no digits after the point, not even zeros."""
    return number.as_tuple().exponent == 0
