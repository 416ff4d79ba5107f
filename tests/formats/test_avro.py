"""Messages in Avro: every type, schemas that change, and a definite error for whatever is no
message."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from fixtures.mutation import damaged
from fixtures.registry import framed

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    REAL,
    TEXT,
    TIMESTAMP,
    Column,
    RelationDesc,
    numeric,
)
from reclock.definitions.connections import Connection
from reclock.definitions.formats import AvroFormat
from reclock.errors import DecodeFailed, InvalidOption
from reclock.formats import messages
from reclock.formats.avro_schemas import columns_of, inline_references
from reclock.formats.messages import decode_messages
from reclock.formats.schema_registry import RegisteredSchema, UnknownSchema


def record(*fields: tuple[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "type": "record",
        "name": "r",
        "fields": [{"name": name, "type": type, **more} for name, type in fields],
    }


EVERYTHING = record(
    ("b", "boolean"),
    ("i", "int"),
    ("l", "long"),
    ("f", "float"),
    ("d", "double"),
    ("s", "string"),
    ("y", "bytes"),
    ("n", ["null", "int"]),
    ("day", {"type": "int", "logicalType": "date"}),
    ("ms", {"type": "long", "logicalType": "timestamp-millis"}),
    ("us", ["null", {"type": "long", "logicalType": "timestamp-micros"}]),
    ("money", {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}),
    ("e", {"type": "enum", "name": "colour", "symbols": ["red", "blue"]}),
    ("a", {"type": "array", "items": "int"}),
    ("u", ["int", "string"]),
)
VALUE: dict[str, Any] = {
    "b": True,
    "i": -1,
    "l": 2**40,
    "f": 0.5,
    "d": 0.1,
    "s": "ü",
    "y": b"\x00\xff",
    "n": None,
    "day": date(2026, 1, 2),
    "ms": datetime(2026, 1, 2, 3, 4, 5, 6000, UTC),
    "us": datetime(2026, 1, 2, 3, 4, 5, 6, UTC),
    "money": Decimal("12.34"),
    "e": "blue",
    "a": [1, 2],
    "u": "x",
}


@pytest.fixture
def schemas(monkeypatch: pytest.MonkeyPatch) -> dict[int, Any]:
    """What the registry has, by id."""
    schema_by_id: dict[int, Any] = {}

    def schema(_: Any, id: int) -> RegisteredSchema:
        if id not in schema_by_id:
            raise UnknownSchema(f"the registry has no schema {id}")
        return (
            schema_by_id[id]
            if isinstance(schema_by_id[id], RegisteredSchema)
            else RegisteredSchema(json.dumps(schema_by_id[id]))
        )

    monkeypatch.setattr(messages, "schema", schema)
    return schema_by_id


def decoded(values: Sequence[bytes | None], reader: Any, **more: Any) -> list[dict[str, Any]]:
    format = AvroFormat(Connection("CONFLUENT SCHEMA REGISTRY", ()), json.dumps(reader), **more)
    desc = RelationDesc((Column("key", TEXT),) if format.is_document else columns_of(format.schema))
    rows: list[dict[str, Any]] = decode_messages(
        values, format, desc, partition="0", offsets=range(len(values))
    ).to_pylist()
    return rows


def test_every_type_has_its_column(schemas: dict[int, Any]) -> None:
    schemas[7] = EVERYTHING
    types = (
        BOOLEAN,
        INTEGER,
        BIGINT,
        REAL,
        DOUBLE,
        TEXT,
        BYTEA,
        INTEGER,
        DATE,
        TIMESTAMP,
        TIMESTAMP,
        numeric(10, 2),
        TEXT,
        TEXT,
        TEXT,
    )
    columns = columns_of(json.dumps(EVERYTHING))
    assert tuple(column.type for column in columns) == types
    assert [column.name for column in columns if column.is_nullable] == ["n", "us"]
    [row] = decoded([framed(7, EVERYTHING, VALUE)], EVERYTHING)
    moments = {name: VALUE[name].replace(tzinfo=None) for name in ("ms", "us")}
    assert row == VALUE | moments | {"a": "[1, 2]"}


def test_a_writer_may_have_another_schema(schemas: dict[int, Any]) -> None:
    reader = record(("id", "long"), ("note", ["null", "string"]), default=None)
    reader["fields"][0].pop("default")
    schemas[1] = record(("id", "int"))  # narrower, without the note
    schemas[2] = record(("gone", "string"), ("note", "string"), ("id", "long"))
    values = [
        framed(1, schemas[1], {"id": 5}),
        framed(2, schemas[2], {"gone": "x", "note": "n", "id": 6}),
    ]
    assert decoded(values, reader) == [{"id": 5, "note": None}, {"id": 6, "note": "n"}]
    schemas[3] = record(("note", "string"))
    with pytest.raises(DecodeFailed) as failure:
        decoded([*values, framed(3, schemas[3], {"note": "the id is missing"})], reader)
    assert failure.value.offset == 2


def named(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "name": name, "namespace": "shop"} | more


def test_a_schema_may_refer_to_others(schemas: dict[int, Any]) -> None:
    colour = named("enum", "Colour", symbols=["red", "blue"])
    size = {"type": "enum", "name": "Size", "symbols": ["small"]}
    fields: list[tuple[str, Any]] = [
        ("colour", "Colour"),
        ("of", ["null", {"type": "array", "items": "Part"}]),
        ("size", ["null", size]),
    ]
    part = named("record", "Part", fields=[{"name": name, "type": type} for name, type in fields])
    fields = [
        ("size", "Size"),
        ("first", "shop.Colour"),
        ("part", "Part"),
        ("by_name", {"type": "map", "values": "Part"}),
        ("n", "int"),
    ]
    order = named("record", "Order", fields=[{"name": name, "type": type} for name, type in fields])
    imports = tuple(
        (name, json.dumps(schema))
        for name, schema in (("shop.Colour", colour), ("shop.Part", part))
    )
    text = inline_references(json.dumps(order), imports)
    assert [column.name for column in columns_of(text)] == ["size", "first", "part", "by_name", "n"]
    inner = {"colour": "red", "of": None, "size": "small"}
    outer = {"colour": "blue", "of": [inner], "size": None}
    schemas[7] = RegisteredSchema(json.dumps(order), imports)
    schemas[8] = RegisteredSchema('"shop.Order"', (*imports, ("shop.Order", json.dumps(order))))
    value = {"size": "small", "first": "red", "part": outer, "by_name": {"x": inner}, "n": 5}
    rows = decoded([framed(id, json.loads(text), value) for id in (7, 8)], json.loads(text))
    assert [
        (row["first"], json.loads(row["part"]), json.loads(row["by_name"]), row["n"])
        for row in rows
    ] == [("red", outer, {"x": inner}, 5)] * 2
    schemas[9] = RegisteredSchema(json.dumps(order), imports[:1])
    with pytest.raises(DecodeFailed, match="offset 1") as failure:
        decoded([framed(id, json.loads(text), value) for id in (7, 9)], json.loads(text))
    assert "shop.Size" in (failure.value.detail or "")
    with pytest.raises(InvalidOption, match="none of Avro's"):
        inline_references(json.dumps(order), imports[1:])


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [("string", "k", "k"), ("long", 7, "7"), (record(("a", "int")), {"a": 1}, '{"a": 1}')],
)
def test_a_key_is_one_text(schemas: dict[int, Any], schema: Any, value: Any, text: str) -> None:
    schemas[1] = schema
    assert decoded([framed(1, schema, value), None], schema, is_document=True) == [
        {"key": text},
        {"key": None},
    ]


@pytest.mark.parametrize(
    "schema",
    [
        '{"type": "string"}',
        "not JSON",
        '{"type": "record", "name": "r", "fields": [{"name": "x"}]}',
    ],
)
def test_what_is_no_schema_of_a_relation(schema: str) -> None:
    with pytest.raises(InvalidOption):
        columns_of(schema)


def outcome(values: list[bytes | None]) -> Any:
    """How many rows, or where the error is."""
    try:
        return len(decoded(values, EVERYTHING))
    except DecodeFailed as failure:
        return failure.partition, failure.offset


def test_malformed_messages_are_each_an_error_that_names_them(
    schemas: dict[int, Any], malformed: int
) -> None:
    schemas[7] = EVERYTHING
    good, chance, refused = framed(7, EVERYTHING, VALUE), random.Random(20261121), 0
    for _ in range(malformed):
        bad = damaged(good, chance)
        found = outcome([good, bad])
        assert found in (2, ("0", 1))  # it is a message, if of another value, or an error
        refused += found != 2
    assert refused > malformed // 2
