"""Messages in Avro, as Confluent's serializers write them: a zero, the id of the schema in four bytes, the value.

What a source yields is of the schema it was made with, its *reader's*; each message names its *writer's*, and Avro's rules resolve
the two: fields may come, go with a default, and be promoted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any
from uuid import UUID

import fastavro
import pyarrow as pa

from reclock.algebra.relations import TEXT, TIMESTAMP, Column, RelationDesc, ScalarType
from reclock.collections.schema import arrow_schema
from reclock.errors import InvalidOption
from reclock.sources.avro_schemas import parsed
from reclock.sources.registry import UnknownSchema

_HEAD_BYTES = 5
Schemas = Callable[[int], str]
"""The text of the schema of an id. Raises ``UnknownSchema``, ``UpstreamUnavailable``."""


def read(values: Sequence[bytes], reader: str, schemas: Schemas) -> list[Any]:
    """The value of every message. Raises ``Unreadable`` for the first that has none."""
    wanted, writers, found = parsed(reader), {}, []
    for index, value in enumerate(values):
        try:
            if len(value) < _HEAD_BYTES or value[0]:
                raise ValueError("it does not begin with the id of a schema")
            id = int.from_bytes(value[1:_HEAD_BYTES], "big")
            if id not in writers:
                writers[id] = parsed(schemas(id))
            stream = BytesIO(value)
            stream.seek(_HEAD_BYTES)
            found.append(fastavro.schemaless_reader(stream, writers[id], wanted))
            if stream.tell() != len(value):
                raise ValueError(f"{len(value) - stream.tell()} bytes are left after the value")
        except _BAD as error:
            raise Unreadable(index, str(error) or type(error).__name__) from error
    return found


class Unreadable(Exception):
    """Message ``index`` is not what it should be, for this reason."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(reason)
        self.index, self.reason = index, reason


_BAD = (
    *(ValueError, TypeError, LookupError, EOFError, ArithmeticError, MemoryError, RecursionError),
    *(fastavro.read.SchemaResolutionError, InvalidOption, UnknownSchema),
)
"""What fastavro raises for bytes that are no value: whatever it comes upon."""


def table(records: Sequence[Mapping[str, Any]], desc: RelationDesc) -> pa.Table:
    """The records as columns of ``desc``. Raises ``Unreadable`` for the first that does not fit."""
    schema = arrow_schema(desc, with_updates=False)
    rows = [[_plain(record.get(name), type) for record in records] for name, type in zip(desc.names, desc.types, strict=True)]
    arrays = []
    for column, values, field in zip(desc.columns, rows, schema, strict=True):
        try:
            array = pa.array(values, field.type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError) as error:
            raise _guilty(column, values, field.type, str(error)) from error
        if array.null_count and not column.is_nullable:
            index = array.is_null().index(True).as_py()
            raise Unreadable(index, f'column "{column.name}": null value violates its NOT NULL constraint')
        arrays.append(array)
    return pa.table(arrays, schema=schema)


def _guilty(column: Column, values: Sequence[Any], type: pa.DataType, reason: str) -> Unreadable:
    for index, value in enumerate(values):
        try:
            pa.array([value], type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError) as error:
            return Unreadable(index, f'column "{column.name}": {error}')
    return Unreadable(0, f'column "{column.name}": {reason}')


def _plain(value: Any, type: ScalarType) -> Any:
    if value is None:
        return None
    if type == TEXT:
        return text(value)
    if isinstance(value, datetime) and type == TIMESTAMP:
        return value.replace(tzinfo=None)
    return value


def text(value: Any) -> str:
    """A value as text: a string as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, default=_spelled, ensure_ascii=False)


def _spelled(value: Any) -> Any:
    match value:
        case bytes():
            return f"\\x{value.hex()}"
        case datetime() | date():
            return value.isoformat()
        case Decimal() | UUID():
            return str(value)
        case _:
            return str(value)
