"""Arrays and intervals in records, and in rows of PostgreSQL. Their elements are decoded together,
as a column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from reclock.algebra import array_texts
from reclock.algebra.array_shapes import shape
from reclock.algebra.interval_reading import parse_interval
from reclock.algebra.json_documents import dumps, loads
from reclock.algebra.relations import INTERVAL, ScalarType
from reclock.collections.schema import arrow_type
from reclock.errors import UnsupportedSql

Elements = Callable[[Sequence[str | None]], pa.Array]
"""Decodes the texts of elements, or their documents."""


def of_texts(texts: Sequence[str | None], type: ScalarType, decode: Elements) -> pa.Array:
    """The values that PostgreSQL writes so. Raises ``ValueError``."""
    if type.element is None:
        return _intervals(texts)
    return _arrays([_items(text, type) for text in texts], type, decode)


def of_documents(documents: Sequence[str | None], type: ScalarType, decode: Elements) -> pa.Array:
    """The arrays and texts of intervals that the documents are. Raises ``ValueError``."""
    values = [None if document is None else loads(document) for document in documents]
    expected = str if type.element is None else list
    if (wrong := next((v for v in values if not isinstance(v, expected | None)), None)) is not None:
        raise ValueError(f"found {dumps(wrong)[:40]}")
    if type.element is None:
        return _intervals(values)
    lists = [None if value is None else _documents(value, type) for value in values]
    return _arrays(lists, type, decode)


def _items(text: str | None, type: ScalarType) -> list[Any] | None:
    if text is None:
        return None
    with suppress(ValueError, UnsupportedSql):
        items = array_texts.elements(text)
        if len(shape(items)) in (0, type.dimensions):
            return items
    raise _malformed(text, type)


def _documents(value: list[Any], type: ScalarType) -> list[Any]:
    """The documents of the elements."""

    def documents(items: object, dimensions: int) -> list[Any]:
        if not isinstance(items, list):
            raise ValueError
        if dimensions > 1:
            return [documents(item, dimensions - 1) for item in items]
        return [None if item is None else dumps(item) for item in items]

    try:
        items = documents(value, type.dimensions)
        return items if shape(items) else []
    except ValueError:
        raise _malformed(dumps(value), type) from None


def _malformed(text: str, type: ScalarType) -> ValueError:
    count = "one dimension" if type.dimensions == 1 else f"{type.dimensions} dimensions"
    return ValueError(f'"{text[:40]}" is not an array of {count}')


def _arrays(lists: Sequence[list[Any] | None], type: ScalarType, decode: Elements) -> pa.Array:
    assert type.element is not None
    offsets, items = [0], list[Any]()
    for array in lists:
        items += array or ()
        offsets.append(len(items))
    missing = pa.array([array is None for array in lists], pa.bool_())
    values = _arrays(items, type.element, decode) if type.dimensions > 1 else decode(items)
    return pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), values, arrow_type(type), mask=missing
    )


def _intervals(texts: Sequence[str | None]) -> pa.Array:
    def value(text: str) -> dict[str, int]:
        try:
            return parse_interval(text)._asdict()
        except (ValueError, KeyError, OverflowError) as error:
            raise ValueError(f'"{text[:40]}" is not an interval') from error

    kind = arrow_type(INTERVAL)
    return pa.array([None if text is None else value(text) for text in texts], kind)
