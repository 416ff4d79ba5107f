"""Queries: SELECT, VALUES, set operations, parentheses, WITH."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from sqlglot import exp

from reclock.algebra.relations import OID, TIMESTAMPTZ, Column, RelationDesc, ScalarType
from reclock.algebra.zones import UTC_NAME
from reclock.errors import (
    AmbiguousColumn,
    DuplicateAlias,
    InvalidColumnReference,
    SqlSyntaxError,
    UnknownColumn,
    UnknownRelation,
    UnsupportedSql,
)
from reclock.plan.build import ONE_ROW, compute, distinct, union
from reclock.plan.relational import Constant, Except, Intersect, Ordering, Plan, Project
from reclock.plan.rules import optimize
from reclock.plan.scalars import Call, ColumnRef, Literal
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import MAX_RECURSION_ITERATIONS, SessionNames, fold, nearest
from reclock.sql.parameters import NO_PARAMETERS
from reclock.sql.queries.attach import attach
from reclock.sql.queries.coercion import cast, coerce, common_type, unified
from reclock.sql.queries.context import Block, Context, PlannedQuery
from reclock.sql.queries.defined_calls import catalog_call
from reclock.sql.queries.expressions import ExprContext, reject_unsupported, scalar
from reclock.sql.queries.mutual_recursion import with_bindings
from reclock.sql.queries.planned import TypedExpr, Untyped, scalars_of
from reclock.sql.queries.recursion import (
    column_names,
    in_planning_order,
    is_recursive,
    plan_recursive,
    recursive_union,
)
from reclock.sql.queries.row_limits import with_limits
from reclock.sql.queries.scope import Scope, ScopedPlan
from reclock.sql.queries.select import finish_select, plan_block, plan_select
from reclock.sql.queries.select_items import select_order, select_values
from reclock.sql.queries.session_functions import LOCAL_TIMES, answered
from reclock.sql.queries.subqueries import SubqueryPlanner
from reclock.sql.queries.subquery_syntax import inside
from reclock.sql.session_zone import planned_in
from reclock.sql.syntax import nodes
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.parse import parse_one
from reclock.sql.syntax.places import at

Hints = Sequence[ScalarType | None]


def plan_query(
    node: exp.Expr, context: Context, outer: Scope | None = None, hints: Hints = ()
) -> PlannedQuery:
    """Plan the query. ``hints`` are types for its untyped constants, by position. The caller
    handles an alias of ``node``."""
    context = with_ctes(node, context)
    match node:
        case exp.Select() if context.around is not None:
            relation = plan_block(node, context, None).relation
            return finish_select(
                node, relation, replace(context, around=None), hints, around=context.around.plan
            )
        case exp.Select():
            return plan_select(node, context, outer, hints)
        case exp.SetOperation():
            return _modified(node, context, _set_operation(node, context, outer, hints))
        case exp.Values():
            reject_unsupported(node, "expressions", "alias", "joins", "order", "limit", "offset")
            return _modified(node, context, _values(node, context, hints))
        case exp.Subquery():
            reject_unsupported(node, "this", "alias", "joins", "order", "limit", "offset", "with_")
            return plan_query(inside(node), context, outer, hints)
        case nodes.Statement():
            raise show_error()
        case _:
            raise UnsupportedSql(f"query {to_sql(node)[:80]} is not supported")


def show_error() -> UnsupportedSql:
    """The error for a SHOW that would list the objects of one moment for ever."""
    return UnsupportedSql(
        "SHOW is not supported in a definition, in a change of a table, nor in SUBSCRIBE",
        hint="read a relation of mz_catalog, such as mz_objects",
    )


def with_ctes(node: exp.Expr, context: Context) -> Context:
    """The context with the queries of WITH. Each sees the earlier ones; with WITH RECURSIVE, all of
    them."""
    clause = node.args.get("with_")
    if clause is None:
        return context
    if isinstance(clause, nodes.MutuallyRecursive):
        return with_bindings(clause, context)
    for cte in ctes_in_order(clause):
        if isinstance(cte.this, nodes.Statement):
            raise UnsupportedSql(
                "WITH clause containing a data-modifying statement must be at the top level"
            )
        context = with_cte(cte, context, may_recurse=bool(clause.args.get("recursive")))
    return context


def ctes_in_order(clause: exp.With) -> list[exp.CTE]:
    """The queries of WITH, each after those that it reads. Raises ``DuplicateAlias``."""
    reject_unsupported(clause, "expressions", "recursive")
    names = set()
    for cte in clause.expressions:
        reject_unsupported(cte, "this", "alias", "materialized")
        name = fold(cte.args["alias"].this)
        if name in names:
            raise DuplicateAlias(name, "WITH query name")
        names.add(name)
    ctes: list[exp.CTE] = clause.expressions
    return in_planning_order(ctes) if clause.args.get("recursive") else ctes


def with_cte(cte: exp.CTE, context: Context, *, may_recurse: bool) -> Context:
    """The context with one more query of WITH. If that names the rows around, it is planned for
    each of them."""
    if context.around is not None:
        with suppress(UnsupportedSql, UnknownColumn, UnknownRelation):
            plain = with_cte(cte, replace(context, around=None), may_recurse=may_recurse)
            return replace(plain, around=context.around)
    name = fold(cte.args["alias"].this)
    outer_width = 0 if context.around is None else len(context.around.plan.desc)
    if may_recurse and is_recursive(cte):
        node = recursive_union(cte)
        return context.with_cte(
            name, plan_recursive(cte, node, with_ctes(node, context), outer_width), outer_width
        )
    query = plan_query(cte.this, context)
    plan = query.embedded
    visible = len(plan.desc) - outer_width
    names = [*column_names(cte, plan.desc.names[:visible]), *plan.desc.names[visible:]]
    ordered = query if query.order and not outer_width else None
    return context.with_cte(name, compute(plan, _columns(plan), names), outer_width, ordered)


def _columns(plan: Plan) -> list[ColumnRef]:
    return [ColumnRef(i, type) for i, type in enumerate(plan.desc.types)]


# --- ORDER BY and LIMIT of what is no SELECT ---


def _modified(node: exp.Expr, context: Context, query: PlannedQuery) -> PlannedQuery:
    """The query with ORDER BY and LIMIT. ORDER BY sees only output columns here, by name or
    position."""
    names = query.plan.desc.names[: query.visible]
    order = tuple(
        _ordering(ordering, names)
        for ordering in (node.args["order"].expressions if node.args.get("order") else ())
    )
    around = Scope() if context.around is None else context.around.scope
    return with_limits(node, replace(query, order=order), around, replace(context, around=None))


def _ordering(node: exp.Expr, names: Sequence[str]) -> Ordering:
    reject_unsupported(node, "this", "desc", "nulls_first")
    by = node.this.unnest() if isinstance(node.this, exp.Paren) else node.this
    if isinstance(by, exp.Literal) and not by.is_string and by.name.isdigit():
        index = int(by.name[:9]) - 1
        if not 0 <= index < len(names):
            with at(by):
                raise InvalidColumnReference(f"ORDER BY position {by.name} is not in select list")
    elif isinstance(by, exp.Column) and len(by.parts) == 1 and fold(by.this) in names:
        if list(names).count(fold(by.this)) > 1:
            raise AmbiguousColumn(fold(by.this), "ORDER BY")
        index = names.index(fold(by.this))
    elif isinstance(by, exp.Column) and len(by.parts) == 1:
        raise UnknownColumn(fold(by.this), hint=nearest(fold(by.this), names))
    else:
        raise InvalidColumnReference(
            (
                f"ORDER BY {to_sql(by)[:80]} is not in the result of UNION, EXCEPT, "
                "INTERSECT or VALUES"
            ),
            hint="order by a column's name or position, or put the query into FROM",
        )
    return Ordering(index, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))


# --- UNION, EXCEPT, INTERSECT ---


def _first_select(query: exp.Expr) -> exp.Expr:
    """The SELECT or VALUES that names the columns of the query."""
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    return query.expressions[0] if isinstance(query, exp.Values) else query


def _items(node: exp.SetOperation, position: int) -> list[exp.Expr]:
    """A column of both sides, as it is written; the queries, where a star stands for columns."""
    sides = [_first_select(side) for side in (node.this, node.expression)]
    return [
        side.expressions[position]
        if position < len(side.expressions) and not any(map(_is_star, side.expressions))
        else side
        for side in sides
    ]


def _is_star(item: exp.Expr) -> bool:
    return isinstance(item, exp.Star) or isinstance(item.this, exp.Star)


def _set_operation(
    node: exp.SetOperation, context: Context, outer: Scope | None, hints: Hints
) -> PlannedQuery:
    reject_unsupported(node, "this", "expression", "distinct", "with_", "order", "limit", "offset")
    word = type(node).__name__.upper()
    sides = [plan_query(side, context, outer, hints) for side in (node.this, node.expression)]
    left, right = sides
    if left.visible != right.visible:
        with at(_first_select(node.expression).expressions[0]):
            raise SqlSyntaxError(f"each {word} query must have the same number of columns")
    common_types = [
        common_type([_type_of_column(side, i) for side in sides], word, _items(node, i))
        if any(_type_of_column(side, i) for side in sides)
        else None
        for i in range(left.visible)
    ]
    sides = [
        plan_query(syntax, context, outer, common_types)
        if side.untyped and any(common_types[i] for i in side.untyped)
        else side
        for syntax, side in zip((node.this, node.expression), sides, strict=True)
    ]
    plans = [side.embedded for side in sides]
    width = left.visible
    types = [
        common_type([plan.desc.types[i] for plan in plans], word, _items(node, i))
        for i in range(width)
    ]
    types += plans[0].desc.types[width:]
    names = plans[0].desc.names
    plans = [
        compute(
            plan, [coerce(c, type) for c, type in zip(_columns(plan), types, strict=True)], names
        )
        for plan in plans
    ]
    untyped = sides[0].untyped & sides[1].untyped
    return PlannedQuery(_combined(node, plans), (), None, 0, width, untyped, left.outer_width)


def _type_of_column(query: PlannedQuery, index: int) -> ScalarType | None:
    return None if index in query.untyped else query.plan.desc.types[index]


def _combined(node: exp.SetOperation, plans: list[Plan]) -> Plan:
    is_distinct = bool(node.args.get("distinct"))
    if isinstance(node, exp.Union):
        whole = union(plans)
        return distinct(whole) if is_distinct else whole
    if any(type.has_intervals for type in plans[0].desc.types):
        raise UnsupportedSql("EXCEPT and INTERSECT of intervals are not supported")
    left, right = (distinct(plan) for plan in plans) if is_distinct else plans
    return Except(left, right) if isinstance(node, exp.Except) else Intersect(left, right)


# --- VALUES ---


def _values(node: exp.Values, context: Context, hints: Hints) -> PlannedQuery:
    if not all(isinstance(row, exp.Tuple) for row in node.expressions):
        raise SqlSyntaxError("a row of VALUES is written in parentheses")
    rows = [row.expressions for row in node.expressions]
    width = len(rows[0])
    if other := next((row for row in node.expressions if len(row.expressions) != width), None):
        with at(other):
            raise SqlSyntaxError("VALUES lists must all be the same length")
    start = context.around or ScopedPlan(ONE_ROW, Scope())
    expr_context = ExprContext(
        start.scope, SubqueryPlanner(replace(context, around=None)), "VALUES"
    )
    values = [[scalar(value, expr_context) for value in row] for row in rows]
    expected_types = [*hints, *[None] * width][:width]
    untyped = frozenset(
        i for i in range(width) if all(isinstance(row[i], Untyped) for row in values)
    )
    hinted = [[] if type is None else [Literal(None, type)] for type in expected_types]
    columns_of_values = [
        unified(
            [*(row[i] for row in values), *(hinted[i] if i in untyped else ())],
            "VALUES",
            [*(row[i] for row in rows), node],
        )
        for i in range(width)
    ]
    types = [type for _, type in columns_of_values]
    typed = [[column[n] for column, _ in columns_of_values] for n in range(len(rows))]
    names = [f"column{i + 1}" for i in range(width)]
    constants = [tuple(v.value for v in row if isinstance(v, Literal)) for row in typed]
    if context.around is None and all(len(row) == width for row in constants):
        columns = (
            Column(name, types[i], any(row[i] is None for row in constants))
            for i, name in enumerate(names)
        )
        plan: Plan = Constant(tuple(constants), RelationDesc(tuple(columns)))
    else:
        around = _columns(start.plan)
        attached = [attach(start.plan, row) for row in typed]
        plan = union(
            [
                compute(rows, [*scalars_of(row), *around], [*names, *start.plan.desc.names])
                for rows, row in attached
            ]
        )
    return PlannedQuery(plan, (), None, 0, width, untyped, len(start.plan.desc))


def with_names(query: PlannedQuery, context: Context) -> PlannedQuery:
    """The query, with names in place of object ids."""
    columns = query.plan.desc.columns
    if not any(column.type.is_object_id and column.type != OID for column in columns):
        return query
    expr_context = ExprContext(Scope.of(query.plan.desc, None), SubqueryPlanner(context), "SELECT")
    named = [
        catalog_call(f"{column.type.name}_name", [value], expr_context)
        if column.type.is_object_id and column.type != OID
        else value
        for column, value in zip(columns, _columns(query.plan), strict=True)
    ]
    plan, named = attach(query.plan, named)
    return replace(query, plan=compute(plan, scalars_of(named), query.plan.desc.names))


class _Queries:
    """This module's interface for modules that must not import it."""

    def plan(self, node: exp.Expr, context: Context, hints: Hints = ()) -> PlannedQuery:
        return plan_query(node, context, hints=hints)

    def block(self, node: exp.Select, context: Context, outer: Scope | None) -> Block:
        return plan_block(node, with_ctes(node, context), outer)

    def finish(
        self, node: exp.Select, relation: ScopedPlan, context: Context, around: Plan | None = None
    ) -> PlannedQuery:
        return finish_select(node, relation, with_ctes(node, context), around=around)

    def select_values(
        self, node: exp.Select, relation: ScopedPlan, context: Context
    ) -> list[TypedExpr]:
        return select_values(node, relation, replace(with_ctes(node, context), around=None))

    def order(
        self, node: exp.Select, relation: ScopedPlan, context: Context
    ) -> list[tuple[TypedExpr, bool, bool]]:
        return select_order(node, relation, replace(with_ctes(node, context), around=None))

    def builtin_plan(self, entry: RelationEntry, catalog: PlannerCatalog) -> Plan:
        """The plan of a builtin view, which is planned at its first use."""
        plan = catalog.builtin_plans.get(entry.id)
        if plan is None:
            with planned_in(UTC_NAME):
                plan = catalog.builtin_plans[entry.id] = builtin_plan(entry, catalog)
        return plan


