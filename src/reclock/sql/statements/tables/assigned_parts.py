"""Assignments to parts of a column: ``SET c.field = 1`` and ``SET c[2] = 'x'``, which keep its other
fields and elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from sqlglot import exp

from reclock.algebra.relations import Column, ScalarType
from reclock.errors import TypeMismatch, UnknownColumn, UnsupportedSql
from reclock.sql.names import fold, nearest
from reclock.sql.queries.assignment import assign
from reclock.sql.queries.expressions import ExprContext, scalar
from reclock.sql.queries.planned import Planned, TypedExpr
from reclock.sql.syntax.consumption import tracked_copy
from reclock.sql.syntax.places import at


class AssignedValue(exp.Expression):
    """A value as one of ``column``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "column": True}


@scalar.register
def _assigned(node: AssignedValue, context: ExprContext) -> TypedExpr:
    with at(node.this):
        return assign(scalar(node.this, context), node.args["column"])


class _Fields(exp.Tuple):
    """All fields of a composite value, some of which are assigned."""


def with_part(
    whole: exp.Expr, column: str, type: ScalarType, parts: Sequence[exp.Expr], value: exp.Expr
) -> exp.Expr:
    """``whole``, which is (a part of) the column and of this type, with ``value`` at the end of the
    path ``parts`` of fields and subscripts. Raises ``TypeMismatch``, ``UnknownColumn``."""
    if not parts:
        return AssignedValue(this=value, column=Column(column, type))
    part, *inner = parts
    if isinstance(part, exp.Identifier):
        return _with_field(whole, column, type, part, inner, value)
    if type.element is None or type.is_list_or_map:
        raise TypeMismatch(
            f"cannot subscript type {type.unconstrained} because it does not support subscripting"
        )
    if any(not isinstance(later, exp.Identifier) for later in inner):
        raise UnsupportedSql("an element of an array of several dimensions cannot be assigned")
    return _with_element(whole, column, type.element, int(part.name), inner, value)


def _with_field(
    whole: exp.Expr,
    column: str,
    type: ScalarType,
    name: exp.Identifier,
    inner: Sequence[exp.Expr],
    value: exp.Expr,
) -> exp.Expr:
    field, names = fold(name), [part.name for part in type.fields]
    if type.composite is None:
        raise TypeMismatch(
            f'cannot assign to field "{field}" of column "{column}" because its type '
            f"{type.unconstrained} is not a composite type"
        )
    if field not in names:
        wording = (
            f'cannot assign to field "{field}" of column "{column}" because there is no such '
            f"column in data type {type}"
        )
        raise UnknownColumn(field, wording=wording, hint=nearest(field, names))
    values = (
        list(whole.expressions)
        if isinstance(whole, _Fields)
        else [
            exp.Dot(
                this=exp.Paren(this=tracked_copy(whole)),
                expression=exp.to_identifier(field_name, quoted=True),
            )
            for field_name in names
        ]
    )
    index = names.index(field)
    values[index] = with_part(values[index], column, type.fields[index].type, inner, value)
    return _Fields(expressions=values)


def _with_element(
    whole: exp.Expr,
    column: str,
    type: ScalarType,
    subscript: int,
    inner: Sequence[exp.Expr],
    value: exp.Expr,
) -> exp.Expr:
    if not 1 <= subscript <= _MAX_SUBSCRIPT:
        raise UnsupportedSql(
            f"the element with subscript {subscript} cannot be assigned",
            hint=f"subscripts from 1 to {_MAX_SUBSCRIPT} can",
        )
    array, elements = whole, dict[int, exp.Expr]()
    if isinstance(whole, _Elements):
        array = whole.this
        elements = dict(zip(whole.args["subscripts"], whole.expressions, strict=True))
    before = elements.get(subscript) or _part(array, _number(subscript))
    elements[subscript] = with_part(before, column, type, inner, value)
    return _Elements(this=array, subscripts=list(elements), expressions=list(elements.values()))


_MAX_SUBSCRIPT = 1000


class _Elements(exp.Expression):
    """The array ``this`` with other elements at some of its ``subscripts``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "subscripts": True, "expressions": True}


@scalar.register
def _array(node: _Elements, context: ExprContext) -> Planned:
    """Elements that the array does not have yet are NULL."""
    assigned = dict(zip(node.args["subscripts"], node.expressions, strict=True))
    last = max(assigned)
    first = exp.Array(
        expressions=[
            tracked_copy(assigned[i]) if i in assigned else _part(node.this, _number(i))
            for i in range(1, last + 1)
        ]
    )
    others = _part(node.this, exp.Slice(this=_number(last + 1)))
    return scalar(exp.Anonymous(this="array_cat", expressions=[first, others]), context)


def _part(array: exp.Expr, subscript: exp.Expr) -> exp.Expr:
    return exp.Bracket(this=exp.Paren(this=tracked_copy(array)), expressions=[subscript])


def _number(number: int) -> exp.Expr:
    return exp.Literal.number(number)
