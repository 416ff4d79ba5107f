"""Scalar expressions: from syntax to typed scalars over the columns of a scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import NoReturn, Protocol

from sqlglot import exp

from reclock.algebra.interval_reading import interval_of
from reclock.algebra.relations import BOOLEAN, INTERVAL, OID, REGCLASS, TEXT, ScalarType
from reclock.errors import (
    NotComposite,
    NotInFromClause,
    SqlSyntaxError,
    SubqueryWidth,
    UnknownColumn,
    UnknownFunction,
    UnknownParameter,
    UnsupportedSql,
)
from reclock.plan.scalars import Call, Case, Literal, Parameter
from reclock.sql.names import fold
from reclock.sql.parameters import Parameters
from reclock.sql.queries.call_forms import SAME_FUNCTIONS
from reclock.sql.queries.coercion import coerce, default_to_text, expect, unified
from reclock.sql.queries.literals import number
from reclock.sql.queries.overloads import call, operator
from reclock.sql.queries.planned import (
    Elements,
    OpenParameter,
    Planned,
    SubqueryRows,
    TypedExpr,
    Untyped,
    has,
)
from reclock.sql.queries.record_values import fields, is_record, record_of, whole_row
from reclock.sql.queries.scope import Scope
from reclock.sql.syntax.consumption import unsupported_clause
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.places import at, place_of_word


class Subqueries(Protocol):
    """Plans the subqueries of an expression, and knows the parameters. ``scope`` is the scope of
    the expression."""

    @property
    def parameters(self) -> Parameters: ...
    def about_session(self, call: Call[TypedExpr]) -> TypedExpr: ...
    def object_id(
        self, value: Planned, target: ScalarType, kind: str = "database"
    ) -> TypedExpr: ...
    def array(self, query: exp.Expr, scope: Scope) -> TypedExpr: ...
    def value(self, query: exp.Expr, scope: Scope) -> TypedExpr: ...
    def exists(self, query: exp.Expr, scope: Scope) -> TypedExpr: ...
    def contains(self, operands: Sequence[Planned], query: exp.Expr, scope: Scope) -> TypedExpr: ...
    def any(
        self,
        operands: Sequence[Planned],
        name: str,
        query: exp.Expr,
        scope: Scope,
        *,
        is_negated: bool = False,
    ) -> TypedExpr: ...
    def compared(
        self, operands: Sequence[Planned], name: str, query: exp.Expr, scope: Scope
    ) -> TypedExpr: ...
    def rows(self, query: exp.Expr, scope: Scope) -> SubqueryRows: ...
    def defined(
        self, names: Sequence[str], call: exp.Anonymous, context: ExprContext
    ) -> TypedExpr | None: ...


@dataclass(frozen=True, slots=True)
class ExprContext:
    """The context of an expression: the columns in scope, the clause (for messages), and whether
    aggregates are allowed."""

    scope: Scope
    subqueries: Subqueries
    clause: str
    takes_aggregates: bool = False


SESSION_WORDS: dict[type[exp.Expr], str] = {
    exp.CurrentUser: "current_user",
    exp.CurrentRole: "current_role",
    exp.SessionUser: "session_user",
    exp.CurrentCatalog: "current_catalog",
    exp.CurrentSchema: "current_schema",
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentDate: "current_date",
    exp.Localtime: "localtime",
    exp.Localtimestamp: "localtimestamp",
}
"""Questions about the session without parentheses."""


def reject_unsupported(node: exp.Expr, *handled: str) -> None:
    """Raises ``UnsupportedSql`` if the syntax has a part that the caller does not handle, so that
    no part is ignored."""
    for name, value in node.args.items():
        if name not in handled and value not in (None, False, []):
            raise unsupported_clause(node, name)


def reject_rows(values: Sequence[Planned], where: str) -> None:
    """Raises ``UnsupportedSql`` if a function that answers rows is in any of them."""
    if any(not isinstance(value, Untyped) and has(value, Elements) for value in values):
        raise UnsupportedSql(
            f"set-returning functions are not allowed in {where}",
            hint="move the function into a LATERAL item of FROM",
        )


def typed(node: exp.Expr, context: ExprContext) -> TypedExpr:
    """The scalar with a type: an untyped constant becomes text."""
    return default_to_text(scalar(node, context))


def condition(node: exp.Expr, context: ExprContext, *, of: str = "") -> TypedExpr:
    """The scalar, which must be boolean. ``of`` names what it is a condition of, if that is a part of
    the clause."""
    value = scalar(node, context)
    with at(node):
        return expect(value, BOOLEAN, f"argument of {of or context.clause}")


def split(node: exp.Expr, kind: type[exp.Connector] = exp.And) -> list[exp.Expr]:
    """The terms of a chain of ANDs (or ORs), in order."""
    terms: list[exp.Expr] = []
    waiting = [node]
    while waiting:
        node = waiting.pop()
        inner = node.unnest() if isinstance(node, exp.Paren) else node
        if isinstance(inner, kind):
            waiting += [inner.expression, inner.this]
        else:
            terms.append(node)
    return terms


@singledispatch
def scalar(node: exp.Expr, context: ExprContext) -> Planned:
    """The scalar that ``node`` means. A constant whose type is open comes back as ``Untyped``."""
    raise UnsupportedSql(f"expression {to_sql(node)[:80]} is not supported")


# --- constants and columns ---

TABLE_OID = "tableoid"
"""A hidden column of every relation: the relation's object id."""


