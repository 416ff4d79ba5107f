"""Values on the wire: PostgreSQL's object ids for our types, and the text and binary format of each, both ways.

Source of the binary formats: the ``…send`` and ``…recv`` functions of PostgreSQL's ``src/backend/utils/adt``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, localcontext
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reclock.adapter.texts import joined, real_text, text_of, texts
from reclock.algebra.object_ids import type_modifier, type_oid, type_rows, type_size
from reclock.algebra.relations import OID, TEXT, Column, ScalarType, TypeName, array
from reclock.errors import InvalidBinary, UnknownObject
from reclock.server.messages import Field, decoded
from reclock.sql.planner.literals import number, parse_text

_DAY_ZERO = date(2000, 1, 1)
_MOMENT_ZERO = datetime(2000, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
NULL = b"\xff\xff\xff\xff"

_TYPES: dict[int, ScalarType] = {
    **{each.oid: each.type for each in type_rows()},
    18: TEXT,  # "char"
    19: TEXT,  # name
    114: TEXT,  # json
    1002: array(TEXT),  # "char"[]
    1003: array(TEXT),  # name[]
    1015: array(TEXT),  # character varying[]
    1042: TEXT,  # character
    1043: TEXT,  # character varying
    2205: OID,  # regclass: as a number
}
_UNKNOWN = (0, 705)
_MANY_ROWS = 50
"""So many are faster as columns, fewer one by one."""


def type_of(oid: int) -> ScalarType | None:
    """The type a client names by its object id; None if it leaves that open. Raises ``UnknownObject``."""
    if oid in _UNKNOWN:
        return None
    if oid not in _TYPES:
        raise UnknownObject("type", str(oid), hint="send the parameter as text, with type 0")
    return _TYPES[oid]


def field(column: Column, format: int) -> Field:
    return Field(column.name, type_oid(column.type), type_size(column.type), type_modifier(column.type), format)


# --- out ---


@dataclass(frozen=True, slots=True)
class Messages:
    """Whole messages, one after the other: ``ends`` are where each is over."""

    data: memoryview | bytes
    ends: Sequence[int]

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, part: slice) -> Messages:
        """Some in a row."""
        ends = self.ends[part]
        if not len(ends):
            return Messages(b"", [])
        begin = int(self.ends[part.start - 1]) if part.start else 0
        return Messages(self.data[begin : int(ends[-1])], [end - begin for end in ends])


def encoder(types: Sequence[ScalarType], formats: Sequence[int]) -> Callable[[pa.RecordBatch], Messages]:
    """Batches of these types to ``DataRow`` messages, one a row."""
    one_by_one = [_column_encoder(type, format) for type, format in zip(types, formats, strict=True)]
    at_once = [partial(_binaries if format else texts, type=type) for type, format in zip(types, formats, strict=True)]
    width = len(types).to_bytes(2, "big")

    def few(batch: pa.RecordBatch) -> Messages:
        columns = [encode(column.to_pylist()) for encode, column in zip(one_by_one, batch.columns, strict=True)]
        rows = map(b"".join, zip(*columns, strict=True)) if columns else [b""] * batch.num_rows
        messages = [b"D" + (len(row) + 6).to_bytes(4, "big") + width + row for row in rows]
        return Messages(b"".join(messages), list(accumulate(map(len, messages))))

    def many(batch: pa.RecordBatch) -> Messages:
        parts: list[bytes | pa.Array] = []
        sizes = np.full(batch.num_rows, len(width), np.int64)
        for encode, column in zip(at_once, batch.columns, strict=True):
            values = encode(column).cast(pa.large_binary())
            lengths = pc.binary_length(values).fill_null(-1).to_numpy(zero_copy_only=False)
            sizes += 4 + np.maximum(lengths, 0)
            parts += [fixed(lengths, ">i4"), values]
        return _packed(_framed(b"D", sizes, [width, *parts]))

    return lambda batch: many(batch) if batch.num_rows >= _MANY_ROWS else few(batch)


def framed(kind: bytes, bodies: pa.LargeBinaryArray) -> Messages:
    """Each of the bodies as a message."""
    return _packed(_framed(kind, pc.binary_length(bodies).to_numpy(zero_copy_only=False), [bodies]))


def _framed(kind: bytes, sizes: np.ndarray, parts: Sequence[bytes | pa.Array]) -> pa.LargeBinaryArray:
    """Messages of bodies of those sizes, which are the parts."""
    return joined([kind, fixed(sizes + 4, ">i4"), *parts], len(sizes))


def _packed(messages: pa.LargeBinaryArray) -> Messages:
    """The array itself, whose values are one after the other in memory."""
    _, offsets, data = messages.buffers()
    ends = np.frombuffer(offsets, np.int64)[messages.offset : messages.offset + len(messages) + 1]
    return Messages(memoryview(data)[ends[0] : ends[-1]] if len(messages) else b"", ends[1:] - ends[0])


def fixed(numbers: np.ndarray, form: str) -> pa.FixedSizeBinaryArray:
    """Each number in NumPy's ``form``, such as ``>i4``."""
    raw = numbers.astype(form)
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(raw.itemsize), len(raw), [None, pa.py_buffer(raw.tobytes())])