def new_context(catalog: PlannerCatalog, session: SessionNames) -> Context:
    """A context for a statement of ``session``, in which questions about the session become
    constants."""
    return Context(catalog, session, _Queries(), lambda call: answered(call, session))


def builtin_context(catalog: PlannerCatalog) -> Context:
    """A context for a builtin view, in which questions about the session stay open for its
    readers."""
    return Context(catalog, SessionNames(search_path=()), _Queries(), lambda call: call)


def builtin_plan(entry: RelationEntry, catalog: PlannerCatalog) -> Plan:
    """The rows of a builtin view, in the types of its desc."""
    assert entry.builtin_view is not None
    node = parse_one(entry.builtin_view)
    plan = plan_query(node.this, builtin_context(catalog), hints=entry.desc.types).embedded
    values = [
        cast(column, type) for column, type in zip(_columns(plan), entry.desc.types, strict=True)
    ]
    computed = optimize(compute(plan, scalars_of(values), entry.desc.names))
    inner, indexes = (
        (computed.input, computed.indexes)
        if isinstance(computed, Project)
        else (computed, range(len(entry.desc)))
    )
    return Project(inner, tuple(indexes), RelationDesc(computed.desc.columns, entry.desc.key))


def function_context(catalog: PlannerCatalog, session: SessionNames) -> Context:
    """A context for the body of a function, in which questions about the session stay open for its
    callers."""
    session = replace(
        session, max_recursion_iterations=MAX_RECURSION_ITERATIONS, parameters=NO_PARAMETERS
    )
    return Context(catalog, session, _Queries(), lambda call: call)


def definition_context(catalog: PlannerCatalog, session: SessionNames) -> Context:
    """A context for a view, in which questions about the session stay open for its readers. The
    local time is that of the view's zone, in which the view also casts moments."""
    session = replace(session, max_recursion_iterations=MAX_RECURSION_ITERATIONS)

    def about_session(call: Call[TypedExpr]) -> TypedExpr:
        is_local = call.function in LOCAL_TIMES
        return cast(Call("now", (), TIMESTAMPTZ), call.type) if is_local else call

    return Context(catalog, session, _Queries(), about_session)
