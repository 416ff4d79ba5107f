"""Joining the subqueries that expressions refer to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reclock.plan.build import compute, distinct, join
from reclock.plan.relational import Get, JoinKind, Plan, inputs, with_inputs
from reclock.plan.scalar_trees import columns_of, rewrite
from reclock.plan.scalars import ColumnRef
from reclock.sql.queries.rewrite import AROUND, AggregateCall, GroupingCall, OuterRef, SubqueryValue


def attach(plan: Plan, scalars: Sequence[Any]) -> tuple[Plan, list[Any]]:
    """``plan`` joined with every subquery in ``scalars``, whose columns follow its own, and the
    scalars over these rows."""
    starts: dict[tuple[Plan, tuple[Any, ...], tuple[Any, ...]], int] = {}
    rows = plan

    def place(value: SubqueryValue) -> Any:
        nonlocal plan
        source = (value.plan, value.domain, value.conditions)
        if source not in starts:
            conditions = [rewrite(condition, change_around) for condition in value.conditions]
            domain = [to_inner(rewrite(scalar, change_around)) for scalar in value.domain]
            needed = (
                rows
                if all(index < len(rows.desc) for scalar in domain for index in columns_of(scalar))
                else plan
            )
            inner = _over(value.plan, distinct(compute(needed, domain))) if domain else value.plan
            starts[source] = width = len(plan.desc)
            kind = (
                JoinKind.INNER if value.is_exactly_one and not value.conditions else JoinKind.LEFT
            )
            plan = join(
                plan, inner, kind, [shift_inner(condition, width) for condition in conditions]
            )
        return rewrite(shift_inner(value.result, starts[source]), change)

    def change(part: Any) -> Any | None:
        return place(part) if isinstance(part, SubqueryValue) else None

    def change_around(part: Any) -> Any | None:
        # Within conditions, what stands in the place of a subquery is of the row around.
        return to_outer(place(part)) if isinstance(part, SubqueryValue) else None

    placed = [rewrite(scalar, change) for scalar in scalars]
    return plan, placed


def _over(plan: Plan, rows: Plan) -> Plan:
    """``plan`` reading ``rows`` in place of the rows of the outer query."""
    if isinstance(plan, Get):
        return rows if plan.collection == AROUND else plan
    return with_inputs(plan, [_over(input, rows) for input in inputs(plan)])


def shift_inner(scalar: Any, width: int) -> Any:
    """The scalar over rows of both queries: the outer columns come first, the inner ones from
    ``width`` on."""

    def change(part: Any) -> Any | None:
        if isinstance(part, OuterRef):
            return ColumnRef(part.index, part.type)
        return ColumnRef(width + part.index, part.type) if isinstance(part, ColumnRef) else None

    return rewrite(scalar, change)


def to_outer(scalar: Any) -> Any:
    """A scalar of the outer query, as the subquery's expressions refer to it."""

    def change(part: Any) -> Any | None:
        if isinstance(part, AggregateCall | GroupingCall):
            return part
        return OuterRef(part.index, part.type) if isinstance(part, ColumnRef) else None

    return rewrite(scalar, change)


def to_inner(scalar: Any) -> Any:
    """A scalar of the query around that a subquery's expressions name, as that query says it
    itself."""
    return rewrite(
        scalar,
        lambda part: ColumnRef(part.index, part.type) if isinstance(part, OuterRef) else None,
    )
