"""FROM: relations by name, subqueries, VALUES, and the joins between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.relations import BOOLEAN, RelationDesc
from reclock.catalog.objects import ItemType
from reclock.errors import InvalidColumnReference, SqlSyntaxError, UnsupportedSql, WrongObjectType
from reclock.plan.build import ONE_ROW, distinct, join, project
from reclock.plan.relational import Get, JoinKind
from reclock.plan.scalars import Call, ColumnRef
from reclock.sql.names import fold, parts
from reclock.sql.queries.aggregate_calls import depends_on_order
from reclock.sql.queries.around import NOT_ALONE, named_around, outer_width, scope_around
from reclock.sql.queries.context import Context
from reclock.sql.queries.expressions import reject_unsupported
from reclock.sql.queries.joins import (
    JOIN_KINDS,
    check_names,
    filtered,
    join_conditions,
    join_relations,
    join_words,
    joined_on,
    same_values,
)
from reclock.sql.queries.outer_aggregates import without_aggregates
from reclock.sql.queries.planned import scalar_of
from reclock.sql.queries.row_order import gives_order, keeps_order
from reclock.sql.queries.sampling import sampled
from reclock.sql.queries.scope import Scope, ScopeColumn, ScopedPlan
from reclock.sql.queries.session_views import follows_catalog, in_session
from reclock.sql.queries.subquery_rows import correlated_error
from reclock.sql.queries.subquery_syntax import unwrapped
from reclock.sql.queries.table_aliases import aliased
from reclock.sql.queries.table_functions import (
    is_function,
    lateral_function,
    rows_of_function,
    with_function,
    with_function_or_nulls,
)
from reclock.sql.syntax.consumption import tracked_copy
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.places import at


def plan_from(node: exp.Select, context: Context) -> ScopedPlan:
    """The rows of FROM; without FROM, one row without columns."""
    clause = node.args.get("from_")
    start = context.around or ScopedPlan(ONE_ROW, Scope())
    if clause is None:
        return start
    joins = node.args.get("joins") or []
    if context.around is None and not joins and (keeps_order(node) or depends_on_order(node)):
        ordered = _in_order(clause.this, context)
        if ordered is not None:
            return ordered
    return _joined(start, clause.this, joins, replace(context, around=None))


def _in_order(node: exp.Expr, context: Context) -> ScopedPlan | None:
    """The rows of a subquery, or of a query of WITH, that have an order, with the columns that they
    are ordered by, which no name reaches; None if ``node`` is something else."""
    if not gives_order(node, context.ordered_ctes):
        return None
    if isinstance(node, exp.Table):
        query, visible = context.ordered_ctes[fold(node.this)], _table(node, context)
    else:
        query = context.queries.plan(node, context)
        visible = ScopedPlan(query.embedded, Scope.of(query.embedded.desc, None))
    if not query.order or query.outer_width:
        return None
    visible_scope = aliased(visible, node).scope
    plan = query.limited
    hidden = [
        ScopeColumn(None, column.name, column.type, is_merged_away=True)
        for column in plan.desc.columns[query.visible :]
    ]
    return ScopedPlan(
        plan,
        replace(visible_scope, columns=(*visible_scope.columns, *hidden), row_order=query.order),
    )


def _joined(
    start: ScopedPlan, first: exp.Expr, joins: Iterable[exp.Join], context: Context
) -> ScopedPlan:
    """Join FROM's relations. The comma binds less tightly than JOIN. A function may read the
    relations to the left of its comma."""
    groups: list[tuple[exp.Expr, list[exp.Join]]] = [(first, [])]
    for node in joins:
        if is_comma(node):
            reject_unsupported(node, "this")
            groups.append((node.this, []))
        else:
            groups[-1][1].append(node)
    result = start
    for item, item_joins in groups:
        try:
            result = _beside(result, item, item_joins, context)
        except NOT_ALONE:
            if _may_read_left(result, item, item_joins):
                result = _over_left(result, item, item_joins, context)
                continue
            named = {
                i
                for part in (item, *item_joins)
                for i in _named_of_row_around(part, result.scope, context)
            }
            if not named:
                raise
            result = _for_each_around(result, item, item_joins, sorted(named), context)
    return result


def _beside(
    left: ScopedPlan, item: exp.Expr, item_joins: Sequence[exp.Join], context: Context
) -> ScopedPlan:
    """``left``, and the rows of ``item`` and its joins, which cannot read those of ``left``."""
    if not item_joins and (joined := _reading_left(left, item, exp.Join(), context)) is not None:
        return joined
    right = _relation(item, context)
    for node in item_joins:
        right = _with_join(right, node, context)
    if left.plan == ONE_ROW:
        return right
    check_names(left, right)
    return ScopedPlan(
        join(left.plan, right.plan, JoinKind.INNER, ()), left.scope.beside(right.scope)
    )


def _with_join(left: ScopedPlan, node: exp.Join, context: Context) -> ScopedPlan:
    """``left`` joined with the relation of ``node``, which may read the rows of ``left``."""
    join_words(node)
    joined = _reading_left(left, node.this, node, context)
    if joined is not None:
        return joined
    return join_relations(left, _relation(node.this, context), node, context)


def _reading_left(
    left: ScopedPlan, item: exp.Expr, node: exp.Join, context: Context
) -> ScopedPlan | None:
    """``left`` joined with ``item``, if that is something that reads rows to its left."""
    if isinstance(item, exp.Lateral):
        return None if _is_joined_alone(item, node) else _lateral(left, item, node, context)
    if not is_function(item) or node.args.get("method") or node.args.get("using"):
        pass
    elif (node.args.get("side") or "").upper() == "LEFT" and named_around(
        item, left.scope, context
    ):
        return with_function_or_nulls(left, item, node.args.get("on"), context)
    elif not node.args.get("side"):
        joined = with_function(left, item, context)
        if node.args.get("on") is None:
            return joined
        return filtered(joined, join_conditions(node.args["on"], joined.scope, context))
    if isinstance(item, exp.Table) and (width := outer_width(item, context)):
        return _of_rows_around(left, item, width, node, context)
    return None


def _is_joined_alone(item: exp.Lateral, node: exp.Join) -> bool:
    """Whether ``item`` is a query that is joined so that it can name nothing to its left."""
    is_outer = (node.args.get("side") or "").upper() in ("RIGHT", "FULL")
    is_by_name = bool(node.args.get("method") or node.args.get("using"))
    return isinstance(item.this, exp.Subquery) and (is_outer or is_by_name)


def _may_read_left(left: ScopedPlan, item: exp.Expr, item_joins: Sequence[exp.Join]) -> bool:
    """Whether the rows of ``left`` can be carried through all joins, and something in them may read
    these rows."""
    if not all(map(_carries_left, item_joins)):
        return False
    is_around = any(column.is_around for column in left.scope.columns)
    return is_around or any(
        isinstance(part, exp.Lateral) or is_function(part)
        for part in (item, *(node.this for node in item_joins))
    )


def _carries_left(node: exp.Join) -> bool:
    """Whether the columns to the left of the join are the same to its right."""
    side = (node.args.get("side") or "").upper()
    return side in ("", "LEFT") and not (node.args.get("using") or node.args.get("method"))


def _named_of_row_around(node: exp.Expr, scope: Scope, context: Context) -> list[int]:
    """Columns of the row around, which are the first ones of ``scope``, that ``node`` may name. The
    relations to its left hide none of them from a query that is not LATERAL."""
    around = tuple(column for column in scope.columns if column.is_around)
    return named_around(node, Scope(around), context)


def _over_left(
    left: ScopedPlan, item: exp.Expr, item_joins: Sequence[exp.Join], context: Context
) -> ScopedPlan:
    """``left``, each row with those of ``item`` and its joins, in which everything may name the
    row."""
    for part, node in ((item, exp.Join(kind="CROSS")), *((node.this, node) for node in item_joins)):
        left = _joined_over_left(left, part, node, context)
    return left


def _joined_over_left(
    left: ScopedPlan, item: exp.Expr, node: exp.Join, context: Context
) -> ScopedPlan:
    joined = _reading_left(left, item, node, context)
    if joined is None:
        joined = _derived_around(left, item, node, context)
    if joined is None:
        joined = join_relations(left, _relation(item, context), node, context)
    return joined


def _for_each_around(
    left: ScopedPlan,
    item: exp.Expr,
    item_joins: Sequence[exp.Join],
    names: Sequence[int],
    context: Context,
) -> ScopedPlan:
    """``left``, each row with those of ``item`` and its joins for its columns ``names``, which are
    of the row around."""
    rows = _rows_around(left, item, item_joins, names, context)
    count, width = len(names), len(left.plan.desc)
    item_scope = Scope(rows.scope.columns[count:])
    check_names(left, ScopedPlan(rows.plan, item_scope))
    same = same_values(left.plan, names, rows.plan, range(count))
    joined = join(left.plan, rows.plan, JoinKind.INNER, same)
    places = [*range(width), *range(width + count, width + len(rows.plan.desc))]
    return ScopedPlan(project(joined, places), left.scope.beside(item_scope))


def _rows_around(
    left: ScopedPlan,
    item: exp.Expr,
    item_joins: Sequence[exp.Join],
    names: Sequence[int],
    context: Context,
) -> ScopedPlan:
    """The rows of ``item`` and its joins for every value of the columns ``names`` of ``left``, which
    are of the row around and come first. Each side of a join that would not keep them on its left
    is computed with them."""
    around = ScopedPlan(distinct(project(left.plan, names)), scope_around(left.scope, names))
    count = len(names)
    rows = _over_left(around, item, (), context)
    for node in item_joins:
        if _carries_left(node):
            rows = _joined_over_left(rows, node.this, node, context)
        else:
            other = _over_left(around, node.this, (), context)
            rows = join_relations(rows, other, node, context, count)
    return rows


def _derived_around(
    left: ScopedPlan, node: exp.Expr, joining: exp.Join, context: Context
) -> ScopedPlan | None:
    """``left`` joined with a query in FROM that names the row around it; None if it names none, or
    is none."""
    match node:
        case exp.Subquery() if _is_parenthesised_relation(node):
            named = _named_of_row_around(node, left.scope, context)
            return _parenthesised_around(left, node, named, joining, context) if named else None
        case exp.Subquery():
            query = node.this
        case exp.Table(this=exp.Values() as query):
            pass
        case exp.Values():
            query = node
        case _:
            return None
    named = _named_of_row_around(query, left.scope, context)
    return _for_each(left, query, node, named, joining, context) if named else None


def _parenthesised_around(
    left: ScopedPlan,
    node: exp.Subquery,
    names: Sequence[int],
    joining: exp.Join,
    context: Context,
) -> ScopedPlan:
    """``left`` joined with a join in parentheses that names its columns ``names``, which are of the
    row around."""
    reject_unsupported(node, "this", "alias", "joins")
    first = tracked_copy(node.this)
    item_joins = [*(first.args.get("joins") or ()), *(node.args.get("joins") or ())]
    first.set("joins", None)
    rows = _rows_around(left, first, item_joins, names, context)
    count, width = len(names), len(rows.plan.desc)
    own_first = project(rows.plan, [*range(count, width), *range(count)])
    right = ScopedPlan(own_first, Scope(rows.scope.columns[count:]))
    return _joined_by_row(left, right, node, names, joining, context)


def is_comma(node: exp.Join) -> bool:
    """Whether the relation is joined to the previous one by a comma."""
    return not any(node.args.get(name) for name in ("kind", "side", "method", "on", "using"))


def _lateral(
    left: ScopedPlan, node: exp.Lateral, joining: exp.Join, context: Context
) -> ScopedPlan:
    """The rows of ``left``, each with those that the query, or function, answers for it."""
    reject_unsupported(node, "this", "alias", "ordinality")
    reject_unsupported(joining, "this", "kind", "side", "on")
    side = (joining.args.get("side") or "").upper()
    if side not in ("", "LEFT"):
        raise InvalidColumnReference(
            f"{side} JOIN of what is LATERAL", hint="a row of the right side is of one of the left"
        )
    if not isinstance(node.this, exp.Subquery):
        return lateral_function(left, node, joining, context)
    reject_unsupported(node, "this", "alias")
    named = named_around(node.this, left.scope, context)
    return _for_each(left, node.this, node, named, joining, context)


def _for_each(
    left: ScopedPlan,
    query: exp.Expr,
    node: exp.Expr,
    names: Sequence[int],
    joining: exp.Join,
    context: Context,
) -> ScopedPlan:
    """The rows of ``left`` joined with those that ``query`` has for their columns ``names``.
    ``node`` has its alias."""
    around = distinct(project(left.plan, names))
    rows = ScopedPlan(around, scope_around(left.scope, names))
    with without_aggregates(left.scope, "FROM"):
        planned = context.queries.plan(unwrapped(query), replace(context, around=rows))
    plan = planned.embedded
    shown = Scope.of(RelationDesc(plan.desc.columns[: planned.visible]), None)
    return _joined_by_row(left, ScopedPlan(plan, shown), node, names, joining, context)


def _joined_by_row(
    left: ScopedPlan,
    right: ScopedPlan,
    node: exp.Expr,
    names: Sequence[int],
    joining: exp.Join,
    context: Context,
) -> ScopedPlan:
    """``left`` joined with ``right``, whose columns after those in its scope say which values of
    the columns ``names`` each of its rows is for. ``node`` has its alias."""
    side, on = (joining.args.get("side") or "").upper(), joining.args.get("on")
    width = len(left.plan.desc) + len(right.scope.columns)
    scope_of_query = aliased(right, node).scope
    check_names(left, replace(right, scope=scope_of_query))
    if JOIN_KINDS[side] is JoinKind.LEFT:
        scope_of_query = scope_of_query.with_missing_rows()
    scope = left.scope.beside(scope_of_query)
    same = [
        Call("is_not_distinct", (ColumnRef(i, type), ColumnRef(width + k, type)), BOOLEAN)
        for k, (i, type) in enumerate((i, left.plan.desc.types[i]) for i in names)
    ]
    conditions = join_conditions(None if on == exp.true() else on, scope, context)
    joined = joined_on(left.plan, right.plan, JOIN_KINDS[side], [*same, *conditions])
    return ScopedPlan(project(joined, range(width)), scope)


def _relation(node: exp.Expr, context: Context) -> ScopedPlan:
    """``node`` with the joins nested in it."""
    relation = _one_relation(node, context)
    for join_node in node.args.get("joins") or []:
        relation = _with_join(relation, join_node, context)
    return relation


def _one_relation(node: exp.Expr, context: Context) -> ScopedPlan:
    if is_function(node):
        return rows_of_function(node, ScopedPlan(ONE_ROW, Scope()), context)
    match node:
        case exp.Table(this=exp.Values() as inner):
            reject_unsupported(node, "this", "alias", "joins")
            relation = _relation(inner, context)
        case exp.Table():
            reject_unsupported(node, "this", "db", "catalog", "alias", "joins", "sample")
            relation = _table(node, context)
            if (sample := node.args.get("sample")) is not None:
                relation = sampled(relation, sample, context)
        case exp.Subquery() if _is_parenthesised_relation(node):
            reject_unsupported(node, "this", "alias", "joins")
            relation = _relation(node.this, context)
        case exp.Lateral(this=exp.Subquery() as query):
            reject_unsupported(node, "this", "alias", "joins")
            try:
                relation = _derived(query, context)
            except NOT_ALONE as error:
                raise UnsupportedSql(
                    f"{to_sql(node)[:80]} is not supported in FROM",
                    detail=error.message,
                    hint="join it by a comma, or by INNER or LEFT JOIN with ON",
                ) from error
        case exp.Subquery() | exp.Values():
            relation = _derived(node, context)
        case _:
            raise UnsupportedSql(f"{to_sql(node)[:80]} is not supported in FROM")
    return aliased(relation, node)


def _derived(query: exp.Expr, context: Context) -> ScopedPlan:
    plan = context.queries.plan(query, context).embedded
    return ScopedPlan(plan, Scope.of(plan.desc, None))


def _of_rows_around(
    left: ScopedPlan, node: exp.Table, width: int, joining: exp.Join, context: Context
) -> ScopedPlan:
    """``left``, whose first columns are the rows around, joined with the rows that a WITH query has
    for each of these."""
    reject_unsupported(node, "this", "alias")
    around = [column.used for column in left.scope.columns[:width]]
    if (
        len(around) < width
        or not all(column.is_around for column in around)
        or (joining.args.get("side") or "").upper() not in ("", "LEFT")
        or joining.args.get("using")
        or joining.args.get("method")
    ):
        raise correlated_error()
    (name,) = parts(node)
    plan = context.ctes[name]
    shown = Scope.of(RelationDesc(plan.desc.columns[: len(plan.desc) - width]), name)
    return _joined_by_row(left, ScopedPlan(plan, shown), node, range(width), joining, context)


def _is_parenthesised_relation(node: exp.Subquery) -> bool:
    """Whether the parentheses enclose a relation or join of FROM, as in ``((SELECT …) a JOIN b ON
    …)``, rather than a query."""
    inner = node.this
    if isinstance(inner, exp.Subquery):
        return bool(
            inner.args.get("alias") or inner.args.get("joins")
        ) or _is_parenthesised_relation(inner)
    return isinstance(inner, exp.Table)


def _table(node: exp.Table, context: Context) -> ScopedPlan:
    if isinstance(node.this, exp.Dot):
        raise SqlSyntaxError(
            f"{to_sql(node)[:80]} has too many parts", hint="a name is database.schema.item"
        )
    name = parts(node)
    if len(name) == 1 and name[0] in context.ctes:
        if context.outer_widths.get(name[0], 0):
            raise correlated_error()
        plan = context.ctes[name[0]]
        return ScopedPlan(plan, Scope.of(plan.desc, name[0]))
    if len(name) == 1 and name[0] in context.without_rows:
        raise UnsupportedSql(f'WITH query "{name[0]}" does not have a RETURNING clause')
    with at(node):
        entry = context.catalog.resolve(name, context.session)
    if entry.type is ItemType.SOURCE and not entry.desc.columns:
        raise WrongObjectType(
            str(entry.name), "relation with rows", "source of tables, which SHOW SOURCES lists"
        )
    context.named.append((node, entry.name))
    context.depends_on.add(entry.id)
    view = entry.query if entry.asks_session else None
    if entry.builtin_view is not None:
        builtin = context.queries.builtin_plan(entry, context.catalog)
        view = None if follows_catalog(builtin, context.catalog) else builtin
    if view is not None:
        plan = in_session(view, lambda call: scalar_of(context.about_session(call)))
        return ScopedPlan(plan, Scope.of(entry.desc, entry.name.item, entry.name, entry.key))
    collection = StorageCollectionId(entry.id) if entry.query is not None else entry.collection
    return ScopedPlan(
        Get(
            collection,
            entry.name.item,
            entry.desc,
            entry.may_be_negative,
            entry.key or entry.generated_key,
        ),
        Scope.of(entry.desc, entry.name.item, entry.name, entry.key),
    )
