"""Values of arrays: sequences, within each other if the array has several dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reclock.algebra.intervals import Interval
from reclock.algebra.relations import ScalarType, array
from reclock.errors import UnsupportedSql


def shape(items: Sequence[Any]) -> tuple[int, ...]:
    """The length of each dimension; none of an array without elements. Raises ``ValueError`` if
    arrays within it differ in their lengths."""
    are_arrays = [
        isinstance(item, list | tuple) and not isinstance(item, Interval) for item in items
    ]
    if not any(are_arrays):
        return (len(items),) if items else ()
    if not all(are_arrays):
        raise ValueError("an element beside an array")
    shapes = {shape(item) for item in items}
    if len(shapes) > 1:
        raise ValueError("arrays of different lengths")
    [inner] = shapes
    return (len(items), *inner) if inner else ()


def with_dimensions(value: Any, type: ScalarType) -> ScalarType:
    """``type``, an array's, with the dimensions of ``value``, if that says how many it has."""
    if not value or type.base.is_nested:
        return type
    return array(type.base, len(shape(value)))


def check_value(value: Any, type: ScalarType) -> None:
    """Raises ``UnsupportedSql`` unless ``value`` has the dimensions of ``type``, or no elements."""
    check_dimensions(with_dimensions(value, type), type)


def check_dimensions(value_type: ScalarType, type: ScalarType) -> None:
    """Raises ``UnsupportedSql`` unless both array types have as many dimensions."""
    if value_type.dimensions != type.dimensions:
        raise UnsupportedSql(
            f"an array of {_counted(value_type)} cannot be used as an array of {_counted(type)}",
            hint=f"a column for it has type {value_type}",
        )


def _counted(type: ScalarType) -> str:
    return f"{type.dimensions} dimension{'s' if type.dimensions > 1 else ''}"
