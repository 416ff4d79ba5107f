"""Functions in FROM."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from reclock.algebra.relations import BIGINT, BOOLEAN, INTEGER, Column, RelationDesc
from reclock.algebra.relations import array as array_of
from reclock.errors import UnsupportedSql
from reclock.plan.build import distinct, filter_rows, join, map_columns, project
from reclock.plan.relational import FlatMap, JoinKind, Plan
from reclock.plan.scalars import Call, ColumnRef, Literal
from reclock.sql.names import fold
from reclock.sql.queries.around import named_around
from reclock.sql.queries.attach import attach
from reclock.sql.queries.call_forms import positional
from reclock.sql.queries.coercion import coerce, default_to_text
from reclock.sql.queries.context import Context, DefinedCall
from reclock.sql.queries.defined_functions import (
    body_context,
    called_value,
    defined_call,
    parameter_columns,
    planned_body,
)
from reclock.sql.queries.expressions import (
    ExprContext,
    dotted_parts,
    function_name,
    reject_unsupported,
    scalar,
    written_name,
)
from reclock.sql.queries.joins import check_names, filtered, join_conditions, joined_on
from reclock.sql.queries.list_calls import row_function
from reclock.sql.queries.overloads import call, is_null, negated
from reclock.sql.queries.planned import Elements, OuterRef, TypedExpr, has, scalar_of, scalars_of
from reclock.sql.queries.record_values import fields
from reclock.sql.queries.records import RECORD_FUNCTIONS, rows_of_records
from reclock.sql.queries.row_functions import COLUMNS, PAIRS, ROW_FUNCTIONS
from reclock.sql.queries.scope import Scope, ScopeColumn, ScopedPlan
from reclock.sql.queries.subqueries import SubqueryPlanner
from reclock.sql.queries.subquery_rows import correlated_error
from reclock.sql.queries.table_aliases import aliased
from reclock.sql.syntax.consumption import tracked_copy
from reclock.sql.syntax.dialect import to_sql


def is_function(node: exp.Expr) -> bool:
    is_call = isinstance(node, exp.Unnest) or (
        isinstance(node, exp.Table)
        and bool(isinstance(node.this, exp.Anonymous) or node.args.get("rows_from"))
    )
    return is_call and not node.args.get("joins")


def with_function(left: ScopedPlan, node: exp.Expr, context: Context) -> ScopedPlan:
    right = rows_of_function(node, left, context)
    check_names(left, right)
    return ScopedPlan(right.plan, left.scope.beside(right.scope))


def rows_of_function(
    node: exp.Expr, left: ScopedPlan, context: Context, *, keeps_rows: bool = False
) -> ScopedPlan:
    """The rows of ``left``, each with those that the functions answer for it. The scope is of their
    columns alone. If it ``keeps_rows``, a row without any has one of NULLs; the functions must be
    built-in ones whose rows are elements."""
    reject_unsupported(
        node, "this", "db", "catalog", "alias", "expressions", "ordinality", "offset", "rows_from"
    )
    expr_context = ExprContext(left.scope, SubqueryPlanner(context), "a function in FROM")
    number = node.args.get("offset") or node.args.get("ordinality")
    defined = _defined_call(node, expr_context, context)
    if defined is not None and defined.function.is_set:
        return _rows_of_call(defined, node, left, context)
    if defined is not None:
        value = called_value(defined, SubqueryPlanner(body_context(context)), expr_context.clause)
        return _one_value(value, defined.function.name, node, left)
    functions = [_called(part) for part in node.args.get("rows_from") or [node]]
    first = functions[0].name.lower()
    if len(functions) == 1 and not number and function_name(functions[0]) in RECORD_FUNCTIONS:
        return rows_of_records(functions[0], node, left, expr_context)
    if len(functions) == 1 and function_name(functions[0]) not in ROW_FUNCTIONS and not number:
        value = default_to_text(scalar(functions[0], expr_context))
        return _one_value(value, first, node, left)
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
    width = len(plan.desc)
    spread_columns = columns
    if keeps_rows:  # beside the element of this array, those of an empty one are NULL
        arrays = [*arrays, Literal((None,), array_of(BOOLEAN))]
        spread_columns = (*columns, Column("kept", BOOLEAN))
    desc = RelationDesc(plan.desc.columns + spread_columns)
    spread = FlatMap(plan, tuple(scalars_of(arrays)), desc)
    output = project(spread, [*range(len(left.plan.desc)), *range(width, width + len(columns))])
    scope_of_columns = Scope(
        tuple(
            ScopeColumn(called, column.name, column.type, is_value=is_value and i == 0)
            for i, column in enumerate(columns)
        )
    )
    return _named(output, scope_of_columns, node)


def _named(plan: Plan, scope: Scope, node: exp.Expr) -> ScopedPlan:
    """The rows of functions, whose columns are the last of ``plan``, with the alias of ``node``. The
    fields of composite values are columns of their own."""
    width = len(plan.desc) - len(scope.columns)
    columns: list[tuple[ScopeColumn, TypedExpr]] = []
    for i, column in enumerate(scope.columns, width):
        value = ColumnRef(i, column.type)
        if column.type.composite is None:
            columns.append((column, value))
            continue
        for name, part in fields(value):
            columns.append((ScopeColumn(column.relation, name, part.type), part))
    if any(column.type.composite is not None for column in scope.columns):
        values = scalars_of([value for _, value in columns])
        start = len(plan.desc)
        plan = map_columns(plan, values, [column.name for column, _ in columns])
        plan = project(plan, [*range(width), *range(start, start + len(columns))])
        scope = Scope(tuple(column for column, _ in columns))
    return ScopedPlan(plan, aliased(ScopedPlan(plan, scope), node).scope)


def _called(node: exp.Expr) -> exp.Anonymous:
    """The call that ``node`` of FROM is. Raises ``UnsupportedSql`` for one of another schema."""
    reject_unsupported(
        node, "this", "db", "alias", "expressions", "ordinality", "offset", "rows_from"
    )
    if isinstance(node, exp.Unnest):
        return exp.Anonymous(this="unnest", expressions=node.expressions)
    if not isinstance(node.this, exp.Anonymous):
        raise UnsupportedSql(f"table function {to_sql(node)[:80]} is not supported")
    schema = "information_schema" if function_name(node.this) == PAIRS else "pg_catalog"
    if fold(node.args.get("db")) not in ("", schema):
        raise UnsupportedSql(f"table function {to_sql(node)[:80]} is not supported")
    return node.this


def _arrays(
    function: exp.Anonymous, called: str, functions: int, expr_context: ExprContext
) -> list[tuple[str, TypedExpr]]:
    """The columns of a function in FROM as arrays, and their names. A function that answers no rows
    has one row."""
    written, name = function.name.lower(), function_name(function)
    if name not in ROW_FUNCTIONS:
        return [
            (
                written if functions > 1 else called,
                call("only element", [scalar(function, expr_context)]),
            )
        ]
    written_arguments = positional(name, function.expressions)
    name, arguments = row_function(
        name, [scalar(argument, expr_context) for argument in written_arguments]
    )
    arrays = ROW_FUNCTIONS[name](call, arguments)
    alone = called if functions == 1 else written
    unnamed = [alone] if len(arrays) == 1 else [written] * len(arrays)
    return list(zip(COLUMNS.get(name, unnamed), arrays, strict=True))


def _numbers(arrays: Sequence[TypedExpr]) -> TypedExpr:
    """The numbers of the elements, from 1: the column of WITH ORDINALITY."""
    lengths = [call("array_length", [rows, Literal(1, INTEGER)]) for rows in arrays]
    longest = lengths[0] if len(lengths) == 1 else call("greatest", lengths)
    return call("series", [Literal(1, BIGINT), coerce(longest, BIGINT)])


def _one_value(value: TypedExpr, name: str, node: exp.Expr, left: ScopedPlan) -> ScopedPlan:
    """A scalar function in FROM: its value is one row for each row of ``left``."""
    plan, (value,) = attach(left.plan, [value])
    if has(value, OuterRef):
        raise correlated_error()
    alias = node.args.get("alias")
    called = fold(alias.this) if alias is not None and alias.this else name
    computed = map_columns(plan, [scalar_of(value)])
    computed = project(computed, [*range(len(left.plan.desc)), len(plan.desc)])
    return _named(computed, Scope((ScopeColumn(called, called, value.type),)), node)


def lateral_function(
    left: ScopedPlan, node: exp.Lateral, joining: exp.Join, context: Context
) -> ScopedPlan:
    copied = tracked_copy(node.this)
    function = copied if isinstance(copied, exp.Unnest) else exp.Table(this=copied)
    for part in ("alias", "ordinality"):
        function.set(part, node.args.get(part))
    on = joining.args.get("on")
    if (joining.args.get("side") or "").upper() == "LEFT":
        return with_function_or_nulls(left, function, on, context)
    joined = with_function(left, function, context)
    return joined if on is None else filtered(joined, join_conditions(on, joined.scope, context))


def with_function_or_nulls(
    left: ScopedPlan, function: exp.Expr, on: exp.Expr | None, context: Context
) -> ScopedPlan:
    """The rows of ``left``, each with the rows of ``function`` that meet ``on``, or with NULLs. The
    function is computed once for equal values of the columns that it names."""
    if (on is None or on == exp.true()) and _has_elements(function, context):
        kept = rows_of_function(function, left, context, keeps_rows=True)
        check_names(left, kept)
        return ScopedPlan(kept.plan, left.scope.beside(kept.scope.with_missing_rows()))
    width = len(left.plan.desc)
    names = named_around(function, left.scope, context) or list(range(width))
    around = Scope(tuple(left.scope.columns[i] for i in names))
    rows = ScopedPlan(distinct(project(left.plan, names)), around)
    function_rows = with_function(rows, function, context)
    count, end = len(names), len(function_rows.plan.desc)
    right = project(function_rows.plan, [*range(count, end), *range(count)])
    function_scope = Scope(function_rows.scope.columns[count:]).with_missing_rows()
    scope, start = left.scope.beside(function_scope), width + end - count
    same = [
        Call("is_not_distinct", (ColumnRef(i, type), ColumnRef(start + k, type)), BOOLEAN)
        for k, (i, type) in enumerate((i, left.plan.desc.types[i]) for i in names)
    ]
    conditions = join_conditions(None if on == exp.true() else on, scope, context)
    if any(has(condition, OuterRef) for condition in conditions):
        raise correlated_error()
    joined = joined_on(left.plan, right, JoinKind.LEFT, [*same, *conditions])
    return ScopedPlan(project(joined, range(start)), scope)


def _has_elements(node: exp.Expr, context: Context) -> bool:
    """Whether the rows of the functions are elements of arrays."""
    node = tracked_copy(node)
    if _calls_of_defined(node, context):
        return False
    names = [function_name(_called(part)) for part in node.args.get("rows_from") or [node]]
    return all(name in ROW_FUNCTIONS for name in names)


# --- functions that users defined ---


def _defined_call(
    node: exp.Expr, expr_context: ExprContext, context: Context
) -> DefinedCall | None:
    """The call, if ``node`` of FROM is one of a function of rows that a user defined. Raises
    ``UnsupportedSql`` for one among other functions, or with WITH ORDINALITY."""
    calls, parts = _calls_of_defined(node, context), node.args.get("rows_from") or [node]
    if not calls:
        return None
    names, function = calls[0]
    is_numbered = node.args.get("offset") or node.args.get("ordinality")
    if len(parts) > 1 or is_numbered:
        raise UnsupportedSql(
            f"{'WITH ORDINALITY' if is_numbered else 'ROWS FROM'} of function {names[-1]} is not "
            "supported",
            hint="row_number() numbers the rows of a subquery",
        )
    return defined_call(names, function, expr_context, context)


def _calls_of_defined(node: exp.Expr, context: Context) -> list[tuple[list[str], exp.Anonymous]]:
    """The written names and the calls, among those of ``node``, of functions that users defined."""
    written = map(_written_call, node.args.get("rows_from") or [node])
    return [
        call for call in written if call and context.catalog.functions(call[0], context.session)
    ]


def _written_call(node: exp.Expr) -> tuple[list[str], exp.Anonymous] | None:
    """The written name and the call that ``node`` of FROM is; None if it is something else."""
    function = node.this
    qualifiers = [node.args.get("catalog"), node.args.get("db")]
    if isinstance(function, exp.Dot):
        *dotted, function = dotted_parts(function)
        qualifiers = [*dotted]
    if not isinstance(function, exp.Anonymous):
        return None
    return [*(fold(part) for part in qualifiers if part), written_name(function)], function


def _rows_of_call(
    call: DefinedCall, node: exp.Expr, left: ScopedPlan, context: Context
) -> ScopedPlan:
    """The rows of ``left``, each with those that the function returns for it. ``node`` has the
    alias. The scope is of the function's columns alone."""
    function = call.function
    plan, arguments = attach(left.plan, call.arguments)
    if any(has(argument, OuterRef) for argument in arguments):
        raise correlated_error()
    width, count = len(plan.desc), len(arguments)
    plan = map_columns(plan, scalars_of([*arguments, *arguments]))
    keys = distinct(project(plan, range(width, width + 2 * count)))
    if function.is_strict:
        keys = filter_rows(
            keys, scalars_of(negated(is_null(key)) for key in parameter_columns(function))
        )
    rows = planned_body(function, body_context(context), keys).embedded
    start = len(plan.desc)
    after = start + len(function.columns)
    same = [
        Call("is_not_distinct", (ColumnRef(width + i, type), ColumnRef(after + i, type)), BOOLEAN)
        for i, type in enumerate(function.types)
    ]
    joined = join(plan, rows, JoinKind.INNER, same)
    output = project(joined, [*range(len(left.plan.desc)), *range(start, after)])
    alias = node.args.get("alias")
    called = fold(alias.this) if alias is not None and alias.this else function.name
    columns = tuple(
        ScopeColumn(
            function.name,
            column.name if function.has_records else called,
            column.type,
            is_value=not function.has_records,
            position=i,
        )
        for i, column in enumerate(function.columns)
    )
    scope = aliased(ScopedPlan(rows, Scope(columns)), node).scope
    check_names(left, ScopedPlan(rows, scope))
    return ScopedPlan(output, scope)
