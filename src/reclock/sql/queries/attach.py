"""Joining the subqueries that expressions refer to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reclock.plan.build import distinct, join, project
from reclock.plan.relational import Get, JoinKind, Plan, inputs, with_inputs
from reclock.plan.scalar_trees import rewrite
from reclock.plan.scalars import ColumnRef
from reclock.sql.queries.rewrite import AROUND, OuterRef, SubqueryValue


def attach(plan: Plan, scalars: Sequence[Any]) -> tuple[Plan, list[Any]]:
    """``plan`` joined with every subquery in ``scalars``, behind its columns, and the scalars over the wider rows."""
    starts: dict[tuple[Plan, tuple[OuterRef, ...], tuple[Any, ...]], int] = {}
    rows = plan

    def place(value: SubqueryValue) -> Any:
        nonlocal plan
        source = (value.plan, value.domain, value.conditions)
        if source not in starts:
            conditions = [rewrite(condition, change_around) for condition in value.conditions]
            starts[source] = width = len(plan.desc)
            kind = JoinKind.INNER if value.is_exactly_one and not value.conditions else JoinKind.LEFT
            inner = (
                _over(value.plan, distinct(project(rows, [column.index for column in value.domain])))
                if value.domain
                else value.plan
            )
            plan = join(plan, inner, kind, [shift_inner(condition, width) for condition in conditions])
        return rewrite(shift_inner(value.result, starts[source]), change)

    def change(part: Any) -> Any | None:
        return place(part) if isinstance(part, SubqueryValue) else None

    def change_around(part: Any) -> Any | None:
        # Within conditions, what stands in the place of a subquery is of the row around.
        return to_outer(place(part)) if isinstance(part, SubqueryValue) else None

    placed = [rewrite(scalar, change) for scalar in scalars]
    return plan, placed


def _over(plan: Plan, rows: Plan) -> Plan:
    """``plan`` reading ``rows`` in the place of those of the query around it."""
    if isinstance(plan, Get):
        return rows if plan.collection == AROUND else plan
    return with_inputs(plan, [_over(input, rows) for input in inputs(plan)])


def shift_inner(scalar: Any, width: int) -> Any:
    """From rows of two queries to one row: the outer columns, then, from ``width`` on, the inner ones."""

    def change(part: Any) -> Any | None:
        if isinstance(part, OuterRef):
            return ColumnRef(part.index, part.type)
        return ColumnRef(width + part.index, part.type) if isinstance(part, ColumnRef) else None

    return rewrite(scalar, change)


def to_outer(scalar: Any) -> Any:
    """A scalar of the query around, as a subquery's expressions say it."""
    return rewrite(scalar, lambda part: OuterRef(part.index, part.type) if isinstance(part, ColumnRef) else None)
