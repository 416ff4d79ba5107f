"""CREATE FUNCTION: its body is planned when it is created, for any arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import Column, ScalarType
from reclock.catalog.objects import Item, ItemType
from reclock.errors import (
    DuplicateObject,
    InvalidFunction,
    UnknownFunction,
    UnsupportedSql,
)
from reclock.plan.properties import most_rows, unique_key
from reclock.sql.catalog.definitions import FunctionDefinition, FunctionParameter
from reclock.sql.catalog.entries import FunctionEntry
from reclock.sql.catalog.lookups import dependents_closure
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName, SessionNames, fold, identifier, parts
from reclock.sql.parameters import NO_PARAMETERS
from reclock.sql.planning.definitions import check_free, definition_text
from reclock.sql.planning.registry import plans, plans_item
from reclock.sql.queries.assignment import is_assignable
from reclock.sql.queries.built_in_names import is_built_in
from reclock.sql.queries.coercion import expect
from reclock.sql.queries.context import Context, PlannedQuery
from reclock.sql.queries.defined_functions import (
    number_names,
    number_parameters,
    only_expression,
    planned_body,
    qualify_names,
)
from reclock.sql.queries.expressions import ExprContext, scalar
from reclock.sql.queries.limits import NoSubqueries, limits
from reclock.sql.queries.query import function_context
from reclock.sql.queries.scope import Scope
from reclock.sql.queries.type_names import type_syntax
from reclock.sql.statements.functions.signatures import parameter_type, signature
from reclock.sql.statements.functions.syntax import CreateFunctionStatement, ParameterDeclaration
from reclock.sql.statements.views.plan import check_recreated
from reclock.sql.statements.views.replacement import (
    NO_REPLACEMENT,
    DefinitionReplacement,
    plan_function_replacement,
)
from reclock.sql.syntax.consumption import consume, tracked_copy
from reclock.sql.syntax.dialect import to_sql


@plans(CreateFunctionStatement)
def create_function(
    node: CreateFunctionStatement, catalog: PlannerCatalog, session: SessionNames
) -> CreateFunction:
    normal = tracked_copy(node)
    context = function_context(catalog, session)
    number_names(normal)
    number_parameters(normal.args["query"], len(normal.args.get("parameters") or ()))
    written = catalog.locate(parts(node.this), session)
    if written.is_temporary:
        raise UnsupportedSql("temporary functions are not supported")
    if is_built_in(written.item):
        raise DuplicateObject("function", f"pg_catalog.{written.item}")
    _expand_columns(normal, context)
    try:
        function = _define(normal, written.item, context)
    except UnknownFunction as error:
        if error.name == written.item:
            raise _recursive(written.item) from error
        raise
    name = written.sibling(signature(function.name, function.types))
    replacement = _replacement(normal, name, function, context)
    normal.set("replace", None)
    normal.set("this", written.to_table())
    qualify_names(normal, context)
    return CreateFunction(name, definition_text(normal), frozenset(context.depends_on), replacement)


@plans_item(CreateFunctionStatement)
def function_entry(
    node: CreateFunctionStatement, item: Item, name: QualifiedName, catalog: PlannerCatalog
) -> FunctionEntry:
    context = function_context(catalog, SessionNames())
    function = _define(node, fold(node.this.this), context)
    return FunctionEntry(
        item.id, name, function, item.create_sql or "", frozenset(context.depends_on)
    )


def _replacement(
    node: CreateFunctionStatement,
    name: QualifiedName,
    function: FunctionDefinition,
    context: Context,
) -> DefinitionReplacement:
    """What OR REPLACE replaces. Raises ``InvalidFunction`` if calls of the old function are none of
    the new one, and others if an object that calls it cannot follow."""
    catalog = context.catalog
    old = catalog.within(name.scope).get(name.item)
    if not isinstance(old, FunctionEntry) or not node.args.get("replace"):
        check_free(name, catalog)
        return NO_REPLACEMENT
    hint = f"use DROP FUNCTION {name.item} first"
    if _result(old.function) != _result(function):
        raise InvalidFunction("cannot change return type of existing function", hint=hint)
    for before, after in zip(old.function.parameters, function.parameters, strict=True):
        if before.name not in ("", after.name):
            raise InvalidFunction(
                f'cannot change name of input parameter "{before.name}"', hint=hint
            )
    if old.function.required < function.required:
        raise InvalidFunction("cannot remove parameter defaults from existing function", hint=hint)
    closure, _ = dependents_closure({old.id}, catalog)
    if set(closure) & context.depends_on:
        raise _recursive(name.item)
    replacement = plan_function_replacement(old, catalog)
    new = FunctionEntry(old.id, name, function, "", frozenset(context.depends_on))
    check_recreated(new, replacement, catalog)
    return replacement


def _recursive(name: str) -> UnsupportedSql:
    return UnsupportedSql(
        f"function {name}, which would call itself, is not supported",
        hint="WITH RECURSIVE repeats a query",
    )


def _result(function: FunctionDefinition) -> tuple[object, ...]:
    return function.is_set, function.columns


# --- the function that a definition describes ---


def _define(node: CreateFunctionStatement, name: str, context: Context) -> FunctionDefinition:
    """The function. Raises ``InvalidFunction`` if its body does not return what it declares, and
    what planning the body raises."""
    parameters = tuple(map(_parameter, node.args.get("parameters") or ()))
    named_columns = node.args.get("columns") or ()
    if named_columns:
        columns = tuple(_column(fold(column.this), column.args["kind"]) for column in named_columns)
    else:
        columns = (_column(name, node.args["returns"]),)
    names = [parameter.name for parameter in parameters if parameter.name]
    names += [column.name for column in columns] if named_columns else []
    _check_names(names, parameters)
    function = FunctionDefinition(
        name,
        parameters,
        columns,
        node.args["query"],
        is_set=bool(node.args.get("is_set")),
        has_records=bool(named_columns),
        is_strict=bool(node.args.get("is_strict")),
        volatility=node.args.get("volatility") or "VOLATILE",
    )
    planned = planned_body(function, context)
    _check_result(function, planned)
    return replace(function, body=_typed_body(function, planned))


def _parameter(node: ParameterDeclaration) -> FunctionParameter:
    type, default = parameter_type(node.args["kind"]), node.args.get("default")
    if default is not None:
        constants = ExprContext(Scope(), NoSubqueries(NO_PARAMETERS), "DEFAULT")
        expect(scalar(default, constants), type, "argument of DEFAULT")
    name = node.args.get("this")
    return FunctionParameter(fold(name) if name is not None else "", type, default)


def _column(name: str, kind: exp.Expr) -> Column:
    return Column(name, parameter_type(kind))


def _check_names(names: Sequence[str], parameters: Sequence[FunctionParameter]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InvalidFunction(f'parameter name "{name}" used more than once')
    optional = [parameter.default is not None for parameter in parameters]
    if optional != sorted(optional):
        raise InvalidFunction(
            "input parameters after one with a default value must also have defaults"
        )


def _expand_columns(node: CreateFunctionStatement, context: Context) -> None:
    """Write the columns of the relation whose rows the function returns into its definition."""
    kind = node.args.get("returns")
    if not isinstance(kind, exp.DataType) or kind.this != exp.DType.USERDEFINED:
        return
    consume(kind)
    written = exp.to_table(to_sql(kind), dialect="postgres")
    entry = context.catalog.find(parts(written), context.session)
    if entry is None or entry.type is ItemType.TYPE:
        return  # a type, or an error of planning
    relation = context.catalog.resolve(parts(written), context.session)
    if not node.args.get("is_set"):
        raise UnsupportedSql(
            "functions that return one record are not supported",
            hint=f"RETURNS SETOF {written.name} returns rows",
        )
    columns = [
        ParameterDeclaration(
            this=identifier(column.name),
            kind=type_syntax(column.type),
        )
        for column in relation.desc.columns
    ]
    node.set("returns", None)
    node.set("columns", columns)


# --- what the body returns ---


def _check_result(function: FunctionDefinition, planned: PlannedQuery) -> None:
    columns, types = function.columns, planned.plan.desc.types[: planned.visible]
    declared = "record" if function.has_records else str(columns[0].type)
    message = f"return type mismatch in function declared to return {declared}"
    if len(types) != len(columns):
        few = "few" if len(types) < len(columns) else "many"
        raise InvalidFunction(
            message,
            detail=(
                f"final statement returns too {few} columns"
                if function.has_records
                else "final statement must return exactly one column"
            ),
        )
    for position, (type, column) in enumerate(zip(types, columns, strict=True)):
        if position not in planned.untyped and not is_assignable(type, column.type):
            raise InvalidFunction(
                message,
                detail=(
                    f"final statement returns {type} instead of {column.type} at column "
                    f"{position + 1}"
                    if function.has_records
                    else f"actual return type is {type}"
                ),
            )


def _typed_body(function: FunctionDefinition, planned: PlannedQuery) -> exp.Expr:
    """The body with values of the declared types, and one row at most if it is no function of
    rows."""
    body: exp.Expr = function.body
    if only_expression(body) is not None and not function.is_set:
        return body
    width, plan = planned.visible, planned.embedded
    key = unique_key(plan)
    of_arguments = range(width, len(plan.desc))
    is_single = most_rows(plan) is not None or (
        key is not None and set(key) <= set(of_arguments) and bool(of_arguments)
    )
    if not function.is_set and not is_single:
        body = _first_row(body)
    if list(plan.desc.types[:width]) != [column.type for column in function.columns]:
        body = _cast_rows(body, [column.type for column in function.columns])
    return body


_ROWS = "rows of the function"


def _first_row(query: exp.Expr) -> exp.Expr:
    """``query`` without its other rows."""
    limit, _ = limits(query, NO_PARAMETERS)
    first = query.copy()
    count = exp.Literal.number(1 if limit is None else min(1, limit))
    first.set("limit", exp.Limit(expression=count))
    return first


def _cast_rows(query: exp.Expr, types: Sequence[ScalarType]) -> exp.Expr:
    """The rows of ``query`` in these types."""
    names = [f"column{i + 1}" for i in range(len(types))]
    columns = [
        exp.Cast(
            this=exp.Column(this=identifier(name), table=exp.Identifier(this=_ROWS, quoted=True)),
            to=type_syntax(type),
        )
        for name, type in zip(names, types, strict=True)
    ]
    cast = exp.Select(expressions=columns)
    cast.set("from_", _from(query, names))
    return cast


def _from(query: exp.Expr, names: Sequence[str]) -> exp.From:
    alias = exp.TableAlias(
        this=exp.Identifier(this=_ROWS, quoted=True), columns=[identifier(name) for name in names]
    )
    return exp.From(this=exp.Subquery(this=query.copy(), alias=alias))


@dataclass(frozen=True, slots=True)
class CreateFunction:
    """``name`` has the signature as its item. ``replacement`` says what goes when it comes."""

    name: QualifiedName
    create_sql: str
    depends_on: frozenset[GlobalId]
    replacement: DefinitionReplacement = NO_REPLACEMENT
    tag: str = "CREATE FUNCTION"
