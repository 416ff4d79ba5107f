"""PostgreSQL's binary format of values, both ways: one value, and columns of them at once.

Source of the formats: the ``…send`` and ``…recv`` functions of PostgreSQL's
``src/backend/utils/adt``.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reclock.adapter.context.texts import decode_utf8, not_utf8, texts
from reclock.algebra.array_texts import MOST_DIMENSIONS
from reclock.algebra.binary_scalars import (
    DAY_ZERO,
    date_binary,
    moment_binary,
    numeric_binary,
    read_date,
    read_numeric,
    read_timestamp,
    read_timestamptz,
)
from reclock.algebra.intervals import Interval, interval_of
from reclock.algebra.moments import START_US
from reclock.algebra.numerics import printed
from reclock.algebra.object_ids import type_oid
from reclock.algebra.relations import ScalarType, TypeName
from reclock.algebra.textual import TEXTUAL_TYPES
from reclock.errors import InvalidBinary, UnsupportedSql
from reclock.sql.queries.literals import check_is_finite, number, parse_text

NULL = b"\xff\xff\xff\xff"


# --- out ---


def encode_column(values: pa.Array, type: ScalarType) -> pa.Array:
    """Each value in binary, and NULL for NULL."""
    form = ">u4" if type.is_object_id else _FORMS.get(type.name)
    if form is None:
        if type.name in (TypeName.TEXT, TypeName.ENUM, TypeName.BYTEA):
            return values
        write = value_encoder(type)
        if type.name is TypeName.NUMERIC:
            values, write = texts(values, type), numeric_binary
        return pa.array(
            [None if value is None else write(value) for value in values.to_pylist()],
            pa.large_binary(),
        )
    number = {TypeName.BOOLEAN: pa.int8(), TypeName.DATE: pa.int32()}.get(type.name, values.type)
    if pa.types.is_timestamp(number):
        values, number = values.cast(pa.timestamp("us", values.type.tz)), pa.int64()
    numbers = values.cast(number).fill_null(0).to_numpy(zero_copy_only=False)
    written = fixed(numbers - _ZEROS.get(type.name, 0), form).cast(pa.large_binary())
    return (
        pc.if_else(values.is_valid(), written, pa.scalar(None, pa.large_binary()))
        if values.null_count
        else written
    )


def value_encoder(type: ScalarType) -> Callable[[Any], bytes]:
    """Writes one value other than NULL. Raises ``UnsupportedSql`` for lists and maps."""
    _check_has_binary(type)
    if type.element is not None:
        return partial(_array_binary, type)
    if type.name is TypeName.RECORD:
        encoders = [(type_oid(field.type), value_encoder(field.type)) for field in type.fields]
        return partial(_record_binary, encoders)
    if type.name is TypeName.NUMERIC:
        return lambda value: numeric_binary(format(printed(value, type), "f"))
    return _object_id_binary if type.is_object_id else _BINARY[type.name]


def _check_has_binary(type: ScalarType) -> None:
    if type.is_list_or_map:
        raise UnsupportedSql(
            f"{type} has no binary format", hint="ask for the text format, or cast it to text"
        )


def _array_binary(type: ScalarType, value: Sequence[Any]) -> bytes:
    """The number of dimensions, whether there is a NULL, the type; length and first index of each
    dimension; the elements."""
    write, first = value_encoder(type.base), 0 if type.name is TypeName.VECTOR else 1
    sizes, items = list[int](), value
    for dimension in range(type.dimensions if value else 0):
        if dimension:
            items = [item for row in items for item in row]
        sizes.append(len(items) // math.prod(sizes))
    written = [None if item is None else write(item) for item in items]
    head = struct.pack("!iiI", len(sizes), None in written, type_oid(type.base))
    bounds = [struct.pack("!ii", size, first) for size in sizes]
    return b"".join([head, *bounds, *map(_with_length, written)])


def _record_binary(
    encoders: Sequence[tuple[int, Callable[[Any], bytes]]], value: Mapping[str, Any]
) -> bytes:
    """The number of fields; of each its type and its value."""
    parts = [struct.pack("!i", len(encoders))]
    for item, (oid, encode) in zip(value.values(), encoders, strict=True):
        parts += [
            struct.pack("!I", oid),
            _with_length(None if item is None else encode(item)),
        ]
    return b"".join(parts)


def _with_length(item: bytes | None) -> bytes:
    return NULL if item is None else len(item).to_bytes(4, "big") + item


def _interval_binary(value: Any) -> bytes:
    interval = interval_of(value)
    return struct.pack("!qii", interval.microseconds, interval.days, interval.months)


def with_lengths(values: pa.Array) -> list[pa.Array]:
    """The length of each value, as four bytes (-1: NULL), and the values."""
    values = values.cast(pa.large_binary())
    return [
        fixed(pc.binary_length(values).fill_null(-1).to_numpy(zero_copy_only=False), ">i4"),
        values,
    ]


def fixed(numbers: np.ndarray, form: str) -> pa.FixedSizeBinaryArray:
    """Each number in NumPy's ``form``, such as ``>i4``."""
    raw = numbers.astype(form)
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(raw.itemsize), len(raw), [None, pa.py_buffer(raw.tobytes())]
    )


