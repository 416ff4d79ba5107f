"""Subqueries planned for every row around: what they name of it is where their FROM begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from sqlglot import exp

from reclock.algebra.relations import BOOLEAN, Column, RelationDesc
from reclock.errors import (
    AmbiguousColumn,
    AmbiguousRelation,
    UnknownColumn,
    UnknownRelation,
    UnsupportedSql,
)
from reclock.plan.build import compute, distinct, join, map_columns, project, reduce
from reclock.plan.relational import Get, JoinKind, Plan
from reclock.plan.scalars import Aggregate, Call, Case, ColumnRef, Literal, Scalar
from reclock.sql.names import fold, parts
from reclock.sql.queries.attach import to_outer
from reclock.sql.queries.context import Context, PlannedQuery
from reclock.sql.queries.overloads import is_null, negated
from reclock.sql.queries.planned import AROUND, OuterRef, SubqueryValue, TypedExpr, scalar_of
from reclock.sql.queries.scope import Scope, ScopeColumn, ScopedPlan

_TRUE = Literal(True, BOOLEAN)
NOT_ALONE = (UnsupportedSql, UnknownColumn, UnknownRelation)
"""What planning a subquery raises that has to be planned for each row around."""


@dataclass(frozen=True, slots=True)
class RowsAround:
    """The rows of a subquery for every row around: its ``width`` columns, then a column for each
    scalar of ``domain``."""

    plan: Plan
    width: int
    domain: tuple[TypedExpr, ...]

    @property
    def conditions(self) -> tuple[TypedExpr, ...]:
        """For a plan of the domain's columns alone: those of the row around are the same."""
        return tuple(
            Call("is_not_distinct", (scalar, ColumnRef(i, scalar.type)), BOOLEAN)
            for i, scalar in enumerate(self.domain)
        )

    def value_of(self, plan: Plan, result: TypedExpr) -> SubqueryValue:
        """``result`` over the row of ``plan``, which has the domain's columns first and one row at
        most for each."""
        return SubqueryValue(plan, self.conditions, result, domain=self.domain)

    @property
    def places(self) -> range:
        return range(self.width, self.width + len(self.domain))


def named_around(query: exp.Expr, scope: Scope, context: Context) -> list[int]:
    """Columns of the query around that ``query`` needs: those that it may name, and the first ones
    if it reads a query of WITH that was planned for each row around."""
    widths = [outer_width(table, context) for table in query.find_all(exp.Table)]
    of_rows = range(min(max(widths, default=0), len(scope.columns)))
    return sorted({*of_rows, *named_columns(query, scope)})


def named_columns(query: exp.Expr, scope: Scope) -> set[int]:
    """Columns of ``scope`` that ``query`` may name."""
    named: set[int] = set()
    for column in query.find_all(exp.Column):
        qualifier = [
            fold(part)
            for part in (
                column.args.get("catalog"),
                column.args.get("db"),
                column.args.get("table"),
            )
            if part
        ]
        with suppress(AmbiguousColumn, AmbiguousRelation):
            position = scope.find(fold(column.this), qualifier)
            if position is not None:
                named.add(position)
            elif isinstance(column.this, exp.Star) or not qualifier:
                named.update(scope.of_relation(qualifier or [fold(column.this)]))
    return named


def outer_width(node: exp.Table, context: Context) -> int:
    """The number of columns of the WITH query named by ``node`` that identify the row around it
    that each of its rows is for."""
    name = parts(node) if isinstance(node.this, exp.Identifier) else ()
    return context.outer_widths.get(name[0], 0) if len(name) == 1 else 0


def scope_around(scope: Scope, indexes: Sequence[int], used: set[int] | None = None) -> Scope:
    """The columns at ``indexes`` as a subquery sees them. Those that it names are added to
    ``used``."""

    def seen(i: int) -> ScopeColumn:
        column, outer = scope.columns[i], scope.columns[i].on_use

        def on_use() -> None:
            if used is not None:
                used.add(i)
            if outer is not None:
                outer()

        return replace(column, is_around=True, on_use=on_use)

    return Scope(tuple(map(seen, indexes)))


