"""Converts decoded values of any format: into typed Arrow columns, or into one text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa

from reclock.algebra.relations import TEXT, TIMESTAMP, Column, RelationDesc, ScalarType
from reclock.collections.schema import arrow_schema
from reclock.collections.text_lengths import within_limit
from reclock.errors import TextTooLong

HEAD_BYTES = 5
"""The size of the head of Confluent's messages: a zero, and the id of the schema in four bytes."""


class Unreadable(ValueError):
    """One of several records cannot be read, for this reason. ``remedy`` is what a person can do so
    that it can."""

    def __init__(self, reason: str, *, remedy: str | None = None) -> None:
        super().__init__(reason)
        self.reason, self.remedy = reason, remedy


def schema_id(message: bytes) -> int:
    """The id of the writer's schema of a message. Raises ``ValueError``."""
    if len(message) < HEAD_BYTES or message[0]:
        raise ValueError("it does not begin with the id of a schema")
    return int.from_bytes(message[1:HEAD_BYTES], "big")


def typed_table(records: Sequence[Mapping[str, Any]], desc: RelationDesc) -> pa.Table:
    """The records as columns of ``desc``. Raises ``Unreadable`` if one does not fit."""
    schema = arrow_schema(desc, with_updates=False)
    rows = [
        [_plain(record.get(name), type) for record in records]
        for name, type in zip(desc.names, desc.types, strict=True)
    ]
    arrays = []
    for column, values, field in zip(desc.columns, rows, schema, strict=True):
        try:
            array = pa.array(values, field.type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError) as error:
            raise Unreadable(f'column "{column.name}": {error}') from error
        if array.null_count and not column.is_nullable:
            raise Unreadable(f'column "{column.name}": null value violates its NOT NULL constraint')
        arrays.append(limited(array, column))
    return pa.table(arrays, schema=schema)


def limited(texts: pa.Array, column: Column) -> pa.Array:
    """The texts as the column stores them. Raises ``Unreadable`` if one is too long."""
    try:
        return within_limit(texts, column)
    except TextTooLong as error:
        raise Unreadable(f'column "{column.name}": {error}') from error


def _plain(value: Any, type: ScalarType) -> object:
    if value is None:
        return None
    if type == TEXT:
        return text(value)
    if isinstance(value, datetime) and type == TIMESTAMP:
        return value.replace(tzinfo=None)
    return value


def text(value: Any) -> str:
    """A value as text: strings unchanged, everything else as JSON."""
    return (
        value if isinstance(value, str) else json.dumps(value, default=_spelled, ensure_ascii=False)
    )


def _spelled(value: Any) -> object:
    match value:
        case bytes():
            return f"\\x{value.hex()}"
        case datetime() | date():
            return value.isoformat()
        case Decimal() | UUID():
            return str(value)
        case _:
            return str(value)
