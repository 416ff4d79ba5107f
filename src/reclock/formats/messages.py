"""Decodes many messages into typed Arrow columns. A value that does not fit is an error that names
the message, never NULL.

The messages become the lines of one buffer for Arrow's readers. Each must be exactly one whole
record, which is checked first; so row ``i`` is message ``i``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

from reclock.algebra.relations import Column, RelationDesc
from reclock.collections.schema import arrow_schema
from reclock.definitions.formats import (
    AvroFormat,
    CsvFormat,
    Format,
    JsonFormat,
    ProtobufFormat,
    SchemaFormat,
    TextFormat,
)
from reclock.errors import DecodeFailed
from reclock.formats import avro, protobuf
from reclock.formats.avro_schemas import inline_references
from reclock.formats.decode import decode
from reclock.formats.protobuf_schemas import compiled
from reclock.formats.records import quote_of, record_ends
from reclock.formats.schema_registry import schema
from reclock.formats.values import Unreadable, limited, text, typed_table


def decode_messages(
    values: Sequence[bytes | None],
    format: Format,
    desc: RelationDesc,
    *,
    partition: str,
    offsets: Sequence[int],
    may_lack_values: bool = False,
) -> pa.Table:
    """A row of ``desc`` for every message, in order. A message without a value becomes NULLs, if
    ``may_lack_values`` allows that.

    Raises ``DecodeFailed`` with the offset of the first message that does not have the format, or
    does not fit the columns.
    """

    def failed(index: int, detail: str, remedy: str | None = None) -> DecodeFailed:
        return DecodeFailed(partition, offsets[index], detail=detail, unit="offset", remedy=remedy)

    present = [i for i, value in enumerate(values) if value is not None]
    messages = [value for value in values if value is not None]
    if len(present) < len(values):
        required = [column.name for column in desc.columns if not column.is_nullable]
        if required and not may_lack_values:
            missing = next(i for i, value in enumerate(values) if value is None)
            # an earlier one may be bad
            decode_messages(
                messages[:missing], format, desc, partition=partition, offsets=offsets[:missing]
            )
            raise failed(
                missing, f'column "{required[0]}": null value violates its NOT NULL constraint'
            )
        rows = decode_messages(
            messages, format, desc, partition=partition, offsets=[offsets[i] for i in present]
        )
        places = np.full(len(values), -1)
        places[present] = np.arange(len(present))
        return rows.take(pa.array(places, mask=places < 0))
    if isinstance(format, SchemaFormat):
        try:
            return typed_table(records(messages, format, desc), desc)
        except Unreadable as unreadable:
            raise failed(unreadable.index, unreadable.reason, unreadable.remedy) from unreadable
    if not isinstance(format, CsvFormat | JsonFormat):
        return pa.table(
            [_plain(messages, format, desc.columns[0], failed)],
            schema=arrow_schema(desc, with_updates=False),
        )
    return _decode_lines(messages, format, desc, partition, failed)


def _decode_lines(
    messages: Sequence[bytes],
    format: CsvFormat | JsonFormat,
    desc: RelationDesc,
    partition: str,
    failed: Callable[[int, str], DecodeFailed],
) -> pa.Table:
    """The rows of messages of one record each, decoded as the lines of one object."""
    bad = next(
        (
            (i, reason)
            for i, message in enumerate(messages)
            if (reason := _unfit(message, format)) is not None
        ),
        None,
    )
    readable = messages if bad is None else messages[: bad[0]]
    lines = (
        [message.replace(b"\n", b"\t") if b"\n" in message else message for message in readable]
        if _is_json(format)
        else readable
    )
    try:
        table = decode(
            b"".join(line + b"\n" for line in lines), format, desc, key=partition, offset=0
        )
    except DecodeFailed as failure:
        starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
        raise failed(bisect_right(starts, failure.offset) - 1, failure.detail or "") from failure
    if bad is not None:
        raise failed(*bad)
    if table.num_rows != len(lines):
        guilty = next(i for i, line in enumerate(lines) if _rows(line, format, desc) != 1)
        raise failed(guilty, "it does not hold exactly one record")
    return table


def records(
    values: Sequence[bytes], format: SchemaFormat, desc: RelationDesc
) -> Sequence[Mapping[str, Any]]:
    """The fields of every value by name; for documents, the one column. Raises ``Unreadable`` for
    the first message that cannot be read."""
    if isinstance(format, AvroFormat):
        rows = avro.read(values, format.schema, written_by(format))
        return [{desc.names[0]: text(value)} for value in rows] if format.is_document else rows
    messages = protobuf.read(
        values,
        format.schema,
        format.message,
        _schemas(format) if format.registry is not None else None,
    )
    if format.is_document:
        return [{desc.names[0]: text(value)} for value in protobuf.documents(messages)]
    return protobuf.records(messages)


def written_by(format: AvroFormat) -> avro.Schemas:
    """The writers' schemas of messages, from the registry."""

    def written(id: int) -> str:
        registered = schema(format.client, id)
        return inline_references(registered.text, registered.imports)

    return written


def _schemas(format: ProtobufFormat) -> protobuf.Schemas:
    def compiled_schema(id: int) -> str:
        registered = schema(format.client, id)
        return compiled(registered.text, registered.imports)

    return compiled_schema


def _is_json(format: Format) -> bool:
    return isinstance(format, JsonFormat)


def _unfit(value: bytes, format: CsvFormat | JsonFormat) -> str | None:
    """Why a message cannot be a line of the buffer, or None.

    A JSON object begins and ends with a brace, so one that is cut off cannot continue in the next
    line, which begins with one. A CSV record closes its quotes.
    """
    if isinstance(format, JsonFormat):
        if value[:1] == b"{" and value[-1:] == b"}":
            return None
        text = value.strip()
        return None if text[:1] == b"{" and text[-1:] == b"}" else "it is not a JSON object"
    quote = quote_of(format)
    if not value:
        return "it is empty"
    if b"\n" not in value and b"\r" not in value and (quote is None or quote not in value):
        return None
    ends = record_ends(value.replace(b"\r", b"\n") + b"\n", quote)
    return None if list(ends) == [len(value) + 1] else "it does not hold exactly one record"


def _rows(line: bytes, format: CsvFormat | JsonFormat, desc: RelationDesc) -> int:
    rows: int = decode(line + b"\n", format, desc, key="", offset=0).num_rows
    return rows


def _plain(
    values: Sequence[bytes],
    format: Format,
    column: Column,
    failed: Callable[[int, str], DecodeFailed],
) -> pa.Array:
    if not isinstance(format, TextFormat):
        return pa.array(values, pa.binary())
    try:
        return limited(pa.array(values, pa.binary()).cast(pa.string()), column)
    except Unreadable as unreadable:
        raise failed(unreadable.index, unreadable.reason) from unreadable
    except pa.ArrowInvalid:
        for i, value in enumerate(values):
            try:
                value.decode()
            except UnicodeDecodeError as error:
                raise failed(i, f"it is not UTF-8: {error.reason}") from error
        raise
