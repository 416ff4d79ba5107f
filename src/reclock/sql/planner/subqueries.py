"""Subqueries in expressions, turned into joins.

As a condition of WHERE, EXISTS and IN become semi-joins and anti-joins. Anywhere else a subquery becomes a left join with at most one
row a row, whose columns then stand in the expression. A subquery may name the query around it in its WHERE: any condition for
EXISTS and IN in WHERE, equalities for the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from reclock.algebra.relations import BIGINT, BOOLEAN, INTEGER, TEXT, TypeName
from reclock.compute.plan import JoinKind, Plan
from reclock.compute.scalars import Aggregate, Call, Case, Cast, ColumnRef, Literal
from reclock.errors import SqlSyntaxError, TypeMismatch, UnsupportedSql
from reclock.sql.planner.build import compute, distinct, equal, filter_rows, is_exactly_one_row, join, map_columns, most_rows, project, reduce
from reclock.sql.planner.coercion import settle
from reclock.sql.planner.context import Context
from reclock.sql.planner.expressions import Reading, both, is_null, negated, scalar
from reclock.sql.planner.rewrite import AggregateCall, OuterRef, SubqueryValue, columns_of, has, is_nullable, rewrite, walk
from reclock.sql.planner.scope import Relation, Scope

_TRUE = Literal(True, BOOLEAN)
_COUNT = Aggregate("count", (), BIGINT)


# --- joining what expressions refer to ---


def attach(plan: Plan, scalars: Sequence[Any]) -> tuple[Plan, list[Any]]:
    """``plan`` joined with every subquery in ``scalars``, behind its columns, and the scalars over the wider rows."""
    places: dict[SubqueryValue, Any] = {}

    def place(value: SubqueryValue) -> Any:
        nonlocal plan
        if value in places:
            return places[value]
        width = len(plan.desc)
        kind = JoinKind.INNER if value.is_exactly_one and not value.conditions else JoinKind.LEFT
        conditions = [_beside(each, width) for each in value.conditions]
        plan = join(plan, value.plan, kind, conditions)
        places[value] = rewrite(_beside(value.result, width), lambda part: place(part) if isinstance(part, SubqueryValue) else None)
        return places[value]

    def change(part: Any) -> Any | None:
        return place(part) if isinstance(part, SubqueryValue) else None

    return plan, [rewrite(each, change) for each in scalars]


def _beside(scalar: Any, width: int) -> Any:
    """From rows of two queries to one row: the outer columns, then, from ``width`` on, the inner ones."""

    def change(part: Any) -> Any | None:
        if isinstance(part, OuterRef):
            return ColumnRef(part.index, part.type)
        return ColumnRef(width + part.index, part.type) if isinstance(part, ColumnRef) else None

    return rewrite(scalar, change)


def _around(scalar: Any) -> Any:
    """A scalar of the query around, as a subquery's expressions say it."""
    return rewrite(scalar, lambda part: OuterRef(part.index, part.type) if isinstance(part, ColumnRef) else None)


# --- conditions of WHERE ---


def _parts(node: exp.Expr) -> tuple[exp.Expr, bool]:
    """The predicate without its NOTs and parentheses, and whether it is negated."""
    is_negated = False
    while isinstance(node, exp.Not | exp.Paren):
        is_negated ^= isinstance(node, exp.Not)
        node = node.this
    return node, is_negated


def is_subquery_filter(node: exp.Expr) -> bool:
    """Whether a condition of WHERE is [NOT] EXISTS or [NOT] IN with a subquery."""
    predicate, _ = _parts(node)
    return isinstance(predicate, exp.Exists) or (isinstance(predicate, exp.In) and predicate.args.get("query") is not None)


