"""Functions in FROM whose columns the query declares: ``jsonb_to_record(doc) AS name (column type)``,
also by a type of rows: ``jsonb_populate_record(NULL::t, doc)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from reclock.algebra.relations import JSONB, TEXT, Column, RelationDesc, TypeName
from reclock.errors import SqlSyntaxError, TypeMismatch, UnsupportedSql
from reclock.plan.build import map_columns, project
from reclock.plan.functions.domains import IN_DOMAIN
from reclock.plan.relational import FlatMap
from reclock.plan.scalars import Call, Case, ColumnRef, Literal
from reclock.sql.names import fold
from reclock.sql.queries.assignment import assign, limited
from reclock.sql.queries.attach import attach
from reclock.sql.queries.coercion import cast, coerce
from reclock.sql.queries.columns import declared_column
from reclock.sql.queries.expressions import ExprContext, function_name, scalar
from reclock.sql.queries.overloads import balanced, call, is_null, negated, unknown_function
from reclock.sql.queries.planned import OuterRef, Planned, TypedExpr, has, scalar_of, scalars_of
from reclock.sql.queries.record_values import fields, is_record, record_of
from reclock.sql.queries.row_functions import ROW_FUNCTIONS
from reclock.sql.queries.scope import Scope, ScopeColumn, ScopedPlan
from reclock.sql.queries.subquery_rows import correlated_error
from reclock.sql.queries.table_aliases import aliased
from reclock.sql.queries.type_names import reject_domain

POPULATING = frozenset({"jsonb_populate_record", "jsonb_populate_recordset"})
RECORD_FUNCTIONS = POPULATING | {"jsonb_to_record", "jsonb_to_recordset"}


def rows_of_records(
    function: exp.Anonymous, node: exp.Expr, left: ScopedPlan, context: ExprContext
) -> ScopedPlan:
    """The rows of ``left``, each with the records that the function finds in a document for it. The
    scope is of the declared columns alone."""
    name, alias = function_name(function), node.args.get("alias")
    if name in POPULATING:
        return _populated_rows(name, function, node, left, context)
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
    names = [fold(column.this) for column in declared]
    called = fold(alias.this) if alias.this else function.name.lower()
    return _spread(
        _documents(name == "jsonb_to_record", arguments),
        lambda record, _: [_field(record, column) for column in declared],
        names,
        called,
        left,
    )


def _documents(is_one: bool, arguments: Sequence[Planned]) -> TypedExpr:
    """The array of the documents whose fields are wanted."""
    if is_one:
        return call("array", [cast(argument, JSONB) for argument in arguments])
    return ROW_FUNCTIONS["jsonb_array_elements"](call, arguments)[0]


def _spread(
    documents: TypedExpr,
    fields_of: Callable[[TypedExpr, TypedExpr], list[TypedExpr]],
    names: Sequence[str],
    called: str,
    left: ScopedPlan,
    base: TypedExpr | None = None,
) -> ScopedPlan:
    """The rows of ``left``, each with the fields of each of its ``documents``, and of ``base``."""
    plan, (records, around) = attach(left.plan, [documents, base or Literal(None, JSONB)])
    if has(records, OuterRef) or has(around, OuterRef):
        raise correlated_error()
    width, left_width = len(plan.desc), len(left.plan.desc)
    spread = FlatMap(
        plan,
        (scalar_of(records),),
        RelationDesc((*plan.desc.columns, Column("record", JSONB))),
    )
    values = fields_of(ColumnRef(width, JSONB), around)
    computed = map_columns(spread, scalars_of(values), names)
    start = width + 1
    projected = project(computed, [*range(left_width), *range(start, start + len(values))])
    columns = zip(names, values, strict=True)
    return ScopedPlan(
        projected,
        Scope(tuple(ScopeColumn(called, name, value.type) for name, value in columns)),
    )


# --- jsonb_populate_record ---


def _populated_rows(
    name: str, function: exp.Anonymous, node: exp.Expr, left: ScopedPlan, context: ExprContext
) -> ScopedPlan:
    """The rows of ``left``, each with the records of a document whose type is that of the first
    argument."""
    base, *arguments = [scalar(argument, context) for argument in function.expressions]
    base = _record_type(name, base, arguments)
    alias = node.args.get("alias")
    called = fold(alias.this) if alias is not None and alias.this else function.name.lower()
    rows = _spread(
        _documents(name == "jsonb_populate_record", arguments),
        lambda record, base: [value for _, value in _populated(base, record)],
        [field.name for field in base.type.fields],
        called,
        left,
        base,
    )
    return ScopedPlan(rows.plan, aliased(rows, node).scope)


def populated_record(base: Planned, arguments: Sequence[Planned]) -> TypedExpr:
    """``jsonb_populate_record(base, document)`` as a value."""
    base = _record_type("jsonb_populate_record", base, arguments)
    document = cast(arguments[0], JSONB)
    named = _populated(base, document)
    record = coerce(
        record_of([value for _, value in named], [name for name, _ in named]), base.type
    )
    return Case(((is_null(document), base),), record, base.type)


def _record_type(name: str, base: Planned, arguments: Sequence[Planned]) -> TypedExpr:
    if len(arguments) != 1:
        raise unknown_function([name], [base, *arguments])
    if not is_record(base):
        if base.type is None:
            raise TypeMismatch(
                "could not determine polymorphic type because input has type unknown"
            )
        raise TypeMismatch(f"first argument of {name} must be a row type")
    for field in base.type.fields:
        is_record_field = field.type.is_nested and field.type.name is not TypeName.ARRAY
        if field.type.domain is not None or is_record_field:
            raise UnsupportedSql(
                f'{name} of field "{field.name}" of type {field.type} is not supported'
            )
    return base


def _populated(base: TypedExpr, document: TypedExpr) -> list[tuple[str, TypedExpr]]:
    """The fields of ``base``, where the document has none of that name."""
    kind = call("jsonb_typeof", [document])
    place = Case(
        ((call("=", [kind, Literal("array", TEXT)]), Literal("an array", TEXT)),),
        Literal("a scalar", TEXT),
        TEXT,
    )
    message = call("concat", [Literal("cannot call populate_composite on ", TEXT), place])
    kinds = [call("=", [kind, Literal(name, TEXT)]) for name in ("object", "null")]
    is_object = balanced("or", kinds)
    checked = Call(
        IN_DOMAIN,
        (
            document,
            Case(((negated(is_object), message),), Literal(None, TEXT), TEXT),
            Literal("22023", TEXT),
        ),
        JSONB,
    )
    return [
        (
            name,
            Case(
                (
                    (
                        call("jsonb_exists", [checked, Literal(name, TEXT)]),
                        _value(checked, Column(name, value.type, limit=field.limit)),
                    ),
                ),
                value,
                value.type,
            ),
        )
        for (name, value), field in zip(fields(base), base.type.fields, strict=True)
    ]


def _field(record: TypedExpr, column: exp.ColumnDef) -> TypedExpr:
    """The field with the name of the column, as its type reads it; NULL if there is none."""
    name = fold(column.this)
    reject_domain(column.args["kind"], "a list of columns")
    return _value(record, declared_column(name, column.args["kind"], True))


def _value(record: TypedExpr, declared: Column) -> TypedExpr:
    """The field with the name of the column, as its type reads it."""
    key = Literal(declared.name, TEXT)
    if declared.type == JSONB:
        return call("->", [record, key])
    if declared.type.element is not None:
        return _array_field(record, key, declared)
    text = call("->>", [record, key])
    if declared.type.name is TypeName.BPCHAR:
        return assign(text, declared)
    value = cast(text, declared.type)
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
