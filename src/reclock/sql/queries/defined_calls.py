"""Calls of functions that are defined in SQL, over system relations or the session: the definition
stands for the call."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from reclock.algebra.relations import BOOLEAN, OID, REGCLASS, REGROLE, TEXT, ScalarType
from reclock.errors import UnknownFunction, UnsupportedSql
from reclock.plan.functions.domains import IN_DOMAIN
from reclock.plan.scalars import Call, Case, Cast, Literal, Parameter
from reclock.sql.queries.catalog_functions import (
    CATALOG_FUNCTIONS,
    definition,
    expression,
    with_arguments,
)
from reclock.sql.queries.coercion import coerce
from reclock.sql.queries.expressions import ExprContext, typed
from reclock.sql.queries.overloads import balanced, call, is_null, negated
from reclock.sql.queries.planned import OpenParameter, Planned, TypedExpr, Untyped
from reclock.sql.queries.privilege_functions import PRIVILEGE_FUNCTIONS
from reclock.sql.queries.scope import Scope, ScopeColumn
from reclock.sql.queries.session_functions import signature


def about_session(name: str, values: Sequence[Planned], context: ExprContext) -> TypedExpr:
    """A call of a function about the session or the statement."""
    types, result = signature(name, values)
    arguments = tuple(coerce(value, type) for value, type in zip(values, types, strict=True))
    return context.subqueries.about_session(Call(name, arguments, result))


def catalog_call(name: str, values: Sequence[Planned], context: ExprContext) -> TypedExpr:
    """A call of a function that is defined in SQL over system relations: its definition with these
    arguments."""
    types, body = definition(name, values)
    return with_body(
        types,
        body,
        [
            catalog_argument(value, type, context)
            for value, type in zip(values, types, strict=False)
        ],
        context,
    )


def privilege_call(name: str, values: Sequence[Planned], context: ExprContext) -> TypedExpr:
    """A call of ``has_…_privilege``; without a role, it is about the current user."""
    function = PRIVILEGE_FUNCTIONS[name]
    types = function.types
    if len(values) == len(types) - 1:
        user = context.subqueries.object_id(about_session("current_user", [], context), REGROLE)
        values = [user, *values]
    if len(values) != len(types):
        raise UnknownFunction(
            name, ["unknown" if value.type is None else str(value.type) for value in values]
        )
    if any(map(_is_null_constant, values)):
        return Literal(None, BOOLEAN)
    if function.named is not None:
        role, object, *others = values
        values = [role, _object_id(object, function.named, context), *others]
    arguments = [
        catalog_argument(value, type, context) for value, type in zip(values, types, strict=True)
    ]
    privileges = arguments[-1].value if isinstance(arguments[-1], Literal) else None
    return with_body(types, expression(function.body(privileges)), arguments, context)


def _is_null_constant(value: Planned) -> bool:
    if isinstance(value, Untyped):
        return value.text is None and not isinstance(value, OpenParameter)
    return isinstance(value, Literal) and value.value is None


def _object_id(value: Planned, kind: str, context: ExprContext) -> Planned:
    """The id of the object of that kind that ``value`` names, or ``value`` if it is an id."""
    if value.type not in (None, TEXT):
        return value
    is_constant = isinstance(value, Untyped | Literal) and not isinstance(value, OpenParameter)
    if is_constant or (kind == "database" and isinstance(value, Untyped | Parameter)):
        return context.subqueries.object_id(value, OID, kind)
    if f"{kind}_named" not in CATALOG_FUNCTIONS:
        raise UnsupportedSql(
            f"the name of a {kind} that is no constant is not supported here", hint="give its oid"
        )
    return named_id(kind, coerce(value, TEXT), context)


def named_id(
    kind: str, name: TypedExpr, context: ExprContext, *, must_exist: bool = True
) -> TypedExpr:
    """The id of the object of that kind that ``name``, which is no constant, names: the error of a
    row if there is none, or NULL if none must exist."""
    if f"{kind}_named" not in CATALOG_FUNCTIONS:
        raise UnsupportedSql(f"a cast to {kind} of what is no constant is not supported")
    unquoted = call("replace", [name, Literal('"', TEXT), Literal("", TEXT)])
    if kind == REGCLASS.name.value:  # a name of a relation, which may be within a schema
        id = catalog_call(f"{kind}_named", [name], context)
        unquoted = Case(((call("=", [name, unquoted]), call("lower", [name])),), unquoted, TEXT)
    else:
        id = catalog_call(f"{kind}_named", [unquoted], context)
    if not must_exist:
        return id
    is_unknown = balanced("and", [is_null(id), negated(is_null(name))])
    word, sqlstate = _MISSING[kind]
    parts = [Literal(f'{word} "', TEXT), unquoted, Literal('" does not exist', TEXT)]
    message = Case(((is_unknown, balanced("concat", parts)),), Literal(None, TEXT), TEXT)
    return Call(IN_DOMAIN, (id, message, Literal(sqlstate, TEXT)), id.type)


_MISSING = {
    "regclass": ("relation", "42P01"),
    "regnamespace": ("schema", "3F000"),
    "regrole": ("role", "42704"),
    "database": ("database", "3D000"),
    "cluster": ("cluster", "42704"),
}
"""The word of an object in the error that there is none of a name, and its code."""


def with_body(
    types: Sequence[ScalarType],
    body: exp.Expr,
    arguments: Sequence[TypedExpr],
    context: ExprContext,
) -> TypedExpr:
    """``body`` over ``argument1``, …; missing arguments are NULL."""
    scope = Scope(tuple(ScopeColumn(None, f"argument{i}", type) for i, type in enumerate(types, 1)))
    whole = [*arguments, *(Literal(None, type) for type in types[len(arguments) :])]
    return with_arguments(
        typed(body, ExprContext(scope, context.subqueries, context.clause)), whole
    )


def catalog_argument(value: Planned, type: ScalarType, context: ExprContext) -> TypedExpr:
    """``value`` for a catalog function: a name of a relation or role becomes its id."""
    is_name = value.type is None or value.type == TEXT
    if (
        f"{type}_named" in CATALOG_FUNCTIONS
        and value.type == TEXT
        and not isinstance(value, Literal | Parameter)
    ):
        return Cast(named_id(type.name.value, value, context), type)
    if (
        type.is_object_id
        and type != OID
        and is_name
        and not (isinstance(value, Untyped) and value.text is None)
    ):
        return context.subqueries.object_id(value, type)
    return coerce(value, type)