@scalar.register
def _literal(node: exp.Literal, context: ExprContext) -> Literal | Untyped:
    if node.is_string:
        return Untyped(node.name, node=node)
    return Literal(*number(node.name))


@scalar.register
def _null(node: exp.Null, context: ExprContext) -> Untyped:
    return Untyped(None)


@scalar.register
def _boolean(node: exp.Boolean, context: ExprContext) -> TypedExpr:
    return Literal(bool(node.this), BOOLEAN)


@scalar.register
def _interval(node: exp.Interval, context: ExprContext) -> TypedExpr:
    reject_unsupported(node, "this", "unit")
    fields, _, digits = node.text("unit").partition("(")
    precision = int(digits[:-1][:3]) if digits else None
    with at(node):
        return Literal(interval_of(node.this.name, fields, precision), INTERVAL)


@scalar.register
def _column(node: exp.Column, context: ExprContext) -> TypedExpr:
    with at(node):
        return _named_value(node, context)


def _named_value(node: exp.Column, context: ExprContext) -> TypedExpr:
    reject_unsupported(node, "this", "table", "db", "catalog")
    qualifier = _qualifier(node)
    scope = context.scope
    if isinstance(node.this, exp.Star):
        if (row := whole_row(scope, qualifier)) is None:
            raise NotInFromClause(".".join(qualifier))
        return row
    name = fold(node.this)
    if (
        name == TABLE_OID
        and scope.find(name, qualifier) is None
        and (relation := scope.relation_of(qualifier)) is not None
    ):
        return coerce(context.subqueries.object_id(Untyped(str(relation)), REGCLASS), OID)
    if (
        node.name == "user"
        and not qualifier
        and scope.find(name) is None
        and not node.this.args.get("quoted")
    ):
        return context.subqueries.about_session(Call("current_user", (), TEXT))
    try:
        return scope.resolve(name, qualifier)
    except UnknownColumn:
        row = None if qualifier else whole_row(scope, [name])
        if row is None:
            raise
        return row


def _qualifier(node: exp.Column) -> list[str]:
    parts = (node.args.get("catalog"), node.args.get("db"), node.args.get("table"))
    return [fold(part) for part in parts if part]


@scalar.register
def _star(node: exp.Star, context: ExprContext) -> NoReturn:
    raise SqlSyntaxError(f"* is not allowed in {context.clause}")


@scalar.register
def _parameter(node: exp.Parameter, context: ExprContext) -> Parameter | Literal | OpenParameter:
    name = node.this.name
    if not isinstance(node.this, exp.Literal) or not name.isdigit():
        raise UnknownParameter(to_sql(node))
    number, parameters = int(name[:9]), context.subqueries.parameters
    value = parameters.read(number)
    return OpenParameter(None, number=number, parameters=parameters) if value is None else value