def _binaries(values: pa.Array, type: ScalarType) -> pa.Array:
    """The binary format of each value."""
    is_array = type.element is not None
    form = ">u4" if type.is_object_id else None if is_array else _FORMS.get(type.name)
    if form is None:
        if not is_array and type.name in (TypeName.TEXT, TypeName.BYTEA):
            return values
        write = _binary(type)
        return pa.array([None if value is None else write(value) for value in values.to_pylist()], pa.large_binary())
    number = {TypeName.BOOLEAN: pa.int8(), TypeName.DATE: pa.int32()}.get(type.name, values.type)
    if pa.types.is_timestamp(number):
        values, number = values.cast(pa.timestamp("us", values.type.tz)), pa.int64()
    numbers = values.cast(number).fill_null(0).to_numpy(zero_copy_only=False)
    written = fixed(numbers - _ZEROS.get(type.name, 0), form).cast(pa.large_binary())
    return pc.if_else(values.is_valid(), written, pa.scalar(None, pa.large_binary())) if values.null_count else written


def _column_encoder(type: ScalarType, format: int) -> Callable[[list[Any]], list[bytes]]:
    write = _binary(type) if format else _TEXT.get(type.name, text_of)

    def encode(values: list[Any]) -> list[bytes]:
        written = [None if value is None else write(value) for value in values]
        raw = [value.encode() if isinstance(value, str) else value for value in written]
        return [NULL if value is None else len(value).to_bytes(4, "big") + value for value in raw]

    return encode


def _binary(type: ScalarType) -> Callable[[Any], bytes]:
    if type.element is not None:
        return partial(_array_binary, type.element)
    return _object_id_binary if type.is_object_id else _BINARY[type.name]


def _array_binary(element: ScalarType, value: Sequence[Any]) -> bytes:
    """Dimensions, whether there is a NULL, the type; length and lower bound of the one dimension; the elements."""
    write = _binary(element)
    items = [None if each is None else write(each) for each in value]
    head = struct.pack("!iiI", 1 if items else 0, None in items, type_oid(element))
    if items:
        head += struct.pack("!ii", len(items), 1)
    return head + b"".join(NULL if each is None else len(each).to_bytes(4, "big") + each for each in items)


