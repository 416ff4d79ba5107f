"""Debezium's envelope: whatever is no event of a connector is an error that names the message."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from fixtures.registry import framed

from reclock.algebra.relations import BIGINT, INTEGER, TEXT, Column, RelationDesc
from reclock.definitions.connections import Connection
from reclock.definitions.formats import AvroFormat, Format, JsonFormat
from reclock.errors import DecodeFailed, InvalidOption
from reclock.formats import messages
from reclock.formats.avro_schemas import row_columns_of
from reclock.formats.envelope import changes
from reclock.formats.schema_registry import RegisteredSchema

DESC = RelationDesc((Column("id", BIGINT, is_nullable=False), Column("w", TEXT)))


JSON = JsonFormat()


def read(*values: bytes | None, format: Format = JSON) -> list[tuple[Any, ...]]:
    offsets = range(10, 10 + len(values))
    return [
        tuple(row.values())
        for row in changes(values, format, DESC, partition="0", offsets=offsets).to_pylist()
    ]


def event(op: str, before: Any = None, after: Any = None) -> bytes:
    return json.dumps({"op": op, "before": before, "after": after}).encode()


def test_what_an_event_says() -> None:
    one, two = {"id": 2**60, "w": "x"}, {"id": 1}
    assert read(event("c", None, one), event("u", one, two), None, event("m"), event("d", two)) == [
        (2**60, "x", 1),
        (2**60, "x", -1),
        (1, None, 1),
        (1, None, -1),
    ]
    assert read(
        json.dumps({"schema": {}, "payload": json.loads(event("r", None, two))}).encode()
    ) == [(1, None, 1)]


@pytest.mark.parametrize(
    "bad",
    [
        event("t"),
        event("x", None, {"id": 1}),
        event("u", None, {"id": 1}),
        event("d"),
        event("c", None, [1]),
        event("c", None, {"id": None}),
        event("c", None, {"id": "one"}),
        b"{}",
        b"[]",
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_the_first_that_is_none_is_named(bad: bytes) -> None:
    with pytest.raises(DecodeFailed) as failure:
        read(event("c", None, {"id": 1}), bad, bad)
    assert (failure.value.partition, failure.value.offset) == ("0", 11)


def outcome(*values: bytes) -> Any:
    try:
        return len(read(*values))
    except DecodeFailed as failure:
        return failure.offset


def test_malformed_events_are_each_an_error_that_names_them(malformed: int) -> None:
    good = event("u", {"id": 1, "w": "ä"}, {"id": 2, "w": None})
    chance = random.Random(20261121)
    refused = 0
    for _ in range(malformed):
        bad = bytearray(good)
        if chance.randrange(2):
            bad[chance.randrange(len(bad))] = chance.randrange(256)
        else:
            del bad[chance.randrange(len(bad)) :]
        found = outcome(good, bytes(bad))
        assert found in (2, 3, 4, 11)
        refused += found == 11
    assert refused > malformed // 2


ROW = {
    "type": "record",
    "name": "shop.Value",
    "fields": [{"name": "id", "type": ["null", "int"]}, {"name": "w", "type": "string"}],
}
ENVELOPE: dict[str, Any] = {
    "type": "record",
    "name": "shop.Envelope",
    "fields": [
        {"name": "before", "type": ["null", ROW], "default": None},
        {"name": "after", "type": ["null", "shop.Value"], "default": None},
        {"name": "op", "type": "string"},
    ],
}


def test_events_in_avro(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        messages,
        "schema",
        lambda _, id: RegisteredSchema(json.dumps({7: ENVELOPE, 8: "string"}[id])),
    )
    format = AvroFormat(Connection("CONFLUENT SCHEMA REGISTRY", ()), "")

    def event(op: str, before: Any = None, after: Any = None) -> bytes:
        return framed(7, ENVELOPE, {"op": op, "before": before, "after": after})

    first, second = {"id": 1, "w": "x"}, {"id": 2, "w": "y"}
    good = [
        event("r", None, first),
        event("u", first, second),
        None,
        event("m"),
        event("d", second),
    ]
    assert read(*good, format=format) == [(1, "x", 1), (1, "x", -1), (2, "y", 1), (2, "y", -1)]
    assert row_columns_of(json.dumps(ENVELOPE)) == (
        Column("id", INTEGER),
        Column("w", TEXT, is_nullable=False),
    )
    with pytest.raises(InvalidOption):
        row_columns_of(json.dumps(ROW))
    whole = event("u", first, second)
    for bad in (
        *(whole[:end] for end in range(len(whole))),
        *(event("t"), event("u", None, first), event("c", None, {"id": None, "w": ""})),
        *(framed(8, "string", "x"), b"{}", b""),
    ):
        with pytest.raises(DecodeFailed) as failure:
            read(good[0], bad, b"worse", format=format)
        assert (failure.value.partition, failure.value.offset) == ("0", 11)
