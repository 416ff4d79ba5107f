"""Functions in FROM whose columns the query declares: ``jsonb_to_record(doc) AS name (column type)``."""

from __future__ import annotations

from sqlglot import exp

from reclock.algebra.relations import JSONB, TEXT, Column, RelationDesc, TypeName
from reclock.errors import SqlSyntaxError, UnsupportedSql
from reclock.plan.build import map_columns, project
from reclock.plan.relational import FlatMap
from reclock.plan.scalars import Case, ColumnRef, Literal
from reclock.sql.names import fold
from reclock.sql.queries.assignment import limited
from reclock.sql.queries.attach import attach
from reclock.sql.queries.coercion import cast
from reclock.sql.queries.columns import declared_column
from reclock.sql.queries.expressions import ExprContext, function_name, scalar
from reclock.sql.queries.overloads import call
from reclock.sql.queries.planned import OuterRef, TypedExpr, has, scalar_of, scalars_of
from reclock.sql.queries.row_functions import ROW_FUNCTIONS
from reclock.sql.queries.scope import Scope, ScopeColumn, ScopedPlan
from reclock.sql.queries.subquery_rows import correlated_error
from reclock.sql.queries.type_names import reject_domain

RECORD_FUNCTIONS = frozenset({"jsonb_to_record", "jsonb_to_recordset"})


def rows_of_records(
    function: exp.Anonymous, node: exp.Expr, left: ScopedPlan, context: ExprContext
) -> ScopedPlan:
    """The rows of ``left``, each with the records that the function finds in a document for it. The
    scope is of the declared columns alone."""
    name, alias = function_name(function), node.args.get("alias")
    declared = alias.columns if alias is not None else []
    if (
        alias is None
        or not declared
        or not all(isinstance(column, exp.ColumnDef) for column in declared)
    ):
        raise SqlSyntaxError(
            f"a column definition list is required for functions returning record: {name}"
        )
    arguments = [scalar(argument, context) for argument in function.expressions]
    records = (
        call("array", [cast(argument, JSONB) for argument in arguments])
        if name == "jsonb_to_record"
        else ROW_FUNCTIONS["jsonb_array_elements"](call, arguments)[0]
    )
    plan, (records,) = attach(left.plan, [records])
    if has(records, OuterRef):
        raise correlated_error()
    width, left_width = len(plan.desc), len(left.plan.desc)
    spread = FlatMap(
        plan,
        (scalar_of(records),),
        RelationDesc((*plan.desc.columns, Column("record", JSONB))),
    )
    record = ColumnRef(width, JSONB)
    values = [_field(record, column) for column in declared]
    names = [fold(column.this) for column in declared]
    computed = map_columns(spread, scalars_of(values), names)
    start = width + 1
    projected = project(computed, [*range(left_width), *range(start, start + len(values))])
    called = fold(alias.this) if alias.this else function.name.lower()
    columns = zip(names, values, strict=True)
    return ScopedPlan(
        projected,
        Scope(tuple(ScopeColumn(called, name, value.type) for name, value in columns)),
    )


def _field(record: TypedExpr, column: exp.ColumnDef) -> TypedExpr:
    """The field with the name of the column, as its type reads it; NULL if there is none."""
    name = fold(column.this)
    reject_domain(column.args["kind"], "a list of columns")
    declared, key = declared_column(name, column.args["kind"], True), Literal(name, TEXT)
    if declared.type == JSONB:
        return call("->", [record, key])
    if declared.type.element is not None:
        return _array_field(record, key, declared)
    value = cast(call("->>", [record, key]), declared.type)
    return value if declared.limit is None else limited(value, declared.limit)


def _array_field(record: TypedExpr, key: TypedExpr, column: Column) -> TypedExpr:
    """The elements of an array, or of the array that a string spells; NULL of null. Raises, when it
    is evaluated, for other documents."""
    type = column.type
    has_other_elements = type.base.is_nested or type.base == JSONB
    if type.name is not TypeName.ARRAY or type.dimensions > 1 or has_other_elements:
        raise UnsupportedSql(f'column "{column.name}" of a record cannot have type {type}')
    document = call("->", [record, key])
    elements = cast(ROW_FUNCTIONS["jsonb_array_elements_text"](call, [document])[0], type)
    spelled = cast(call("->>", [record, key]), type)
    kind = call("jsonb_typeof", [document])
    cases = (
        (call("=", [kind, Literal("null", TEXT)]), Literal(None, type)),
        (call("=", [kind, Literal("string", TEXT)]), spelled),
    )
    return Case(cases, elements, type)
