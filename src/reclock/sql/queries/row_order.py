"""The order in which FROM's only subquery, or query of WITH, gives its rows, and what of a query
keeps it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlglot import exp

from reclock.plan.relational import Frame, Ordering, WindowFunction
from reclock.plan.scalars import ColumnRef
from reclock.sql.names import fold, parts
from reclock.sql.queries.planned import InWindow, TypedExpr, rewrite, walk
from reclock.sql.queries.scope import Scope

BY_PLACE = ("row_number", "ntile", "lag", "lead")
"""Window functions of a row's place in the window's order, whatever the frame."""
_IN_FRAME = ("first_value", "last_value", "nth_value")
"""Window functions of a place in the frame."""
_ALL_ROWS = Frame(None, None, is_range=False)


def keeps_order(node: exp.Select) -> bool:
    """Whether no clause of the query orders or groups its rows."""
    return not any(node.args.get(clause) for clause in ("order", "group", "having", "distinct"))


def gives_order(node: exp.Expr, ordered_ctes: Collection[str]) -> bool:
    """Whether ``node`` is a subquery with ORDER BY, one that keeps the order of another, or one of
    ``ordered_ctes``."""
    match node:
        case exp.Subquery():
            return _is_ordered(node.this, ordered_ctes)
        case exp.Table():
            return parts(node) in {(name,) for name in ordered_ctes} and not node.args.get("sample")
        case _:
            return False


def _is_ordered(query: exp.Expr, ordered_ctes: Collection[str]) -> bool:
    if query.args.get("order") or not isinstance(query, exp.Select):
        return bool(query.args.get("order"))
    clause, joins = query.args.get("from_"), query.args.get("joins")
    if clause is None or joins or not keeps_order(query):
        return False
    return gives_order(clause.this, _with_ordered(query.args.get("with_"), ordered_ctes))


def _with_ordered(clause: exp.With | None, ordered_ctes: Collection[str]) -> Collection[str]:
    """``ordered_ctes`` after the queries of WITH, which may have the names of others."""
    ordered = set(ordered_ctes)
    for cte in clause.expressions if clause is not None else ():
        name = fold(cte.args["alias"].this)
        if _is_ordered(cte.this, ordered):
            ordered.add(name)
        else:
            ordered.discard(name)
    return ordered


def with_ordered_windows(values: Sequence[TypedExpr], scope: Scope) -> list[TypedExpr]:
    """``values`` of the rows of FROM, where functions of a row's place whose windows have no order
    take that of FROM."""
    by = scope.row_order

    def change(part: TypedExpr) -> TypedExpr | None:
        if not isinstance(part, InWindow) or part.order or not _is_by_place(part):
            return None
        return replace(
            part,
            # without an order, all rows are peers
            frame=_ALL_ROWS if part.frame.is_range else part.frame,
            order=tuple(ColumnRef(key.index, scope.columns[key.index].type) for key in by),
            is_descending=tuple(key.is_descending for key in by),
            nulls_first=tuple(key.nulls_first for key in by),
        )

    return [rewrite(value, change) for value in values] if by else list(values)


def _is_by_place(window: InWindow) -> bool:
    if not isinstance(window.function, WindowFunction):
        return False
    is_in_frame = window.function.name in _IN_FRAME and not window.frame.excludes
    return is_in_frame or window.function.name in BY_PLACE


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
