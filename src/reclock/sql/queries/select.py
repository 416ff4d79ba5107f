"""SELECT: one query block, from its FROM to its ORDER BY."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, product, zip_longest
from math import prod
from typing import Generic, TypeVar

from sqlglot import exp

from reclock.algebra.relations import BOOLEAN, ScalarType
from reclock.errors import (
    AmbiguousColumn,
    InvalidColumnReference,
    InvalidGrouping,
    InvalidRecursion,
    InvalidWindow,
    SqlSyntaxError,
    UnknownRelation,
    UnsupportedSql,
)
from reclock.plan.build import (
    compute,
    distinct,
    filter_rows,
    join,
    map_columns,
    project,
    with_spans,
)
from reclock.plan.relational import JoinKind, Ordering, Plan, Reduce, TopK
from reclock.plan.scalars import Call, ColumnRef, Scalar
from reclock.sql.names import fold
from reclock.sql.queries.attach import attach
from reclock.sql.queries.coercion import coerce, default_to_text, with_own_digits
from reclock.sql.queries.context import Block, Context, PlannedQuery
from reclock.sql.queries.expressions import (
    ExprContext,
    condition,
    reject_unsupported,
    scalar,
    split,
)
from reclock.sql.queries.grouping import group, group_by_sets, makes_groups, of_no_rows
from reclock.sql.queries.limits import limits
from reclock.sql.queries.output_names import output_name
from reclock.sql.queries.planned import (
    AggregateCall,
    InWindow,
    OuterRef,
    Planned,
    TypedExpr,
    Untyped,
    has,
    move_columns,
    rewrite,
    scalar_of,
    scalars_of,
)
from reclock.sql.queries.recursion import reads_work_table
from reclock.sql.queries.row_functions import has_rows, in_windows, spread
from reclock.sql.queries.scope import Scope, ScopedPlan
from reclock.sql.queries.subqueries import SubqueryPlanner, correlated_error
from reclock.sql.queries.subquery_filters import filter_by_subquery, is_subquery_filter
from reclock.sql.queries.tables import plan_from
from reclock.sql.queries.windows import check_windows

_CUBE_LIMIT, _SETS_LIMIT = 12, 4096
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


def plan_block(node: exp.Select, context: Context, outer: Scope | None) -> Block:
    reject_unsupported(node, *_CLAUSES)
    relation = plan_from(node, context)
    context = replace(context, around=None)
    scope = relation.scope.within(outer)
    subqueries = SubqueryPlanner(context)
    expr_context = ExprContext(scope, subqueries, "WHERE")
    terms = split(node.args["where"].this) if node.args.get("where") else []
    later = [term for term in terms if is_subquery_filter(term)]
    applied = [condition(term, expr_context) for term in terms if not is_subquery_filter(term)]
    plan, plain = attach(
        relation.plan, [predicate for predicate in applied if not has(predicate, OuterRef)]
    )
    plan = filter_rows(plan, scalars_of(plain))
    for term in later:
        plan = filter_by_subquery(term, plan, expr_context)
    return Block(
        node,
        ScopedPlan(plan, scope),
        tuple(predicate for predicate in applied if has(predicate, OuterRef)),
    )


V = TypeVar("V", Planned, TypedExpr, covariant=True)


@dataclass(frozen=True, slots=True)
class _Item(Generic[V]):
    """A column of the select list."""

    name: str
    value: V


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
    open_items = [
        item for projection in node.expressions for item in _items(projection, expr_context)
    ]
    untyped = frozenset(i for i, item in enumerate(open_items) if isinstance(item.value, Untyped))
    items = [
        _Item(item.name, _typed(item.value, hint))
        for item, hint in zip_longest(open_items, hints[: len(open_items)])
    ]
    order_nodes = list(node.args["order"].expressions) if node.args.get("order") else []
    order = [
        _by_output(ordering.this, items) or _by_input(ordering.this, expr_context, "ORDER BY")
        for ordering in order_nodes
    ]
    unique_on = _distinct_on(node, items, expr_context)
    check_windows(node.args.get("windows") or (), expr_context)
    having = (
        condition(node.args["having"].this, replace(expr_context, clause="HAVING"))
        if node.args.get("having")
        else None
    )

    values = [item.value for item in items]
    kept: list[TypedExpr] = (
        [ColumnRef(i, type) for i, type in enumerate(around.desc.types)]
        if around is not None
        else []
    )
    everything = [*values, *order, *unique_on, *([having] if having is not None else [])]
    if any(has(expression, OuterRef) for expression in everything):
        raise correlated_error()
    plan = relation.plan
    if any(has(expression, AggregateCall) for expression in everything) and reads_work_table(
        node, context
    ):
        raise InvalidRecursion(
            "aggregate functions are not allowed in a recursive query's recursive term"
        )
    if node.args.get("group") or having is not None or any(map(makes_groups, everything)):
        sets = _grouping_sets(
            node, items, replace(expr_context, takes_aggregates=False, clause="GROUP BY")
        )
        if len(sets) > 1:
            if around is not None and [] in sets:
                raise UnsupportedSql(
                    "an empty grouping set in a LATERAL query is not supported",
                    hint="write it as one of its own",
                )
            plan, everything = group_by_sets(
                relation, [[*kept, *keys] for keys in sets], everything
            )
        else:
            plan, everything = group(relation, [*kept, *sets[0]], everything)
            if around is not None and not sets[0]:
                plan, everything = _with_empty(around, plan, everything)
    if having is not None:
        plan, (having,) = attach(plan, [everything.pop()])
        plan = filter_rows(plan, [scalar_of(having)])
    plan, everything = in_windows(
        *attach(plan, [*kept, *(_within(kept, expression) for expression in everything)])
    )
    sorting = everything[len(kept) + len(items) :]
    is_distinct = node.args.get("distinct") is not None
    if unique_on and order and has_rows(everything) and not has_rows(sorting):
        # As in PostgreSQL, ORDER BY and DISTINCT ON come before the functions of several rows.
        plan = _first_rows(
            plan,
            scalars_of(everything[: len(kept)]),
            scalars_of(sorting[: len(order)]),
            order_nodes,
            scalars_of(sorting[len(order) :]),
        )
        unique_on, everything, is_distinct = (
            [],
            everything[: len(kept) + len(items) + len(order)],
            False,
        )
    plan, everything = spread(plan, everything)
    columns = scalars_of(everything)
    around_columns, columns = columns[: len(kept)], columns[len(kept) :]
    names = [item.name for item in items]
    limited = limits(node, context.session.parameters)
    return _shape(
        plan,
        columns[: len(items)],
        around_columns,
        names,
        columns[len(items) : len(items) + len(order)],
        order_nodes,
        columns[len(items) + len(order) :],
        untyped,
        limited,
        is_distinct=is_distinct,
    )


def _with_empty(
    around: Plan, groups: Plan, values: Sequence[TypedExpr]
) -> tuple[Plan, list[TypedExpr]]:
    """The groups by a row around, and those of the rows around that have none: an aggregate answers
    a row for each."""
    assert isinstance(groups, Reduce)
    width = len(around.desc)
    same = [
        Call("is_not_distinct", (ColumnRef(i, type), ColumnRef(width + i, type)), BOOLEAN)
        for i, type in enumerate(around.desc.types)
    ]
    moved = [
        move_columns(of_no_rows(value, groups, width), lambda i: i if i < width else width + i)
        for value in values
    ]
    return join(around, groups, JoinKind.LEFT, same), moved


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


def select_values(node: exp.Select, relation: ScopedPlan, context: Context) -> list[TypedExpr]:
    """The values of the select list over the rows of ``relation``."""
    expr_context = ExprContext(
        relation.scope, SubqueryPlanner(context), "SELECT", takes_aggregates=True
    )
    return [
        default_to_text(item.value)
        for projection in node.expressions
        for item in _items(projection, expr_context)
    ]


def select_order(
    node: exp.Select, relation: ScopedPlan, context: Context
) -> list[tuple[TypedExpr, bool, bool]]:
    """The keys of ORDER BY over the rows of ``relation``, and for each whether it is descending,
    and begins with NULLs."""
    expr_context = ExprContext(
        relation.scope, SubqueryPlanner(context), "SELECT", takes_aggregates=True
    )
    items = [
        _Item(item.name, default_to_text(item.value))
        for projection in node.expressions
        for item in _items(projection, expr_context)
    ]
    order = node.args["order"].expressions if node.args.get("order") else []
    terms = [
        (
            _by_output(ordering.this, items) or _by_input(ordering.this, expr_context, "ORDER BY"),
            _ordering(0, ordering),
        )
        for ordering in order
    ]
    return [(value, how.is_descending, how.nulls_first) for value, how in terms]


def select_list(
    expressions: Sequence[exp.Expr], scope: Scope, context: Context, clause: str
) -> list[tuple[str, TypedExpr]]:
    """The names and scalars of a list that stands outside of a SELECT; no aggregates."""
    expr_context = ExprContext(scope, SubqueryPlanner(context), clause)
    return [
        (item.name, default_to_text(item.value))
        for expression in expressions
        for item in _items(expression, expr_context)
    ]


def _typed(value: Planned, hint: ScalarType | None) -> TypedExpr:
    if not isinstance(value, Untyped) or hint is None:
        return default_to_text(value)
    (number,) = with_own_digits([value], [hint])
    return coerce(number, hint) if isinstance(number, Untyped) else number


def _shape(
    plan: Plan,
    values: list[Scalar],
    kept: list[Scalar],
    names: list[str],
    order: list[Scalar],
    order_nodes: list[exp.Expr],
    unique_on: list[Scalar],
    untyped: frozenset[int],
    limited: tuple[int | None, int],
    *,
    is_distinct: bool,
) -> PlannedQuery:
    """The columns in order; hidden columns, only for ORDER BY, come last."""
    columns = [*values, *kept]
    for expression in (*unique_on, *order):
        if expression in columns:
            continue
        if is_distinct and not unique_on:
            raise InvalidColumnReference(
                "for SELECT DISTINCT, ORDER BY expressions must appear in select list"
            )
        columns.append(expression)
    orderings = tuple(
        _ordering(columns.index(ordering), how)
        for ordering, how in zip(order, order_nodes, strict=True)
    )
    hidden = [f"order{i + 1}" for i in range(len(columns) - len(values) - len(kept))]
    around = range(len(values), len(values) + len(kept))
    plan = compute(plan, columns, [*names, *(f"around{i + 1}" for i in range(len(kept))), *hidden])
    if unique_on:
        plan = _first(
            plan, around, [columns.index(expression) for expression in unique_on], orderings
        )
    elif is_distinct:
        plan = distinct(plan)
    limit, offset = limited
    return PlannedQuery(plan, orderings, limit, offset, len(values), untyped, len(kept))


def _first_rows(
    plan: Plan,
    kept: Sequence[Scalar],
    order: Sequence[Scalar],
    order_nodes: Sequence[exp.Expr],
    unique_on: Sequence[Scalar],
) -> Plan:
    """Of the rows of ``plan`` the first of each group of DISTINCT ON, and behind their columns what
    they were sorted by."""
    width = len(plan.desc)
    scalars = [*kept, *order, *unique_on]
    computed = list(
        dict.fromkeys(scalar for scalar in scalars if not isinstance(scalar, ColumnRef))
    )
    places = [
        scalar.index if isinstance(scalar, ColumnRef) else width + computed.index(scalar)
        for scalar in scalars
    ]
    around, rest = places[: len(kept)], places[len(kept) :]
    orderings = tuple(_ordering(place, how) for place, how in zip(rest, order_nodes, strict=False))
    return _first(map_columns(plan, computed), around, rest[len(order) :], orderings)


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


def _ordering(index: int, node: exp.Expr) -> Ordering:
    reject_unsupported(node, "this", "desc", "nulls_first")
    return Ordering(index, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))


# --- the select list ---


def _items(node: exp.Expr, expr_context: ExprContext) -> list[_Item[Planned]]:
    if isinstance(node, exp.Star):
        reject_unsupported(node)
        return _star(expr_context.scope, [])
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        reject_unsupported(node.this)
        qualifier = [
            fold(part)
            for part in (node.args.get("catalog"), node.args.get("db"), node.args.get("table"))
            if part
        ]
        return _star(expr_context.scope, qualifier)
    if isinstance(node, exp.Alias):
        return [_Item(fold(node.args["alias"]), scalar(node.this, expr_context))]
    if isinstance(node, exp.Aliases):
        raise SqlSyntaxError("a column has one alias")
    return [_Item(output_name(node), scalar(node, expr_context))]


def _star(scope: Scope, qualifier: list[str]) -> list[_Item[Planned]]:
    if not scope.columns:
        raise SqlSyntaxError("SELECT * with no tables specified is not valid")
    if qualifier:
        chosen = scope.of_relation(qualifier)
    else:
        chosen = [
            i
            for i, column in enumerate(scope.columns)
            if not column.is_merged_away and not column.is_around
        ]
    if not chosen:
        raise UnknownRelation(".".join(qualifier), hint="it is not in the FROM clause")
    return [_Item(scope.columns[i].name, ColumnRef(i, scope.columns[i].type)) for i in chosen]


# --- names and positions in GROUP BY, ORDER BY, DISTINCT ON ---


def _position(node: exp.Expr, items: Sequence[_Item[TypedExpr]], clause: str) -> TypedExpr | None:
    inner = node.unnest() if isinstance(node, exp.Paren) else node
    if not isinstance(inner, exp.Literal):
        return None
    if inner.is_string or not inner.name.isdigit():
        raise SqlSyntaxError(f"non-integer constant in {clause}")
    if not 1 <= int(inner.name[:9]) <= len(items):
        raise InvalidColumnReference(f"{clause} position {inner.name} is not in select list")
    return items[int(inner.name) - 1].value


def _named(node: exp.Expr, items: Sequence[_Item[TypedExpr]], clause: str) -> TypedExpr | None:
    if not isinstance(node, exp.Column) or len(node.parts) > 1 or isinstance(node.this, exp.Star):
        return None
    values = {item.value: None for item in items if item.name == fold(node.this)}
    if len(values) > 1:
        raise AmbiguousColumn(fold(node.this), clause)
    return next(iter(values), None)


def _by_output(
    node: exp.Expr, items: Sequence[_Item[TypedExpr]], clause: str = "ORDER BY"
) -> TypedExpr | None:
    position = _position(node, items, clause)
    return position if position is not None else _named(node, items, clause)


def _by_input(node: exp.Expr, expr_context: ExprContext, clause: str) -> TypedExpr:
    return default_to_text(scalar(node, replace(expr_context, clause=clause)))


def _distinct_on(
    node: exp.Select, items: Sequence[_Item[TypedExpr]], expr_context: ExprContext
) -> list[TypedExpr]:
    distinct = node.args.get("distinct")
    on = distinct.args.get("on") if distinct is not None else None
    if on is None:
        return []
    nodes = on.expressions if isinstance(on, exp.Tuple) else [on]
    return [
        _by_output(node, items, "DISTINCT ON") or _by_input(node, expr_context, "DISTINCT ON")
        for node in nodes
    ]


def _grouping_sets(
    node: exp.Select, items: Sequence[_Item[TypedExpr]], expr_context: ExprContext
) -> list[list[TypedExpr]]:
    """The keys of GROUP BY, in all their combinations."""
    clause = node.args.get("group")
    if clause is None:
        return [[]]
    reject_unsupported(
        clause, "expressions", "all"
    )  # GROUP BY ALL is the opposite of GROUP BY DISTINCT, and what is meant without either
    if not clause.expressions:
        raise UnsupportedSql("GROUP BY ALL without keys is not supported", hint="name the keys")

    def key(node: exp.Expr) -> TypedExpr:
        by_name = None
        if (
            isinstance(node, exp.Column)
            and len(node.parts) == 1
            and expr_context.scope.find(fold(node.this)) is None
        ):
            by_name = _named(node, items, "GROUP BY")
        found = _position(node, items, "GROUP BY") or by_name
        found = found if found is not None else _by_input(node, expr_context, "GROUP BY")
        if has(found, AggregateCall):
            raise SqlSyntaxError("aggregate functions are not allowed in GROUP BY")
        if has(found, InWindow):
            raise InvalidWindow("window functions are not allowed in GROUP BY")
        if has_rows([found]):
            raise UnsupportedSql(
                "a function that answers rows is not supported in GROUP BY", hint="put it into FROM"
            )
        return found

    def together(node: exp.Expr) -> list[TypedExpr]:
        return (
            [key(expression) for expression in node.expressions]
            if isinstance(node, exp.Tuple)
            else [key(node)]
        )

    def sets(node: exp.Expr) -> list[list[TypedExpr]]:
        match node:
            case exp.GroupingSets():
                return [found for expression in node.expressions for found in sets(expression)]
            case exp.Rollup():
                parts = [together(expression) for expression in node.expressions]
                return [
                    list(chain.from_iterable(parts[:count])) for count in range(len(parts), -1, -1)
                ]
            case exp.Cube():
                parts = [together(expression) for expression in node.expressions]
                if len(parts) > _CUBE_LIMIT:
                    raise InvalidGrouping(
                        f"CUBE is limited to {_CUBE_LIMIT} elements", sqlstate="54011"
                    )
                return [
                    list(chain.from_iterable(chosen))
                    for count in range(len(parts), -1, -1)
                    for chosen in combinations(parts, count)
                ]
            case _:
                return [together(node)]

    choices = [sets(element) for element in clause.expressions]
    if prod(map(len, choices)) > _SETS_LIMIT:
        raise InvalidGrouping(
            f"too many grouping sets present (maximum {_SETS_LIMIT})", sqlstate="54001"
        )
    found = [list(dict.fromkeys(chain.from_iterable(chosen))) for chosen in product(*choices)]
    is_distinct = clause.args.get("all") is False
    return (
        list({frozenset(grouping_set): grouping_set for grouping_set in found}.values())
        if is_distinct
        else found
    )
