"""PostgreSQL's rules for mixed types: implicit casts, the common type of several, and overload
resolution by signature."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    BPCHAR,
    CIDR,
    DOUBLE,
    INET,
    INTEGER,
    MAX_PRECISION,
    OID,
    REAL,
    SMALLINT,
    TEXT,
    ScalarType,
    TypeName,
    array,
    numeric,
    record,
)
from reclock.plan.functions.registry import Resolver, Types

_DIGITS = {TypeName.SMALLINT: 5, TypeName.INTEGER: 10, TypeName.BIGINT: 19}
_INTEGERS = (SMALLINT, INTEGER, BIGINT)
_NUMBERS = (
    TypeName.SMALLINT,
    TypeName.INTEGER,
    TypeName.BIGINT,
    TypeName.NUMERIC,
    TypeName.REAL,
    TypeName.DOUBLE,
)
_MOMENTS = (TypeName.DATE, TypeName.TIMESTAMP, TypeName.TIMESTAMPTZ)


def as_numeric(type: ScalarType) -> ScalarType:
    """The numeric type that holds every value of an integer or numeric type."""
    if type.name is TypeName.NUMERIC:
        return type if type.precision is not None else numeric()
    return numeric(_DIGITS[type.name], 0)


def parameters(type: ScalarType) -> tuple[int, int]:
    """Precision and scale of a numeric type."""
    exact_type = as_numeric(type)
    return exact_type.precision or MAX_PRECISION, exact_type.scale or 0


def widened(
    integral_digits: int,
    scale: int,
    *operands: ScalarType,
    digits: Callable[[Iterable[int]], int] = max,
) -> ScalarType:
    """The numeric type with room for so many digits before and after the point, within 38 in all.

    It is unconstrained if one of ``operands``, of which its values are computed, is. ``digits``
    says how many digits after the point are printed at least, given those of the operands.
    """
    result = numeric(max(1, min(MAX_PRECISION, integral_digits + scale)), scale)
    result = replace(result, is_unconstrained=any(operand.is_unconstrained for operand in operands))
    if all(operand.least_digits is None for operand in operands):
        return result
    least = min(scale, digits(map(least_digits, operands)))
    return replace(
        result, least_digits=least, is_quotient=any(operand.is_quotient for operand in operands)
    )


def least_digits(type: ScalarType) -> int:
    """The digits after the point that every value of an integer or numeric type prints."""
    return parameters(type)[1] if type.least_digits is None else type.least_digits


def declared(type: ScalarType) -> ScalarType:
    """``type``, of whose values all digits are printed."""
    return replace(type, least_digits=None, is_quotient=False, integral_digits=None)


def common_type(types: Sequence[ScalarType | None]) -> ScalarType | None:
    """The type that all can be cast to without loss of kind; TEXT if none has a type, None if there
    is no such type. It is a domain only if all are of this domain."""
    present = [type for type in types if type is not None]
    if not present:
        return TEXT
    if len({type.domain for type in present}) > 1:
        present = [type.without_domain for type in present]
    result: ScalarType | None = present[0]
    for type in present[1:]:
        result = result and _common_of_two(result, type)
    return result


def operand_type(types: Sequence[ScalarType | None]) -> ScalarType | None:
    """The type in which operators compute with and compare values of all of these.

    It is ``common_type``, but a real beside another number is a double there. Beside ``text``, a
    ``char(n)`` is that, and beside ``varchar`` it stays what it is.
    """
    common = common_type(types)
    if any(type is not None and type.name is TypeName.BPCHAR for type in types) and common:
        return _compared_text([type for type in types if type is not None])
    return DOUBLE if common == REAL and any(type not in (REAL, None) for type in types) else common


def is_implicit(source: ScalarType | None, target: ScalarType) -> bool:
    """Whether a value of ``source`` may stand where ``target`` is wanted, without an explicit
    cast."""
    if (
        source is None
        or source.name is target.name
        or (source.is_array and target.name is TypeName.ARRAY)
    ):
        return source is None or (
            (source.element, source.enum) == (target.element, target.enum)
            and (
                source.composite == target.composite or not (source.composite and target.composite)
            )
        )
    if target.is_object_id:
        return source.is_object_id or source.is_integer
    if source.is_object_id:
        return target.name is TypeName.BIGINT
    if source.name is TypeName.TIME:
        return target.name is TypeName.INTERVAL
    if source.name is TypeName.BPCHAR:
        return target == TEXT
    if source == CIDR:
        return target == INET
    for ladder in (_NUMBERS, _MOMENTS):
        if source.name in ladder and target.name in ladder:
            return ladder.index(source.name) < ladder.index(target.name)
    return False


def exact(*signatures: tuple[Sequence[ScalarType], ScalarType]) -> Resolver:
    """Overloads by signature: the one with most arguments of exactly its types among those all
    arguments may stand in for."""

    def resolve(
        types: Types, constants: Mapping[int, object]
    ) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
        candidates = [
            (tuple(argument_types), result)
            for argument_types, result in signatures
            if len(argument_types) == len(types)
            and all(
                is_implicit(have, want) for have, want in zip(types, argument_types, strict=True)
            )
        ]
        return max(
            candidates,
            key=lambda candidate: sum(
                have == want for have, want in zip(types, candidate[0], strict=True)
            ),
            default=None,
        )

    return resolve


def same(
    result: ScalarType | None = None, *, at_least: int = 1, at_most: int | None = None
) -> Resolver:
    """Arguments of one common type; answers that type unless ``result`` says another. What answers
    a boolean compares them."""

    def resolve(
        types: Types, constants: Mapping[int, object]
    ) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
        common = operand_type(types) if result == BOOLEAN else common_type(types)
        if (
            common is None
            or len(types) < at_least
            or (at_most is not None and len(types) > at_most)
        ):
            return None
        return (common,) * len(types), result or common

    return resolve


def a_number(
    types: Types, constants: Mapping[int, object]
) -> tuple[tuple[ScalarType, ...], ScalarType] | None:
    """One number of any kind; answers its type. An untyped argument is a double."""
    type = (types[0] or DOUBLE) if len(types) == 1 else None
    return ((type,), type) if type and type.is_number else None


def _common_of_two(first: ScalarType, second: ScalarType) -> ScalarType | None:
    if {first.name, second.name} <= {TypeName.BPCHAR, TypeName.TEXT}:
        return _common_text(first, second)
    if first == second:
        return first
    if first.is_number and second.is_number:
        if first.is_float or second.is_float:
            return DOUBLE if DOUBLE in (first, second) else REAL
        if first.is_integer and second.is_integer:
            return max(first, second, key=_INTEGERS.index)
        (p1, s1), (p2, s2) = parameters(first), parameters(second)
        return widened(max(p1 - s1, p2 - s2), max(s1, s2), first, second, digits=min)
    if first.is_object_id or second.is_object_id:
        return (
            OID if all(type.is_object_id or type.is_integer for type in (first, second)) else None
        )
    if first.element is not None and second.element is not None:
        if first.name is not second.name and not (first.is_array and second.is_array):
            return None
        element = _common_of_two(first.element, second.element)
        if element is None:
            return None
        return array(element) if first.is_array else replace(first, element=element)
    if first.name is second.name is TypeName.RECORD and len(first.fields) == len(second.fields):
        return _common_record(first, second)
    if first.is_network and second.is_network:
        return INET
    if first.is_moment and second.is_moment:
        return max(first, second, key=lambda type: _MOMENTS.index(type.name))
    return None


def _compared_text(types: Sequence[ScalarType]) -> ScalarType:
    """The type that texts, ``varchar`` and ``char(n)`` are compared in."""
    if any(type.name is TypeName.TEXT and not type.is_varchar for type in types):
        return TEXT
    return reduce(_common_text, sorted(types, key=lambda type: type.name is TypeName.TEXT))


def _common_text(first: ScalarType, second: ScalarType) -> ScalarType:
    """The first, as in PostgreSQL. Values of ``char(n)`` that have several lengths have none in
    common."""
    if first == second or first.name is TypeName.TEXT:
        return first
    return first.unconstrained if first.length == second.length else BPCHAR


def _common_record(first: ScalarType, second: ScalarType) -> ScalarType | None:
    """Records of the common types of the fields, with the names of the first. A composite type
    beside an anonymous record of the types of its fields is the common type."""
    composite = next((type for type in (first, second) if type.composite is not None), None)
    if composite is not None and [field.type for field in first.fields] == [
        field.type for field in second.fields
    ]:
        are_both = None not in (first.composite, second.composite)
        return record(first.fields) if are_both else composite
    fields = []
    for field, beside in zip(first.fields, second.fields, strict=True):
        type = _common_of_two(field.type, beside.type)
        if type is None:
            return None
        fields.append(replace(field, type=type))
    return record(fields)
