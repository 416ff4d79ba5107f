"""SELECT: one query block, from its FROM to its ORDER BY."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from sqlglot import exp

from reclock.algebra.relations import ScalarType
from reclock.errors import InvalidColumnReference, InvalidRecursion, UnsupportedSql
from reclock.plan.build import compute, distinct, filter_rows, map_columns, project, with_spans
from reclock.plan.relational import Ordering, Plan, TopK
from reclock.plan.scalars import ColumnRef, Scalar
from reclock.sql.queries.attach import attach
from reclock.sql.queries.context import Block, Context, PlannedQuery
from reclock.sql.queries.expressions import ExprContext, condition, reject_unsupported, split
from reclock.sql.queries.grouping import (
    group,
    group_by_sets,
    makes_groups,
    of_every_row,
    with_determined_columns,
)
from reclock.sql.queries.grouping_sets import grouping_sets
from reclock.sql.queries.outer_aggregates import LiftedSelect, OuterAggregate, without_aggregates
from reclock.sql.queries.planned import (
    AggregateCall,
    InWindow,
    ItemKey,
    OuterRef,
    SubqueryValue,
    TypedExpr,
    Untyped,
    has,
    rewrite,
    scalar_of,
    scalars_of,
)
from reclock.sql.queries.recursion import reads_work_table
from reclock.sql.queries.row_functions import has_rows, in_windows, spread
from reclock.sql.queries.row_limits import with_limits
from reclock.sql.queries.row_order import kept_order, with_ordered_windows
from reclock.sql.queries.scope import Scope, ScopedPlan
from reclock.sql.queries.select_items import (
    SelectItem,
    by_input,
    by_output,
    distinct_on,
    ordering_of,
    select_items,
    typed_by_hint,
)
from reclock.sql.queries.subqueries import SubqueryPlanner
from reclock.sql.queries.subquery_filters import filter_by_subquery, is_subquery_filter
from reclock.sql.queries.subquery_rows import correlated_error, with_late_values
from reclock.sql.queries.tables import plan_from
from reclock.sql.queries.windows import check_windows
from reclock.sql.syntax.consumption import consume

_CLAUSES = (
    "expressions",
    "from_",
    "joins",
    "where",
    "group",
    "having",
    "distinct",
    "order",
    "limit",
    "offset",
    "with_",
    "windows",
)


def plan_select(
    node: exp.Select, context: Context, outer: Scope | None, hints: Sequence[ScalarType | None] = ()
) -> PlannedQuery:
    """Plan a SELECT. ``hints`` are types for untyped constants of the select list."""
    block = plan_block(node, context, outer)
    if block.correlated:
        raise correlated_error()
    return finish_select(node, block.relation, context, hints)


def _check_locks(node: exp.Select) -> None:
    """FOR UPDATE and others lock nothing: the commit of a transaction fails if rows that it has read
    were changed since."""
    for lock in node.args.get("locks") or ():
        for clause in ("distinct", "group", "having"):
            if node.args.get(clause):
                kind = "UPDATE" if lock.args.get("update") else "SHARE"
                name = f"{clause.upper()} clause"
                raise UnsupportedSql(f"FOR {kind} is not allowed with {name}")
        consume(lock)


def plan_block(node: exp.Select, context: Context, outer: Scope | None) -> Block:
    reject_unsupported(node, *_CLAUSES, "locks")
    _check_locks(node)
    relation = plan_from(node, context)
    context = replace(context, around=None)
    scope = relation.scope.within(outer)
    subqueries = SubqueryPlanner(context)
    expr_context = ExprContext(scope, subqueries, "WHERE")
    terms = split(node.args["where"].this) if node.args.get("where") else []
    later = [term for term in terms if is_subquery_filter(term)]
    with without_aggregates(scope, "WHERE"):
        applied = [condition(term, expr_context) for term in terms if not is_subquery_filter(term)]
        uncorrelated = [predicate for predicate in applied if not has(predicate, OuterRef)]
        # Subqueries are computed only for rows that fulfil the conditions without one.
        plain = [predicate for predicate in uncorrelated if not has(predicate, SubqueryValue)]
        plan = filter_rows(relation.plan, scalars_of(plain))
        plan, attached = attach(plan, [part for part in uncorrelated if has(part, SubqueryValue)])
        plan = rows = filter_rows(plan, scalars_of(attached))
        for term in later:
            plan = filter_by_subquery(term, plan, expr_context, rows)
    return Block(
        node,
        ScopedPlan(plan, scope),
        tuple(predicate for predicate in applied if has(predicate, OuterRef)),
    )


def finish_select(
    node: exp.Select,
    relation: ScopedPlan,
    context: Context,
    hints: Sequence[ScalarType | None] = (),
    *,
    around: Plan | None = None,
) -> PlannedQuery:
    """The rest of a SELECT: groups, select list, DISTINCT, ORDER BY and LIMIT over the rows of
    ``relation``.

    With ``around``, whose columns are the first of the relation, it is so for each row of that,
    which the query keeps.
    """
    expr_context = ExprContext(
        relation.scope, SubqueryPlanner(context), "SELECT", takes_aggregates=True
    )
    select = LiftedSelect(node, expr_context, len(relation.scope.columns))
    while True:
        try:
            return _finish_select(select, relation, context, hints, around=around)
        except OuterAggregate as outer:
            select = select.lift(outer)


def _finish_select(
    select: LiftedSelect,
    relation: ScopedPlan,
    context: Context,
    hints: Sequence[ScalarType | None],
    *,
    around: Plan | None,
) -> PlannedQuery:
    node, expr_context = select.node, select.context
    open_items = [
        item for projection in node.expressions for item in select_items(projection, expr_context)
    ]
    untyped = frozenset(i for i, item in enumerate(open_items) if isinstance(item.value, Untyped))
    items = [
        SelectItem(item.name, select.place(typed_by_hint(item.value, hint)))
        for item, hint in zip_longest(open_items, hints[: len(open_items)])
    ]
    sets = grouping_sets(select, items)
    items = [
        SelectItem(item.name, ItemKey(item.value, i))
        if any(ItemKey(item.value, i) in keys for keys in sets)
        else item
        for i, item in enumerate(items)
    ]
    order_nodes = list(node.args["order"].expressions) if node.args.get("order") else []
    order = [
        by_output(ordering.this, items)
        or select.place(by_input(ordering.this, expr_context, "ORDER BY"))
        for ordering in order_nodes
    ]
    directions = [ordering_of(0, ordering) for ordering in order_nodes]
    unique_on = [select.place(value) for value in distinct_on(node, items, expr_context)]
    check_windows(node.args.get("windows") or (), expr_context)
    having = (
        select.place(condition(node.args["having"].this, replace(expr_context, clause="HAVING")))
        if node.args.get("having")
        else None
    )

    values = [item.value for item in items]
    around_refs: list[TypedExpr] = (
        [ColumnRef(i, type) for i, type in enumerate(around.desc.types)]
        if around is not None
        else []
    )
    everything = [*values, *order, *unique_on, *([having] if having is not None else [])]
    is_grouped = (
        bool(node.args.get("group")) or having is not None or any(map(makes_groups, everything))
    )
    if not is_grouped:
        everything = with_ordered_windows(everything, relation.scope)
        if kept := kept_order(node, everything, relation.scope):
            directions = list(kept)
            order = [ColumnRef(key.index, relation.scope.columns[key.index].type) for key in kept]
            everything += order
    if any(has(expression, OuterRef) for expression in everything):
        raise correlated_error()
    plan = relation.plan
    if any(has(expression, AggregateCall) for expression in everything) and reads_work_table(
        node, context
    ):
        raise InvalidRecursion(
            "aggregate functions are not allowed in a recursive query's recursive term"
        )
    if is_grouped:
        if any(has(key, OuterRef) for keys in sets for key in keys):
            raise correlated_error()
        if len(sets) > 1:
            plan, everything = group_by_sets(
                relation, [[*around_refs, *keys] for keys in sets], everything, around
            )
        else:
            keys = with_determined_columns(sets[0], everything, relation.scope)
            plan, everything = group(relation, [*around_refs, *keys], everything)
            if around is not None and not sets[0]:
                plan = of_every_row(around, plan)
    if having is not None:
        plan, (having,) = attach(plan, [everything.pop()])
        plan = filter_rows(plan, [scalar_of(having)])
    values = [with_late_values(_within(around_refs, expression)) for expression in everything]
    plan, everything = in_windows(*attach(plan, [*around_refs, *values]))
    sorting = everything[len(around_refs) + len(items) :]
    is_distinct = node.args.get("distinct") is not None
    if unique_on and order and has_rows(everything) and not has_rows(sorting):
        # As in PostgreSQL, ORDER BY and DISTINCT ON come before the functions of several rows.
        plan = _first_rows(
            plan,
            scalars_of(everything[: len(around_refs)]),
            scalars_of(sorting[: len(order)]),
            directions,
            scalars_of(sorting[len(order) :]),
        )
        unique_on = []
        everything = everything[: len(around_refs) + len(items) + len(order)]
        is_distinct = False
    plan, everything = spread(plan, everything)
    columns = scalars_of(everything)
    around_columns, columns = columns[: len(around_refs)], columns[len(around_refs) :]
    names = [item.name for item in items]
    shaped = _shape(
        plan,
        columns[: len(items)],
        around_columns,
        names,
        columns[len(items) : len(items) + len(order)],
        directions,
        columns[len(items) + len(order) :],
        untyped,
        is_distinct=is_distinct,
    )
    of_around = Scope(relation.scope.columns[: len(around_columns)])
    return with_limits(node, shaped, of_around, context)


def _within(partition: Sequence[TypedExpr], value: TypedExpr) -> TypedExpr:
    """Its windows are of the rows for one row around."""
    return rewrite(
        value,
        lambda part: (
            replace(part, partition=(*partition, *part.partition))
            if isinstance(part, InWindow)
            else None
        ),
    )


def _shape(
    plan: Plan,
    values: list[Scalar],
    around_columns: list[Scalar],
    names: list[str],
    order: list[Scalar],
    directions: Sequence[Ordering],
    unique_on: list[Scalar],
    untyped: frozenset[int],
    *,
    is_distinct: bool,
) -> PlannedQuery:
    """The columns in order; hidden columns, only for ORDER BY, come last."""
    columns = [*values, *around_columns]
    for expression in (*unique_on, *order):
        if expression in columns:
            continue
        if is_distinct and not unique_on:
            raise InvalidColumnReference(
                "for SELECT DISTINCT, ORDER BY expressions must appear in select list"
            )
        columns.append(expression)
    orderings = tuple(
        replace(how, index=columns.index(ordering))
        for ordering, how in zip(order, directions, strict=True)
    )
    hidden = [f"order{i + 1}" for i in range(len(columns) - len(values) - len(around_columns))]
    around = range(len(values), len(values) + len(around_columns))
    plan = compute(
        plan, columns, [*names, *(f"around{i + 1}" for i in range(len(around_columns))), *hidden]
    )
    if unique_on:
        plan = _first(
            plan, around, [columns.index(expression) for expression in unique_on], orderings
        )
    elif is_distinct:
        plan = distinct(plan)
    return PlannedQuery(plan, orderings, None, 0, len(values), untyped, len(around_columns))


def _first_rows(
    plan: Plan,
    around_columns: Sequence[Scalar],
    order: Sequence[Scalar],
    directions: Sequence[Ordering],
    unique_on: Sequence[Scalar],
) -> Plan:
    """The first row of ``plan`` in each group of DISTINCT ON, and behind its columns the values
    that they were sorted by."""
    width = len(plan.desc)
    scalars = [*around_columns, *order, *unique_on]
    computed = list(
        dict.fromkeys(scalar for scalar in scalars if not isinstance(scalar, ColumnRef))
    )
    places = [
        scalar.index if isinstance(scalar, ColumnRef) else width + computed.index(scalar)
        for scalar in scalars
    ]
    around, own_places = places[: len(around_columns)], places[len(around_columns) :]
    orderings = tuple(
        replace(how, index=place) for place, how in zip(own_places, directions, strict=False)
    )
    return _first(map_columns(plan, computed), around, own_places[len(order) :], orderings)


def _first(
    plan: Plan, around: Sequence[int], unique_on: Sequence[int], orderings: Sequence[Ordering]
) -> Plan:
    keys = tuple(dict.fromkeys(unique_on))
    leading = {ordering.index for ordering in orderings[: len(keys)]}
    if orderings and not leading <= set(keys):
        raise InvalidColumnReference(
            "SELECT DISTINCT ON expressions must match initial ORDER BY expressions"
        )
    wide, groups = with_spans(plan, keys)
    order = tuple(o for o in orderings if o.index not in keys)
    return project(TopK(wide, (*around, *groups), order, 1, 0), range(len(plan.desc)))


# --- the select list ---


# --- names and positions in GROUP BY, ORDER BY, DISTINCT ON ---
