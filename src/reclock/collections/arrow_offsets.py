"""Arrow tables for DuckDB, which refuses slices of columns with structs inside of others."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def without_offsets(table: pa.Table) -> pa.Table:
    """``table``, where columns with structs below others begin where their buffers do."""
    for place, field in enumerate(table.schema):
        chunks = table.column(place).chunks
        if _has_inner_struct(field.type) and any(chunk.offset for chunk in chunks):
            copied = pa.chunked_array([_copy(chunk) for chunk in chunks], field.type)
            table = table.set_column(place, field, copied)
    return table


def _has_inner_struct(type: pa.DataType) -> bool:
    return any(pa.types.is_struct(part) or _has_inner_struct(part) for part in _parts(type))


def _parts(type: pa.DataType) -> list[pa.DataType]:
    return [type.field(place).type for place in range(type.num_fields)]


def _copy(array: pa.Array) -> pa.Array:
    return pc.take(array, pa.array(range(len(array)), pa.int64()))
