"""Values as clients see them: those of ``char(n)`` have blanks at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from reclock.algebra.relations import ScalarType


def has_blanks(type: ScalarType) -> bool:
    """Whether values of the type are shown with blanks that they do not have."""
    return type.base.length is not None or any(has_blanks(field.type) for field in type.base.fields)


class ShownBatches:
    """``batches`` of columns of these types, with the blanks of ``char(n)``."""

    def __init__(self, batches: Iterable[pa.RecordBatch], types: Sequence[ScalarType]) -> None:
        self._batches, self._types = batches, types
        self._iterator = iter(batches)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        batch = next(self._iterator)
        columns = map(_padded, batch.columns, self._types)
        return pa.RecordBatch.from_arrays(list(columns), schema=batch.schema)

    def close(self) -> None:
        close = getattr(self._batches, "close", None)
        if close is not None:
            close()


def _padded(values: pa.Array, type: ScalarType) -> pa.Array:
    if not has_blanks(type):
        return values
    if type.length is not None:
        return pc.utf8_rpad(values, type.length, " ")
    return pa.array([_padded_value(value, type) for value in values.to_pylist()], values.type)


def _padded_value(value: object, type: ScalarType) -> object:
    match value:
        case str():
            return value.ljust(type.length or 0)
        case list() if type.element is not None:
            return [_padded_value(item, type.element) for item in value]
        case dict():
            fields = zip(value.items(), type.fields, strict=True)
            return {name: _padded_value(item, field.type) for (name, item), field in fields}
        case _:
            return value
