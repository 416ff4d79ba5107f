"""Values as columns hold them: PostgreSQL's assignment casts, and limits of lengths and digits."""

from __future__ import annotations

from typing import Any, overload

from reclock.algebra.moments import round_values
from reclock.algebra.relations import (
    BOOLEAN,
    BPCHAR,
    INTEGER,
    INTERVAL,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    Column,
    MomentLimit,
    ScalarType,
    TextLimit,
    TypeName,
    array,
    cut_name,
)
from reclock.errors import (
    TextTooLong,
    TypeMismatch,
)
from reclock.plan.functions import is_implicit
from reclock.plan.functions.moments import ROUNDED
from reclock.plan.scalars import Call, Literal, Scalar
from reclock.sql.queries.coercion import castable, coerce, with_dimensions
from reclock.sql.queries.planned import E, Planned, TypedExpr, Untyped


@overload
def assign(value: Scalar | Untyped, column: Column) -> Scalar: ...
@overload
def assign(value: Planned, column: Column) -> TypedExpr: ...
def assign(value: Planned, column: Column) -> TypedExpr:
    """``value`` as it is stored in ``column``, with PostgreSQL's assignment casts. Raises
    ``TypeMismatch``, ``TextTooLong``."""
    target = column.type
    if target.name is TypeName.ARRAY and not isinstance(value, Untyped):
        value = with_dimensions(value, target.dimensions)
    source = value.type
    if source is not None and not is_assignable(source, target):
        raise TypeMismatch(
            (
                f'column "{column.name}" is of type {target.unconstrained} but expression is of '
                f"type {source.unconstrained}"
            ),
            hint="you will need to rewrite or cast the expression",
        )
    if target.name is TypeName.BPCHAR:
        return _assigned_char(value, target)
    if target.name is TypeName.ARRAY and target.base.length and source != target:
        return _with_chars(value, target)
    assigned = coerce(value, castable(value, target))
    return assigned if column.limit is None else limited(assigned, column.limit)


def _with_chars(value: Planned, target: ScalarType) -> TypedExpr:
    """``value`` as it is stored in a column that is an array of ``char(n)``."""
    chars = coerce(value, array(target.base.unconstrained, target.dimensions))
    if target.base.is_unconstrained or target.base.length is None:
        return chars
    if not isinstance(chars, Literal):
        return _within_length(chars, target.base.length, target)
    if chars.value is not None:
        _check_longest(chars.value, target.base)
    return Literal(chars.value, target)


def _check_longest(items: Items, type: ScalarType) -> None:
    """Raises ``TextTooLong`` for texts of an array that are no values of ``char(n)``."""
    for item in items:
        if isinstance(item, tuple):
            _check_longest(item, type)
        elif item is not None and len(item) > (type.length or 0):
            raise TextTooLong(str(type))


def is_assignable(source: ScalarType, target: ScalarType) -> bool:
    """Whether PostgreSQL's assignment casts lead from the one type to the other."""
    if source.is_list_or_map and source.name is target.name:
        pairs = zip(_parts_of(source), _parts_of(target), strict=True)
        return all(is_assignable(*pair) for pair in pairs)
    if source.is_array and target.name is TypeName.ARRAY:
        return is_assignable(source.base, target.base)
    return (
        is_implicit(source, target)
        or target.name in (TypeName.TEXT, TypeName.BPCHAR)
        or (source.is_number and target.is_number)
        or (source.is_moment and target.is_moment)
        or (target == TIME and source in (TIMESTAMP, TIMESTAMPTZ, INTERVAL))
    )


def _parts_of(type: ScalarType) -> tuple[ScalarType, ...]:
    """The type of a list's elements, or of a map's keys and values."""
    assert type.element is not None
    return tuple(field.type for field in type.element.fields) or (type.element,)


def limited(value: E, limit: TextLimit | MomentLimit) -> E:
    """A text with the column's limit. A longer text is an error, now or when it is computed, unless
    only blanks exceed the limit. A ``name`` and a ``"char"`` are cut, and a moment is rounded."""
    if isinstance(limit, MomentLimit):
        return _rounded(value, limit)
    if isinstance(value, Literal):
        return (
            value if value.value is None else Literal(within_limit(value.value, limit), value.type)
        )
    if value.type.dimensions:
        return _within_length(value, limit.characters, value.type)
    if limit.is_name:
        return Call("name", (value,), TEXT)
    if limit.is_letter:
        return Call("left", (value, Literal(1, INTEGER)), TEXT)
    return _within_length(value, limit.characters, TEXT)


Items = tuple[Any, ...]
"""The value of an array: texts, arrays or None."""


def _within_length(value: E, characters: int, type: ScalarType) -> E:
    is_char = type.base.name is TypeName.BPCHAR
    arguments: tuple[E, ...] = (
        value,
        Literal(characters, INTEGER),
        Literal(is_char, BOOLEAN),
    )
    return Call("within_length", arguments, type)


def _assigned_char(value: Scalar | Untyped | TypedExpr, type: ScalarType) -> TypedExpr:
    """``value`` as it is stored in a column of ``char(n)``. Raises ``TextTooLong``."""
    if type.length is None or (
        value.type is not None
        and value.type.name is TypeName.BPCHAR
        and value.type.length is not None
        and value.type.length <= type.length
    ):
        return coerce(value, type)
    text = coerce(value, BPCHAR)
    if not isinstance(text, Literal):
        return _within_length(coerce(text, TEXT), type.length, type)
    if text.value is not None and len(text.value) > type.length:
        raise TextTooLong(str(type))
    return Literal(text.value, type)


def _rounded(value: E, limit: MomentLimit) -> E:
    if limit.digits == 6:
        return value
    if isinstance(value, Literal):
        return Literal(round_values(value.value, limit), value.type)
    return Call(ROUNDED, (value, Literal(limit.digits, INTEGER)), value.type)


@overload
def within_limit(text: str, limit: TextLimit) -> str: ...
@overload
def within_limit(text: Items, limit: TextLimit) -> Items: ...
def within_limit(text: str | Items, limit: TextLimit) -> str | Items:
    """The text, or the array of texts. Raises ``TextTooLong``."""
    if isinstance(text, tuple):
        return tuple(item if item is None else within_limit(item, limit) for item in text)
    if limit.is_name:
        return cut_name(text)
    if limit.is_letter:
        return text[:1]
    if len(text.rstrip(" ")) > limit.characters:
        raise TextTooLong(str(limit))
    return text[: limit.characters]
