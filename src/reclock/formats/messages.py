"""Decodes many messages into typed Arrow columns. A value that does not fit is an error that names
the message, never NULL.

The messages become the lines of one buffer for Arrow's readers. Each must be exactly one whole
record, which is checked first; so row ``i`` is message ``i``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from reclock.errors import BadRecord
from reclock.formats import avro, protobuf
from reclock.formats.avro_schemas import inline_references
from reclock.formats.bad_records import decode_run
from reclock.formats.decode import decode_records
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
) -> pa.Table:
    """As ``message_rows``. Raises ``DecodeFailed`` with the offsets of the messages that do not have
    the format, or do not fit the columns."""
    return decode_run(
        len(values),
        lambda low, high: message_rows(values[low:high], format, desc),
        bad_message(partition, offsets),
    )


def bad_message(
    partition: str, offsets: Sequence[int], container: str | None = None
) -> Callable[[int, Unreadable], BadRecord]:
    """What describes a bad one of the messages at these offsets. ``container`` is the partition in
    words."""

    def bad(index: int, failure: Unreadable) -> BadRecord:
        at, reason = offsets[index], failure.reason
        named = container or f'"{partition}"'
        return BadRecord(partition, at, at + 1, reason, "offset", named, failure.remedy)

    return bad


def message_rows(
    values: Sequence[bytes | None],
    format: Format,
    desc: RelationDesc,
    *,
    may_lack_values: bool = False,
) -> pa.Table:
    """A row of ``desc`` for every message, in order. A message without a value becomes NULLs, if
    ``may_lack_values`` allows that.

    Raises ``Unreadable`` if a message does not have the format, or does not fit the columns.
    """
    present = [i for i, value in enumerate(values) if value is not None]
    messages = [value for value in values if value is not None]
    if len(present) < len(values):
        required = [column.name for column in desc.columns if not column.is_nullable]
        if required and not may_lack_values:
            raise Unreadable(f'column "{required[0]}": null value violates its NOT NULL constraint')
        rows = message_rows(messages, format, desc)
        places = np.full(len(values), -1)
        places[present] = np.arange(len(present))
        return rows.take(pa.array(places, mask=places < 0))
    if isinstance(format, SchemaFormat):
        return typed_table(records(messages, format, desc), desc)
    if not isinstance(format, CsvFormat | JsonFormat):
        column = _plain(messages, format, desc.columns[0])
        return pa.table([column], schema=arrow_schema(desc, with_updates=False))
    return _line_rows(messages, format, desc)


def _line_rows(
    messages: Sequence[bytes], format: CsvFormat | JsonFormat, desc: RelationDesc
) -> pa.Table:
    """The rows of messages of one record each, decoded as the lines of one object."""
    for message in messages:
        if (reason := _unfit(message, format)) is not None:
            raise Unreadable(reason)
    lines = (
        [message.replace(b"\n", b"\t") if b"\n" in message else message for message in messages]
        if _is_json(format)
        else messages
    )
    run = b"".join(line + b"\n" for line in lines)
    table = decode_records(run, format, desc, None)
    if table.num_rows != len(lines):
        raise Unreadable("it does not hold exactly one record")
    return table


def records(
    values: Sequence[bytes], format: SchemaFormat, desc: RelationDesc
) -> Sequence[Mapping[str, Any]]:
    """The fields of every value by name; for documents, the one column. Raises ``Unreadable`` if
    a message cannot be read."""
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


def _plain(values: Sequence[bytes], format: Format, column: Column) -> pa.Array:
    if not isinstance(format, TextFormat):
        return pa.array(values, pa.binary())
    try:
        texts = pa.array([value.decode() for value in values], pa.string())
    except UnicodeDecodeError as error:
        raise Unreadable(f"it is not UTF-8: {error.reason}") from error
    return limited(texts, column)
