"""FROM: relations by name, subqueries, VALUES, and the joins between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sqlglot import exp

from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.relations import BIGINT, BOOLEAN, INTEGER, Column, RelationDesc
from reclock.errors import DuplicateAlias, DuplicateColumn, SqlSyntaxError, UnknownColumn, UnsupportedSql
from reclock.plan.build import ONE_ROW, distinct, filter_rows, join, map_columns, project
from reclock.plan.relational import FlatMap, Get, JoinKind
from reclock.plan.scalar_trees import has
from reclock.plan.scalars import Call, ColumnRef, Literal
from reclock.sql.names import fold, nearest, parts
from reclock.sql.queries.attach import attach
from reclock.sql.queries.builtin_views import in_session
from reclock.sql.queries.coercion import coerce, default_to_text, equal
from reclock.sql.queries.context import Context
from reclock.sql.queries.expressions import ExprContext, condition, reject_unsupported, scalar, split
from reclock.sql.queries.overloads import call
from reclock.sql.queries.rewrite import OuterRef, SubqueryValue
from reclock.sql.queries.row_functions import COLUMNS, ROW_FUNCTIONS
from reclock.sql.queries.scope import Scope, ScopeColumn, ScopedPlan
from reclock.sql.queries.subqueries import SubqueryPlanner, correlated_error, named_around, unwrapped
from reclock.sql.syntax.consumption import tracked_copy
from reclock.sql.syntax.dialect import to_sql

_KINDS = {"": JoinKind.INNER, "LEFT": JoinKind.LEFT, "RIGHT": JoinKind.RIGHT, "FULL": JoinKind.FULL}


def plan_from(node: exp.Select, context: Context) -> ScopedPlan:
    """The rows of FROM; one row without columns, if there is none."""
    clause = node.args.get("from_")
    start = context.around or ScopedPlan(ONE_ROW, Scope())
    if clause is None:
        return start
    return _joined(start, clause.this, node.args.get("joins") or [], replace(context, around=None))


def _joined(start: ScopedPlan, first: exp.Expr, joins: Iterable[exp.Join], context: Context) -> ScopedPlan:
    """The comma binds less than JOIN: what stands between commas is joined first. A function may read what is left of its comma."""
    groups: list[tuple[exp.Expr, list[exp.Join]]] = [(first, [])]
    for node in joins:
        if is_comma(node):
            reject_unsupported(node, "this")
            groups.append((node.this, []))
        else:
            groups[-1][1].append(node)
    result = start
    for item, others in groups:
        if isinstance(item, exp.Lateral) and not others:
            result = _lateral(result, item, exp.Join(), context)
            continue
        if _is_function(item) and not others:
            result = _with_function(result, item, context)
            continue
        if isinstance(item, exp.Table) and not others and (kept := _kept(item, context)):
            result = _of_rows_around(result, item, kept, context)
            continue
        right = _relation(item, context)
        for node in others:
            if isinstance(node.this, exp.Lateral):
                right = _lateral(right, node.this, node, context)
            elif _is_function(node.this) and not any(node.args.get(name) for name in ("side", "method", "using")):
                right = _with_function(right, node.this, context)
                right = replace(right, plan=filter_rows(right.plan, _conditions(node.args.get("on"), right.scope, context)))
            else:
                right = _join(right, _relation(node.this, context), node, context)
        if result.plan == ONE_ROW:
            result = right
            continue
        _check_names(result, right)
        result = ScopedPlan(join(result.plan, right.plan, JoinKind.INNER, ()), result.scope.beside(right.scope))
    return result


def is_comma(node: exp.Join) -> bool:
    """Whether a comma joins the relation to what stands before it."""
    return not any(node.args.get(name) for name in ("kind", "side", "method", "on", "using"))


def _is_function(node: exp.Expr) -> bool:
    is_call = isinstance(node, exp.Unnest) or (isinstance(node, exp.Table) and isinstance(node.this, exp.Anonymous))
    return is_call and not node.args.get("joins")


def _with_function(left: ScopedPlan, node: exp.Expr, context: Context) -> ScopedPlan:
    right = _function(node, left, context)
    _check_names(left, right)
    return ScopedPlan(right.plan, left.scope.beside(right.scope))


def _function(node: exp.Expr, left: ScopedPlan, context: Context) -> ScopedPlan:
    """The rows of ``left``, each with those that the function answers for it. The scope is of the function's columns alone."""
    reject_unsupported(node, "this", "db", "alias", "expressions", "ordinality", "offset")
    call_node = exp.Anonymous(this="unnest", expressions=node.expressions) if isinstance(node, exp.Unnest) else node.this
    name = call_node.name.lower()
    if fold(node.args.get("db")) not in ("", "pg_catalog"):
        raise UnsupportedSql(f"table function {to_sql(call_node)[:80]} is not supported")
    expr_context = ExprContext(left.scope, SubqueryPlanner(context), "a function in FROM")
    number = node.args.get("offset") or node.args.get("ordinality")
    if name not in ROW_FUNCTIONS:
        if number:
            raise UnsupportedSql(f"WITH ORDINALITY is not supported of {name}")
        return _one_value(call_node, node, left, expr_context)
    arrays = ROW_FUNCTIONS[name](call, [scalar(argument, expr_context) for argument in call_node.expressions])
    plan, arrays = attach(left.plan, arrays)
    if len(plan.desc) > len(left.plan.desc) or any(has(array, OuterRef) for array in arrays):
        raise UnsupportedSql("a subquery in the arguments of a function in FROM is not supported")
    alias = node.args.get("alias")
    called = fold(alias.this) if alias is not None and alias.this else name
    unnamed = [called] if len(arrays) == 1 else [f"column{i + 1}" for i in range(len(arrays))]
    names, is_value = COLUMNS.get(name, unnamed), len(arrays) == 1
    if number:
        arrays = [*arrays, _numbers(arrays[0])]
        names = [*names, fold(number) if isinstance(number, exp.Identifier) else "ordinality"]
    columns = tuple(Column(name, value.type.element) for name, value in zip(names, arrays, strict=True))
    spread = FlatMap(plan, tuple(arrays), RelationDesc(plan.desc.columns + columns))
    scope_of_columns = Scope(
        tuple(ScopeColumn(called, column.name, column.type, is_value=is_value and i == 0) for i, column in enumerate(columns))
    )
    return ScopedPlan(spread, _aliased(ScopedPlan(spread, scope_of_columns), node).scope)


