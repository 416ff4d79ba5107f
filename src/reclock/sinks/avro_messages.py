"""Messages in Avro, as Confluent's serializers write them: behind the id of the schema, the value.

Schemas are records of the relation's columns: ``row``, and in the envelope of Debezium ``envelope`` around it, registered under the
topic's name with ``-key`` and ``-value`` behind it. Types are those that Materialize gives: what may be NULL is a union with it, a
numeric a decimal of its precision and scale, a date and a timestamp, in microseconds, of the logical types.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import fastavro
import pyarrow as pa

from reclock.algebra.relations import Column, RelationDesc, ScalarType, TypeName
from reclock.algebra.timestamps import Timestamp
from reclock.errors import TargetChanged, TargetUnavailable, UpstreamUnavailable
from reclock.sinks.description import Envelope
from reclock.sinks.messages import changes_column
from reclock.sources.registry import RefusedSchema, register

_SIMPLE: Mapping[TypeName, str] = {
    TypeName.BOOLEAN: "boolean",
    TypeName.SMALLINT: "int",
    TypeName.INTEGER: "int",
    TypeName.BIGINT: "long",
    TypeName.OID: "long",
    TypeName.REAL: "float",
    TypeName.DOUBLE: "double",
    TypeName.TEXT: "string",
    TypeName.BYTEA: "bytes",
}
_LOGICAL: Mapping[TypeName, tuple[str, str]] = {
    TypeName.DATE: ("int", "date"),
    TypeName.TIMESTAMP: ("long", "timestamp-micros"),
    TypeName.TIMESTAMPTZ: ("long", "timestamp-micros"),
}


class AvroForm:
    """See ``reclock.sinks.messages.Form``. Rows of ``desc`` go to ``topic``; ``client`` is configured for the registry."""

    def __init__(self, desc: RelationDesc, key: tuple[str, ...], envelope: Envelope, topic: str, client: Mapping[str, Any]) -> None:
        self._client = client
        self._schemas = {f"{topic}-value": value_schema(desc.columns, envelope)}
        if key:
            self._schemas[f"{topic}-key"] = record("row", [column for column in desc.columns if column.name in key])
        self._value, self._key = (_Writer.of(self._schemas.get(f"{topic}-{part}")) for part in ("value", "key"))
        self._ids: dict[str, int] = {}
        self._topic = topic

    def begin(self) -> None:
        """The schemas are registered. Raises ``TargetUnavailable``, ``TargetChanged`` if the registry does not take them."""
        for subject, schema in self._schemas.items():
            try:
                self._ids[subject] = register(self._client, subject, json.dumps(schema))
            except RefusedSchema as refused:
                raise TargetChanged(f'the registry refuses the schema of "{subject}"', detail=str(refused)) from refused
            except UpstreamUnavailable as away:
                raise TargetUnavailable(away.message, detail=away.detail) from away

    def row(self, columns: Sequence[Column]) -> str:
        fields = [f"{name} := {_value(column)}" for name, column in zip(names(columns), columns, strict=True)]
        return f"struct_pack({', '.join(fields) or 'nothing := 0'})"

    def change(self, before: str, after: str, kind: str, at: Timestamp) -> str:
        return f"struct_pack(before := {before}, after := {after}, op := {kind}, ts_ms := {at:d}::BIGINT)"

    def keys(self, found: pa.Array) -> list[bytes | None]:
        return self._key.messages(found, self._ids.get(f"{self._topic}-key", 0))

    def values(self, found: pa.Array) -> list[bytes | None]:
        return self._value.messages(found, self._ids.get(f"{self._topic}-value", 0))


class _Writer:
    def __init__(self, schema: Any) -> None:
        self._schema = schema

    @classmethod
    def of(cls, schema: Any) -> _Writer:
        return cls(fastavro.parse_schema(schema) if schema is not None else "null")

    def messages(self, found: pa.Array, id: int) -> list[bytes | None]:
        head, schema, write = struct.pack(">bI", 0, id), self._schema, fastavro.schemaless_writer
        messages: list[bytes | None] = []
        for value in found.to_pylist():
            stream = BytesIO()
            if value is not None:
                stream.write(head)
                write(stream, schema, value)
            messages.append(stream.getvalue() or None)
        return messages


def value_schema(columns: Sequence[Column], envelope: Envelope) -> dict[str, Any]:
    """The schema of what a message says of a row."""
    if envelope is Envelope.UPSERT:
        return record("envelope", columns)
    images = [{"name": "before", "type": ["null", record("row", columns)]}, {"name": "after", "type": ["null", "row"]}]
    more = [{"name": "op", "type": "string"}, {"name": "ts_ms", "type": "long"}]
    return {"type": "record", "name": "envelope", "fields": [*images, *more]}


def record(name: str, columns: Sequence[Column]) -> dict[str, Any]:
    """The schema of rows of ``columns``."""
    fields = []
    for field, column in zip(names(columns), columns, strict=True):
        of = _type(column.type)
        fields.append({"name": field, "type": ["null", of] if column.is_nullable else of})
    return {"type": "record", "name": name, "fields": fields}


def names(columns: Sequence[Column]) -> list[str]:
    """A name of Avro's for each column: what it does not allow is an underscore, and two that become one are numbered."""
    found: list[str] = []
    for column in columns:
        stem = re.sub(r"[^A-Za-z0-9_]", "_", column.name)
        stem = name = f"_{stem}" if stem[:1].isdigit() else stem
        number = 0
        while name.lower() in {each.lower() for each in found}:
            number += 1
            name = f"{stem}_{number}"
        found.append(name)
    return found


def _type(of: ScalarType) -> Any:
    if of.name is TypeName.NUMERIC:
        return {"type": "bytes", "logicalType": "decimal", "precision": of.precision, "scale": of.scale}
    if of.name in _LOGICAL:
        kind, logical = _LOGICAL[of.name]
        return {"type": kind, "logicalType": logical}
    return _SIMPLE[of.name]


def _value(column: Column) -> str:
    """The column as Avro's number of it, if it has one: Python has no dates of all years."""
    name = changes_column(column)
    match column.type.name:
        case TypeName.DATE:
            return f"({name} - DATE '1970-01-01')"
        case TypeName.TIMESTAMP | TypeName.TIMESTAMPTZ:
            return f"epoch_us({name})"
        case _:
            return name
