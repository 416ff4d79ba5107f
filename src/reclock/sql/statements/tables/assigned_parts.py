"""Assignments to parts of a column: ``SET c.field = 1``, ``SET c[2] = 'x'`` and ``SET c[2:3] = …``,
which keep its other fields and elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from sqlglot import exp

from reclock.algebra.relations import INTEGER, JSONB, SMALLINT, TEXT, Column, ScalarType
from reclock.errors import TypeMismatch, UnknownColumn, UnsupportedSql
from reclock.plan.functions.domains import IN_DOMAIN
from reclock.plan.scalars import Call, Literal
from reclock.sql.names import fold, nearest
from reclock.sql.queries.assignment import assign
from reclock.sql.queries.catalog_functions import expression
from reclock.sql.queries.coercion import coerce, default_to_text
from reclock.sql.queries.defined_calls import with_body
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
    if type == JSONB:
        if any(isinstance(later, exp.Identifier) for later in inner):
            raise TypeMismatch(
                f'cannot assign to a field of column "{column}" because its type jsonb is not a '
                "composite type"
            )
        assigned = AssignedValue(this=value, column=Column(column, type))
        return _Document(this=whole, subscripts=list(parts), value=assigned)
    if type.element is None or type.is_list_or_map:
        raise TypeMismatch(
            f"cannot subscript type {type.unconstrained} because it does not support subscripting"
        )
    if any(not isinstance(later, exp.Identifier) for later in inner):
        raise UnsupportedSql("an element of an array of several dimensions cannot be assigned")
    if isinstance(part, exp.Slice):
        if inner:
            raise UnsupportedSql("a field of a slice of an array cannot be assigned")
        first, last = _subscript(part.this), _subscript(part.expression)
        if first > last:
            raise UnsupportedSql("a slice of an array whose bounds are reversed cannot be assigned")
        assigned = AssignedValue(this=value, column=Column(column, type))
        return _WithSlice(this=whole, array=type, first=first, last=last, value=assigned)
    return _with_element(whole, column, type.element, _subscript(part), inner, value)


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
    array, elements = whole, dict[int, exp.Expr]()
    if isinstance(whole, _Elements):
        array = whole.this
        elements = dict(zip(whole.args["subscripts"], whole.expressions, strict=True))
    before = elements.get(subscript) or _part(array, _number(subscript))
    elements[subscript] = with_part(before, column, type, inner, value)
    return _Elements(this=array, subscripts=list(elements), expressions=list(elements.values()))


_MAX_SUBSCRIPT = 1000


def _subscript(part: exp.Expr) -> int:
    """The constant subscript of an element that can be assigned. Raises ``UnsupportedSql``."""
    hint = f"subscripts from 1 to {_MAX_SUBSCRIPT} can"
    if not isinstance(part, exp.Literal) or part.is_string or not part.name.isdigit():
        raise UnsupportedSql(
            "an element of an array is assigned by a constant subscript", hint=hint
        )
    if not 1 <= int(part.name) <= _MAX_SUBSCRIPT:
        raise UnsupportedSql(
            f"the element with subscript {part.name} cannot be assigned", hint=hint
        )
    return int(part.name)


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


class _WithSlice(exp.Expression):
    """The array ``this`` of a type, with elements of ``value`` from ``first`` to ``last``."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "array": True,
        "first": True,
        "last": True,
        "value": True,
    }


@scalar.register
def _slice(node: _WithSlice, context: ExprContext) -> TypedExpr:
    """Elements before the slice that the array does not have yet are NULL. A NULL value changes
    nothing."""
    first, last, type = node.args["first"], node.args["last"], node.args["array"]
    count = last - first + 1
    array, value = (coerce(scalar(part, context), type) for part in (node.this, node.args["value"]))
    message = with_body((type,), expression(_TOO_SMALL.format(count)), [value], context)
    checked = Call(IN_DOMAIN, (value, message, Literal("2202E", TEXT)), type)
    elements = ", ".join(f"argument1[{i}]" for i in range(1, first))
    before = f"ARRAY[{elements}] || " if elements else ""
    body = _WITH_SLICE.format(before=before, count=count, after=last + 1)
    return with_body((type, type), expression(body), [array, checked], context)


