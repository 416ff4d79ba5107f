"""Aggregates in a subquery that belong to a query around it.

An aggregate is of the innermost query that one of its columns comes from, so that
``SELECT (SELECT max(t.a)) FROM t`` has one row. Planning the subquery finds such an aggregate and
raises `OuterAggregate`. The query that has the columns catches it, puts a column of its own in the
place of the aggregate, plans its expressions again, and replaces the column by the aggregate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count

from sqlglot import exp

from reclock.errors import AggregateNotAllowed, UnknownColumn, UnknownRelation, UnsupportedSql
from reclock.plan.scalars import ColumnRef
from reclock.sql.queries.around import named_columns
from reclock.sql.queries.attach import rewrite_own
from reclock.sql.queries.expressions import ExprContext, typed
from reclock.sql.queries.output_names import output_name
from reclock.sql.queries.planned import (
    AggregateCall,
    GroupingCall,
    OuterRef,
    SubqueryValue,
    TypedExpr,
    children,
    walk,
)
from reclock.sql.queries.scope import Scope, ScopeColumn
from reclock.sql.syntax.consumption import tracked_copy
from reclock.sql.syntax.dialect import to_sql

OF_SUBQUERY = "aggregate of its subquery"
"""Marks a call that the planner wrote: it belongs to the query that it is in, whatever columns
it has."""

_MARK = "outer aggregate"
_marks = count()


class OuterAggregate(UnsupportedSql):
    """The aggregate ``node`` has columns of a query around the one that it is in, and no
    others."""

    def __init__(self, node: exp.Expr) -> None:
        super().__init__(
            f"{to_sql(node)[:80]}, of columns of a query around, is not supported here",
            hint="compute it in the query that has the columns",
        )
        self.node = node


def check_level(node: exp.Expr, call: AggregateCall | GroupingCall, scope: Scope) -> None:
    """Raises ``OuterAggregate`` unless ``call`` is of the query whose columns are ``scope``."""
    if OF_SUBQUERY in node.meta:
        return
    columns = list(_columns_of(children(call) if isinstance(call, AggregateCall) else call.keys))
    if columns and all(
        isinstance(column, OuterRef) or scope.columns[column.index].is_around for column in columns
    ):
        raise OuterAggregate(node)


def _columns_of(parts: Sequence[TypedExpr]) -> Iterator[ColumnRef | OuterRef]:
    """The columns in ``parts``, and those that subqueries in them name of the query that these
    stand in."""
    for part in (part for value in parts for part in walk(value)):
        if isinstance(part, SubqueryValue):
            inner = (
                column
                for value in (part.result, *part.conditions, *part.domain)
                for column in walk(value)
            )
            yield from (
                ColumnRef(column.index, column.type)
                for column in inner
                if isinstance(column, OuterRef)
            )
        elif isinstance(part, ColumnRef | OuterRef):
            yield part


@contextmanager
def without_aggregates(scope: Scope, clause: str) -> Iterator[None]:
    """Raises ``AggregateNotAllowed`` if a subquery in ``clause`` has an aggregate of ``scope``."""
    try:
        yield
    except OuterAggregate as found:
        if all(scope.columns[i].is_around for i in named_columns(found.node, scope)):
            raise
        raise AggregateNotAllowed(f"aggregate functions are not allowed in {clause}") from found


@dataclass(frozen=True, slots=True)
class LiftedSelect:
    """A SELECT in which columns stand for aggregates of its subqueries that belong to itself.
    ``context.scope`` has these columns last; its first ``width`` are those of FROM."""

    node: exp.Select
    context: ExprContext
    width: int
    aggregates: tuple[TypedExpr, ...] = ()
    is_marked: bool = False
    """Whether the calls in ``node`` can be told apart."""

    def place(self, value: TypedExpr) -> TypedExpr:
        """``value`` with the aggregates in place of their columns."""

        def change(part: TypedExpr) -> TypedExpr | None:
            if isinstance(part, ColumnRef) and part.index >= self.width:
                return self.aggregates[part.index - self.width]
            return None

        placed = rewrite_own(value, change) if self.aggregates else value
        for part in walk(placed):
            if isinstance(part, AggregateCall) and any(map(_has_aggregate, children(part))):
                raise AggregateNotAllowed("aggregate function calls cannot be nested")
        return placed

    def lift(self, outer_aggregate: OuterAggregate) -> LiftedSelect:
        """With one more aggregate lifted. Raises ``outer_aggregate`` if it belongs to a query around
        this one."""
        mark = outer_aggregate.node.meta.get(_MARK)
        parts = [part for part in _calls(self.node) if part.meta.get(_MARK) == mark]
        if mark is None or not parts:
            if self.is_marked:  # the call is in no text of this query
                raise outer_aggregate
            return replace(self, node=_marked(self.node), is_marked=True)
        scope = self.context.scope
        from_columns, lifted = scope.columns[: self.width], scope.columns[self.width :]
        if {column.name for column in parts[0].find_all(exp.Column)} & {
            column.name for column in lifted
        }:
            raise AggregateNotAllowed("aggregate function calls cannot be nested")
        try:
            aggregate = typed(
                parts[0], replace(self.context, scope=replace(scope, columns=from_columns))
            )
        except (OuterAggregate, UnknownColumn, UnknownRelation):
            raise outer_aggregate from None
        if aggregate in self.aggregates:
            name = lifted[self.aggregates.index(aggregate)].name
            return replace(self, node=_with_column(self.node, mark, name))
        name = _new_name(self.node)
        column = ScopeColumn(None, name, aggregate.type, is_around=True)
        return replace(
            self,
            node=_with_column(self.node, mark, name),
            context=replace(self.context, scope=replace(scope, columns=(*scope.columns, column))),
            aggregates=(*self.aggregates, aggregate),
        )


def _new_name(node: exp.Expr) -> str:
    """A name that no column in ``node`` has, and that no identifier can have."""
    names = {column.name for column in node.find_all(exp.Column)}
    return next(name for name in (f"\0{i}" for i in count()) if name not in names)


def _has_aggregate(value: TypedExpr) -> bool:
    for part in walk(value):
        inner = (
            [part.result, *part.conditions, *part.domain] if isinstance(part, SubqueryValue) else []
        )
        if isinstance(part, AggregateCall) or any(map(_has_aggregate, inner)):
            return True
    return False


def _calls(node: exp.Expr) -> Iterator[exp.Expr]:
    return node.find_all(exp.Anonymous, exp.Filter, exp.WithinGroup)


def _marked(node: exp.Select) -> exp.Select:
    """A copy whose calls, and all copies of these, can be told apart."""
    copied = tracked_copy(node)
    for part in _calls(copied):
        part.meta[_MARK] = next(_marks)
    return copied


def _with_column(node: exp.Select, mark: int, name: str) -> exp.Select:
    """A copy with a column in place of the call with ``mark``. What contains it keeps its name."""
    copied = tracked_copy(node)
    for part in [part for part in _calls(copied) if part.meta.get(_MARK) == mark]:
        item = part
        while item.parent is not None and not isinstance(item.parent, exp.Select):
            item = item.parent
        is_unnamed = item.arg_key == "expressions" and not isinstance(item, exp.Alias)
        alias = output_name(item) if is_unnamed else None
        column = exp.Column(this=exp.Identifier(this=name, quoted=True))
        part.replace(column)
        if alias is not None:
            item = column if item is part else item
            named = exp.Alias(alias=exp.Identifier(this=alias, quoted=True))
            item.replace(named)
            named.set("this", item)
    return copied
