"""Subscripts: elements and slices of arrays, and members of documents."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from reclock.algebra.relations import INTEGER, JSONB, TEXT, ScalarType, TypeName
from reclock.errors import TypeMismatch, UnsupportedSql
from reclock.plan.functions.typing import is_implicit
from reclock.plan.scalars import Literal
from reclock.sql.queries.coercion import cast, default_to_text, expect
from reclock.sql.queries.expressions import ExprContext, scalar
from reclock.sql.queries.list_calls import list_value, part_of_list, written_list
from reclock.sql.queries.overloads import call, operator
from reclock.sql.queries.planned import Planned, TypedExpr
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.places import at


@scalar.register
def _subscript(node: exp.Bracket, context: ExprContext) -> TypedExpr:
    written = written_list(node, context)
    if written is not None:
        return list_value(written, context)
    whole, subscripts = _subscripted(node, context)
    value = scalar(whole, context)
    if value.type is not None and value.type.name is TypeName.LIST:
        return part_of_list(value, subscripts, context)
    if value.type is not None and value.type.is_array:
        return _part_of_array(value, value.type, subscripts, context)
    if value.type != JSONB:
        name = value.type or TEXT
        with at(whole):
            raise TypeMismatch(
                f"cannot subscript type {name} because it does not support subscripting"
            )
    for subscript in subscripts:
        if isinstance(subscript, exp.Slice):
            raise TypeMismatch("jsonb subscript does not support slices")
        position = scalar(subscript, context)
        if not (is_implicit(position.type, INTEGER) or is_implicit(position.type, TEXT)):
            kind = position.type and position.type.unconstrained
            with at(subscript):
                raise TypeMismatch(
                    f"subscript type {kind} is not supported",
                    hint="a subscript of jsonb is an integer or a text",
                )
        # unlike `->`, which finds a document without members in itself
        value = operator("#>", [value, call("array", [cast(position, TEXT)])])
    return value


def _subscripted(node: exp.Bracket, context: ExprContext) -> tuple[exp.Expr, list[exp.Expr]]:
    """What ``a[1][2]`` is a part of, and the subscripts."""
    subscripts: list[exp.Expr] = []
    whole: exp.Expr = node
    while isinstance(whole, exp.Bracket) and written_list(whole, context) is None:
        if len(whole.expressions) != 1:
            raise UnsupportedSql(f"subscript {to_sql(whole)[:80]} is not supported")
        subscripts = [*whole.expressions, *subscripts]
        whole = whole.this
    return whole, subscripts


def _part_of_array(
    value: Planned, type: ScalarType, subscripts: Sequence[exp.Expr], context: ExprContext
) -> TypedExpr:
    """An element, or a slice if one of the subscripts is a range. Subscripts for another number of
    dimensions mean NULL; a slice of more dimensions than there are is empty."""

    def index(node: exp.Expr | None, default: int | None = None) -> TypedExpr:
        if node is None:
            return Literal(default, INTEGER)
        position = scalar(node, context)
        if position.type is not None and position.type.is_number:
            return cast(position, INTEGER)
        return expect(position, INTEGER, "array subscript")

    if any(isinstance(subscript, exp.Slice) for subscript in subscripts):
        bounds = []
        for subscript in subscripts:
            if isinstance(subscript, exp.Slice):
                bounds += [index(subscript.this, 1), index(subscript.expression, 2**31 - 1)]
            else:
                bounds += [Literal(1, INTEGER), index(subscript)]
        if len(subscripts) > type.dimensions:
            bounds = [Literal(1, INTEGER), Literal(0, INTEGER)]
        return call("slice", [value, *bounds])
    places = [index(subscript) for subscript in subscripts]
    if len(places) != type.dimensions:
        return Literal(None, type.base)
    for place in places:
        if type.name is TypeName.VECTOR:
            place = operator("+", [place, Literal(1, INTEGER)])
        value = call("subscript", [value, place])
    return default_to_text(value)