def _numbers(rows: Any) -> Any:
    """As many numbers from 1 as there are elements: the column of WITH ORDINALITY."""
    length = call("array_length", [rows, Literal(1, INTEGER)])
    return call("series", [Literal(1, BIGINT), coerce(length, BIGINT)])


def _one_value(call_node: exp.Expr, node: exp.Expr, left: ScopedPlan, expr_context: ExprContext) -> ScopedPlan:
    """A function that answers no rows, in FROM: its value is the one row that it has for each of ``left``."""
    plan, (value,) = attach(left.plan, [default_to_text(scalar(call_node, expr_context))])
    if len(plan.desc) > len(left.plan.desc) or has(value, OuterRef):
        raise UnsupportedSql("a subquery in the arguments of a function in FROM is not supported")
    alias = node.args.get("alias")
    called = fold(alias.this) if alias is not None and alias.this else call_node.name.lower()
    computed = map_columns(plan, [value])
    return ScopedPlan(computed, _aliased(ScopedPlan(computed, Scope((ScopeColumn(called, called, value.type),))), node).scope)


def _lateral(left: ScopedPlan, node: exp.Lateral, joining: exp.Join, context: Context) -> ScopedPlan:
    """The rows of ``left``, each with those that the query, or function, answers for it."""
    reject_unsupported(node, "this", "alias")
    reject_unsupported(joining, "this", "kind", "side", "on")
    side = (joining.args.get("side") or "").upper()
    if side not in ("", "LEFT"):
        raise SqlSyntaxError(f"{side} JOIN of what is LATERAL", hint="a row of the right side is of one of the left")
    on = joining.args.get("on")
    on = None if on == exp.true() else on
    if not isinstance(node.this, exp.Subquery):
        return _lateral_function(left, node, is_plain=not side and on is None, context=context)
    query = unwrapped(node.this)
    if not isinstance(query, exp.Select):
        raise UnsupportedSql(f"LATERAL {to_sql(query)[:80]} is not supported", hint="a SELECT is")
    names = named_around(query, left.scope)
    around = distinct(project(left.plan, names))
    rows = ScopedPlan(around, Scope(tuple(replace(left.scope.columns[i], is_around=True) for i in names)))
    block = context.queries.block(query, replace(context, around=rows), None)
    planned = context.queries.finish(block.node, block.relation, context, around)
    right, kept = planned.embedded, len(left.plan.desc) + planned.visible
    scope_of_function = _aliased(ScopedPlan(right, Scope.of(RelationDesc(right.desc.columns[: planned.visible]), None)), node).scope
    _check_names(left, ScopedPlan(right, scope_of_function))
    scope = left.scope.beside(scope_of_function)
    types = around.desc.types
    same = [
        Call("is_not_distinct", (ColumnRef(i, type), ColumnRef(kept + k, type)), BOOLEAN)
        for k, (i, type) in enumerate(zip(names, types, strict=True))
    ]
    joined = join(left.plan, right, _KINDS[side], [*same, *_conditions(on, scope, context)])
    return ScopedPlan(project(joined, range(kept)), scope)