def _interval_binary(value: timedelta) -> bytes:
    """Days and what is left of them have one sign, as when PostgreSQL subtracts moments."""
    days = abs(value).days * (-1 if value < timedelta(0) else 1)
    return struct.pack("!qii", (value - timedelta(days=days)) // _MICROSECOND, days, 0)


def _moment_binary(value: datetime) -> bytes:
    naive = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    return struct.pack("!q", (naive - _MOMENT_ZERO) // _MICROSECOND)


def _numeric_binary(value: Decimal) -> bytes:
    """Digits in groups of four: count, weight of the first, sign, digits after the point, groups."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    whole = "".join(map(str, digits)) + "0" * max(0, exponent)
    whole = whole.rjust(scale + 1, "0")
    before, after = (whole[:-scale], whole[-scale:]) if scale else (whole, "")
    before = before.rjust(-(-len(before) // 4) * 4, "0")
    after = after.ljust(-(-len(after) // 4) * 4, "0")
    text = before + after
    groups = [int(text[i : i + 4]) for i in range(0, len(text), 4)]
    weight = len(before) // 4 - 1
    while groups and groups[0] == 0:
        groups.pop(0)
        weight -= 1
    while groups and groups[-1] == 0:
        groups.pop()
    if not groups:
        weight, sign = 0, 0
    return struct.pack(f"!HhHH{len(groups)}H", len(groups), weight, 0x4000 if sign else 0, scale, *groups)


_TEXT: dict[TypeName, Callable[[Any], str | bytes]] = {
    TypeName.TEXT: str.encode,
    TypeName.SMALLINT: str,
    TypeName.INTEGER: str,
    TypeName.BIGINT: str,
    TypeName.REAL: real_text,
    TypeName.VECTOR: lambda value: " ".join(map(str, value)),
}
_BINARY: dict[TypeName, Callable[[Any], bytes]] = {
    TypeName.BOOLEAN: lambda value: b"\1" if value else b"\0",
    TypeName.SMALLINT: struct.Struct("!h").pack,
    TypeName.INTEGER: struct.Struct("!i").pack,
    TypeName.BIGINT: struct.Struct("!q").pack,
    TypeName.REAL: struct.Struct("!f").pack,
    TypeName.DOUBLE: struct.Struct("!d").pack,
    TypeName.NUMERIC: _numeric_binary,
    TypeName.TEXT: str.encode,
    TypeName.BYTEA: bytes,
    TypeName.DATE: lambda value: struct.pack("!i", (value - _DAY_ZERO).days),
    TypeName.TIMESTAMP: _moment_binary,
    TypeName.TIMESTAMPTZ: _moment_binary,
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
    TypeName.DATE: (_DAY_ZERO - date(1970, 1, 1)).days,
    TypeName.TIMESTAMP: (_MOMENT_ZERO - datetime(1970, 1, 1)) // _MICROSECOND,
    TypeName.TIMESTAMPTZ: (_MOMENT_ZERO - datetime(1970, 1, 1)) // _MICROSECOND,
}
_object_id_binary = struct.Struct("!I").pack


# --- in ---


def decode(raw: bytes | None, type: ScalarType, format: int) -> Any:
    """A parameter's value. Raises ``InvalidText``, ``NumberOutOfRange``, ``InvalidBinary``."""
    if raw is None:
        return None
    if not format:
        text = decoded(raw)
        if type.name is TypeName.NUMERIC:
            return parse_decimal(text)
        return parse_text(text, type)
    try:
        return _array(raw, type.element) if type.element is not None else _READERS[type.name](raw)
    except (struct.error, OverflowError, ValueError) as error:
        raise InvalidBinary(type.name) from error


def parse_decimal(text: str) -> Decimal:
    """A number with as many digits as it is written with."""
    stripped = text.strip()
    value, _ = number(stripped[1:] if stripped[:1] in ("+", "-") else text)
    return Decimal(value).copy_negate() if stripped.startswith("-") else Decimal(value)


def _array(raw: bytes, element: ScalarType) -> tuple[Any, ...]:
    dimensions, _, _ = struct.unpack_from("!iiI", raw)
    if dimensions > 1:
        raise ValueError("arrays have one dimension")
    count = struct.unpack_from("!i", raw, 12)[0] if dimensions else 0
    at, items = 20, list[Any]()
    for _ in range(count):
        (length,) = struct.unpack_from("!i", raw, at)
        at += 4
        items.append(None if length < 0 else _READERS[element.name](raw[at : at + length]))
        at += max(length, 0)
    return tuple(items)


def _boolean(raw: bytes) -> bool:
    (value,) = struct.unpack("!?", raw)
    return bool(value)


def _days(raw: bytes) -> date:
    return _DAY_ZERO + timedelta(days=struct.unpack("!i", raw)[0])


def _moment(raw: bytes) -> datetime:
    return _MOMENT_ZERO + timedelta(microseconds=struct.unpack("!q", raw)[0])


def _interval(raw: bytes) -> timedelta:
    microseconds, days, months = struct.unpack("!qii", raw)
    if months:
        raise ValueError("intervals of months are not supported")
    return timedelta(days=days, microseconds=microseconds)


def _numeric(raw: bytes) -> Decimal:
    count, weight, sign, scale = struct.unpack_from("!HhHH", raw)
    groups = struct.unpack(f"!{count}H", raw[8:])
    if sign not in (0, 0x4000) or any(group > 9999 for group in groups) or abs(weight) > 100 or scale > 1000:
        raise ValueError("not a number that is finite")
    with localcontext(prec=2000):
        value = sum((Decimal(group).scaleb(4 * (weight - i)) for i, group in enumerate(groups)), Decimal(0))
        text = format(value.quantize(Decimal(1).scaleb(-scale)), "f")
    return parse_decimal(f"{'-' if sign else ''}{text}")


def _unpacked(code: str) -> Callable[[bytes], Any]:
    return lambda raw: struct.unpack(code, raw)[0]


_READERS: dict[TypeName, Callable[[bytes], Any]] = {
    TypeName.BOOLEAN: _boolean,
    TypeName.SMALLINT: _unpacked("!h"),
    TypeName.INTEGER: _unpacked("!i"),
    TypeName.BIGINT: _unpacked("!q"),
    TypeName.REAL: _unpacked("!f"),
    TypeName.DOUBLE: _unpacked("!d"),
    TypeName.NUMERIC: _numeric,
    TypeName.TEXT: decoded,
    TypeName.BYTEA: bytes,
    TypeName.DATE: _days,
    TypeName.TIMESTAMP: _moment,
    TypeName.TIMESTAMPTZ: lambda raw: _moment(raw).replace(tzinfo=UTC),
    TypeName.INTERVAL: _interval,
    TypeName.OID: _unpacked("!I"),
}
