"""Messages in Protobuf: every type, schemas that change, and a definite error for whatever is no
message."""

from __future__ import annotations

import random
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from fixtures.mutation import damaged
from google.protobuf.message_factory import GetMessageClass

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    BYTEA,
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
from reclock.definitions.formats import ProtobufFormat
from reclock.errors import DecodeFailed, InvalidOption
from reclock.formats import messages
from reclock.formats.messages import decode_messages
from reclock.formats.protobuf_schemas import (
    columns_of,
    compiled,
    descriptor,
    messages_at,
    messages_of,
)
from reclock.formats.schema_registry import RegisteredSchema, UnknownSchema

REGISTRY = Connection("CONFLUENT SCHEMA REGISTRY", ())
SCALARS = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "parts/part.proto";
message Other { string word = 1; }
message Order {
  bool b = 1; int32 i = 2; sint64 l = 3; fixed32 u = 4; uint64 w = 5; float f = 6; double d = 7; string s = 8; bytes y = 9;
  enum Colour { RED = 0; BLUE = 1; }
  Colour e = 10;
  optional int32 o = 11;
  oneof one { string left = 12; bool right = 13; }
  google.protobuf.Timestamp at = 14;
  google.protobuf.Int64Value maybe = 15;
  repeated int32 many = 16;
  map<string, int32> map = 17;
  parts.Part part = 18;
  message Inner { int32 n = 1; Inner deeper = 2; }
  Inner inner = 19;
}
"""
PART = """syntax = "proto2"; package parts; message Part { required string name = 1; optional int32 n = 2 [default = 5]; }"""
SCHEMA = compiled(SCALARS, (("parts/part.proto", PART),))
VALUE = {
    "b": True,
    "i": -1,
    "l": 2**40,
    "u": 2**32 - 1,
    "w": 2**64 - 1,
    "f": 0.5,
    "d": 0.1,
    "s": "ü",
    "y": b"\x00\xff",
    "e": 1,
    "left": "x",
    "many": [1, 2],
    "map": {"a": 1},
}
ROW = VALUE | {
    "w": Decimal(2**64 - 1),
    "e": "BLUE",
    "o": None,
    "right": None,
    "at": datetime(2026, 1, 2, 3, 4, 5, 6),
    "maybe": 0,
    "many": "[1, 2]",
    "map": '{"a": 1}',
    "part": '{"name": "p", "n": 5}',
    "inner": '{"deeper": {"n": 3}, "n": 0}',
}
EMPTY = dict.fromkeys(ROW) | {
    "b": False,
    "i": 0,
    "l": 0,
    "u": 0,
    "w": Decimal(0),
    "f": 0.0,
    "d": 0.0,
}
EMPTY |= {"s": "", "y": b"", "e": "RED", "many": "[]", "map": "{}"}


def order(**more: Any) -> bytes:
    message = GetMessageClass(descriptor(SCHEMA, "shop.Order"))(**VALUE | more)
    message.at.FromJsonString("2026-01-02T03:04:05.000006Z")
    message.maybe.value = 0
    message.part.name, message.part.n = "p", 5
    message.inner.deeper.n = 3
    return bytes(message.SerializeToString())


def framed(id: int, indexes: bytes, message: bytes) -> bytes:
    return b"\x00" + id.to_bytes(4, "big") + indexes + message


def decoded(
    values: list[bytes | None], message: str = "shop.Order", schema: str = SCHEMA, **more: Any
) -> list[dict[str, Any]]:
    format = ProtobufFormat(more.pop("registry", None), schema, message, **more)
    desc = RelationDesc(
        (Column("key", TEXT),) if format.is_document else columns_of(schema, message)
    )
    rows: list[dict[str, Any]] = decode_messages(
        values, format, desc, partition="0", offsets=range(len(values))
    ).to_pylist()
    return rows


def test_every_type_has_its_column() -> None:
    columns = columns_of(SCHEMA, "shop.Order")
    types = [
        BOOLEAN,
        INTEGER,
        BIGINT,
        BIGINT,
        numeric(20, 0),
        REAL,
        DOUBLE,
        TEXT,
        BYTEA,
        TEXT,
        INTEGER,
        TEXT,
        BOOLEAN,
    ]
    assert [column.type for column in columns] == [
        *types,
        TIMESTAMP,
        BIGINT,
        TEXT,
        TEXT,
        TEXT,
        TEXT,
    ]
    nullable = [column.name for column in columns if column.is_nullable]
    assert nullable == ["o", "left", "right", "at", "maybe", "part", "inner"]
    assert decoded([order(), order(o=0)]) == [ROW, ROW | {"o": 0}]
    assert decoded([b""]) == [EMPTY]
    assert decoded([b"\x0a\x01p"], "parts.Part") == [{"name": "p", "n": 5}]
    assert decoded([b"\x50\x07"])[0]["e"] == "7"  # of a newer schema


def test_a_key_is_one_text() -> None:
    assert decoded([b"\x0a\x01k", None], "shop.Other", is_document=True) == [
        {"key": '{"word": "k"}'},
        {"key": None},
    ]


def test_a_message_is_the_one_that_its_indexes_lead_to(monkeypatch: pytest.MonkeyPatch) -> None:
    older = (
        'syntax = "proto3"; package shop; message Order { int32 i = 2; int32 gone = 99; } '
        "message Other { string word = 1; }"
    )
    requests = []

    def schema(_: Any, id: int) -> RegisteredSchema:
        requests.append(id)
        if id > 2:
            raise UnknownSchema(f"the registry has no schema {id}")
        return (
            RegisteredSchema(SCALARS, (("parts/part.proto", PART),))
            if id == 1
            else RegisteredSchema(older)
        )

    monkeypatch.setattr(messages, "schema", schema)
    other, inner = framed(1, b"\x00", b"\x0a\x01k"), framed(1, b"\x04\x02\x00", b"\x08\x03")
    assert decoded([other, other], "shop.Other", registry=REGISTRY) == [
        {"word": "k"},
        {"word": "k"},
    ]
    assert decoded([framed(2, b"\x02\x02", b"\x0a\x01k")], "shop.Other", registry=REGISTRY) == [
        {"word": "k"}
    ]
    assert decoded([inner], "shop.Order.Inner", registry=REGISTRY)[0]["n"] == 3
    assert decoded([framed(2, b"\x00", b"\x10\x09\x98\x06\x01")], registry=REGISTRY)[0]["i"] == 9
    for bad, reason in (
        (other, "it is a shop.Other"),
        (framed(3, b"\x00", b""), "the registry has no schema 3"),
        (framed(1, b"\x02\x08", b""), "the schema has no message at [4]"),
        (framed(1, b"\x04\x02", b""), "the way to its message is cut short"),
        (framed(1, b"\xff" * 12, b""), "the way to its message is cut short"),
        (framed(1, b"\x01", b""), "-1 indexes lead to its message"),
        (b"\x01\x00\x00\x00\x01\x00", "it does not begin with the id of a schema"),
    ):
        with pytest.raises(DecodeFailed) as failure:
            decoded([framed(1, b"\x02\x02", order()), bad], registry=REGISTRY)
        assert failure.value.offset == 1
        assert reason in str(failure.value.detail)
        is_unknown = reason.startswith("the registry")
        assert ("register the schema again" in str(failure.value.hint)) is is_unknown
    assert requests.count(1) < 30  # once an attempt, not once a message


def test_what_is_no_schema_of_a_relation() -> None:
    assert messages_of(SCHEMA) == ["shop.Other", "shop.Order"]
    assert messages_at(SCHEMA, [1, 0]) == {"shop.Order.MapEntry", "shop.Order.Inner"}
    with pytest.raises(InvalidOption, match="no message") as missing:
        columns_of(SCHEMA, "shop.Ordre")
    assert "shop.Order" in str(missing.value.hint)
    with pytest.raises(InvalidOption) as bad:
        compiled('syntax = "proto3"; message M { int32 n = 0; }')
    assert str(bad.value.detail).startswith("1:42: Field numbers must be positive integers.")
    anything = compiled(
        'syntax = "proto3"; import "google/protobuf/any.proto"; message M { repeated '
        "google.protobuf.Any n = 1; }"
    )
    with pytest.raises(InvalidOption, match="Any"):
        columns_of(anything, "M")
    for name in ("../m.proto", "/tmp/m.proto"):
        with pytest.raises(InvalidOption, match="cannot import"):
            compiled('syntax = "proto3"; message M { }', ((name, ""),))
    for text in ("\\x00", "\\xzz", "\\x", SCHEMA[2:]):
        with pytest.raises(InvalidOption):
            columns_of(text, "M")


def test_malformed_messages_are_each_an_error_that_names_them(malformed: int) -> None:
    good, chance, refused = order(), random.Random(20261122), 0
    format = ProtobufFormat(None, SCHEMA, "shop.Order")
    desc = RelationDesc(columns_of(SCHEMA, "shop.Order"))
    for _ in range(malformed):
        bad = damaged(good, chance)
        try:
            # if of another value
            assert decode_messages([bad], format, desc, partition="7", offsets=[41]).num_rows == 1
        except DecodeFailed as failure:
            assert (failure.partition, failure.offset) == ("7", 41)  # noqa: PT017
            refused += 1
    assert refused > malformed * 2 // 5
