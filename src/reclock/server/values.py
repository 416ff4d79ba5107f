"""Values on the wire: PostgreSQL's object ids for our types, and the text and binary format of each, both ways.

Source of the binary formats: the ``…send`` and ``…recv`` functions of PostgreSQL's ``src/backend/utils/adt``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, localcontext
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from reclock.adapter.results import text_of
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


def encoder(types: Sequence[ScalarType], formats: Sequence[int]) -> Callable[[pa.RecordBatch], list[bytes]]:
    """Batches of these types to ``DataRow`` messages, one a row."""
    columns = [_column_encoder(type, format) for type, format in zip(types, formats, strict=True)]
    count = struct.pack("!H", len(columns))

    def rows(batch: pa.RecordBatch) -> list[bytes]:
        if not columns:
            return [b"D" + struct.pack("!I", 6) + count] * batch.num_rows
        fields = zip(*(encode(column.to_pylist()) for encode, column in zip(columns, batch.columns, strict=True)), strict=True)
        return [_row(count + b"".join(row)) for row in fields]

    return rows


def _row(body: bytes) -> bytes:
    return b"D" + (len(body) + 4).to_bytes(4, "big") + body


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


def _real_text(value: float) -> str:
    """The shortest digits that read back as the same number of 32 bits."""
    return text_of(float(str(np.float32(value))))


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
    TypeName.REAL: _real_text,
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