def _lateral_function(left: ScopedPlan, node: exp.Lateral, *, is_plain: bool, context: Context) -> ScopedPlan:
    if not is_plain:
        raise UnsupportedSql("a join of a LATERAL function by LEFT or ON is not supported", hint="write CROSS JOIN, and WHERE")
    copied = tracked_copy(node.this)
    function = copied if isinstance(copied, exp.Unnest) else exp.Table(this=copied)
    function.set("alias", node.args.get("alias"))
    return _with_function(left, function, context)


def _relation(node: exp.Expr, context: Context) -> ScopedPlan:
    """``node`` with the joins nested in it."""
    relation = _one_relation(node, context)
    for join_node in node.args.get("joins") or []:
        relation = _join(relation, _relation(join_node.this, context), join_node, context)
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


def _kept(node: exp.Table, context: Context) -> int:
    """How many columns of the WITH query that ``node`` names say which row around each row is for."""
    name = parts(node) if isinstance(node.this, exp.Identifier) else ()
    return context.kept.get(name[0], 0) if len(name) == 1 else 0


def _of_rows_around(left: ScopedPlan, node: exp.Table, kept: int, context: Context) -> ScopedPlan:
    """``left``, whose first columns are the rows around, joined with the rows that a WITH query has for each of these."""
    reject_unsupported(node, "this", "alias")
    (name,) = parts(node)
    plan = context.ctes[name]
    width, start = len(left.plan.desc), len(plan.desc) - kept
    if width < kept or not all(column.is_around for column in left.scope.columns[:kept]):
        raise correlated_error()
    same = [
        Call("is_not_distinct", (ColumnRef(i, type), ColumnRef(width + start + i, type)), BOOLEAN)
        for i, type in enumerate(left.plan.desc.types[:kept])
    ]
    right = _aliased(ScopedPlan(plan, Scope.of(RelationDesc(plan.desc.columns[:start]), name)), node)
    _check_names(left, right)
    joined = join(left.plan, plan, JoinKind.INNER, same)
    return ScopedPlan(project(joined, range(width + start)), left.scope.beside(right.scope))


def _is_parenthesised_relation(node: exp.Subquery) -> bool:
    """Whether the parentheses are those of a relation or join of FROM: ``((SELECT …) a JOIN b ON …)``; not those of a query."""
    inner = node.this
    if isinstance(inner, exp.Subquery):
        return bool(inner.args.get("alias") or inner.args.get("joins")) or _is_parenthesised_relation(inner)
    return isinstance(inner, exp.Table)


def _table(node: exp.Table, context: Context) -> ScopedPlan:
    if isinstance(node.this, exp.Dot):
        raise SqlSyntaxError(f"{to_sql(node)[:80]} has too many parts", hint="a name is database.schema.item")
    name = parts(node)
    if len(name) == 1 and name[0] in context.ctes:
        if context.kept.get(name[0], 0):
            raise correlated_error()
        plan = context.ctes[name[0]]
        return ScopedPlan(plan, Scope.of(plan.desc, name[0]))
    entry = context.catalog.resolve(name, context.session)
    context.named.append((node, entry.name))
    context.depends_on.add(entry.id)
    if entry.builtin_view is not None:
        plan = in_session(context.queries.builtin_plan(entry, context.catalog), context.about_session)
        return ScopedPlan(plan, Scope.of(entry.desc, entry.name.item, entry.name))
    collection = StorageCollectionId(entry.id) if entry.query is not None else entry.collection
    return ScopedPlan(Get(collection, entry.name.item, entry.desc), Scope.of(entry.desc, entry.name.item, entry.name))


def _aliased(relation: ScopedPlan, node: exp.Expr) -> ScopedPlan:
    alias = node.args.get("alias")
    if alias is None:
        return relation
    name = fold(alias.this) if alias.this else None
    renamed = [fold(column) if isinstance(column, exp.Identifier) else _no_column_definition(column) for column in alias.columns]
    if any(column.is_merged_away for column in relation.scope.columns):
        relation = _without_merged_away(relation)
    columns = relation.scope.columns
    if len(renamed) > len(columns):
        raise SqlSyntaxError(f'table "{name}" has {len(columns)} columns available but {len(renamed)} columns specified')
    names = [*renamed, *(column.name for column in columns[len(renamed) :])]
    named = enumerate(zip(names, columns, strict=True))
    scope = Scope(tuple(ScopeColumn(name, n, c.type, origin=c.origin, position=i, is_value=c.is_value) for i, (n, c) in named))
    return ScopedPlan(relation.plan, scope)


