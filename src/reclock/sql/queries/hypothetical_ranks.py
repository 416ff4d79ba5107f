"""The rank that a row of given values would have among those of a group: ``rank(3) WITHIN GROUP
(ORDER BY x)``."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from reclock.algebra.relations import BIGINT, DOUBLE
from reclock.errors import UnknownFunction, UnsupportedSql
from reclock.plan.scalars import Case, Literal
from reclock.sql.queries.aggregate_calls import aggregate_call
from reclock.sql.queries.coercion import coerce, default_to_text
from reclock.sql.queries.expressions import ExprContext, reject_unsupported, scalar
from reclock.sql.queries.overloads import call
from reclock.sql.queries.planned import TypedExpr
from reclock.sql.syntax.consumption import tracked_copy

RANKS = ("rank", "dense_rank", "percent_rank", "cume_dist")
"""Window functions that are also called with WITHIN GROUP."""


def hypothetical_rank(
    node: exp.Expr,
    name: str,
    values: Sequence[exp.Expr],
    order: Sequence[exp.Ordered],
    filter: exp.Expr | None,
    context: ExprContext,
) -> TypedExpr:
    """The aggregate ``name`` of RANKS that ``node`` calls, over the rows that ``filter`` keeps."""
    _check(name, values, order, context)

    def count(condition: exp.Expr | None, counted: exp.Expr) -> TypedExpr:
        conditions = [tracked_copy(part) for part in (filter, condition) if part is not None]
        condition = exp.and_(*conditions, copy=False) if conditions else None
        return aggregate_call(node, "count", [counted], condition, context)

    before = _precedes(values, order)
    if name == "dense_rank":
        keys = exp.Anonymous(this="row", expressions=[tracked_copy(key.this) for key in order])
        return _successor(count(before, exp.Distinct(expressions=[keys])))
    if name == "rank":
        return _successor(count(before, exp.Star()))
    rows = count(None, exp.Star())
    if name == "cume_dist":
        upto = exp.or_(before, _is_peer(values, order), copy=False)
        return _quotient(_successor(count(upto, exp.Star())), _successor(rows))
    share = _quotient(count(before, exp.Star()), rows)
    is_empty = call("=", [rows, Literal(0, BIGINT)])
    return Case(((is_empty, Literal(0.0, DOUBLE)),), share, DOUBLE)


def _check(
    name: str, values: Sequence[exp.Expr], order: Sequence[exp.Ordered], context: ExprContext
) -> None:
    for key in order:
        reject_unsupported(key, "this", "desc", "nulls_first")
    if len(values) != len(order):
        types = [default_to_text(scalar(value, context)).type for value in values]
        raise UnknownFunction(
            name,
            [str(type) for type in types],
            hint=f"ORDER BY has {len(order)} keys, so {name} takes as many values",
        )
    if any(value.find(exp.Column) for value in values):
        raise UnsupportedSql(f"{name} WITHIN GROUP of columns is not supported")


def _precedes(values: Sequence[exp.Expr], order: Sequence[exp.Ordered]) -> exp.Expr:
    """Whether a row precedes one of ``values``."""
    value, key = values[0], order[0]
    compared = exp.GT if key.args.get("desc") else exp.LT
    known, null = (value, key.this) if key.args.get("nulls_first") else (key.this, value)
    before = exp.or_(
        compared(this=tracked_copy(key.this), expression=tracked_copy(value)),
        exp.and_(_is_null(null), exp.Not(this=_is_null(known)), copy=False),
        copy=False,
    )
    if len(values) == 1:
        return before
    rest = _precedes(values[1:], order[1:])
    return exp.or_(before, exp.and_(_is_peer(values[:1], order[:1]), rest, copy=False), copy=False)


def _is_peer(values: Sequence[exp.Expr], order: Sequence[exp.Ordered]) -> exp.Expr:
    pairs = zip(values, order, strict=True)
    return exp.and_(
        *(
            exp.NullSafeEQ(this=tracked_copy(key.this), expression=tracked_copy(value))
            for value, key in pairs
        ),
        copy=False,
    )


def _is_null(value: exp.Expr) -> exp.Expr:
    return exp.Is(this=tracked_copy(value), expression=exp.Null())


def _successor(count: TypedExpr) -> TypedExpr:
    return call("+", [count, Literal(1, BIGINT)])


def _quotient(count: TypedExpr, among: TypedExpr) -> TypedExpr:
    return call("/", [coerce(count, DOUBLE), coerce(among, DOUBLE)])
