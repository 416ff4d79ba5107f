"""FROM: relations by name, subqueries, VALUES, and the joins between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.relations import BIGINT, BOOLEAN, INTEGER, Column, RelationDesc
from reclock.errors import SqlSyntaxError, UnsupportedSql
from reclock.plan.build import ONE_ROW, distinct, join, map_columns, project
from reclock.plan.relational import FlatMap, Get, JoinKind
from reclock.plan.scalars import Call, ColumnRef, Literal
from reclock.sql.names import fold, parts
from reclock.sql.queries.around import NOT_ALONE, named_around, scope_around
from reclock.sql.queries.attach import attach
from reclock.sql.queries.builtin_views import follows_catalog, in_session
from reclock.sql.queries.coercion import coerce, default_to_text
from reclock.sql.queries.context import Context
from reclock.sql.queries.expressions import ExprContext, reject_unsupported, scalar
from reclock.sql.queries.joins import (
    JOIN_KINDS,
    check_names,
    filtered,
    join_conditions,
    join_relations,
    joined_on,
)
from reclock.sql.queries.outer_aggregates import without_aggregates
from reclock.sql.queries.overloads import call
from reclock.sql.queries.planned import (
    Elements,
    OuterRef,
    TypedExpr,
    has,
    scalar_of,
    scalars_of,
)
from reclock.sql.queries.row_functions import COLUMNS, ROW_FUNCTIONS
from reclock.sql.queries.scope import Scope, ScopeColumn, ScopedPlan
from reclock.sql.queries.subqueries import SubqueryPlanner
from reclock.sql.queries.subquery_rows import correlated_error
from reclock.sql.queries.subquery_syntax import unwrapped
from reclock.sql.syntax.consumption import tracked_copy
from reclock.sql.syntax.dialect import to_sql


def plan_from(node: exp.Select, context: Context) -> ScopedPlan:
    """The rows of FROM; without FROM, one row without columns."""
    clause = node.args.get("from_")
    start = context.around or ScopedPlan(ONE_ROW, Scope())
    if clause is None:
        return start
    return _joined(start, clause.this, node.args.get("joins") or [], replace(context, around=None))


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
    for item, others in groups:
        try:
            result = _beside(result, item, others, context)
        except NOT_ALONE:
            if not _may_read_left(result, item, others):
                raise
            result = _over_left(result, item, others, context)
    return result


def _beside(
    left: ScopedPlan, item: exp.Expr, others: Sequence[exp.Join], context: Context
) -> ScopedPlan:
    """``left``, and the rows of ``item`` and its joins, which cannot read those of ``left``."""
    if not others and (joined := _reading_left(left, item, exp.Join(), context)) is not None:
        return joined
    right = _relation(item, context)
    for node in others:
        joined = _reading_left(right, node.this, node, context)
        right = (
            joined
            if joined is not None
            else join_relations(right, _relation(node.this, context), node, context)
        )
    if left.plan == ONE_ROW:
        return right
    check_names(left, right)
    return ScopedPlan(
        join(left.plan, right.plan, JoinKind.INNER, ()), left.scope.beside(right.scope)
    )


def _reading_left(
    left: ScopedPlan, item: exp.Expr, node: exp.Join, context: Context
) -> ScopedPlan | None:
    """``left`` joined with ``item``, if that is something that reads rows to its left."""
    if isinstance(item, exp.Lateral):
        return _lateral(left, item, node, context)
    if _is_function(item) and not any(node.args.get(name) for name in ("side", "method", "using")):
        joined = _with_function(left, item, context)
        if node.args.get("on") is None:
            return joined
        return filtered(joined, join_conditions(node.args["on"], joined.scope, context))
    if (
        isinstance(item, exp.Table)
        and is_comma(node)
        and (outer_width := _outer_width(item, context))
    ):
        return _of_rows_around(left, item, outer_width, context)
    return None


def _may_read_left(left: ScopedPlan, item: exp.Expr, others: Sequence[exp.Join]) -> bool:
    """Whether the rows of ``left`` can be carried through all joins, and something in them may read
    these rows."""
    if any((node.args.get("side") or "").upper() not in ("", "LEFT") for node in others):
        return False
    if any(node.args.get("using") or node.args.get("method") for node in others):
        return False
    is_around = any(column.is_around for column in left.scope.columns)
    return is_around or any(
        isinstance(part, exp.Lateral) or _is_function(part)
        for part in (item, *(node.this for node in others))
    )


def _over_left(
    left: ScopedPlan, item: exp.Expr, others: Sequence[exp.Join], context: Context
) -> ScopedPlan:
    """``left``, each row with those of ``item`` and its joins, in which everything may name the
    row."""
    for part, node in ((item, exp.Join(kind="CROSS")), *((node.this, node) for node in others)):
        joined = _reading_left(left, part, node, context)
        if joined is None:
            joined = _derived_around(left, part, node, context)
        left = (
            joined
            if joined is not None
            else join_relations(left, _relation(part, context), node, context)
        )
    return left


def _derived_around(
    left: ScopedPlan, node: exp.Expr, joining: exp.Join, context: Context
) -> ScopedPlan | None:
    """``left`` joined with a query in FROM that names the row around it; None if it names none, or
    is none."""
    match node:
        case exp.Subquery() if not _is_parenthesised_relation(node):
            query = node.this
        case exp.Table(this=exp.Values() as query):
            pass
        case exp.Values():
            query = node
        case _:
            return None
    is_around = [i for i in named_around(query, left.scope) if left.scope.columns[i].is_around]
    return _for_each(left, query, node, is_around, joining, context) if is_around else None


def is_comma(node: exp.Join) -> bool:
    """Whether the relation is joined to the previous one by a comma."""
    return not any(node.args.get(name) for name in ("kind", "side", "method", "on", "using"))


def _is_function(node: exp.Expr) -> bool:
    is_call = isinstance(node, exp.Unnest) or (
        isinstance(node, exp.Table)
        and bool(isinstance(node.this, exp.Anonymous) or node.args.get("rows_from"))
    )
    return is_call and not node.args.get("joins")


def _with_function(left: ScopedPlan, node: exp.Expr, context: Context) -> ScopedPlan:
    right = _function(node, left, context)
    check_names(left, right)
    return ScopedPlan(right.plan, left.scope.beside(right.scope))


def _function(node: exp.Expr, left: ScopedPlan, context: Context) -> ScopedPlan:
    """The rows of ``left``, each with those that the functions answer for it. The scope is of their
    columns alone."""
    reject_unsupported(
        node, "this", "db", "alias", "expressions", "ordinality", "offset", "rows_from"
    )
    expr_context = ExprContext(left.scope, SubqueryPlanner(context), "a function in FROM")
    number = node.args.get("offset") or node.args.get("ordinality")
    functions = [_called(part) for part in node.args.get("rows_from") or [node]]
    first = functions[0].name.lower()
    if len(functions) == 1 and first not in ROW_FUNCTIONS and not number:
        return _one_value(functions[0], node, left, expr_context)
    alias = node.args.get("alias")
    called = fold(alias.this) if alias is not None and alias.this else first
    named_arrays = [
        array
        for function in functions
        for array in _arrays(function, called, len(functions), expr_context)
    ]
    names, arrays = [name for name, _ in named_arrays], [array for _, array in named_arrays]
    is_value = len(arrays) == 1
    plan, arrays = attach(left.plan, arrays)
    if any(has(array, OuterRef) for array in arrays):
        raise correlated_error()
    if number:
        names = [*names, fold(number) if isinstance(number, exp.Identifier) else "ordinality"]
        arrays = [*arrays, _numbers(arrays)]
    columns = tuple(
        Column(name, Elements(value).type) for name, value in zip(names, arrays, strict=True)
    )
    spread = FlatMap(plan, tuple(scalars_of(arrays)), RelationDesc(plan.desc.columns + columns))
    width = len(plan.desc)
    shown = project(spread, [*range(len(left.plan.desc)), *range(width, width + len(columns))])
    scope_of_columns = Scope(
        tuple(
            ScopeColumn(called, column.name, column.type, is_value=is_value and i == 0)
            for i, column in enumerate(columns)
        )
    )
    return ScopedPlan(shown, _aliased(ScopedPlan(shown, scope_of_columns), node).scope)


def _called(node: exp.Expr) -> exp.Anonymous:
    """The call that ``node`` of FROM is. Raises ``UnsupportedSql`` for one of another schema."""
    reject_unsupported(
        node, "this", "db", "alias", "expressions", "ordinality", "offset", "rows_from"
    )
    if isinstance(node, exp.Unnest):
        return exp.Anonymous(this="unnest", expressions=node.expressions)
    if fold(node.args.get("db")) not in ("", "pg_catalog") or not isinstance(
        node.this, exp.Anonymous
    ):
        raise UnsupportedSql(f"table function {to_sql(node)[:80]} is not supported")
    return node.this


def _arrays(
    function: exp.Anonymous, called: str, functions: int, expr_context: ExprContext
) -> list[tuple[str, TypedExpr]]:
    """The columns of a function in FROM as arrays, and their names. A function that answers no rows
    has one row."""
    name = function.name.lower()
    if name not in ROW_FUNCTIONS:
        return [
            (name if functions > 1 else called, call("array", [scalar(function, expr_context)]))
        ]
    arrays = ROW_FUNCTIONS[name](
        call, [scalar(argument, expr_context) for argument in function.expressions]
    )
    alone = called if functions == 1 else name
    unnamed = [alone] if len(arrays) == 1 else [name] * len(arrays)
    return list(zip(COLUMNS.get(name, unnamed), arrays, strict=True))


def _numbers(arrays: Sequence[TypedExpr]) -> TypedExpr:
    """The numbers of the elements, from 1: the column of WITH ORDINALITY."""
    lengths = [call("array_length", [rows, Literal(1, INTEGER)]) for rows in arrays]
    longest = lengths[0] if len(lengths) == 1 else call("greatest", lengths)
    return call("series", [Literal(1, BIGINT), coerce(longest, BIGINT)])


def _one_value(
    call_node: exp.Expr, node: exp.Expr, left: ScopedPlan, expr_context: ExprContext
) -> ScopedPlan:
    """A scalar function in FROM: its value is one row for each row of ``left``."""
    plan, (value,) = attach(left.plan, [default_to_text(scalar(call_node, expr_context))])
    if has(value, OuterRef):
        raise correlated_error()
    alias = node.args.get("alias")
    called = fold(alias.this) if alias is not None and alias.this else call_node.name.lower()
    computed = map_columns(plan, [scalar_of(value)])
    computed = project(computed, [*range(len(left.plan.desc)), len(plan.desc)])
    return ScopedPlan(
        computed,
        _aliased(
            ScopedPlan(computed, Scope((ScopeColumn(called, called, value.type),))), node
        ).scope,
    )


def _lateral(
    left: ScopedPlan, node: exp.Lateral, joining: exp.Join, context: Context
) -> ScopedPlan:
    """The rows of ``left``, each with those that the query, or function, answers for it."""
    reject_unsupported(node, "this", "alias")
    reject_unsupported(joining, "this", "kind", "side", "on")
    side = (joining.args.get("side") or "").upper()
    if side not in ("", "LEFT"):
        raise SqlSyntaxError(
            f"{side} JOIN of what is LATERAL", hint="a row of the right side is of one of the left"
        )
    if not isinstance(node.this, exp.Subquery):
        return _lateral_function(left, node, joining, context)
    return _for_each(left, node.this, node, named_around(node.this, left.scope), joining, context)


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
    side, on = (joining.args.get("side") or "").upper(), joining.args.get("on")
    around = distinct(project(left.plan, names))
    rows = ScopedPlan(around, scope_around(left.scope, names))
    with without_aggregates(left.scope, "FROM"):
        planned = context.queries.plan(unwrapped(query), replace(context, around=rows))
    right, width = planned.embedded, len(left.plan.desc) + planned.visible
    shown = Scope.of(RelationDesc(right.desc.columns[: planned.visible]), None)
    scope_of_query = _aliased(ScopedPlan(right, shown), node).scope
    check_names(left, ScopedPlan(right, scope_of_query))
    scope = left.scope.beside(scope_of_query)
    same = [
        Call("is_not_distinct", (ColumnRef(i, type), ColumnRef(width + k, type)), BOOLEAN)
        for k, (i, type) in enumerate(zip(names, around.desc.types, strict=True))
    ]
    conditions = join_conditions(None if on == exp.true() else on, scope, context)
    joined = joined_on(left.plan, right, JOIN_KINDS[side], [*same, *conditions])
    return ScopedPlan(project(joined, range(width)), scope)


def _lateral_function(
    left: ScopedPlan, node: exp.Lateral, joining: exp.Join, context: Context
) -> ScopedPlan:
    copied = tracked_copy(node.this)
    function = copied if isinstance(copied, exp.Unnest) else exp.Table(this=copied)
    function.set("alias", node.args.get("alias"))
    on = joining.args.get("on")
    if (joining.args.get("side") or "").upper() == "LEFT":
        return _with_function_or_nulls(left, function, on, context)
    joined = _with_function(left, function, context)
    return joined if on is None else filtered(joined, join_conditions(on, joined.scope, context))


def _with_function_or_nulls(
    left: ScopedPlan, function: exp.Expr, on: exp.Expr | None, context: Context
) -> ScopedPlan:
    """The rows of ``left``, each with the rows of ``function`` that meet ``on``, or with NULLs."""
    width = len(left.plan.desc)
    rows = distinct(left.plan)
    function_rows = _with_function(ScopedPlan(rows, left.scope), function, context)
    same = [
        Call("is_not_distinct", (ColumnRef(i, type), ColumnRef(width + i, type)), BOOLEAN)
        for i, type in enumerate(left.plan.desc.types)
    ]
    matching_rows = filtered(
        function_rows,
        join_conditions(None if on == exp.true() else on, function_rows.scope, context),
    )
    joined = join(left.plan, matching_rows.plan, JoinKind.LEFT, same)
    return ScopedPlan(
        project(joined, [*range(width), *range(2 * width, len(joined.desc))]), function_rows.scope
    )


def _relation(node: exp.Expr, context: Context) -> ScopedPlan:
    """``node`` with the joins nested in it."""
    relation = _one_relation(node, context)
    for join_node in node.args.get("joins") or []:
        relation = join_relations(relation, _relation(join_node.this, context), join_node, context)
    return relation


def _one_relation(node: exp.Expr, context: Context) -> ScopedPlan:
    if _is_function(node):
        return _function(node, ScopedPlan(ONE_ROW, Scope()), context)
    match node:
        case exp.Table(this=exp.Values() as inner):
            reject_unsupported(node, "this", "alias", "joins")
            relation = _relation(inner, context)
        case exp.Table():
            reject_unsupported(node, "this", "db", "catalog", "alias", "joins")
            relation = _table(node, context)
        case exp.Subquery() if _is_parenthesised_relation(node):
            reject_unsupported(node, "this", "alias", "joins")
            relation = _relation(node.this, context)
        case exp.Subquery() | exp.Values():
            plan = context.queries.plan(node, context).embedded
            relation = ScopedPlan(plan, Scope.of(plan.desc, None))
        case _:
            raise UnsupportedSql(f"{to_sql(node)[:80]} is not supported in FROM")
    return _aliased(relation, node)


def _outer_width(node: exp.Table, context: Context) -> int:
    """How many columns of the WITH query that ``node`` names say which row around each row is
    for."""
    name = parts(node) if isinstance(node.this, exp.Identifier) else ()
    return context.outer_widths.get(name[0], 0) if len(name) == 1 else 0


def _of_rows_around(
    left: ScopedPlan, node: exp.Table, outer_width: int, context: Context
) -> ScopedPlan:
    """``left``, whose first columns are the rows around, joined with the rows that a WITH query has
    for each of these."""
    reject_unsupported(node, "this", "alias")
    (name,) = parts(node)
    plan = context.ctes[name]
    width, start = len(left.plan.desc), len(plan.desc) - outer_width
    if width < outer_width or not all(
        column.is_around for column in left.scope.columns[:outer_width]
    ):
        raise correlated_error()
    same = [
        Call("is_not_distinct", (ColumnRef(i, type), ColumnRef(width + start + i, type)), BOOLEAN)
        for i, type in enumerate(left.plan.desc.types[:outer_width])
    ]
    right = _aliased(
        ScopedPlan(plan, Scope.of(RelationDesc(plan.desc.columns[:start]), name)), node
    )
    check_names(left, right)
    joined = join(left.plan, plan, JoinKind.INNER, same)
    return ScopedPlan(project(joined, range(width + start)), left.scope.beside(right.scope))


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
    entry = context.catalog.resolve(name, context.session)
    context.named.append((node, entry.name))
    context.depends_on.add(entry.id)
    if entry.builtin_view is not None:
        view = context.queries.builtin_plan(entry, context.catalog)
        if not follows_catalog(view, context.catalog):
            plan = in_session(view, lambda call: scalar_of(context.about_session(call)))
            return ScopedPlan(plan, Scope.of(entry.desc, entry.name.item, entry.name))
    collection = StorageCollectionId(entry.id) if entry.query is not None else entry.collection
    return ScopedPlan(
        Get(collection, entry.name.item, entry.desc),
        Scope.of(entry.desc, entry.name.item, entry.name, entry.key),
    )


def _aliased(relation: ScopedPlan, node: exp.Expr) -> ScopedPlan:
    alias = node.args.get("alias")
    if alias is None:
        return relation
    name = fold(alias.this) if alias.this else None
    renamed = [
        fold(column) if isinstance(column, exp.Identifier) else _no_column_definition(column)
        for column in alias.columns
    ]
    if any(column.is_merged_away for column in relation.scope.columns):
        relation = _without_merged_away(relation)
    columns = relation.scope.columns
    if len(renamed) > len(columns):
        raise SqlSyntaxError(
            f'table "{name}" has {len(columns)} columns available but {len(renamed)} '
            "columns specified"
        )
    names = [*renamed, *(column.name for column in columns[len(renamed) :])]
    is_one = len({column.relation for column in columns}) == 1  # or else it has several keys
    scope = Scope(
        tuple(
            ScopeColumn(
                name,
                renamed_to,
                column.type,
                origin=column.origin,
                position=i,
                is_key=column.is_key and is_one,
                is_value=column.is_value,
            )
            for i, (renamed_to, column) in enumerate(zip(names, columns, strict=True))
        )
    )
    return ScopedPlan(relation.plan, scope)


def _without_merged_away(relation: ScopedPlan) -> ScopedPlan:
    """A parenthesized join with an alias: no name reaches the columns that USING merged."""
    columns = relation.scope.columns
    visible = [i for i, column in enumerate(columns) if not column.is_merged_away]
    return ScopedPlan(project(relation.plan, visible), Scope(tuple(columns[i] for i in visible)))


def _no_column_definition(node: exp.Expr) -> str:
    raise UnsupportedSql(f"column definition {to_sql(node)[:80]} is not supported in an alias")
