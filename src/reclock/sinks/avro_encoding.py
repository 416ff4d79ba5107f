"""Encodes Arrow arrays in Avro's binary encoding (its specification, "Binary Encoding"), column by
column.

Libraries encode one Python object after another, which would take longer than everything else that
a sink does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_NULL, _VALUE = (pa.scalar(branch, pa.binary()) for branch in (b"\x00", b"\x02"))
"""Which branch of a union with ``null`` there is."""

_EMPTY = pa.scalar(b"", pa.binary())
_BOOLEANS = pa.array([b"\x00", b"\x01"], pa.binary())
_GROUPS = np.arange(10, dtype=np.uint64)
"""The groups of seven bits in a number of 64 bits."""


def encoded(values: pa.Array, schema: Any) -> pa.Array:
    """Each value in the encoding of ``schema``, whose only unions are those with ``null``. NULL for
    a value that the schema cannot hold."""
    return _encoded(values, schema, {})


def _encoded(values: pa.Array, schema: Any, named: dict[str, Mapping[str, Any]]) -> pa.Array:
    if isinstance(schema, list):
        return pc.fill_null(joined(_VALUE, _encoded(values, schema[1], named)), _NULL)
    if isinstance(schema, dict) and schema.get("logicalType") == "decimal":
        return _sized(_digits(values.cast(pa.decimal128(schema["precision"], schema["scale"]))))
    match schema["type"] if isinstance(schema, dict) else schema:
        case "record":
            named[schema["name"]] = schema
            # DuckDB has no rows without columns
            columns = zip(values.flatten(), schema["fields"], strict=False)
            parts = [_encoded(column, field["type"], named) for column, field in columns]
            return _where(values, joined(*parts) if parts else pa.repeat(_EMPTY, len(values)))
        case "int" | "long":
            return _number(values)
        case "boolean":
            return _BOOLEANS.take(values.cast(pa.int8()))
        case "float":
            return _fixed(values, "<f4")
        case "double":
            return _fixed(values, "<f8")
        case "string" | "bytes":
            return _sized(values.cast(pa.binary()))
        case name:
            return _encoded(values, named[name], named)


def joined(*parts: Any) -> pa.Array:
    """The concatenated bytes of the parts, row by row."""
    return pc.binary_join_element_wise(*parts, _EMPTY)


def _number(values: pa.Array) -> pa.Array:
    """Zigzag numbers, seven bits a byte, the lowest first. Each byte but the last has its highest
    bit set."""
    numbers = _numpy(values.cast(pa.int64()))
    zigzag = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
    groups = zigzag[:, None] >> (7 * _GROUPS)
    sizes = np.maximum((groups != 0).sum(axis=1), 1)
    is_last = (sizes - 1)[:, None] == _GROUPS
    content = (groups & 0x7F).astype(np.uint8) | np.where(is_last, 0, 0x80).astype(np.uint8)
    return _where(values, _binary(content, sizes[:, None] > _GROUPS))


def _digits(values: pa.Array) -> pa.Array:
    """The unscaled numbers of decimals in two's complement, the highest byte first, in as few bytes
    as possible."""
    stored = np.frombuffer(values.buffers()[1], np.uint8).reshape(-1, 16)
    content = stored[values.offset : values.offset + len(values), ::-1]
    sign = np.where(content[:, :1] & 0x80, 0xFF, 0).astype(np.uint8)
    is_spare = (content[:, :-1] == sign) & (content[:, 1:] & 0x80 == sign & 0x80)
    begins = np.logical_and.accumulate(is_spare, axis=1).sum(axis=1)
    return _where(values, _binary(content, np.arange(16) >= begins[:, None]))


def _fixed(values: pa.Array, kind: str) -> pa.Array:
    content = (
        _numpy(values).astype(kind).view(np.uint8).reshape(len(values), np.dtype(kind).itemsize)
    )
    return _where(values, _binary(content, np.ones(content.shape, bool)))


def _sized(values: pa.Array) -> pa.Array:
    """The bytes after their number."""
    return joined(_number(pc.binary_length(values)), values)


def _numpy(values: pa.Array) -> npt.NDArray[Any]:
    return pc.fill_null(values, pa.scalar(0, values.type)).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _binary(content: npt.NDArray[np.uint8], is_kept: npt.NDArray[np.bool_]) -> pa.Array:
    """Of each row the bytes that are kept."""
    offsets = np.zeros(len(content) + 1, np.int32)
    np.cumsum(is_kept.sum(axis=1), out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(content[is_kept])]
    return pa.Array.from_buffers(pa.binary(), len(content), buffers)


def _where(values: pa.Array, encoded: pa.Array) -> pa.Array:
    """The encoded bytes of the values; NULL where the value is NULL."""
    return (
        pc.if_else(values.is_valid(), encoded, pa.scalar(None, pa.binary()))
        if values.null_count
        else encoded
    )
