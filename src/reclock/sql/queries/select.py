"""SELECT: one query block, from its FROM to its ORDER BY."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from typing import Generic, TypeVar

from sqlglot import exp

from reclock.algebra.relations import ScalarType
from reclock.errors import (
    GroupingError,
    InvalidColumnReference,
    InvalidRecursion,
    NotInFromClause,
    UnsupportedSql,
)
from reclock.plan.build import compute, distinct, filter_rows, map_columns, project, with_spans
from reclock.plan.functions import AGGREGATES
from reclock.plan.relational import Ordering, Plan, TopK
from reclock.plan.scalars import ColumnRef, Scalar
from reclock.sql.queries.attach import attach
from reclock.sql.queries.context import Block, Context, PlannedQuery
from reclock.sql.queries.expressions import (
    ExprContext,
    condition,
    function_name,
    reject_unsupported,
    split,
)
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
    scalars_of,
)
from reclock.sql.queries.recursion import reads_work_table
from reclock.sql.queries.row_functions import has_rows, in_windows, spread, with_spread_keys
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
from reclock.sql.syntax.places import place_of

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


_T = TypeVar("_T")
_U = TypeVar("_U")


@dataclass(frozen=True, slots=True)
class _Columns(Generic[_T]):
    """What a query block computes for each row, by what it is for."""

    items: Sequence[_T]
    order: Sequence[_T]
    unique_on: Sequence[_T]
    """DISTINCT ON."""
    having: Sequence[_T] = ()
    """One condition or none."""
    around: Sequence[_T] = ()
    """The columns of the rows around."""

    @property
    def all(self) -> list[_T]:
        return [value for part in self._parts for value in part]

    @property
    def _parts(self) -> tuple[Sequence[_T], ...]:
        return self.around, self.items, self.order, self.unique_on, self.having

    def of(self, values: Sequence[_U]) -> _Columns[_U]:
        """The same with ``values`` in the places of ``all``."""
        around, items, order, unique_on, having = _split_into(values, *map(len, self._parts))
        return _Columns(items, order, unique_on, having, around)

    def map(self, change: Callable[[_T], _U]) -> _Columns[_U]:
        return self.of(list(map(change, self.all)))


def _split_into(values: Sequence[_T], *lengths: int) -> list[list[_T]]:
    """``values`` in parts of these lengths."""
    rest = iter(values)
    return [list(islice(rest, length)) for length in lengths]


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
        for table in lock.expressions:
            _check_in_from(table, node)
        consume(lock)


def _check_in_from(locked: exp.Expr, node: exp.Select) -> None:
    """Raises ``UnknownRelation`` if FOR UPDATE names what is not in FROM."""
    joins = [join.this for join in node.args.get("joins") or ()]
    items = [node.args["from_"].this, *joins] if node.args.get("from_") else joins
    names = {item.alias_or_name for item in items} | {
        joined.this.alias_or_name for item in items for joined in item.args.get("joins") or ()
    }
    if locked.name not in names:
        raise NotInFromClause(locked.name)


def _check_locked_rows(node: exp.Select, columns: _Columns[TypedExpr], *, is_grouped: bool) -> None:
    """Raises ``UnsupportedSql`` if FOR UPDATE would be about rows that are not those of FROM."""
    if not node.args.get("locks"):
        return
    kinds = {
        "aggregate functions": is_grouped,
        "window functions": any(has(value, InWindow) for value in columns.all),
        "set-returning functions in the target list": has_rows(columns.all),
    }
    for kind, is_there in kinds.items():
        if is_there:
            raise UnsupportedSql(f"FOR UPDATE is not allowed with {kind}")


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
    node = select.node
    items, untyped = _items(select, hints)
    sets = grouping_sets(select, items)
    items = [
        SelectItem(item.name, ItemKey(item.value, i))
        if any(ItemKey(item.value, i) in keys for keys in sets)
        else item
        for i, item in enumerate(items)
    ]
    columns, directions = _columns(select, items)
    is_grouped = bool(
        node.args.get("group") or columns.having or any(map(makes_groups, columns.all))
    )
    _check_locked_rows(node, columns, is_grouped=is_grouped)
    if not is_grouped:
        columns, directions = _in_kept_order(node, columns, directions, relation.scope)
    _check_levels(node, sets, columns, context)
    plan = relation.plan
    if is_grouped:
        with _grouping_errors_at(node):
            plan, columns = _grouped(relation, sets, columns, around)
    if columns.having:
        plan, conditions = attach(plan, columns.having)
        plan = filter_rows(plan, scalars_of(conditions))
    around_refs = _references(around)
    columns = replace(columns, having=[]).map(
        lambda value: with_late_values(_within(around_refs, value))
    )
    columns = replace(columns, around=around_refs)
    plan, values = in_windows(*attach(plan, columns.all))
    columns = columns.of(values)
    is_distinct = node.args.get("distinct") is not None
    sorting = [*columns.order, *columns.unique_on]
    if columns.unique_on and columns.order and has_rows(columns.all) and not has_rows(sorting):
        # As in PostgreSQL, ORDER BY and DISTINCT ON come before the functions of several rows.
        plan = _first_rows(plan, columns, directions)
        columns = replace(columns, unique_on=[])
        is_distinct = False
    plan, values = spread(plan, columns.all)
    names = [item.name for item in items]
    computed = columns.of(scalars_of(values))
    shaped = _shape(plan, computed, names, directions, untyped, is_distinct=is_distinct)
    of_around = Scope(relation.scope.columns[: len(around_refs)])
    return with_limits(node, shaped, of_around, context)


def _items(
    select: LiftedSelect, hints: Sequence[ScalarType | None]
) -> tuple[list[SelectItem[TypedExpr]], frozenset[int]]:
    """The select list, and the places of constants whose type was open."""
    open_items = [
        item
        for projection in select.node.expressions
        for item in select_items(projection, select.context)
    ]
    items = [
        SelectItem(item.name, select.place(typed_by_hint(item.value, hint)))
        for item, hint in zip_longest(open_items, hints[: len(open_items)])
    ]
    return items, frozenset(
        i for i, item in enumerate(open_items) if isinstance(item.value, Untyped)
    )


def _columns(
    select: LiftedSelect, items: Sequence[SelectItem[TypedExpr]]
) -> tuple[_Columns[TypedExpr], list[Ordering]]:
    """What the clauses after FROM compute, and the directions of ORDER BY."""
    node, context = select.node, select.context
    orderings = list(node.args["order"].expressions) if node.args.get("order") else []
    order = [
        by_output(ordering.this, items)
        or select.place(by_input(ordering.this, context, "ORDER BY"))
        for ordering in orderings
    ]
    directions = [ordering_of(0, ordering) for ordering in orderings]
    unique_on = [select.place(value) for value in distinct_on(node, items, context)]
    check_windows(node.args.get("windows") or (), context)
    having = (
        [select.place(condition(node.args["having"].this, replace(context, clause="HAVING")))]
        if node.args.get("having")
        else []
    )
    values = [item.value for item in items]
    return _Columns(values, order, unique_on, having), directions


def _in_kept_order(
    node: exp.Select, columns: _Columns[TypedExpr], directions: list[Ordering], scope: Scope
) -> tuple[_Columns[TypedExpr], list[Ordering]]:
    """Without ORDER BY, rows stay in the order of a subquery that has one."""
    columns = columns.of(with_ordered_windows(columns.all, scope))
    kept = kept_order(node, columns.all, scope)
    if not kept:
        return columns, directions
    order = [ColumnRef(key.index, scope.columns[key.index].type) for key in kept]
    return replace(columns, order=order), list(kept)


def _check_levels(
    node: exp.Select,
    sets: Sequence[Sequence[TypedExpr]],
    columns: _Columns[TypedExpr],
    context: Context,
) -> None:
    if any(has(value, OuterRef) for values in (columns.all, *sets) for value in values):
        raise correlated_error()
    if any(has(value, AggregateCall) for value in columns.all) and reads_work_table(node, context):
        raise InvalidRecursion(
            "aggregate functions are not allowed in a recursive query's recursive term"
        )


@contextmanager
def _grouping_errors_at(node: exp.Select) -> Iterator[None]:
    try:
        yield
    except GroupingError as error:
        error.position = _place_outside_aggregates(node, error.column)
        raise


def _place_outside_aggregates(node: exp.Select, name: str) -> int | None:
    """Where the query first names a column that is neither grouped nor aggregated."""

    def is_apart(part: exp.Expr) -> bool:
        is_call = isinstance(part, exp.Anonymous) and function_name(part) in AGGREGATES
        return is_call or isinstance(part, exp.Query)

    clauses = (*node.expressions, node.args.get("having"), node.args.get("order"))
    for part in (part for clause in clauses if clause for part in clause.walk(prune=is_apart)):
        if isinstance(part, exp.Column) and part.name.lower() == name.rpartition(".")[2].lower():
            return place_of(part)
    return None


def _grouped(
    relation: ScopedPlan,
    sets: Sequence[list[TypedExpr]],
    columns: _Columns[TypedExpr],
    around: Plan | None,
) -> tuple[Plan, _Columns[TypedExpr]]:
    around_refs = _references(around)
    if len(sets) > 1:
        wide_sets = [[*around_refs, *keys] for keys in sets]
        plan, values = group_by_sets(relation, wide_sets, columns.all, around)
        return plan, columns.of(values)
    relation, keys, values = with_spread_keys(relation, sets[0], columns.all)
    columns = columns.of(values)
    wide_keys = [*around_refs, *with_determined_columns(keys, columns.all, relation.scope)]
    plan, values = group(relation, wide_keys, columns.all)
    if around is not None and not keys:
        plan = of_every_row(around, plan)
    return plan, columns.of(values)


def _references(around: Plan | None) -> list[TypedExpr]:
    """The columns of the rows around, which are the first of each row."""
    types = () if around is None else around.desc.types
    return [ColumnRef(i, type) for i, type in enumerate(types)]


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
    computed: _Columns[Scalar],
    names: Sequence[str],
    directions: Sequence[Ordering],
    untyped: frozenset[int],
    *,
    is_distinct: bool,
) -> PlannedQuery:
    """The columns in order; hidden columns, only for ORDER BY, come last."""
    columns = [*computed.items, *computed.around]
    width = len(columns)
    for expression in (*computed.unique_on, *computed.order):
        if expression in columns:
            continue
        if is_distinct and not computed.unique_on:
            raise InvalidColumnReference(
                "for SELECT DISTINCT, ORDER BY expressions must appear in select list"
            )
        columns.append(expression)
    orderings = tuple(
        replace(how, index=columns.index(ordering))
        for ordering, how in zip(computed.order, directions, strict=True)
    )
    around_names = [f"around{i + 1}" for i in range(len(computed.around))]
    hidden = [f"order{i + 1}" for i in range(len(columns) - width)]
    plan = compute(plan, columns, [*names, *around_names, *hidden])
    if computed.unique_on:
        around = range(len(computed.items), width)
        unique_on = [columns.index(expression) for expression in computed.unique_on]
        plan = _first(plan, around, unique_on, orderings)
    elif is_distinct:
        plan = distinct(plan)
    return PlannedQuery(
        plan, orderings, None, 0, len(computed.items), untyped, len(computed.around)
    )


def _first_rows(plan: Plan, columns: _Columns[TypedExpr], directions: Sequence[Ordering]) -> Plan:
    """The first row of ``plan`` in each group of DISTINCT ON, and after its columns the values
    that they were sorted by."""
    width = len(plan.desc)
    scalars = scalars_of([*columns.around, *columns.order, *columns.unique_on])
    computed = list(
        dict.fromkeys(scalar for scalar in scalars if not isinstance(scalar, ColumnRef))
    )
    places = [
        scalar.index if isinstance(scalar, ColumnRef) else width + computed.index(scalar)
        for scalar in scalars
    ]
    around, order, unique_on = _split_into(
        places, len(columns.around), len(columns.order), len(columns.unique_on)
    )
    orderings = tuple(
        replace(how, index=place) for place, how in zip(order, directions, strict=True)
    )
    return _first(map_columns(plan, computed), around, unique_on, orderings)


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
