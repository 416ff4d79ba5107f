"""Values on the wire: PostgreSQL's object ids for our types, and rows and parameters in text and
binary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reclock.adapter.context.results import python_values
from reclock.adapter.context.texts import decode_utf8, joined, texts, writer
from reclock.adapter.copy.binary_values import (
    NULL,
    decode_value,
    encode_column,
    fixed,
    parse_decimal,
    value_encoder,
    with_lengths,
)
from reclock.algebra.object_ids import column_type_modifier, column_type_oid, type_rows, type_size
from reclock.algebra.relations import JSONB, OID, TEXT, VARCHAR, Column, ScalarType, TypeName, array
from reclock.algebra.text_style import PLAIN_TEXT, TextStyle
from reclock.algebra.zones import LocalClock
from reclock.errors import UnknownObject
from reclock.server.messages import Field
from reclock.sql.queries.literals import parse_text, read_array

_TYPES: dict[int, ScalarType] = {
    **{row.oid: row.type for row in type_rows()},
    18: TEXT,  # "char"
    19: TEXT,  # name
    114: JSONB,  # json
    199: array(JSONB),  # json[]
    1002: array(TEXT),  # "char"[]
    1003: array(TEXT),  # name[]
    1015: array(TEXT),  # character varying[]
    1043: VARCHAR,
    2205: OID,  # regclass: as a number
}
_UNKNOWN = (0, 705, *(row.oid for row in type_rows() if row.type.base.is_list_or_map))
_MANY_ROWS = 50
"""From this number of rows on, encoding by columns is faster than row by row."""


def type_of(
    oid: int, defined: Callable[[int], ScalarType | None] = lambda oid: None
) -> ScalarType | None:
    """The type with this object id; None if the client leaves the type open. ``defined`` finds
    those that users defined. Raises ``UnknownObject``."""
    if oid in _UNKNOWN:
        return None
    type = _TYPES.get(oid) or defined(oid)
    if type is None:
        raise UnknownObject("type", str(oid), hint="send the parameter as text, with type 0")
    return type


def field(column: Column, format: int) -> Field:
    return Field(
        column.name,
        column_type_oid(column),
        type_size(column.type),
        column_type_modifier(column),
        format,
    )


# --- out ---


@dataclass(frozen=True, slots=True)
class MessageBuffer:
    """Concatenated messages; ``ends`` are the offsets of their ends."""

    data: memoryview | bytes
    ends: Sequence[int]

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, part: slice) -> MessageBuffer:
        """A range of the messages."""
        ends = self.ends[part]
        if not len(ends):
            return MessageBuffer(b"", [])
        begin = int(self.ends[part.start - 1]) if part.start else 0
        return MessageBuffer(self.data[begin : int(ends[-1])], [end - begin for end in ends])


def encoder(
    types: Sequence[ScalarType], formats: Sequence[int], style: TextStyle = PLAIN_TEXT
) -> Callable[[pa.RecordBatch], MessageBuffer]:
    """Encodes batches of these types as ``DataRow`` messages, one for each row. Texts are in
    the style."""
    one_by_one = [
        _column_encoder(type, format, style) for type, format in zip(types, formats, strict=True)
    ]
    at_once = [
        partial(encode_column, type=type) if format else partial(texts, type=type, style=style)
        for type, format in zip(types, formats, strict=True)
    ]
    width = len(types).to_bytes(2, "big")

    def encode_rows(batch: pa.RecordBatch) -> MessageBuffer:
        columns = [
            encode(python_values(column))
            for encode, column in zip(one_by_one, batch.columns, strict=True)
        ]
        rows = map(b"".join, zip(*columns, strict=True)) if columns else [b""] * batch.num_rows
        messages = [b"D" + (len(row) + 6).to_bytes(4, "big") + width + row for row in rows]
        return MessageBuffer(b"".join(messages), list(accumulate(map(len, messages))))

    def encode_columns(batch: pa.RecordBatch) -> MessageBuffer:
        parts: list[bytes | pa.Array] = []
        sizes = np.full(batch.num_rows, len(width), np.int64)
        for encode, column in zip(at_once, batch.columns, strict=True):
            lengths, values = with_lengths(encode(column))
            sizes += 4 + pc.binary_length(values).fill_null(0).to_numpy(zero_copy_only=False)
            parts += [lengths, values]
        return _packed(_framed(b"D", sizes, [width, *parts]))

    return lambda batch: (
        encode_columns(batch) if batch.num_rows >= _MANY_ROWS else encode_rows(batch)
    )


def framed(kind: bytes, bodies: pa.LargeBinaryArray) -> MessageBuffer:
    """The bodies, each framed as a message."""
    return _packed(_framed(kind, pc.binary_length(bodies).to_numpy(zero_copy_only=False), [bodies]))


def _framed(
    kind: bytes, sizes: np.ndarray, parts: Sequence[bytes | pa.Array]
) -> pa.LargeBinaryArray:
    """Messages with bodies of these sizes, made of the parts."""
    return joined([kind, fixed(sizes + 4, ">i4"), *parts], len(sizes))


def _packed(messages: pa.LargeBinaryArray) -> MessageBuffer:
    """The array itself, whose values are one after the other in memory."""
    _, offsets, data = messages.buffers()
    ends = np.frombuffer(offsets, np.int64)[messages.offset : messages.offset + len(messages) + 1]
    return MessageBuffer(
        memoryview(data)[ends[0] : ends[-1]] if len(messages) else b"", ends[1:] - ends[0]
    )


def _column_encoder(
    type: ScalarType, format: int, style: TextStyle
) -> Callable[[list[Any]], list[bytes]]:
    write = value_encoder(type) if format else _TEXT.get(type.name) or writer(type, style)

    def encode(values: list[Any]) -> list[bytes]:
        written = [None if value is None else write(value) for value in values]
        raw = [value.encode() if isinstance(value, str) else value for value in written]
        return [NULL if value is None else len(value).to_bytes(4, "big") + value for value in raw]

    return encode


_TEXT: dict[TypeName, Callable[[Any], str | bytes]] = {
    TypeName.TEXT: str.encode,
    TypeName.SMALLINT: str,
    TypeName.INTEGER: str,
    TypeName.BIGINT: str,
}


# --- in ---


def decode_columns(
    rows: Sequence[Sequence[bytes | None]],
    types: Sequence[ScalarType],
    formats: Sequence[int],
    clock: LocalClock,
) -> list[list[Any]]:
    """The values of each parameter in all rows. Raises as ``decode``."""
    columns: list[list[Any]] = []
    for i, (type, format) in enumerate(zip(types, formats, strict=True)):
        read = (
            decode_utf8 if type == TEXT else partial(decode, type=type, format=format, clock=clock)
        )
        column = (row[i] for row in rows)
        columns.append([None if raw is None else read(raw) for raw in column])
    return columns


def decode(raw: bytes | None, type: ScalarType, format: int, clock: LocalClock) -> object:
    """A parameter's value. ``clock`` says what the text of a timestamp does not.

    Raises ``InvalidText``, ``NumberOutOfRange``, ``InvalidBinary``."""
    if raw is None:
        return None
    if not format:
        text = decode_utf8(raw)
        if type.name is TypeName.NUMERIC:
            return parse_decimal(text)
        if type.name is TypeName.ARRAY:
            return read_array(text, type, clock)[0]
        return parse_text(text, type, clock)
    return decode_value(raw, type)
