"""Messages in Avro, as Confluent's serializers write them: behind the id of the schema, the value.

Schemas are records of the relation's columns; in the envelope of Debezium those are in a record of two of them. Types are those
that Materialize gives: what may be NULL is a union with it, a numeric a decimal of its precision and scale, a date and a timestamp,
in microseconds, of the logical types.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from reclock.algebra.relations import Column, ScalarType, TypeName
from reclock.algebra.timestamps import Timestamp
from reclock.definitions.sinks import ROW, Avro, Envelope
from reclock.errors import InternalError, TargetChanged, TargetUnavailable, UpstreamUnavailable
from reclock.formats.schema_registry import RefusedSchema, register
from reclock.sinks.avro_encoding import encoded, joined
from reclock.sinks.messages import changes_column

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
    TypeName.JSONB: "string",
}
_LOGICAL: Mapping[TypeName, tuple[str, str]] = {
    TypeName.DATE: ("int", "date"),
    TypeName.TIMESTAMP: ("long", "timestamp-micros"),
    TypeName.TIMESTAMPTZ: ("long", "timestamp-micros"),
}


class AvroForm:
    """See ``reclock.sinks.messages.Form``. Messages of the ``schema``, which is the newest of ``subject``; ``client`` is configured
    for the registry."""

    def __init__(self, subject: str, schema: Mapping[str, Any], client: Mapping[str, Any]) -> None:
        self._subject, self._schema, self._client = subject, schema, client
        self._id = 0

    def begin(self) -> None:
        """The schema is registered. Raises ``TargetUnavailable``, ``TargetChanged`` if the registry does not take it."""
        try:
            self._id = register(self._client, self._subject, json.dumps(self._schema))
        except RefusedSchema as refused:
            raise TargetChanged(f'the registry refuses the schema of "{self._subject}"', detail=str(refused)) from refused
        except UpstreamUnavailable as away:
            raise TargetUnavailable(away.message, detail=away.detail) from away

    def row(self, columns: Sequence[Column]) -> str:
        fields = [f"{name} := {_value(column)}" for name, column in zip(names(columns), columns, strict=True)]
        return f"struct_pack({', '.join(fields) or 'nothing := 0'})"

    def change(self, before: str, after: str, kind: str, at: Timestamp) -> str:
        return f"struct_pack(before := {before}, after := {after}, op := {kind}, ts_ms := {at:d}::BIGINT)"

    def messages(self, rows: pa.Array) -> list[bytes | None]:
        """Raises ``InternalError`` for a NULL where the schema has none."""
        head = pa.scalar(struct.pack(">bI", 0, self._id), pa.binary())
        messages = joined(head, encoded(rows, self._schema))
        if messages.null_count != rows.null_count:
            raise InternalError(f'a row does not fit the schema of "{self._subject}"', detail="a column without NULLs has one")
        return list(messages.to_pylist())


def value_schema(columns: Sequence[Column], envelope: Envelope, format: Avro) -> dict[str, Any]:
    """The schema of what a message says of a row."""
    if envelope is Envelope.UPSERT:
        return record(columns, format)
    images = [_nullable("before", record(columns, replace(format, name=ROW)), format), _nullable("after", ROW, format)]
    more = [{"name": "op", "type": "string"}, {"name": "ts_ms", "type": "long"}]
    return {"type": "record", "name": format.name, "fields": [*images, *more]}


def record(columns: Sequence[Column], format: Avro) -> dict[str, Any]:
    """The schema of rows of ``columns``."""
    fields = []
    for field, column in zip(names(columns), columns, strict=True):
        of = _type(column.type)
        fields.append(_nullable(field, of, format) if column.is_nullable else {"name": field, "type": of})
    return {"type": "record", "name": format.name, "fields": fields}


def _nullable(field: str, of: Any, format: Avro) -> dict[str, Any]:
    default = {"default": None} if format.has_null_defaults else {}
    return {"name": field, "type": ["null", of], **default}


def names(columns: Sequence[Column]) -> list[str]:
    """A name of Avro's for each column: what it does not allow is an underscore, and two that become one are numbered."""
    unique: list[str] = []
    for column in columns:
        stem = re.sub(r"[^A-Za-z0-9_]", "_", column.name)
        stem = name = f"_{stem}" if stem[:1].isdigit() else stem
        number = 0
        while name.lower() in {taken.lower() for taken in unique}:
            number += 1
            name = f"{stem}_{number}"
        unique.append(name)
    return unique


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
