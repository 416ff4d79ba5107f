"""Types of expressions: the casts that exist, and the implicit ones."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from decimal import Decimal
from typing import TypeGuard, overload

from sqlglot import exp

from reclock.algebra.array_shapes import check_dimensions
from reclock.algebra.relations import (
    BOOLEAN,
    BPCHAR,
    INTERVAL,
    TEXT,
    VARCHAR,
    ScalarType,
    TypeName,
    array,
    char,
    numeric,
)
from reclock.errors import (
    ReclockError,
    TypeMismatch,
    UnknownOperator,
)
from reclock.plan.functions import common_type as common_of
from reclock.plan.functions import is_implicit, resolve_cast
from reclock.plan.functions import operand_type as operand_of
from reclock.plan.functions.casts import check_fields
from reclock.plan.functions.digits import FLOAT_SCALE
from reclock.plan.functions.intervals import SPAN, SPAN_TYPE, compared_type
from reclock.plan.functions.records import RECORD_OF
from reclock.plan.functions.typing import as_numeric
from reclock.plan.scalars import Call, Cast, ColumnRef, Literal, Parameter, Scalar
from reclock.sql.queries.literals import fit, natural, parse_number, parse_text, read_array
from reclock.sql.queries.local_times import zoned_cast
from reclock.sql.queries.planned import E, OpenParameter, OuterRef, Planned, TypedExpr, Untyped
from reclock.sql.session_zone import SESSION_CLOCK
from reclock.sql.syntax.places import at


def common_type(
    types: Sequence[ScalarType | None], construct: str, nodes: Sequence[exp.Expr] = ()
) -> ScalarType:
    """The common type of several results (PostgreSQL's rule for UNION, CASE and others); text if
    all are untyped. ``construct`` names what has the results, in the error, and ``nodes`` are
    these."""
    common = common_of(types)
    if common is None:
        last = next(i for i in range(len(types)) if common_of(types[: i + 1]) is None)
        pair = (common_of(types[:last]), types[last])
        names = [str(type.unconstrained) for type in pair if type is not None]
        with at(nodes[last]) if nodes else nullcontext():
            raise TypeMismatch(
                f"{construct} types {' and '.join(names)} cannot be matched",
                hint="cast them to one type",
            )
    return common


def with_own_digits(values: Sequence[Planned], types: Sequence[ScalarType | None]) -> list[Planned]:
    """``values``, where constants of open type that shall be numerics or ``char(n)`` have the digits
    or the length that they are written with.

    As in PostgreSQL, the value beside a constant says what kind of value it is, and not how many
    digits or characters it keeps.
    """
    return [
        _as_written(value, type) if type is not None and isinstance(value, Untyped) else value
        for value, type in zip(values, types, strict=True)
    ]


def _as_written(value: Untyped, type: ScalarType) -> Planned:
    if type.name is TypeName.NUMERIC:
        return _number(value)
    return _characters(value) if type.name is TypeName.BPCHAR else value


def _characters(value: Untyped) -> Planned:
    """A constant as a ``bpchar`` of its own length."""
    if isinstance(value, OpenParameter):
        return value.parameters.settle(value.number, BPCHAR)
    if value.text is None:
        return value
    type = char(len(value.text)).unconstrained
    return Literal(parse_text(value.text, type), type)


def _number(value: Untyped) -> Planned:
    if isinstance(value, OpenParameter):
        return value.parameters.settle(value.number, numeric())
    return value if value.text is None else _natural_constant(value, value.text)


def _natural_constant(value: Untyped, text: str) -> Literal:
    with _at(value):
        return Literal(*natural(parse_number(text), numeric()))


def unified(
    values: Sequence[Planned], construct: str, nodes: Sequence[exp.Expr] = ()
) -> tuple[list[TypedExpr], ScalarType]:
    """``values`` in the type that all of them take, and that type. Raises as ``common_type``."""
    values = with_dimensions_of_others(values)
    values = with_own_digits(
        values, [common_type([value.type for value in values], construct, nodes)] * len(values)
    )
    type = common_type([value.type for value in values], construct, nodes)
    return [coerce(value, type) for value in values], type


def with_dimensions_of_others(values: Sequence[Planned]) -> Sequence[Planned]:
    """``values``, where array constants without elements have as many dimensions as the other
    arrays."""
    types = [value.type for value in values if not _is_shapeless(value)]
    dimensions = max((type.dimensions for type in types if type is not None), default=0)
    if not dimensions:
        return values
    return [
        value if isinstance(value, Untyped) else with_dimensions(value, dimensions)
        for value in values
    ]


def with_dimensions(value: TypedExpr, dimensions: int) -> TypedExpr:
    """``value`` as an array of so many dimensions, if it can have any number of them."""
    if not _is_shapeless(value):
        return value
    return replace(value, type=array(value.type.base, dimensions))


def _is_shapeless(value: Planned) -> TypeGuard[Literal | Parameter]:
    """Whether ``value`` is an array constant without elements, or a parameter whose value is not
    known yet."""
    if value.type is None or value.type.name is not TypeName.ARRAY:
        return False
    return isinstance(value, Parameter) or (isinstance(value, Literal) and not value.value)


@overload
def coerce(value: Scalar | Untyped, target: ScalarType) -> Scalar: ...
@overload
def coerce(value: Planned, target: ScalarType) -> TypedExpr: ...
def coerce(value: Planned, target: ScalarType) -> TypedExpr:
    """``value`` as ``target``: a constant is parsed, anything else is cast. The caller has checked
    that the cast is allowed."""
    if isinstance(value, OpenParameter):
        return coerce(value.parameters.settle(value.number, target), target)
    if isinstance(value, Untyped):
        return _constant(value, target)
    if value.type.name is target.name is TypeName.ARRAY:
        value = with_dimensions(value, target.dimensions)
        check_dimensions(value.type, target)
    if value.type == target:
        return value
    if is_written_record(value) and target.name is TypeName.RECORD:
        return _record_of(value, target)
    if isinstance(value, Literal):
        if value.value is None:
            return Literal(None, target)
        if value.type == TEXT and target.is_moment:
            return _moment(value, target)
        if target.name is TypeName.BPCHAR and value.type.name in (TypeName.BPCHAR, TypeName.TEXT):
            return Literal(parse_text(value.value, target), target)
        if (
            target.is_number
            and isinstance(value.value, int | float | Decimal)
            and not isinstance(value.value, bool)
        ):
            number = (
                natural(value.value, value.type)[0]
                if target.is_unconstrained and value.type.is_float
                else value.value
            )
            return Literal(fit(number, target), target)
    # only ``cast`` cuts a text to the length of a ``char(n)``
    return zoned_cast(value, target.unconstrained if target.length else target)


def _constant(value: Untyped, target: ScalarType) -> Literal:
    if value.text is None:
        return Literal(None, target)
    with _at(value):
        return Literal(parse_text(value.text, target, SESSION_CLOCK), target)


def _at(constant: Untyped) -> AbstractContextManager[None]:
    """What is wrong with the text of a constant is wrong where it is written."""
    return nullcontext() if constant.node is None else at(constant.node)


def _record_of(value: Call[TypedExpr], target: ScalarType) -> TypedExpr:
    """The record that is written out, field by field as one of ``target``."""
    check_fields(value.type, target)
    fields = zip(value.arguments, target.fields, strict=True)
    items = [cast(_open_text(item), field.type) for item, field in fields]
    return Call(RECORD_OF, tuple(items), target)


def _open_text(value: TypedExpr) -> Planned:
    """A constant text as a constant of open type, as it may have been written."""
    return Untyped(value.value) if isinstance(value, Literal) and value.type == TEXT else value


def is_written_record(value: Planned) -> TypeGuard[Call[TypedExpr]]:
    return isinstance(value, Call) and value.function == RECORD_OF


def castable(value: Planned, target: ScalarType) -> ScalarType:
    """``target``, if ``value`` can be cast to it. ``coerce`` checks the fields of a record that is
    written out. Raises as ``resolve_cast``."""
    if isinstance(value, Untyped) or (is_written_record(value) and target.fields):
        return target
    return resolve_cast(value.type, target)


def _moment(text: Literal, target: ScalarType) -> TypedExpr:
    """The moment that a constant spells. The error of another text is one of the row that it is
    computed for."""
    try:
        return Literal(parse_text(text.value, target, SESSION_CLOCK), target)
    except ReclockError:
        return zoned_cast(text, target)


def cast(value: Planned, target: ScalarType) -> TypedExpr:
    """``CAST(value AS target)``. Raises ``TypeMismatch``.

    As an unconstrained numeric, a value keeps the digits that it has, and as an array its
    dimensions.
    """
    if target.name in (TypeName.ARRAY, TypeName.VECTOR):
        value, target = _as_array(value, target)
    elif target.is_nested and isinstance(value, Literal) and value.type == TEXT:
        value = Untyped(value.value)
    if target.name is TypeName.BPCHAR:
        return _bpchar(value) if target.length is None else _cut(value, target)
    if target.is_varchar and value.type == TEXT:
        return with_type_name(coerce(value, target), VARCHAR)
    if target.is_unconstrained:
        natural_value = _natural(_open_number(value))
        if natural_value is not None:
            return natural_value
        target = (
            numeric(scale=FLOAT_SCALE) if value.type is not None and value.type.is_float else target
        )
    return coerce(value, castable(value, target))


def with_type_name(value: TypedExpr, type: ScalarType) -> TypedExpr:
    """``value``, which is of the same type by another name, such as ``varchar`` or a domain."""
    match value:
        case Literal() | ColumnRef() | OuterRef() | Call():
            return replace(value, type=type)
        case _:
            return Cast(value, type)


def _bpchar(value: Planned) -> TypedExpr:
    """``value::bpchar``, which keeps the length that is shown."""
    if isinstance(value, Untyped):
        value = _characters(value)
    if value.type is not None and value.type.length is not None:
        return coerce(value, value.type.unconstrained)
    return coerce(value, BPCHAR if value.type is None else resolve_cast(value.type, BPCHAR))


def _cut(value: Planned, target: ScalarType) -> TypedExpr:
    """``value::char(n)``."""
    if value.type is not None:
        resolve_cast(value.type, target)
    if value.type == target:
        return value
    text = coerce(value, BPCHAR)
    if not isinstance(text, Literal):
        return Cast(text, target)
    return Literal(text.value and parse_text(text.value[: target.length], target), target)


def _as_array(value: Planned, target: ScalarType) -> tuple[Planned, ScalarType]:
    """``value``, to be cast to ``target`` with the dimensions that it has."""
    if isinstance(value, OpenParameter):
        value = value.parameters.settle(value.number, target)
    if isinstance(value, Literal) and value.type == TEXT:
        value = Untyped(value.value)
    if target.name is TypeName.VECTOR:
        return value, target
    if isinstance(value, Untyped):
        if value.text is None:
            return value, target
        with _at(value):
            return value, read_array(value.text, target, SESSION_CLOCK)[1]
    if value.type is None or value.type.name is not TypeName.ARRAY or _is_shapeless(value):
        return value, target
    return value, array(target.base, value.type.dimensions)


def _open_number(value: Planned) -> Planned:
    """A constant text that spells a number as a constant of open type. The error of another text is
    one of the row that it is computed for."""
    is_text = value.type is not None and value.type.name in (TypeName.TEXT, TypeName.BPCHAR)
    if not is_text or not isinstance(value, Literal) or value.value is None:
        return value
    with suppress(ReclockError):
        natural(parse_number(value.value), numeric())
        return Untyped(value.value)
    return value


def _natural(value: Planned) -> TypedExpr | None:
    """A number, or a constant that spells one, as an unconstrained numeric; None if its digits are
    only known when it is computed."""
    if (
        isinstance(value, Untyped)
        and not isinstance(value, OpenParameter)
        and value.text is not None
    ):
        return _natural_constant(value, value.text)
    if (
        value.type is None
        or not value.type.is_number
        or (isinstance(value, Literal) and value.value is None)
    ):
        return None
    if isinstance(value, Literal):
        return (
            Literal(*natural(value.value, value.type))
            if value.type.name is not TypeName.NUMERIC
            else value
        )
    return None if value.type.is_float else coerce(value, as_numeric(value.type))


def expect(value: Planned, target: ScalarType, role: str) -> TypedExpr:
    """``value`` as the required type ``target``. Raises ``TypeMismatch``."""
    if not isinstance(value, Untyped) and not is_implicit(value.type, target):
        raise TypeMismatch(
            f"{role} must be type {target.unconstrained}, not type {value.type.unconstrained}"
        )
    return coerce(value, target)


@overload
def default_to_text(value: Scalar | Untyped) -> Scalar: ...
@overload
def default_to_text(value: Planned) -> TypedExpr: ...
def default_to_text(value: Planned) -> TypedExpr:
    """The scalar; a constant without a type becomes text."""
    return coerce(value, TEXT) if isinstance(value, Untyped) else value


def equal(a: E, b: E) -> E:
    """``a = b`` in their common type."""
    type = operand_of([a.type, b.type]) or common_of([a.type, b.type])
    if type is None:
        raise UnknownOperator("=", [str(side.type.unconstrained) for side in (a, b)])
    return Call("=", (comparable(coerce(a, type)), comparable(coerce(b, type))), BOOLEAN)


def comparable(value: E) -> E:
    """The expression that engines compare for ``value``: of an interval, its span."""
    if not value.type.has_intervals:
        return value
    if isinstance(value, Literal) and value.type == INTERVAL:
        return Literal(None if value.value is None else Decimal(value.value.span_us), SPAN_TYPE)
    return Call(SPAN, (value,), compared_type(value.type))
