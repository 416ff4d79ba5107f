"""Avro messages, as Confluent's serializers write them: the id of the schema, then the value.

A schema is a record of the relation's columns; with Debezium's envelope, a record of two such
records. Types are those of Materialize: a nullable column is a union with null, a numeric is a
decimal of its precision and scale, and dates and timestamps (in microseconds) have their logical
types.
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
from reclock.algebra.textual import TEXTUAL_TYPES
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
    **dict.fromkeys(TEXTUAL_TYPES, "string"),
}
_LOGICAL: Mapping[TypeName, tuple[str, str]] = {
    TypeName.DATE: ("int", "date"),
    TypeName.TIMESTAMP: ("long", "timestamp-micros"),
    TypeName.TIMESTAMPTZ: ("long", "timestamp-micros"),
}


class AvroForm:
    """Avro values (see ``reclock.sinks.messages.Form``) of ``schema``, the newest one of
    ``subject``. ``client`` has the settings of the registry's client."""

    def __init__(self, subject: str, schema: Mapping[str, Any], client: Mapping[str, Any]) -> None:
        self._subject, self._schema, self._client = subject, schema, client
        self._id = 0

    def begin(self) -> None:
        """Register the schema. Raises ``TargetUnavailable``, and ``TargetChanged`` if the registry
        refuses it."""
        try:
            self._id = register(self._client, self._subject, json.dumps(self._schema))
        except RefusedSchema as refused:
            raise TargetChanged(
                f'the registry refuses the schema of "{self._subject}"', detail=str(refused)
            ) from refused
        except UpstreamUnavailable as away:
            raise TargetUnavailable(away.message, detail=away.detail) from away

    def row(self, columns: Sequence[Column]) -> str:
        fields = [
            f"{name} := {_value(column)}"
            for name, column in zip(names(columns), columns, strict=True)
        ]
        return f"struct_pack({', '.join(fields) or 'nothing := 0'})"

    def change(self, before: str, after: str, kind: str, at: Timestamp) -> str:
        return (
            f"struct_pack(before := {before}, after := {after}, op := {kind}, ts_ms := "
            f"{at:d}::BIGINT)"
        )

    def messages(self, rows: pa.Array) -> list[bytes | None]:
        """The messages. Raises ``InternalError`` for a NULL that the schema does not allow."""
        head = pa.scalar(struct.pack(">bI", 0, self._id), pa.binary())
        messages = joined(head, encoded(rows, self._schema))
        if messages.null_count != rows.null_count:
            raise InternalError(
                f'a row does not fit the schema of "{self._subject}"',
                detail="a column without NULLs has one",
            )
        return list(messages.to_pylist())


def value_schema(columns: Sequence[Column], envelope: Envelope, format: Avro) -> dict[str, Any]:
    """The schema of a message's value in this envelope."""
    if envelope is Envelope.UPSERT:
        return record(columns, format)
    images = [
        _nullable("before", record(columns, replace(format, name=ROW)), format),
        _nullable("after", ROW, format),
    ]
    more = [{"name": "op", "type": "string"}, {"name": "ts_ms", "type": "long"}]
    return {"type": "record", "name": format.name, "fields": [*images, *more]}


def record(columns: Sequence[Column], format: Avro) -> dict[str, Any]:
    """The record schema of rows with these columns."""
    fields = []
    for field, column in zip(names(columns), columns, strict=True):
        of = _type(column.type)
        fields.append(
            _nullable(field, of, format) if column.is_nullable else {"name": field, "type": of}
        )
    return {"type": "record", "name": format.name, "fields": fields}


def _nullable(field: str, of: Any, format: Avro) -> dict[str, Any]:
    default = {"default": None} if format.has_null_defaults else {}
    return {"name": field, "type": ["null", of], **default}


def names(columns: Sequence[Column]) -> list[str]:
    """An Avro name for each column: characters that Avro does not allow become underscores, and
    equal names are numbered."""
    unique: list[str] = []
    for column in columns:
        stem = re.sub(r"[^A-Za-z0-9_]", "_", column.name)
        stem = name = f"_{stem}" if stem[:1].isdigit() else stem
        number = 0
        while name.lower() in {used.lower() for used in unique}:
            number += 1
            name = f"{stem}_{number}"
        unique.append(name)
    return unique


def _type(of: ScalarType) -> object:
    if of.name is TypeName.NUMERIC:
        return {
            "type": "bytes",
            "logicalType": "decimal",
            "precision": of.precision,
            "scale": of.scale,
        }
    if of.name in _LOGICAL:
        kind, logical = _LOGICAL[of.name]
        return {"type": kind, "logicalType": logical}
    return _SIMPLE[of.name]


def _value(column: Column) -> str:
    """The column as Avro's number for it, if it has one, because Python has no dates beyond the
    year 9999."""
    name = changes_column(column)
    match column.type.name:
        case TypeName.DATE:
            return f"({name} - DATE '1970-01-01')"
        case TypeName.TIMESTAMP | TypeName.TIMESTAMPTZ:
            return f"epoch_us({name})"
        case _:
            return name