def _without_merged_away(relation: ScopedPlan) -> ScopedPlan:
    """A join in parentheses with a name of its own: no name reaches the columns that USING merged away."""
    columns = relation.scope.columns
    visible = [i for i, column in enumerate(columns) if not column.is_merged_away]
    return ScopedPlan(project(relation.plan, visible), Scope(tuple(columns[i] for i in visible)))


def _no_column_definition(node: exp.Expr) -> str:
    raise UnsupportedSql(f"column definition {to_sql(node)[:80]} is not supported in an alias")


# --- joins ---


def _join(left: ScopedPlan, right: ScopedPlan, node: exp.Join, context: Context) -> ScopedPlan:
    reject_unsupported(node, "this", "kind", "side", "method", "on", "using")
    side, kind, method = ((node.args.get(name) or "").upper() for name in ("side", "kind", "method"))
    if side not in _KINDS or kind not in ("", "INNER", "OUTER", "CROSS") or method not in ("", "NATURAL"):
        raise UnsupportedSql(f"{' '.join(word for word in (method, side, kind, 'JOIN') if word)} is not supported")
    _check_names(left, right)
    using = [fold(column) for column in node.args.get("using") or []]
    for i, name in enumerate(using):
        if name in using[:i]:
            raise DuplicateColumn(name)
    if method == "NATURAL":
        theirs = {column.name for column in right.scope.columns if not column.is_merged_away}
        using = [column.name for column in left.scope.columns if column.name in theirs and not column.is_merged_away]
    if using:
        return _using(left, right, _KINDS[side], using)
    on = node.args.get("on")
    if on is None and kind != "CROSS" and method != "NATURAL":
        raise SqlSyntaxError("a join needs ON or USING", hint="write CROSS JOIN for all pairs")
    scope = left.scope.beside(right.scope)
    return ScopedPlan(join(left.plan, right.plan, _KINDS[side], _conditions(on, scope, context)), scope)


def _conditions(on: exp.Expr | None, scope: Scope, context: Context) -> list[Any]:
    expr_context = ExprContext(scope, SubqueryPlanner(context), "JOIN/ON")
    conditions = [condition(term, expr_context) for term in split(on)] if on is not None else []
    if any(has(condition, SubqueryValue) for condition in conditions):
        raise UnsupportedSql("a subquery in ON is not supported", hint="put the condition in WHERE, or the subquery in FROM")
    return conditions


def _using(left: ScopedPlan, right: ScopedPlan, kind: JoinKind, names: list[str]) -> ScopedPlan:
    """The columns of USING once, first; then the others of both sides; last those that a qualified name alone reaches."""
    width = len(left.plan.desc)
    pairs = [(_merged(left.scope, name, "left"), width + _merged(right.scope, name, "right")) for name in names]
    scope = left.scope.beside(right.scope)
    columns = scope.columns
    conditions = [equal(ColumnRef(a, columns[a].type), ColumnRef(b, columns[b].type)) for a, b in pairs]
    plan = join(left.plan, right.plan, kind, conditions)
    if kind is JoinKind.FULL:
        merged = [call("coalesce", [ColumnRef(i, columns[i].type) for i in pair]) for pair in pairs]
        plan = map_columns(plan, merged, names)
        shared = [len(columns) + i for i in range(len(pairs))]
        columns += tuple(ScopeColumn(None, name, value.type) for name, value in zip(names, merged, strict=True))
        away = [i for pair in pairs for i in pair]
    else:
        shared = [b if kind is JoinKind.RIGHT else a for a, b in pairs]
        away = [a if kind is JoinKind.RIGHT else b for a, b in pairs]
    others = [i for i, column in enumerate(columns) if i not in shared and i not in away and not column.is_merged_away]
    hidden = [*away, *(i for i, column in enumerate(columns) if column.is_merged_away)]
    order = [*shared, *others, *hidden]
    moved = tuple(replace(columns[i], is_merged_away=i in hidden) for i in order)
    return ScopedPlan(project(plan, order), Scope(moved))


def _merged(scope: Scope, name: str, side: str) -> int:
    index = scope.find(name)
    if index is None:
        hint = nearest(name, [column.name for column in scope.columns])
        raise UnknownColumn(name, hint=hint or f"USING names a column that the {side} side does not have")
    return index


def _check_names(left: ScopedPlan, right: ScopedPlan) -> None:
    ours, theirs = (
        {
            (column.relation, column.qualified)
            for column in side.scope.columns
            if column.relation is not None and not column.is_around
        }
        for side in (left, right)
    )
    for name, qualified in sorted(theirs, key=str):
        if any(name == other and (qualified is None or of is None or qualified == of) for other, of in ours):
            raise DuplicateAlias(str(name))