def filter_by_subquery(node: exp.Expr, plan: Plan, reading: Reading) -> Plan:
    """The rows of ``plan`` for which the condition holds; ``reading`` is that of the WHERE it stands in."""
    predicate, is_negated = _parts(node)
    planner = reading.subqueries
    assert isinstance(planner, SubqueryPlanner)
    kind = JoinKind.ANTI if is_negated else JoinKind.SEMI
    width, visible = len(plan.desc), range(len(plan.desc))
    if isinstance(predicate, exp.Exists):
        inner = planner.rows(predicate.this, reading.scope)
        _refuse(inner.conditions if inner.is_grouped else ())
        return join(plan, inner.plan, kind, [_beside(each, width) for each in inner.conditions])
    operand = predicate.this.unnest() if isinstance(predicate.this, exp.Paren) else predicate.this
    operands = [scalar(each, reading) for each in (operand.expressions if isinstance(operand, exp.Tuple) else [operand])]
    plan, operands = attach(plan, operands)
    if any(has(each, OuterRef) for each in operands):
        raise _unsupported()
    width = len(plan.desc)
    inner = planner.rows(predicate.args["query"], reading.scope)
    _refuse(inner.conditions if inner.is_grouped else ())
    columns = _shown(inner, len(operands))
    conditions = [_beside(each, width) for each in inner.conditions]
    pairs = [equal(_as_typed(mine, theirs), _beside(theirs, width)) for mine, theirs in zip(operands, columns, strict=True)]
    if not is_negated or not _may_be_null(operands, plan, columns, inner.plan):
        return project(join(plan, inner.plan, kind, [*conditions, *pairs]), visible)
    if len(pairs) > 1 or conditions:
        # NULLs on either side make the comparison unknown, and the row goes.
        unsure = [both("or", [pair, is_null(pair)]) for pair in pairs]
        return project(join(plan, inner.plan, kind, [*conditions, *unsure]), visible)
    unmatched = join(plan, inner.plan, kind, pairs)
    counted = reduce(compute(inner.plan, columns), (), [_COUNT, Aggregate("count", (ColumnRef(0, columns[0].type),), BIGINT)])
    whole = join(unmatched, counted, JoinKind.INNER, ())
    rows, known = ColumnRef(width, BIGINT), ColumnRef(width + 1, BIGINT)
    is_empty = Call("=", (rows, Literal(0, BIGINT)), BOOLEAN)
    is_sure = both("and", [negated(is_null(operands[0])), Call("=", (rows, known), BOOLEAN)])
    return project(filter_rows(whole, [both("or", [is_empty, is_sure])]), visible)


def _as_typed(operand: Any, like: Any) -> Any:
    return operand if operand.type is not None else operand_of_type(operand, like)


def operand_of_type(operand: Any, like: Any) -> Any:
    from reclock.sql.planner.coercion import coerce

    return coerce(operand, like.type)


def _may_be_null(operands: Sequence[Any], plan: Plan, columns: Sequence[Any], inner: Plan) -> bool:
    mine = any(operand.type is None or is_nullable(operand, plan.desc.columns) for operand in operands)
    return mine or any(is_nullable(column, inner.desc.columns) for column in columns)


# --- subqueries anywhere ---


@dataclass(frozen=True, slots=True)
class Rows:
    """A subquery's rows, with the conditions on the query around that they must meet. ``shown`` are its columns, over ``plan``."""

    plan: Plan
    conditions: tuple[Any, ...]
    shown: tuple[Any, ...]
    is_grouped: bool = False


