"""Subqueries in expressions, turned into joins.

As a condition of WHERE, EXISTS and IN become semi-joins and anti-joins. Anywhere else a subquery
becomes a left join with at most one row a row, whose columns the expression then has. A
subquery may name the query around it in its WHERE: any condition for EXISTS and IN in WHERE,
equalities for the others. A subquery that names it elsewhere is planned for every row around
(`around.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from sqlglot import exp

from reclock.algebra.relations import BIGINT, BOOLEAN, TEXT, Column, RelationDesc, ScalarType, array
from reclock.errors import AggregateNotAllowed, UnsupportedSql
from reclock.plan.build import compute, distinct, filter_rows, map_columns, reduce
from reclock.plan.functions.collected import direction
from reclock.plan.properties import is_exactly_one_row, most_rows, unique_key
from reclock.plan.relational import Get, Ordering, Plan, TopK
from reclock.plan.scalars import Aggregate, Call, Case, ColumnRef, Literal, Parameter, Scalar
from reclock.sql.parameters import Parameters
from reclock.sql.queries.aggregate_calls import of_arrays
from reclock.sql.queries.around import (
    NOT_ALONE,
    RowsAround,
    any_around,
    compared_around,
    exists_around,
    named_around,
    planned_around,
    rows_around,
    scope_around,
)
from reclock.sql.queries.attach import attach, to_outer
from reclock.sql.queries.coercion import coerce, default_to_text, equal
from reclock.sql.queries.context import Block, Context
from reclock.sql.queries.defined_functions import body_context, called_value, defined_call
from reclock.sql.queries.expressions import ExprContext
from reclock.sql.queries.grouping import group, makes_groups, of_no_rows
from reclock.sql.queries.limits import limits
from reclock.sql.queries.object_names import named_object
from reclock.sql.queries.outer_aggregates import OF_SUBQUERY
from reclock.sql.queries.overloads import balanced, is_null, negated, row_comparison
from reclock.sql.queries.planned import (
    AROUND,
    AggregateCall,
    Elements,
    InWindow,
    OpenParameter,
    OuterRef,
    Planned,
    SubqueryRows,
    SubqueryValue,
    TypedExpr,
    Untyped,
    has,
    rewrite,
    scalars_of,
)
from reclock.sql.queries.scope import Scope, ScopedPlan
from reclock.sql.queries.subquery_rows import (
    COUNT,
    any_of,
    check_only_column,
    check_width,
    correlated_error,
    counted_values,
    equal_columns,
    if_only_row,
    of_type,
    only_row,
    shown_columns,
    sides_of_equality,
)
from reclock.sql.queries.subquery_syntax import (
    has_value_of_each_row,
    ordered_by,
    unwrapped,
    without_limit,
)
from reclock.sql.syntax.consumption import tracked_copy

_TRUE = Literal(True, BOOLEAN)


@dataclass(frozen=True, slots=True)
class SubqueryPlanner:
    """Plans the subqueries of one query's expressions."""

    context: Context

    @property
    def parameters(self) -> Parameters:
        return self.context.session.parameters

    def value(self, node: exp.Expr, scope: Scope) -> TypedExpr:
        """The only column of the only row; NULL without a row. Several rows are an error of the
        query."""
        query = unwrapped(node)
        try:
            block = self._block(query, scope)
            if block is not None and block.correlated:
                return self._value_by_key(block) or self._aggregate_value(block)
            plan = self._plan(query, block)
        except NOT_ALONE:
            if not (around := named_around(query, scope, self.context)):
                raise
            if isinstance(query, exp.Select):
                with suppress(*NOT_ALONE):
                    return self._value_around(query, scope, around)
            return self._value_of_rows(rows_around(query, scope, self.context))
        check_only_column(len(plan.desc))
        value = ColumnRef(0, plan.desc.types[0])
        if is_exactly_one_row(plan):
            return SubqueryValue(plan, (), value, is_exactly_one=True)
        return SubqueryValue(plan, (), value) if most_rows(plan) is not None else only_row(plan)

    def exists(self, node: exp.Expr, scope: Scope) -> TypedExpr:
        """Whether there is a row."""
        try:
            return self._exists(node, scope)
        except NOT_ALONE:
            query = without_limit(unwrapped(node), self.parameters)
            if not named_around(query, scope, self.context):
                raise
            return exists_around(rows_around(query, scope, self.context))

    def _exists(self, node: exp.Expr, scope: Scope) -> TypedExpr:
        inner = self.rows(node, scope)
        if not inner.conditions:
            counted = reduce(inner.plan, (), [COUNT])
            return SubqueryValue(
                counted,
                (),
                Call(">", (ColumnRef(0, BIGINT), Literal(0, BIGINT)), BOOLEAN),
                is_exactly_one=True,
            )
        pairs = [sides_of_equality(condition) for condition in inner.conditions]
        keys = distinct(compute(inner.plan, scalars_of(mine for _, mine in pairs)))
        conditions = tuple(
            equal(outer, ColumnRef(i, mine.type)) for i, (outer, mine) in enumerate(pairs)
        )
        return SubqueryValue(
            map_columns(keys, [_TRUE]), conditions, negated(is_null(ColumnRef(len(pairs), BOOLEAN)))
        )

    def contains(self, operands: Sequence[Planned], node: exp.Expr, scope: Scope) -> TypedExpr:
        """``operands IN (node)``: true if a row is equal, else unknown if a NULL leaves it open,
        else false."""
        with suppress(*NOT_ALONE):
            return self._contains(operands, node, scope)
        return self.any(operands, "=", node, scope)

    def any(
        self,
        operands: Sequence[Planned],
        name: str,
        node: exp.Expr,
        scope: Scope,
        *,
        is_negated: bool = False,
    ) -> TypedExpr:
        """Whether the operator ``name``, or its negation, holds for any row; unknown if a NULL
        leaves it open."""

        def compare(left: Sequence[TypedExpr], right: Sequence[TypedExpr]) -> TypedExpr:
            result = row_comparison(name, left, right)
            return negated(result) if is_negated else result

        return any_around(self._rows_beside(operands, node, scope), compare, len(operands))

    def compared(
        self, operands: Sequence[Planned], name: str, node: exp.Expr, scope: Scope
    ) -> TypedExpr:
        """The row of ``operands`` compared with the only row; NULL without a row. Several rows are
        an error of the query."""
        rows = self._rows_beside(operands, node, scope)
        result, domain = compared_around(
            rows, lambda left, right: row_comparison(name, left, right), len(operands)
        )
        compared = RowsAround(compute(rows.plan, [result, *domain]), 1, rows.domain)
        return self._value_of_rows(compared)

    def _rows_beside(self, operands: Sequence[Planned], node: exp.Expr, scope: Scope) -> RowsAround:
        """The rows of the query for every row around, with ``operands`` as the last of the domain,
        in the types of the columns."""
        plain = [default_to_text(operand) for operand in operands]
        if any(has(operand, OuterRef) for operand in plain):
            raise correlated_error()
        if any(has(operand, InWindow, Elements) for operand in plain):
            raise UnsupportedSql(
                (
                    "a window function or a function of several rows beside a subquery is "
                    "not supported"
                ),
                hint="compute it in a subquery in FROM",
            )
        query = unwrapped(node)
        rows = rows_around(query, scope, self.context, plain)
        check_width(rows.width, len(operands))
        typed = [
            of_type(operand, ColumnRef(i, rows.plan.desc.types[i]))
            for i, operand in enumerate(operands)
        ]
        if typed != plain:
            rows = rows_around(query, scope, self.context, typed)
        return rows

    def _contains(self, operands: Sequence[Planned], node: exp.Expr, scope: Scope) -> TypedExpr:
        inner = self.rows(node, scope)
        columns = shown_columns(inner, len(operands))
        unplaced = (OuterRef, InWindow, Elements)
        typed = [of_type(*pair) for pair in zip(operands, columns, strict=True)]
        if (
            inner.conditions
            or len(operands) > 1
            or any(has(column, *unplaced) for column in (*typed, *columns))
        ):
            raise correlated_error()
        values, value = compute(inner.plan, scalars_of(columns)), ColumnRef(0, columns[0].type)
        operand = to_outer(typed[0])
        matches = map_columns(distinct(filter_rows(values, [negated(is_null(value))])), [_TRUE])
        is_match = negated(is_null(ColumnRef(1, BOOLEAN)))
        counted = counted_values(values)
        rows, not_null_rows = ColumnRef(0, BIGINT), ColumnRef(1, BIGINT)
        any_row = SubqueryValue(
            counted, (), Call(">", (rows, Literal(0, BIGINT)), BOOLEAN), is_exactly_one=True
        )
        any_null = SubqueryValue(
            counted, (), Call(">", (rows, not_null_rows), BOOLEAN), is_exactly_one=True
        )
        is_open = balanced("or", [balanced("and", [is_null(operand), any_row]), any_null])
        result: TypedExpr = Case(
            ((is_match, _TRUE), (is_open, Literal(None, BOOLEAN))), Literal(False, BOOLEAN), BOOLEAN
        )
        return SubqueryValue(matches, (equal(operand, value),), result)

    def rows(self, node: exp.Expr, scope: Scope) -> SubqueryRows:
        """The subquery as rows to match with outer rows."""
        query = (
            without_limit(unwrapped(node), self.parameters)
            if isinstance(node.parent, exp.Exists)
            else unwrapped(node)
        )
        block = self._block(query, scope)
        if block is None or not block.correlated:
            plan = self._plan(query, block)
            return SubqueryRows(
                plan, (), tuple(ColumnRef(i, type) for i, type in enumerate(plan.desc.types))
            )
        values = self._values(block)
        distinct = block.node.args.get("distinct")
        keeps_first_rows = distinct is not None and distinct.args.get("on") is not None
        if keeps_first_rows or any(map(makes_groups, values)):
            raise correlated_error()
        plan, values = attach(block.relation.plan, values)
        return SubqueryRows(plan, block.correlated, tuple(values))

    def array(self, node: exp.Expr, scope: Scope) -> TypedExpr:
        """The only column of all rows, in their order."""
        query = unwrapped(node)
        order = query.args.get("order")
        if not has_value_of_each_row(query):
            elements = self._collected(query, scope)
        else:
            [item] = query.expressions
            item = item.this if isinstance(item, exp.Alias) else item
            terms = (
                [ordered_by(ordering.this, item) for ordering in order.expressions] if order else []
            )
            ordered = [
                exp.Ordered(
                    this=tracked_copy(term),
                    desc=ordering.args.get("desc"),
                    nulls_first=ordering.args.get("nulls_first"),
                )
                for term, ordering in zip(terms, order.expressions if order else (), strict=True)
            ]
            argument = (
                exp.Order(this=tracked_copy(item), expressions=ordered)
                if ordered
                else tracked_copy(item)
            )
            collecting = tracked_copy(query)
            collecting.set("order", None)
            call = exp.Anonymous(this="array_agg", expressions=[argument])
            call.meta[OF_SUBQUERY] = True
            collecting.set("expressions", [call])
            try:
                elements = self.value(collecting, scope)
            except AggregateNotAllowed:  # the element is an aggregate already
                elements = self._collected(query, scope)
        return Call("coalesce", (elements, Literal((), elements.type)), elements.type)

    def _collected(self, query: exp.Expr, scope: Scope) -> TypedExpr:
        """An array of the rows of ``query`` as they are ordered; NULL for none."""
        try:
            planned = self.context.queries.plan(query, self.context)
            domain: tuple[TypedExpr, ...] = ()
        except NOT_ALONE:
            if not named_around(query, scope, self.context):
                raise
            planned, domain = planned_around(query, scope, self.context)
        check_only_column(planned.visible)
        plan, places = planned.plan, range(1, 1 + len(domain))
        if planned.limit is not None or planned.offset:
            plan = TopK(plan, tuple(places), planned.order, planned.limit, planned.offset)
        value, keys = ColumnRef(0, plan.desc.types[0]), list[Scalar]()
        for ordering in planned.order:
            word = direction(is_descending=ordering.is_descending, nulls_first=ordering.nulls_first)
            keys += [
                ColumnRef(ordering.index, plan.desc.types[ordering.index]),
                Literal(word, TEXT),
            ]
        collected = reduce(
            plan, places, [Aggregate("array_agg", (value, *keys), array(value.type))]
        )
        result = of_arrays(ColumnRef(len(domain), array(value.type)))
        if domain:
            return RowsAround(collected, 1, domain).value_of(collected, result)
        return SubqueryValue(collected, (), result, is_exactly_one=True)

    def defined(
        self, names: Sequence[str], call: exp.Anonymous, context: ExprContext
    ) -> TypedExpr | None:
        """The value of a call of a function with this written name; None if users defined none."""
        defined = defined_call(names, call, context, self.context)
        if defined is None:
            return None
        return called_value(defined, SubqueryPlanner(body_context(self.context)), context.clause)

    def about_session(self, call: Call[TypedExpr]) -> TypedExpr:
        return self.context.about_session(call)

    def object_id(self, value: Planned, target: ScalarType, kind: str = "database") -> TypedExpr:
        """The id of the object that ``value``, a text, names: as an ``oid``, one of ``kind``."""
        if isinstance(value, OpenParameter):
            value = coerce(value, TEXT)
        if isinstance(value, Untyped | Literal):
            text = value.text if isinstance(value, Untyped) else value.value
            if text is None:
                return Literal(None, target)
            catalog, session = self.context.catalog, self.context.session
            is_text = isinstance(value, Literal)
            named = named_object(text, target, catalog, session, kind, is_text=is_text)
            return Literal(named, target)
        if isinstance(value, Parameter):
            return Parameter(value.number, target)
        raise UnsupportedSql(f"a cast to {target} of what is no constant is not supported")

    def _value_by_key(self, block: Block) -> TypedExpr | None:
        """A value of the only row that meets the conditions, where these are equalities of a
        key."""
        limit, offset = limits(block.node, self.parameters)
        if limit == 0 or offset:
            return None
        values = self._values(block, may_have_limit=True)
        check_only_column(len(values))
        key = unique_key(block.relation.plan)
        if key is None or makes_groups(values[0]) or block.node.args.get("distinct"):
            return None
        equal_to = {
            side.index for condition in block.correlated for side in equal_columns(condition)
        }
        if not set(key) <= equal_to:
            return None
        plan, (value,) = attach(block.relation.plan, values)
        if isinstance(value, ColumnRef):
            return SubqueryValue(plan, block.correlated, value)
        there = ColumnRef(len(plan.desc), BOOLEAN)
        result = Case(((there, value),), Literal(None, value.type), value.type)
        return SubqueryValue(map_columns(plan, [_TRUE]), block.correlated, result)

    def _value_around(self, query: exp.Select, scope: Scope, around: list[int]) -> TypedExpr:
        """The value for every row around that differs in what the subquery names of it, joined by
        that."""
        used: set[int] = set()
        value = self._value_for(query, scope, around, used)
        named = sorted(used & set(around))
        return value if named == around else self._value_for(query, scope, named, used)

    def _value_for(
        self, query: exp.Select, scope: Scope, around: list[int], used: set[int]
    ) -> TypedExpr:
        columns = [scope.columns[i] for i in around]
        desc = RelationDesc(tuple(Column(column.name, column.type) for column in columns))
        rows = ScopedPlan(Get(AROUND, "around", desc), scope_around(scope, around, used))
        context = replace(self.context, around=rows)
        block = self.context.queries.block(query, context, None)
        limit, offset = limits(query, self.parameters)
        values = self._values(block, context, may_have_limit=True)
        check_only_column(len(values))
        is_aggregate = makes_groups(values[0])
        if (
            block.node.args.get("distinct")
            or (is_aggregate and (limit == 0 or offset))
            or has(values[0], InWindow, Elements)
            or (is_aggregate and has(values[0], SubqueryValue))
        ):
            raise correlated_error()
        keys = [ColumnRef(i, column.type) for i, column in enumerate(columns)]
        if is_aggregate:
            plan, (value,) = group(block.relation, keys, values)
        else:
            order = self.context.queries.order(block.node, block.relation, context)
            sorted_rows, by = _computed(block.relation, values[0], keys, order)
            if limit is not None or offset:
                sorted_rows = TopK(sorted_rows, tuple(range(len(keys))), by, limit, offset)
            relation = ScopedPlan(sorted_rows, Scope(block.relation.scope.columns[: len(keys)]))
            alone = ColumnRef(len(keys), values[0].type)
            plan, (value,) = group(
                relation, keys, [if_only_row(AggregateCall(COUNT), AggregateCall(any_of(alone)))]
            )
        outer: list[TypedExpr] = [OuterRef(i, scope.columns[i].type) for i in around]
        # What it names of the row around is there without a group too.
        value = rewrite(
            value,
            lambda part: (
                outer[part.index]
                if isinstance(part, ColumnRef) and part.index < len(keys)
                else None
            ),
        )
        same = tuple(
            Call("is_not_distinct", (theirs, mine), BOOLEAN)
            for theirs, mine in zip(outer, keys, strict=True)
        )
        return SubqueryValue(plan, same, of_no_rows(value, plan, len(keys)), domain=tuple(outer))

    def _value_of_rows(self, rows: RowsAround) -> TypedExpr:
        """The only column of the only row for each row around."""
        check_only_column(rows.width)
        value = ColumnRef(0, rows.plan.desc.types[0])
        grouped = reduce(rows.plan, rows.places, [COUNT, any_of(value)])
        count, any_value = (
            ColumnRef(len(rows.domain) + i, type) for i, type in enumerate((BIGINT, value.type))
        )
        return rows.value_of(grouped, if_only_row(count, any_value))

    def _aggregate_value(self, block: Block) -> TypedExpr:
        """An aggregate of the rows that are equal in the conditions: grouped by these, then joined
        by them."""
        values = self._values(block)
        check_only_column(len(values))
        if (
            not has(values[0], AggregateCall)
            or block.node.args.get("distinct")
            or has(values[0], OuterRef, SubqueryValue)
        ):
            raise correlated_error()
        pairs = [sides_of_equality(condition) for condition in block.correlated]
        keys = list(dict.fromkeys(mine for _, mine in pairs))
        plan, (value,) = group(block.relation, keys, values)
        conditions = tuple(
            equal(outer, ColumnRef(keys.index(mine), mine.type)) for outer, mine in pairs
        )
        return SubqueryValue(plan, conditions, of_no_rows(value, plan, len(keys)))

    def _values(
        self, block: Block, context: Context | None = None, *, may_have_limit: bool = False
    ) -> list[TypedExpr]:
        if any(
            block.node.args.get(name)
            for name in ("group", "having", *(() if may_have_limit else ("limit", "offset")))
        ):
            raise correlated_error()
        return self.context.queries.select_values(
            block.node, block.relation, context or self.context
        )

    def _block(self, query: exp.Expr, scope: Scope) -> Block | None:
        if not isinstance(query, exp.Select):
            return None
        return self.context.queries.block(query, replace(self.context, around=None), scope)

    def _plan(self, query: exp.Expr, block: Block | None) -> Plan:
        if block is None:
            return self.context.queries.plan(query, self.context).embedded
        return self.context.queries.finish(block.node, block.relation, self.context).embedded


def _computed(
    relation: ScopedPlan,
    value: TypedExpr,
    keys: Sequence[Scalar],
    order: Sequence[tuple[TypedExpr, bool, bool]],
) -> tuple[Plan, tuple[Ordering, ...]]:
    """The keys, the value and what rows are ordered by; and where that is."""
    plan, computed = attach(relation.plan, [value, *(term for term, _, _ in order)])
    by = tuple(
        Ordering(len(keys) + 1 + i, is_descending, nulls_first)
        for i, (_, is_descending, nulls_first) in enumerate(order)
    )
    return compute(plan, [*keys, *scalars_of(computed)]), by
