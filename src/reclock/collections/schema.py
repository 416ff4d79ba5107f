"""The stored form of a relation's types (as Arrow, and so as Parquet and Delta) and of a desc (as
JSON, for the metadata)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from reclock.algebra.relations import (
    DIFF_COLUMN,
    RESERVED_COLUMNS,
    TEXT,
    TIME_COLUMN,
    Column,
    RecordField,
    RelationDesc,
    ScalarType,
    TypeName,
    map_of,
    record,
)
from reclock.algebra.textual import TEXTUAL_TYPES
from reclock.errors import InvalidSchema

_ARROW_TYPES: dict[TypeName, pa.DataType] = {
    TypeName.BOOLEAN: pa.bool_(),
    TypeName.SMALLINT: pa.int16(),
    TypeName.INTEGER: pa.int32(),
    TypeName.BIGINT: pa.int64(),
    TypeName.REAL: pa.float32(),
    TypeName.DOUBLE: pa.float64(),
    TypeName.TEXT: pa.string(),
    TypeName.ENUM: pa.string(),
    TypeName.BYTEA: pa.binary(),
    **dict.fromkeys(TEXTUAL_TYPES, pa.string()),
    TypeName.DATE: pa.date32(),
    TypeName.TIMESTAMP: pa.timestamp("us"),
    TypeName.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
    TypeName.OID: pa.int64(),
    TypeName.INTERVAL: pa.struct(
        [("months", pa.int32()), ("days", pa.int32()), ("microseconds", pa.int64())]
    ),
}


def arrow_type(type: ScalarType, *, has_field_names: bool = False) -> pa.DataType:
    """The Arrow type that holds every value of ``type`` exactly.

    The lake has numbers for the fields of composite types; others have their names, unless these
    differ in case alone. Raises ``InvalidSchema`` for a type that is never stored.
    """

    def inner(type: ScalarType) -> pa.DataType:
        return arrow_type(type, has_field_names=has_field_names)

    if type.name is TypeName.MAP:
        return pa.list_(pa.struct([("f1", inner(TEXT)), ("f2", inner(type.value))]))
    if type.element is not None:
        return pa.list_(inner(type.element))
    if type.name is TypeName.RECORD:
        names = [field.name for field in type.fields]
        if not has_field_names or len({name.casefold() for name in names}) < len(names):
            names = [f"f{place}" for place in range(1, len(names) + 1)]
        return pa.struct(
            list(zip(names, (inner(field.type) for field in type.fields), strict=True))
        )
    if type.name is TypeName.NUMERIC:
        return pa.decimal128(
            38 if type.precision is None else type.precision,
            9 if type.scale is None else type.scale,
        )
    stored = _ARROW_TYPES.get(type.name)
    if stored is None:
        raise InvalidSchema(f"values of type {type} cannot be stored")
    return stored


def arrow_schema(desc: RelationDesc, with_updates: bool) -> pa.Schema:
    """The desc's columns in order; ``with_updates``, followed by the time and the diff of an
    update."""
    fields = [
        pa.field(column.name, arrow_type(column.type), nullable=column.is_nullable)
        for column in desc.columns
    ]
    if with_updates:
        fields += [
            pa.field(TIME_COLUMN, pa.int64(), nullable=False),
            pa.field(DIFF_COLUMN, pa.int64(), nullable=False),
        ]
    return pa.schema(fields)


def shown_schema(desc: RelationDesc) -> pa.Schema:
    """As ``arrow_schema`` without updates, with the names of the fields of composite types."""
    return pa.schema(
        pa.field(
            column.name,
            arrow_type(column.type, has_field_names=True),
            nullable=column.is_nullable,
        )
        for column in desc.columns
    )


def with_field_names(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with the names of ``schema``, which is the batch's but for names."""
    if batch.schema.types == schema.types:
        return pa.RecordBatch.from_arrays(batch.columns, schema=schema)
    return pa.ipc.read_record_batch(batch.serialize(), schema)


def check_storable(desc: RelationDesc) -> None:
    """Raise ``InvalidSchema`` unless every engine that reads the lake can tell the columns apart
    and hold their types.

    Names are compared without case: Spark and DuckDB do so.
    """
    folded_names: set[str] = set()
    for column in desc.columns:
        folded = column.name.casefold()
        if not column.name:
            raise InvalidSchema("a column has no name")
        if folded in RESERVED_COLUMNS:
            raise InvalidSchema(
                f'column name "{column.name}" is reserved',
                hint="every relation has this column already",
            )
        if folded in folded_names:
            raise InvalidSchema(
                f'column "{column.name}" specified more than once',
                detail="names that differ in case alone count as equal",
            )
        folded_names.add(folded)
        arrow_type(column.type)
    for name in desc.key or ():
        if name not in desc.names:
            raise InvalidSchema(f'key column "{name}" does not exist')


def encode_desc(desc: RelationDesc) -> str:
    """The desc as JSON. Equal descs have equal text. An enum is text there: a collection does not
    know the catalog. So is a ``char(n)``, and the fields of a record have no names."""
    columns = [
        {"name": column.name, **_encoded(column.type), "nullable": column.is_nullable}
        for column in desc.columns
    ]
    return json.dumps({"columns": columns, "key": None if desc.key is None else list(desc.key)})


def decode_desc(text: str) -> RelationDesc:
    """The desc that ``encode_desc`` wrote."""
    document = json.loads(text)
    columns = tuple(Column(c["name"], _decoded(c), c["nullable"]) for c in document["columns"])
    return RelationDesc(columns, None if document["key"] is None else tuple(document["key"]))


def _encoded(type: ScalarType) -> dict[str, Any]:
    name = TypeName.TEXT if type.name in (TypeName.ENUM, TypeName.BPCHAR) else type.name
    encoded = {"type": name.value, "precision": type.precision, "scale": type.scale}
    if type.name is TypeName.RECORD:
        return {**encoded, "fields": [_encoded(field.type) for field in type.fields]}
    if type.element is None:
        return encoded
    element = type.value if type.name is TypeName.MAP else type.element
    return {**encoded, "element": _encoded(element)}


def _decoded(encoded: Mapping[str, Any]) -> ScalarType:
    element = encoded.get("element")
    if element is not None and encoded["type"] == TypeName.MAP.value:
        return map_of(_decoded(element))
    if encoded["type"] == TypeName.RECORD.value:
        types = map(_decoded, encoded["fields"])
        return record(RecordField(f"f{place}", type) for place, type in enumerate(types, 1))
    return ScalarType(
        TypeName(encoded["type"]),
        encoded["precision"],
        encoded["scale"],
        None if element is None else _decoded(element),
    )
