"""Joining the subqueries that expressions refer to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from reclock.plan.build import compute, distinct, filter_rows, join
from reclock.plan.equality import EqualPlans
from reclock.plan.relational import Get, JoinKind, Plan
from reclock.plan.scalars import ColumnRef, Scalar
from reclock.plan.traversal import rewritten
from reclock.sql.queries.planned import (
    AROUND,
    AggregateCall,
    GroupingCall,
    OuterRef,
    SubqueryValue,
    TypedExpr,
    children,
    columns_of,
    has,
    rewrite,
    scalars_of,
    with_children,
)
from reclock.sql.queries.required_rows import (
    could_fail_anywhere,
    guard_of_next,
    passes_over,
    required_rows,
)
from reclock.sql.queries.subquery_rows import correlated_error

Subquery = tuple[int, tuple[TypedExpr, ...], tuple[TypedExpr, ...]]
"""The identity of the first of equal plans, a domain and conditions."""


def attach(plan: Plan, expressions: Sequence[TypedExpr]) -> tuple[Plan, list[TypedExpr]]:
    """``plan`` joined with every subquery in ``expressions``, whose columns follow its own, and the
    expressions over these rows."""
    attachment = _Attachment(plan, plan)
    placed = [rewrite(expression, attachment.replacement) for expression in expressions]
    return attachment.plan, placed


@dataclass(slots=True)
class _Attachment:
    """A plan to which the subqueries of expressions are joined, one after the other."""

    rows: Plan
    """The rows that the expressions are computed of."""
    plan: Plan
    """``rows`` with the columns of the subqueries so far."""
    guards: list[Scalar] = field(default_factory=list)
    """The conditions under which the expression at hand is evaluated."""
    plans: EqualPlans = field(default_factory=EqualPlans)
    starts: dict[tuple[Subquery, tuple[Scalar, ...]], int] = field(default_factory=dict)
    """Where the columns of each subquery begin, by the guards of the rows that it has them for."""

    def replacement(self, part: TypedExpr) -> TypedExpr | None:
        """What replaces a part of an expression; None if only its children change."""
        if isinstance(part, SubqueryValue):
            return self._place(part)
        return self._in_order(part) if has(part, SubqueryValue) and passes_over(part) else None

    def _in_order(self, part: TypedExpr) -> TypedExpr:
        # Each child is computed for the rows for which those before leave it to be evaluated.
        placed: list[TypedExpr] = []
        for child in children(part):
            guard = guard_of_next(part, placed)
            self.guards.extend([] if guard is None else [guard])
            placed.append(rewrite(child, self.replacement))
            if guard is not None:
                self.guards.pop()
        return with_children(part, placed)

    def _replace_around(self, part: TypedExpr) -> TypedExpr | None:
        # Within conditions, what replaces a subquery is of the row around.
        return to_outer(self._place(part)) if isinstance(part, SubqueryValue) else None

    def _place(self, value: SubqueryValue) -> TypedExpr:
        """The value over the rows of the plan, to which its subquery is joined."""
        source = (id(self.plans.first(value.plan)), value.domain, value.conditions)
        guards = tuple(self.guards) if could_fail_anywhere(value.plan) else ()
        # What was computed under some of these conditions has all rows that are asked for here.
        known = [part for part in self.starts if part[0] == source and {*part[1]} <= {*guards}]
        if known:
            guards = known[0][1]
        else:
            self.starts[source, guards] = self._join(value, guards)
        return rewrite(shift_inner(value.result, self.starts[source, guards]), self.replacement)

    def _join(self, value: SubqueryValue, guards: tuple[Scalar, ...]) -> int:
        """Join the value's subquery, as it is for the rows that meet ``guards``. Returns where its
        columns begin."""
        conditions = [rewrite(condition, self._replace_around) for condition in value.conditions]
        domain = scalars_of(to_inner(rewrite(part, self._replace_around)) for part in value.domain)
        width = len(self.plan.desc)
        shifted = scalars_of(shift_inner(condition, width) for condition in conditions)
        named = {index for part in (*domain, *guards, *shifted) for index in columns_of(part)}
        needs_subqueries = any(len(self.rows.desc) <= index < width for index in named)
        outer_rows = filter_rows(self.plan if needs_subqueries else self.rows, guards)
        inner = (
            _over(value.plan, distinct(compute(outer_rows, domain)))
            if domain
            else required_rows(value.plan, shifted, outer_rows, width)
        )
        is_inner = value.is_exactly_one and not value.conditions
        self.plan = join(self.plan, inner, JoinKind.INNER if is_inner else JoinKind.LEFT, shifted)
        return width


def _over(plan: Plan, rows: Plan) -> Plan:
    """``plan`` reading ``rows`` in place of the rows of the outer query."""
    return rewritten(
        plan,
        lambda node: rows if isinstance(node, Get) and node.collection == AROUND else node,
    )


def shift_inner(expression: TypedExpr, width: int) -> TypedExpr:
    """The expression over rows of both queries: the outer columns come first, the inner ones from
    ``width`` on."""

    def change(part: TypedExpr) -> TypedExpr | None:
        if isinstance(part, OuterRef):
            return ColumnRef(part.index, part.type)
        return ColumnRef(width + part.index, part.type) if isinstance(part, ColumnRef) else None

    return rewrite(expression, change)


def to_outer(expression: TypedExpr) -> TypedExpr:
    """An expression of the outer query, as the subquery's expressions refer to it. Raises
    ``UnsupportedSql`` if it names columns of a query further out, which a subquery names only where
    it is planned for each row around."""
    if has(expression, OuterRef):
        raise correlated_error()

    def change(part: TypedExpr) -> TypedExpr | None:
        if isinstance(part, AggregateCall | GroupingCall):
            return part
        return OuterRef(part.index, part.type) if isinstance(part, ColumnRef) else None

    return rewrite(expression, change)


def to_inner(expression: TypedExpr) -> TypedExpr:
    """The inverse of ``to_outer``."""
    return rewrite(
        expression,
        lambda part: ColumnRef(part.index, part.type) if isinstance(part, OuterRef) else None,
    )


def rewrite_own(
    expression: TypedExpr, change: Callable[[TypedExpr], TypedExpr | None]
) -> TypedExpr:
    """Rewrite from the top what ``expression`` says of its own row, also where subqueries in it
    name that row. ``change`` returns a replacement, or None to rewrite the children; it also gets
    the subqueries."""

    def own(part: TypedExpr) -> TypedExpr | None:
        changed = change(part)
        if changed is not None or not isinstance(part, SubqueryValue):
            return changed
        return replace(
            part,
            conditions=tuple(rewrite(condition, around) for condition in part.conditions),
            result=rewrite(part.result, around),
            domain=tuple(rewrite(column, around) for column in part.domain),
        )

    def around(part: TypedExpr) -> TypedExpr | None:
        # Inside a subquery's expressions, a row of the query around is an OuterRef, an aggregate is
        # of that query, and a ColumnRef is of the subquery's own row.
        if isinstance(part, OuterRef):
            changed = change(ColumnRef(part.index, part.type))
        elif isinstance(part, AggregateCall | GroupingCall | SubqueryValue):
            changed = change(part)
        else:
            return None
        if changed is not None:
            return to_outer(changed)
        return own(part) if isinstance(part, SubqueryValue) else None

    return rewrite(expression, own)
