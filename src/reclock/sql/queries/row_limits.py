"""LIMIT and OFFSET that are no constants, whose values are computed for every row around, and FETCH …
WITH TIES: the rows of the query are numbered."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from sqlglot import exp

from reclock.algebra.relations import BIGINT
from reclock.plan.build import filter_rows, project
from reclock.plan.relational import Frame, WindowFunction
from reclock.plan.scalars import Call, ColumnRef, Literal
from reclock.sql.queries.around import NOT_ALONE
from reclock.sql.queries.attach import attach, rewrite_own
from reclock.sql.queries.context import Context, PlannedQuery
from reclock.sql.queries.expressions import ExprContext, scalar
from reclock.sql.queries.limits import has_ties, limits, row_count, written_limits
from reclock.sql.queries.overloads import balanced, call, is_null
from reclock.sql.queries.planned import InWindow, TypedExpr, scalars_of
from reclock.sql.queries.row_functions import in_windows
from reclock.sql.queries.scope import Scope
from reclock.sql.queries.subqueries import SubqueryPlanner

_FIRST = Literal(0, BIGINT)


def with_limits(
    node: exp.Expr, query: PlannedQuery, around: Scope, context: Context
) -> PlannedQuery:
    """``query``, which is ordered, with the LIMIT and OFFSET of ``node``. ``around`` are the columns
    of the rows around, which both may name."""
    ties = has_ties(node)
    if not ties:
        with suppress(*NOT_ALONE):
            limit, offset = limits(node, context.session.parameters)
            return replace(query, limit=limit, offset=offset)
    written_clauses = zip(written_limits(node, has_ties=ties), ("LIMIT", "OFFSET"), strict=True)
    count, skipped = (
        _number(written, clause, query, around, context) for written, clause in written_clauses
    )
    width = len(query.plan.desc)
    numbers = [_numbers(query, "row_number"), *([_numbers(query, "rank")] if ties else ())]
    numbered, places = in_windows(query.plan, numbers)
    number, last = places[0], places[-1]
    skipped = _FIRST if skipped is None else call("coalesce", [skipped, _FIRST])
    is_kept = call(">", [number, skipped])
    if count is not None:
        is_within = call("<=", [call("-", [last, skipped]), count])
        is_kept = balanced("and", [is_kept, balanced("or", [is_null(count), is_within])])
    plan, (kept,) = attach(numbered, [is_kept])
    return replace(query, plan=project(filter_rows(plan, scalars_of([kept])), range(width)))


def _number(
    node: exp.Expr | None, clause: str, query: PlannedQuery, around: Scope, context: Context
) -> TypedExpr | None:
    """The rows that the clause counts, over the columns of ``query``. None without the clause."""
    if node is None:
        return None
    value = scalar(node, ExprContext(around, SubqueryPlanner(context), clause))
    number = Call(f"{clause} of", (row_count(value, clause),), BIGINT)
    return rewrite_own(
        number,
        lambda part: (
            ColumnRef(query.visible + part.index, part.type)
            if isinstance(part, ColumnRef)
            else None
        ),
    )


def _numbers(query: PlannedQuery, function: str) -> InWindow:
    """The number of each row among those for one row around: its place, or its rank."""
    types, order = query.plan.desc.types, query.order
    around = range(query.visible, query.visible + query.outer_width)
    return InWindow(
        WindowFunction(function),
        (),
        tuple(ColumnRef(i, types[i]) for i in around),
        tuple(ColumnRef(ordering.index, types[ordering.index]) for ordering in order),
        tuple(ordering.is_descending for ordering in order),
        tuple(ordering.nulls_first for ordering in order),
        Frame(),
        BIGINT,
    )
