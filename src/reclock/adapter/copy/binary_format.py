"""The binary format of COPY, as PostgreSQL defines it: rows to data, and data in any pieces to
rows.

Source: PostgreSQL documentation, ``COPY``, section "Binary Format".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from reclock.adapter.context.texts import joined, text_of
from reclock.adapter.copy.binary_values import decode_value, encode_column, with_lengths
from reclock.algebra.array_shapes import check_value
from reclock.algebra.relations import Column, ScalarType, TypeName
from reclock.collections.schema import arrow_type
from reclock.errors import BadCopyData, ReclockError
from reclock.sql.queries.literals import parse_text

_SIGNATURE = b"PGCOPY\n\xff\r\n\0"
_FIXED_HEADER_BYTES = len(_SIGNATURE) + 8
_CRITICAL_FLAGS = 0xFFFF0000
HEADER = _SIGNATURE + bytes(8)
TRAILER = b"\xff\xff"
_END_OF_DATA = -1
_NULL = -1

_FieldCount = struct.Struct("!h")
_FieldLength = struct.Struct("!i")


def encode(batch: pa.RecordBatch, types: Sequence[ScalarType]) -> pa.LargeBinaryArray:
    """One binary row for each row of ``batch``, without header and trailer."""
    parts: list[bytes | pa.Array] = [_FieldCount.pack(len(types))]
    for column, type in zip(batch.columns, types, strict=True):
        parts += with_lengths(encode_column(column, type))
    return joined(parts, batch.num_rows)


class BinaryReader:
    """Reads the data of ``COPY … FROM`` as tables of ``columns``. Raises ``BadCopyData``,
    ``InvalidBinary``, and what a value that does not fit its column raises."""

    def __init__(self, table: str, columns: Sequence[Column]) -> None:
        self._table, self._columns = table, columns
        self._names = [str(position) for position in range(len(columns))]
        self._buffer = bytearray()
        self._required_bytes = _FIXED_HEADER_BYTES
        """The number of bytes that the buffer needs before more can be read."""
        self._is_header_read = self._is_over = False
        self._line = 0

    def feed(self, data: bytes) -> Iterator[pa.Table]:
        self._buffer += data
        if len(self._buffer) >= self._required_bytes:
            yield self._table_of([self._values(fields) for fields in self._rows()])

    def finish(self) -> Iterator[pa.Table]:
        """An empty table. Like PostgreSQL, it accepts data without a trailer. Raises
        ``BadCopyData`` for an incomplete row."""
        if not self._is_header_read:
            raise BadCopyData("COPY file signature not recognized", line=1)
        if self._buffer:
            raise BadCopyData("unexpected EOF in COPY data", line=self._line + 1)
        yield self._table_of([])

    def _table_of(self, rows: list[tuple[Any, ...]]) -> pa.Table:
        values = zip(*rows, strict=True) if rows else [()] * len(self._columns)
        types = [arrow_type(column.type) for column in self._columns]
        return pa.table(
            [pa.array(*column) for column in zip(values, types, strict=True)], self._names
        )

    def _rows(self) -> Iterator[list[bytes | None]]:
        """The fields of each complete row; their bytes are removed from the buffer."""
        data, at = bytes(self._buffer), 0
        if not self._is_header_read:
            at = self._read_header(data)
        while self._is_header_read and not self._is_over:
            fields, end = self._read_row(data, at)
            if end is None:
                break
            at = end
            if fields is not None:
                self._line += 1
                yield fields
        del self._buffer[:at]
        self._required_bytes = max(0, self._required_bytes - at)
        if self._is_over and self._buffer:
            raise BadCopyData("received copy data after EOF marker", line=self._line + 1)

    def _read_header(self, data: bytes) -> int:
        """The offset of the first row; 0 while the header is incomplete."""
        if not data.startswith(_SIGNATURE):
            raise BadCopyData("COPY file signature not recognized", line=1)
        flags, extension = struct.unpack_from("!Ii", data, len(_SIGNATURE))
        if flags & _CRITICAL_FLAGS:
            raise BadCopyData("unrecognized critical flags in COPY file header", line=1)
        if extension < 0:
            raise BadCopyData("invalid COPY file header (missing length)", line=1)
        self._required_bytes = _FIXED_HEADER_BYTES + extension
        self._is_header_read = len(data) >= self._required_bytes
        return self._required_bytes if self._is_header_read else 0

    def _read_row(self, data: bytes, at: int) -> tuple[list[bytes | None] | None, int | None]:
        """The fields of the row at ``at`` (None: the trailer) and where it ends (None: it is
        incomplete)."""
        if len(data) < at + _FieldCount.size:
            return self._incomplete(at + _FieldCount.size)
        (count,) = _FieldCount.unpack_from(data, at)
        at += _FieldCount.size
        if count == _END_OF_DATA:
            self._is_over = True
            return None, at
        if count != len(self._columns):
            expected = len(self._columns)
            raise BadCopyData(
                f"row field count is {count}, expected {expected}", line=self._line + 1
            )
        fields: list[bytes | None] = []
        for _ in range(count):
            if len(data) < at + _FieldLength.size:
                return self._incomplete(at + _FieldLength.size)
            (length,) = _FieldLength.unpack_from(data, at)
            at += _FieldLength.size
            if length == _NULL:
                fields.append(None)
                continue
            if length < 0:
                raise BadCopyData("invalid field size", line=self._line + 1)
            if len(data) < at + length:
                return self._incomplete(at + length)
            fields.append(data[at : at + length])
            at += length
        return fields, at

    def _incomplete(self, required_bytes: int) -> tuple[None, None]:
        self._required_bytes = required_bytes
        return None, None

    def _values(self, fields: list[bytes | None]) -> tuple[Any, ...]:
        values = []
        for field, column in zip(fields, self._columns, strict=True):
            try:
                values.append(None if field is None else _value(field, column.type))
            except ReclockError as error:
                error.detail = f"COPY {self._table}, line {self._line}, column {column.name}"
                raise
        return tuple(values)


def _value(field: bytes, type: ScalarType) -> object:
    """The value for its column: a number is rounded to the scale. Raises if it does not fit."""
    value = decode_value(field, type)
    if type.name is TypeName.ARRAY:
        check_value(value, type)
        return value
    return parse_text(text_of(value), type) if type.name is TypeName.NUMERIC else value