def planned_around(
    query: exp.Expr, scope: Scope, context: Context, operands: Sequence[TypedExpr] = ()
) -> tuple[PlannedQuery, tuple[TypedExpr, ...]]:
    """``query`` for every row around, and what its columns after the visible ones are of that row:
    what it names, ``operands``."""
    candidates = named_around(query, scope, context)
    used: set[int] = set()
    planned = _planned(query, scope, candidates, used, context, operands)
    named = sorted(used & set(candidates))
    if named != candidates:
        planned = _planned(query, scope, named, used, context, operands)
    return planned, (*(OuterRef(i, scope.columns[i].type) for i in named), *map(to_outer, operands))


def _planned(
    query: exp.Expr,
    scope: Scope,
    named: Sequence[int],
    used: set[int],
    context: Context,
    operands: Sequence[TypedExpr],
) -> PlannedQuery:
    columns = [scope.columns[i] for i in named]
    desc = RelationDesc(
        tuple(Column(column.name, column.type) for column in columns)
        + tuple(Column(f"operand{i + 1}", operand.type) for i, operand in enumerate(operands))
    )
    unnamed = Scope(
        tuple(ScopeColumn(None, "", operand.type, is_around=True) for operand in operands)
    )
    start = ScopedPlan(
        Get(AROUND, "around", desc), scope_around(scope, named, used).beside(unnamed)
    )
    return context.queries.plan(query, replace(context, around=start))


def rows_around(
    query: exp.Expr, scope: Scope, context: Context, operands: Sequence[TypedExpr] = ()
) -> RowsAround:
    """The rows of ``query`` for what it names of the rows around, and for each value of
    ``operands``, which are of these rows."""
    try:
        plan = context.queries.plan(query, replace(context, around=None)).embedded
    except NOT_ALONE:
        if not named_around(query, scope, context):
            raise
        planned, domain = planned_around(query, scope, context, operands)
        return RowsAround(planned.embedded, planned.visible, domain)
    desc = RelationDesc(
        tuple(Column(f"operand{i + 1}", operand.type) for i, operand in enumerate(operands))
    )
    joined = join(Get(AROUND, "around", desc), plan, JoinKind.INNER, ())
    first = len(operands)
    placed = project(joined, [*range(first, first + len(plan.desc)), *range(first)])
    return RowsAround(placed, len(plan.desc), tuple(map(to_outer, operands)))


def exists_around(rows: RowsAround) -> SubqueryValue:
    """Whether there is a row."""
    keys = map_columns(distinct(project(rows.plan, rows.places)), [_TRUE])
    return rows.value_of(keys, negated(is_null(ColumnRef(len(rows.domain), BOOLEAN))))


Comparison = Callable[[Sequence[TypedExpr], Sequence[TypedExpr]], TypedExpr]
"""The comparison of two rows, given their values."""


def compared_around(
    rows: RowsAround, compare: Comparison, operands: int
) -> tuple[Scalar, Sequence[Scalar]]:
    """The comparison of the operands with each of ``rows``, and the columns of the domain, whose
    last ones are the operands."""
    types = rows.plan.desc.types
    shown = [ColumnRef(i, types[i]) for i in range(rows.width)]
    domain: list[Scalar] = [ColumnRef(i, types[i]) for i in rows.places]
    return scalar_of(compare(domain[len(domain) - operands :], shown)), domain


def any_around(rows: RowsAround, compare: Comparison, operands: int) -> SubqueryValue:
    """Whether a row compares as true with the operands, the last of the domain; unknown if a NULL
    leaves it open."""
    compared, domain = compared_around(rows, compare, operands)
    is_true = Call("is_true", (compared,), BOOLEAN)
    plan = compute(rows.plan, [*domain, is_true, is_null(compared)])
    flags = [ColumnRef(len(domain) + i, BOOLEAN) for i in range(2)]
    grouped = reduce(
        plan, range(len(domain)), [Aggregate("bool_or", (flag,), BOOLEAN) for flag in flags]
    )
    any_true, any_open = flags  # in the groups they are at the same places
    result: Scalar = Case(
        ((any_true, _TRUE), (any_open, Literal(None, BOOLEAN))), Literal(False, BOOLEAN), BOOLEAN
    )
    return rows.value_of(grouped, result)
