"""Debezium's envelope: a message has the row before and the row after a change. Tombstones and
Debezium's own messages have neither."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from reclock.algebra.relations import DIFF_COLUMN, RelationDesc
from reclock.definitions.formats import AvroFormat, Format, JsonFormat
from reclock.errors import DecodeFailed
from reclock.formats import avro
from reclock.formats.messages import decode_messages, written_by
from reclock.formats.values import Unreadable, typed_table

_HAS_BEFORE, _HAS_AFTER = frozenset("ud"), frozenset("ucr")
_SILENT = frozenset("m")


def event_of(
    value: bytes | None, format: Format, partition: str, offset: int
) -> Mapping[str, Any] | None:
    """The event, without the schema that JSON may have around it; None for a tombstone. Raises
    ``DecodeFailed``."""
    if value is None:
        return None
    try:
        if isinstance(format, AvroFormat):
            [document] = avro.read([value], format.schema, written_by(format))
        else:
            document = json.loads(value)
    except Unreadable as error:
        raise DecodeFailed(
            partition, offset, detail=error.reason, unit="offset", remedy=error.remedy
        ) from error
    except (ValueError, RecursionError) as error:
        raise DecodeFailed(
            partition, offset, detail=f"it is not JSON: {error}", unit="offset"
        ) from error
    if isinstance(document, dict) and document.keys() == {"schema", "payload"}:
        document = document["payload"]
    if document is None:
        return None
    if not isinstance(document, dict):
        raise DecodeFailed(partition, offset, detail="it is no object with fields", unit="offset")
    return document


def changes(
    values: Sequence[bytes | None],
    format: Format,
    desc: RelationDesc,
    *,
    partition: str,
    offsets: Sequence[int],
) -> pa.Table:
    """The deleted and inserted rows of ``desc``, with their diffs. Raises ``DecodeFailed`` for the
    first message that is not an event."""
    rows: list[Mapping[str, Any]] = []
    diffs: list[int] = []
    places: list[int] = []
    failure: DecodeFailed | None = None
    for value, offset in zip(values, offsets, strict=True):
        try:
            for row, diff in _changes(
                event_of(value, format, partition, offset), partition, offset
            ):
                rows.append(row)
                diffs.append(diff)
                places.append(offset)
        except DecodeFailed as found:
            failure = found
            break
    table = _typed(rows, format, desc, partition, places)  # an earlier one may not fit
    if failure is not None:
        raise failure
    return table.append_column(DIFF_COLUMN, pa.array(diffs, pa.int64()))


def _typed(
    rows: Sequence[Mapping[str, Any]],
    format: Format,
    desc: RelationDesc,
    partition: str,
    offsets: Sequence[int],
) -> pa.Table:
    if not isinstance(format, AvroFormat):
        texts = [json.dumps(row).encode() for row in rows]
        return decode_messages(texts, JsonFormat(), desc, partition=partition, offsets=offsets)
    try:
        return typed_table(rows, desc)
    except Unreadable as error:
        raise DecodeFailed(
            partition, offsets[error.index], detail=error.reason, unit="offset"
        ) from error


def _changes(
    event: Mapping[str, Any] | None, partition: str, offset: int
) -> list[tuple[Mapping[str, Any], int]]:
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
        raise DecodeFailed(partition, offset, detail=problem, unit="offset")
    images: list[tuple[Mapping[str, Any], int]] = []
    for name, diff, operations in (("before", -1, _HAS_BEFORE), ("after", 1, _HAS_AFTER)):
        if operation in operations:
            row = event.get(name)
            if not isinstance(row, dict):
                detail = (
                    f'it does not say what the row was "{name}": the table needs REPLICA '
                    "IDENTITY FULL, or its like"
                )
                raise DecodeFailed(partition, offset, detail=detail, unit="offset")
            images.append((row, diff))
    return images