@scalar.register
def _paren(node: exp.Paren, context: ExprContext) -> Planned:
    return scalar(node.this, context)


# --- operators ---


def function_name(node: exp.Anonymous) -> str:
    """The name, folded; of a function with several names, the first."""
    name = written_name(node)
    return SAME_FUNCTIONS.get(name, name)


def written_name(node: exp.Anonymous) -> str:
    """The name that is called, folded."""
    return fold(node.this) if isinstance(node.this, exp.Expr) else node.name.lower()


def dotted_parts(node: exp.Expr) -> list[exp.Expr]:
    """The parts of what is written with dots."""
    return [*dotted_parts(node.this), node.expression] if isinstance(node, exp.Dot) else [node]


@scalar.register
def _case(node: exp.Case, context: ExprContext) -> TypedExpr:
    reject_unsupported(node, "this", "ifs", "default")
    operand = node.args.get("this")
    conditions = []
    for branch in node.args["ifs"]:
        if operand is not None:
            conditions.append(
                operator("=", [scalar(operand, context), scalar(branch.this, context)])
            )
        else:
            conditions.append(condition(branch.this, context, of="CASE/WHEN"))
    results = [scalar(branch.args["true"], context) for branch in node.args["ifs"]]
    default = node.args.get("default")
    otherwise = scalar(default, context) if default is not None else Untyped(None)
    reject_rows([*conditions, *results, otherwise], "CASE")
    # as in PostgreSQL, the type of ELSE counts first
    nodes = [
        node if default is None else default,
        *(branch.args["true"] for branch in node.args["ifs"]),
    ]
    (otherwise, *values), type = unified([otherwise, *results], "CASE", nodes)
    return Case(tuple(zip(conditions, values, strict=True)), otherwise, type)


@scalar.register
def _extract(node: exp.Extract, context: ExprContext) -> TypedExpr:
    field = Literal(node.this.name.lower(), TEXT)
    value = scalar(node.expression, context)
    with at(node, UnknownFunction, place=place_of_word):
        return call("extract", [field, value])


# --- records ---


def row_items(node: exp.Expr) -> list[exp.Expr] | None:
    """The items of a row, such as ``(a, b)`` or ``ROW(a)``; None if ``node`` is no row."""
    if isinstance(node, exp.Tuple) or (
        isinstance(node, exp.Anonymous) and function_name(node) == "row"
    ):
        return node.expressions
    return None


def starred(node: exp.Expr, context: ExprContext) -> list[tuple[str, TypedExpr]] | None:
    """The names and values that ``t.*`` or ``(record).*`` stands for in a list; None if ``node`` is
    neither."""
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        qualifier = _qualifier(node)
        columns = context.scope.row_of(qualifier)
        if not columns:
            raise NotInFromClause(".".join(qualifier))
        return [(column.name, ref) for column, ref in columns]
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Star):
        value = typed(node.this, context)
        if not is_record(value):
            raise NotComposite(str(value.type))
        return fields(value)
    return None


def row_values(items: Sequence[exp.Expr], context: ExprContext) -> list[Planned]:
    """The values of a row with these items."""
    values: list[Planned] = []
    for item in items:
        columns = starred(item, context)
        values += [scalar(item, context)] if columns is None else [value for _, value in columns]
    return values


@scalar.register
def _tuple(node: exp.Tuple, context: ExprContext) -> TypedExpr:
    return record_of(list(map(default_to_text, row_values(node.expressions, context))))


# --- subqueries ---


@scalar.register
def _subquery(node: exp.Subquery, context: ExprContext) -> TypedExpr:
    with at(node, SubqueryWidth):
        return context.subqueries.value(node, context.scope)


@scalar.register
def _exists(node: exp.Exists, context: ExprContext) -> TypedExpr:
    return context.subqueries.exists(node.this, context.scope)