_TOO_SMALL = "CASE WHEN cardinality(argument1) < {} THEN 'source array too small' END"
_WITH_SLICE = """CASE WHEN argument2 IS NULL THEN argument1
    ELSE {before}argument2[1:{count}] || argument1[{after}:] END"""


class _Document(exp.Expression):
    """The document ``this`` with ``value`` at the end of the path ``subscripts``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "subscripts": True, "value": True}


@scalar.register
def _document(node: _Document, context: ExprContext) -> TypedExpr:
    """What the document does not have of the path yet comes: objects, and arrays for numbers, with
    null in gaps. A NULL value is null."""
    keys = [_key(subscript, context) for subscript in node.args["subscripts"]]
    value = coerce(scalar(node.args["value"], context), JSONB)
    return _assigned_within(coerce(scalar(node.this, context), JSONB), keys, 0, value, context)


def _key(subscript: exp.Expr, context: ExprContext) -> TypedExpr:
    """A place in an array, or the key of an object. Raises ``TypeMismatch``."""
    written = scalar(subscript, context)
    key = default_to_text(written)
    if key.type == SMALLINT:
        return coerce(key, INTEGER)
    if key.type not in (INTEGER, TEXT):
        raise TypeMismatch(
            f"subscript type {key.type.unconstrained} is not supported",
            detail="jsonb subscript must be coercible to either integer or text.",
        )
    return key


def _assigned_within(
    document: TypedExpr,
    keys: Sequence[TypedExpr],
    depth: int,
    value: TypedExpr,
    context: ExprContext,
) -> TypedExpr:
    key, types = keys[depth], (JSONB, keys[depth].type, JSONB)
    is_place = key.type == INTEGER
    if is_place:
        message = with_body(types, expression(_BEYOND.format(depth + 1)), [document, key], context)
        key = Call(IN_DOMAIN, (key, message, Literal("22023", TEXT)), INTEGER)
    if depth + 1 < len(keys):
        inner = with_body(
            types, expression(_PART_AT_PLACE if is_place else _PART), [document, key], context
        )
        value = _assigned_within(inner, keys, depth + 1, value, context)
    body = expression(_WITH_PART_AT_PLACE if is_place else _WITH_PART)
    return with_body(types, body, [document, key, value], context)


_PART = "argument1 -> argument2"
_PART_AT_PLACE = """CASE jsonb_typeof(argument1)
    WHEN 'object' THEN argument1 -> argument2::text ELSE argument1 -> argument2 END"""
_WITH_PART = """jsonb_set(coalesce(argument1, '{}'::jsonb), ARRAY[argument2],
    coalesce(argument3, 'null'::jsonb), TRUE)"""
_WITH_PART_AT_PLACE = """jsonb_set(
    CASE WHEN coalesce(jsonb_typeof(argument1), 'array') <> 'array' THEN argument1
    WHEN coalesce(jsonb_array_length(argument1), 0) < argument2
        THEN coalesce(argument1, '[]'::jsonb) || to_jsonb(array_fill(NULL::int,
            ARRAY[argument2 - coalesce(jsonb_array_length(argument1), 0)]))
    ELSE coalesce(argument1, '[]'::jsonb) END,
    ARRAY[argument2::text], coalesce(argument3, 'null'::jsonb), TRUE)"""
_BEYOND = """CASE WHEN coalesce(jsonb_typeof(argument1), 'array') = 'array' AND argument2 < 0 THEN
    CASE WHEN argument2 < -coalesce(jsonb_array_length(argument1), 0)
        THEN 'path element at position {} is out of range: ' || argument2::text END END"""


def _part(array: exp.Expr, subscript: exp.Expr) -> exp.Expr:
    return exp.Bracket(this=exp.Paren(this=tracked_copy(array)), expressions=[subscript])


def _number(number: int) -> exp.Expr:
    return exp.Literal.number(number)
