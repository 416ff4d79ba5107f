"""Arrays and intervals in records, and in rows of PostgreSQL. Their elements are decoded together, as
a column."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from reclock.algebra import array_texts
from reclock.algebra.interval_reading import parse_interval
from reclock.algebra.json_documents import dumps, loads
from reclock.algebra.relations import INTERVAL, ScalarType
from reclock.collections.schema import arrow_type

Elements = Callable[[Sequence[str | None]], pa.Array]
"""Decodes the texts of elements, or their documents."""


def of_texts(texts: Sequence[str | None], type: ScalarType, decode: Elements) -> pa.Array:
    """The values that PostgreSQL writes so. Raises ``ValueError``."""
    if type.element is None:
        return _intervals(texts)
    try:
        lists = [None if text is None else array_texts.elements(text) for text in texts]
    except ValueError as error:
        raise ValueError(f'"{str(error)[:40]}" is not an array of one dimension') from error
    return _arrays(lists, type, decode)


def of_documents(documents: Sequence[str | None], type: ScalarType, decode: Elements) -> pa.Array:
    """The arrays and texts of intervals that the documents are. Raises ``ValueError``."""
    values = [None if document is None else loads(document) for document in documents]
    expected = str if type.element is None else list
    if (wrong := next((v for v in values if not isinstance(v, expected | None)), None)) is not None:
        raise ValueError(f"found {dumps(wrong)[:40]}")
    if type.element is None:
        return _intervals(values)
    lists = [
        None if value is None else [None if item is None else dumps(item) for item in value]
        for value in values
    ]
    return _arrays(lists, type, decode)


def _arrays(
    lists: Sequence[list[str | None] | None], type: ScalarType, decode: Elements
) -> pa.Array:
    offsets, items = [0], list[str | None]()
    for each in lists:
        items += each or ()
        offsets.append(len(items))
    missing = pa.array([each is None for each in lists], pa.bool_())
    return pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), decode(items), arrow_type(type), mask=missing
    )


def _intervals(texts: Sequence[str | None]) -> pa.Array:
    def value(text: str) -> dict[str, int]:
        try:
            return parse_interval(text)._asdict()
        except (ValueError, KeyError, OverflowError) as error:
            raise ValueError(f'"{text[:40]}" is not an interval') from error

    kind = arrow_type(INTERVAL)
    return pa.array([None if text is None else value(text) for text in texts], kind)
