"""Rows of subqueries: their number, their columns, and the conditions that match them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reclock.algebra.relations import BIGINT, TypeName
from reclock.errors import SubqueryWidth, UnsupportedSql
from reclock.plan.build import reduce
from reclock.plan.relational import Map, Plan, Project
from reclock.plan.scalars import Aggregate, Call, Cast, ColumnRef, Scalar
from reclock.plan.totality import could_error
from reclock.sql.queries.coercion import coerce
from reclock.sql.queries.planned import (
    OuterRef,
    Planned,
    SubqueryRows,
    SubqueryValue,
    TypedExpr,
    Untyped,
    children,
    columns_of,
    has,
    rewrite,
    with_children,
)
from reclock.sql.queries.required_rows import passes_over

COUNT = Aggregate("count", (), BIGINT)


def of_type(operand: Planned, like: TypedExpr) -> TypedExpr:
    """``operand``; a constant without a type gets that of ``like``."""
    return coerce(operand, like.type) if isinstance(operand, Untyped) else operand


def counted_values(values: Plan) -> Plan:
    """One row: how many rows there are, and how many of them are not NULL in their first column."""
    return reduce(
        values, (), [COUNT, Aggregate("count", (ColumnRef(0, values.desc.types[0]),), BIGINT)]
    )


def equal_columns(condition: TypedExpr) -> list[ColumnRef]:
    """The columns of the subquery that ``condition`` says are equal to something of the query
    around."""
    if not isinstance(condition, Call) or condition.function != "=":
        return []
    sides = [
        side.operand if isinstance(side, Cast) and not could_error(side) else side
        for side in condition.arguments
    ]
    pairs = zip(sides, sides[::-1], strict=True)
    return [
        mine for mine, theirs in pairs if isinstance(mine, ColumnRef) and not columns_of(theirs)
    ]


def shown_columns(rows: SubqueryRows, width: int) -> Sequence[TypedExpr]:
    check_width(len(rows.select_list), width)
    return rows.select_list


def check_width(width: int, expected: int) -> None:
    """Raises ``SubqueryWidth`` if the rows that are compared have another number of columns."""
    if width != expected:
        raise SubqueryWidth(f"subquery has too {'many' if width > expected else 'few'} columns")


def check_only_column(width: int) -> None:
    """Raises ``SubqueryWidth`` if the rows of a value have several columns, or none."""
    if width != 1:
        raise SubqueryWidth("subquery must return only one column")


def sides_of_equality(condition: TypedExpr) -> tuple[TypedExpr, TypedExpr]:
    """The two sides of a condition ``outer = inner``. Raises ``UnsupportedSql`` for any other
    condition."""
    if isinstance(condition, Call) and condition.function == "=":
        for outer, inner in (condition.arguments, condition.arguments[::-1]):
            if not columns_of(outer) and has(outer, OuterRef) and not has(inner, OuterRef):
                return outer, inner
    raise correlated_error()


def with_late_values(expression: TypedExpr) -> TypedExpr:
    """``expression``, in which CASE, AND, OR and ``coalesce`` do the last computation of a subquery
    of exactly one row, if it could fail: they may pass over it.

    Not for a filter: an engine would evaluate it before it joins the subquery.
    """

    def change(part: TypedExpr) -> TypedExpr | None:
        if passes_over(part):
            return with_children(part, [rewrite(child, _late) for child in children(part)])
        return None

    return rewrite(expression, change)


def _late(part: TypedExpr) -> TypedExpr | None:
    if not isinstance(part, SubqueryValue) or not isinstance(part.result, ColumnRef):
        return None
    if not part.is_exactly_one or part.conditions or part.domain:
        return None
    place, rows = part.result.index, part.plan
    while isinstance(rows, Project):
        place, rows = rows.indexes[place], rows.input
    if not isinstance(rows, Map) or place < len(rows.input.desc):
        return None
    computed = rows.scalars[place - len(rows.input.desc)]
    return replace(part, plan=rows.input, result=computed) if could_error(computed) else None


def only_row(plan: Plan) -> SubqueryValue:
    """The value of the only row of ``plan``. If there are several, reading it fails with a message
    that says so."""
    type = plan.desc.types[0]
    if type.name is TypeName.BYTEA:
        raise UnsupportedSql(
            f"a subquery of type {type} that may have several rows is not supported here",
            hint="add LIMIT 1",
        )
    reduced = reduce(plan, (), [COUNT, any_of(ColumnRef(0, type))])
    return SubqueryValue(
        reduced, (), if_only_row(ColumnRef(0, BIGINT), ColumnRef(1, type)), is_exactly_one=True
    )


def any_of(value: Scalar) -> Aggregate:
    return Aggregate(
        "bool_or" if value.type.name is TypeName.BOOLEAN else "max", (value,), value.type
    )


def if_only_row(rows: TypedExpr, value: TypedExpr) -> TypedExpr:
    """``value``, unless it is one of several ``rows``."""
    return Call("only row", (rows, value), value.type)


def correlated_error() -> UnsupportedSql:
    return UnsupportedSql(
        "a subquery that refers to the query around it in this way is not supported",
        hint=(
            "refer to it in WHERE of EXISTS, IN or an aggregate without GROUP BY, by "
            "equality; or write a join"
        ),
    )