@dataclass(frozen=True, slots=True)
class SubqueryPlanner:
    """Plans the subqueries of one query's expressions."""

    context: Context

    def value(self, node: exp.Expr, scope: Scope) -> Any:
        """The only column of the only row; NULL without a row; an error of the query if there are several."""
        query = _unwrapped(node)
        block = self._block(query, scope)
        if block is not None and block.correlated:
            return self._correlated_value(query, block)
        plan = self._plan(query, block)
        _check_width(plan, 1)
        value = ColumnRef(0, plan.desc.types[0])
        if is_exactly_one_row(plan):
            return SubqueryValue(plan, (), value, is_exactly_one=True)
        if most_rows(plan) is not None:
            return SubqueryValue(plan, (), value)
        return _only_row(plan)

    def exists(self, node: exp.Expr, scope: Scope) -> Any:
        """Whether there is a row."""
        inner = self.rows(node, scope)
        if not inner.conditions:
            counted = reduce(inner.plan, (), [_COUNT])
            return SubqueryValue(counted, (), Call(">", (ColumnRef(0, BIGINT), Literal(0, BIGINT)), BOOLEAN), is_exactly_one=True)
        _refuse(inner.conditions if inner.is_grouped else ())
        plan, conditions, width = _keyed(inner, ())
        return SubqueryValue(plan, conditions, negated(is_null(ColumnRef(width - 1, BOOLEAN))))

    def contains(self, operands: Sequence[Any], node: exp.Expr, scope: Scope) -> Any:
        """``operands IN (node)``: true if a row is equal, else unknown if NULL leaves it open, else false."""
        inner = self.rows(node, scope)
        columns = _shown(inner, len(operands))
        if inner.conditions or len(operands) > 1:
            raise UnsupportedSql("IN with this subquery is supported as a condition of WHERE only", hint="join it with AND there, or use EXISTS")
        operand, column = _around(_as_typed(operands[0], columns[0])), columns[0]
        values = compute(inner.plan, columns)
        value = ColumnRef(0, column.type)
        matches = map_columns(distinct(filter_rows(values, [negated(is_null(value))])), [_TRUE])
        found = negated(is_null(ColumnRef(1, BOOLEAN)))
        counted = reduce(values, (), [_COUNT, Aggregate("count", (value,), BIGINT)])
        rows, known = ColumnRef(0, BIGINT), ColumnRef(1, BIGINT)
        any_row = SubqueryValue(counted, (), Call(">", (rows, Literal(0, BIGINT)), BOOLEAN), is_exactly_one=True)
        any_null = SubqueryValue(counted, (), Call(">", (rows, known), BOOLEAN), is_exactly_one=True)
        open_ = both("or", [both("and", [is_null(operand), any_row]), any_null])
        result = Case(((found, _TRUE), (open_, Literal(None, BOOLEAN))), Literal(False, BOOLEAN), BOOLEAN)
        return SubqueryValue(matches, (equal(operand, value),), result)

    def rows(self, node: exp.Expr, scope: Scope) -> Rows:
        """The subquery as rows to be matched with those around."""
        query = _unwrapped(node)
        block = self._block(query, scope)
        if block is None or not block.correlated:
            plan = self._plan(query, block)
            return Rows(plan, (), tuple(ColumnRef(i, type) for i, type in enumerate(plan.desc.types)))
        from reclock.sql.planner.select import finish_select

        assert isinstance(query, exp.Select)
        if any(query.args.get(name) for name in ("group", "having", "limit", "offset")):
            raise _unsupported()
        # The select list beside the columns that the conditions name.
        width = len(block.relation.plan.desc)
        extra = [exp.Column(this=exp.Identifier(this=f"#{i}")) for i in range(width)]
        del extra
        bare = query.copy()
        bare.set("order", None)
        bare.set("distinct", None)
        shown = finish_select(bare, block.relation, self.context)
        if _is_reduced(shown.plan, block.relation.plan):
            raise _unsupported()
        over, values = _select_list(shown.embedded, block.relation.plan)
        return Rows(over, block.correlated, tuple(values))

    def _block(self, query: exp.Expr, scope: Scope) -> Any | None:
        from reclock.sql.planner.query import with_ctes
        from reclock.sql.planner.select import plan_block

        return plan_block(query, with_ctes(query, self.context), scope) if isinstance(query, exp.Select) else None

    def _plan(self, query: exp.Expr, block: Any | None) -> Plan:
        from reclock.sql.planner.query import plan_query
        from reclock.sql.planner.select import finish_select

        if block is not None:
            assert isinstance(query, exp.Select)
            return finish_select(query, block.relation, self.context).embedded
        return plan_query(query, self.context).embedded