_BINARY: dict[TypeName, Callable[[Any], bytes]] = {
    TypeName.BOOLEAN: lambda value: b"\1" if value else b"\0",
    TypeName.SMALLINT: struct.Struct("!h").pack,
    TypeName.INTEGER: struct.Struct("!i").pack,
    TypeName.BIGINT: struct.Struct("!q").pack,
    TypeName.REAL: struct.Struct("!f").pack,
    TypeName.DOUBLE: struct.Struct("!d").pack,
    TypeName.TEXT: str.encode,
    TypeName.ENUM: str.encode,
    TypeName.BYTEA: bytes,
    **{name: textual.to_binary for name, textual in TEXTUAL_TYPES.items()},
    TypeName.DATE: date_binary,
    TypeName.TIMESTAMP: moment_binary,
    TypeName.TIMESTAMPTZ: moment_binary,
    TypeName.INTERVAL: _interval_binary,
}
_FORMS = {
    TypeName.BOOLEAN: "u1",
    TypeName.SMALLINT: ">i2",
    TypeName.INTEGER: ">i4",
    TypeName.BIGINT: ">i8",
    TypeName.REAL: ">f4",
    TypeName.DOUBLE: ">f8",
    TypeName.DATE: ">i4",
    TypeName.TIMESTAMP: ">i8",
    TypeName.TIMESTAMPTZ: ">i8",
}
"""Types whose values are one number each in the binary format."""
_ZEROS = {
    TypeName.DATE: (DAY_ZERO - date(1970, 1, 1)).days,
    TypeName.TIMESTAMP: START_US,
    TypeName.TIMESTAMPTZ: START_US,
}
_object_id_binary = struct.Struct("!I").pack


# --- in ---


def decode_value(raw: bytes, type: ScalarType) -> object:
    """The value in binary; an array has its own number of dimensions. Raises ``InvalidBinary``,
    ``InvalidEnumLabel``, and ``ProtocolViolation`` for text that is not UTF-8."""
    _check_has_binary(type)
    try:
        if type.enum is not None:
            return parse_text(decode_utf8(raw), type)
        if type.name is TypeName.RECORD:
            return _record(raw, type)
        return _array(raw, type) if type.element is not None else _READERS[type.name](raw)
    except UnicodeDecodeError as error:
        raise not_utf8(error) from None
    except (struct.error, OverflowError, ValueError, KeyError) as error:
        raise InvalidBinary(type.name) from error


def parse_decimal(text: str) -> Decimal:
    """A number with all digits that were sent. Raises ``NumberOutOfRange`` for NaN and infinity."""
    check_is_finite(text)
    stripped = text.strip()
    value, _ = number(stripped[1:] if stripped[:1] in ("+", "-") else text)
    return Decimal(value).copy_negate() if stripped.startswith("-") else Decimal(value)


def _array(raw: bytes, type: ScalarType) -> tuple[Any, ...]:
    """An array of whatever dimensions. Raises ``UnsupportedSql`` if its first index is not 1."""
    dimensions, _, _ = struct.unpack_from("!iiI", raw)
    if not 0 <= dimensions <= MOST_DIMENSIONS:
        raise ValueError("an array has six dimensions at most")
    bounds = struct.unpack_from(f"!{2 * dimensions}i", raw, 12)
    if any(first != (type.name is TypeName.ARRAY) for first in bounds[1::2]):
        raise UnsupportedSql("arrays whose first index is not 1 are not supported")
    sizes = bounds[::2]
    at, items = 12 + 8 * dimensions, list[Any]()
    if not sizes or min(sizes) == 0:
        return ()
    for _ in range(math.prod(sizes)):
        (length,) = struct.unpack_from("!i", raw, at)
        at += 4
        items.append(None if length < 0 else decode_value(raw[at : at + length], type.base))
        at += max(length, 0)
    for size in reversed(sizes[1:]):
        items = [tuple(items[i : i + size]) for i in range(0, len(items), size)]
    return tuple(items)


def _record(raw: bytes, type: ScalarType) -> tuple[Any, ...]:
    """The fields of a composite type, each with its type and its length."""
    (count,) = struct.unpack_from("!i", raw)
    if not type.fields or count != len(type.fields):
        raise ValueError("another number of fields than the type has")
    at, values = 4, list[Any]()
    for field in type.fields:
        oid, length = struct.unpack_from("!Ii", raw, at)
        if oid != type_oid(field.type):
            raise InvalidBinary(f"{field.type} in field {field.name}")
        at += 8
        values.append(None if length < 0 else decode_value(raw[at : at + length], field.type))
        at += max(length, 0)
    return tuple(values)


def _boolean(raw: bytes) -> bool:
    (value,) = struct.unpack("!?", raw)
    return bool(value)


def _interval(raw: bytes) -> Interval:
    microseconds, days, months = struct.unpack("!qii", raw)
    return Interval(months, days, microseconds)


def _unpacked(code: str) -> Callable[[bytes], Any]:
    return lambda raw: struct.unpack(code, raw)[0]


_READERS: dict[TypeName, Callable[[bytes], Any]] = {
    TypeName.BOOLEAN: _boolean,
    TypeName.SMALLINT: _unpacked("!h"),
    TypeName.INTEGER: _unpacked("!i"),
    TypeName.BIGINT: _unpacked("!q"),
    TypeName.REAL: _unpacked("!f"),
    TypeName.DOUBLE: _unpacked("!d"),
    TypeName.NUMERIC: lambda raw: parse_decimal(format(read_numeric(raw), "f")),
    TypeName.TEXT: decode_utf8,
    TypeName.BYTEA: bytes,
    **{name: textual.from_binary for name, textual in TEXTUAL_TYPES.items()},
    TypeName.DATE: read_date,
    TypeName.TIMESTAMP: read_timestamp,
    TypeName.TIMESTAMPTZ: read_timestamptz,
    TypeName.INTERVAL: _interval,
    TypeName.OID: _unpacked("!I"),
}
