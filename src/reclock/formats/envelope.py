"""Debezium's envelope: a message has the row before and the row after a change. Tombstones and
Debezium's own messages have neither."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from reclock.algebra.relations import DIFF_COLUMN, RelationDesc
from reclock.definitions.formats import AvroFormat, Format, JsonFormat
from reclock.formats import avro
from reclock.formats.bad_records import decode_run
from reclock.formats.messages import bad_message, message_rows, written_by
from reclock.formats.values import Unreadable, typed_table

_HAS_BEFORE, _HAS_AFTER = frozenset("ud"), frozenset("ucr")
_SILENT = frozenset("m")


def event_of(value: bytes | None, format: Format) -> Mapping[str, Any] | None:
    """The event, without the schema that JSON may have around it; None for a tombstone. Raises
    ``Unreadable``."""
    if value is None:
        return None
    if isinstance(format, AvroFormat):
        [document] = avro.read([value], format.schema, written_by(format))
    else:
        try:
            document = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise Unreadable(f"it is not JSON: {error}") from error
    if isinstance(document, dict) and document.keys() == {"schema", "payload"}:
        document = document["payload"]
    if document is None:
        return None
    if not isinstance(document, dict):
        raise Unreadable("it is no object with fields")
    return document


def changes(
    values: Sequence[bytes | None],
    format: Format,
    desc: RelationDesc,
    *,
    partition: str,
    offsets: Sequence[int],
) -> pa.Table:
    """As ``change_rows``. Raises ``DecodeFailed`` with the offsets of the messages that are no
    events."""
    return decode_run(
        len(values),
        lambda low, high: change_rows(values[low:high], format, desc),
        bad_message(partition, offsets),
    )


def change_rows(values: Sequence[bytes | None], format: Format, desc: RelationDesc) -> pa.Table:
    """The deleted and inserted rows of ``desc``, with their diffs. Raises ``Unreadable`` if a
    message is not an event."""
    rows: list[Mapping[str, Any]] = []
    diffs: list[int] = []
    for value in values:
        for row, diff in _changes(event_of(value, format)):
            rows.append(row)
            diffs.append(diff)
    table = _typed(rows, format, desc)
    return table.append_column(DIFF_COLUMN, pa.array(diffs, pa.int64()))


def _typed(rows: Sequence[Mapping[str, Any]], format: Format, desc: RelationDesc) -> pa.Table:
    if isinstance(format, AvroFormat):
        return typed_table(rows, desc)
    texts = [json.dumps(row).encode() for row in rows]
    return message_rows(texts, JsonFormat(), desc)


def _changes(event: Mapping[str, Any] | None) -> list[tuple[Mapping[str, Any], int]]:
    operation = event.get("op") if event is not None else "m"
    if operation in _SILENT:
        return []
    assert event is not None
    if operation not in _HAS_BEFORE | _HAS_AFTER:
        problem = (
            "a table was truncated, and which rows went is not told"
            if operation == "t"
            else 'it is no event of Debezium\'s, which say what happened as "op"; rows that a '
            "connector has unwrapped are read with ENVELOPE UPSERT"
        )
        raise Unreadable(problem)
    images: list[tuple[Mapping[str, Any], int]] = []
    for name, diff, operations in (("before", -1, _HAS_BEFORE), ("after", 1, _HAS_AFTER)):
        if operation in operations:
            row = event.get(name)
            if not isinstance(row, dict):
                raise Unreadable(
                    f'it does not say what the row was "{name}": the table needs REPLICA '
                    "IDENTITY FULL, or its like"
                )
            images.append((row, diff))
    return images
