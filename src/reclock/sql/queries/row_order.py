"""The order in which FROM's only subquery gives its rows, and what of a query keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from reclock.plan.relational import Ordering, WindowFunction
from reclock.plan.scalars import ColumnRef
from reclock.sql.queries.planned import InWindow, TypedExpr, rewrite, walk
from reclock.sql.queries.scope import Scope

BY_PLACE = ("row_number", "ntile", "lag", "lead")
"""Window functions of a row's place in the window's order, whatever the frame."""


def keeps_order(node: exp.Select) -> bool:
    """Whether no clause of the query orders or groups its rows."""
    return not any(node.args.get(clause) for clause in ("order", "group", "having", "distinct"))


def gives_order(node: exp.Expr) -> bool:
    """Whether ``node`` is a subquery with ORDER BY, or one that keeps the order of another."""
    if not isinstance(node, exp.Subquery):
        return False
    query = node.this
    if query.args.get("order") or not isinstance(query, exp.Select):
        return bool(query.args.get("order"))
    clause, joins = query.args.get("from_"), query.args.get("joins")
    return clause is not None and not joins and keeps_order(query) and gives_order(clause.this)


def with_ordered_windows(values: Sequence[TypedExpr], scope: Scope) -> list[TypedExpr]:
    """``values`` of the rows of FROM, where functions of a row's place whose windows have no order
    take that of FROM."""
    by = scope.row_order

    def change(part: TypedExpr) -> TypedExpr | None:
        if not isinstance(part, InWindow) or part.order or not _is_by_place(part):
            return None
        return replace(
            part,
            order=tuple(ColumnRef(key.index, scope.columns[key.index].type) for key in by),
            is_descending=tuple(key.is_descending for key in by),
            nulls_first=tuple(key.nulls_first for key in by),
        )

    return [rewrite(value, change) for value in values] if by else list(values)


def _is_by_place(window: InWindow) -> bool:
    return isinstance(window.function, WindowFunction) and window.function.name in BY_PLACE


def kept_order(node: exp.Select, values: Sequence[TypedExpr], scope: Scope) -> tuple[Ordering, ...]:
    """The order of FROM, if ``node``, which does not group, answers its rows in it: PostgreSQL sorts
    them for a window that has another order."""
    places = [key.index for key in scope.row_order]
    windows = [part for value in values for part in walk(value) if isinstance(part, InWindow)]
    is_sorted = any(
        window.partition or _places(window.order) not in ([], places) for window in windows
    )
    return () if is_sorted or not keeps_order(node) else scope.row_order


def _places(values: Sequence[TypedExpr]) -> list[int | None]:
    return [value.index if isinstance(value, ColumnRef) else None for value in values]
