"""What a sink writes as JSON or Avro, a source of that format reads back."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from reclock.algebra.intervals import Interval
from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTERVAL,
    JSONB,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Column,
    RelationDesc,
    array,
    numeric,
)
from reclock.algebra.timestamps import Timestamp
from reclock.collections.schema import arrow_schema
from reclock.definitions.connections import Connection
from reclock.definitions.formats import JsonFormat
from reclock.definitions.sinks import Avro, Envelope
from reclock.errors import SinkHeadersInvalid
from reclock.formats import avro
from reclock.formats.avro_schemas import columns_of, row_columns_of
from reclock.formats.decode import decode
from reclock.sinks.avro_messages import AvroForm, record, value_schema
from reclock.sinks.json_messages import JsonForm
from reclock.sinks.messages import Encoder
from reclock.sinks.plain_messages import PlainForm

DESC = RelationDesc(
    (
        Column("id", BIGINT, False),
        Column('it\'s "q"', TEXT),
        Column("flag", BOOLEAN),
        Column("amount", numeric(20, 4)),
        Column("x", DOUBLE),
        Column("raw", BYTEA),
        Column("day", DATE),
        Column("at", TIMESTAMP),
        Column("moment", TIMESTAMPTZ),
    )
)
COMPOSITES = (
    Column("texts", array(TEXT)),
    Column("days", array(DATE)),
    Column("floats", array(DOUBLE)),
    Column("flags", array(BOOLEAN)),
    Column("amounts", array(numeric(20, 4))),
    Column("documents", array(JSONB)),
    Column("every", INTERVAL),
)
AVRO = Avro(Connection("CONFLUENT SCHEMA REGISTRY", ()), "shop.Order")
ROWS = [
    (
        -(2**63),
        'a"\\\n\u2028é💡',
        True,
        Decimal("-1234567890123456.7891"),
        0.1,
        b"\x00\xff\\",
        dt.date(1, 1, 1),
        dt.datetime(2020, 2, 29, 1, 2, 3, 4),
        dt.datetime(2020, 2, 29, 23, 59, tzinfo=dt.UTC),
    ),
    (2, *[None] * 8),
    (
        3,
        "",
        False,
        Decimal("0.0000"),
        1e300,
        b"",
        dt.date(9999, 12, 31),
        dt.datetime(1969, 12, 31),
        dt.datetime(1, 1, 1, tzinfo=dt.UTC),
    ),
]


MEMBERS = [
    (
        ["", None, 'a"\\\n,{}'],
        [dt.date(2020, 2, 29)],
        [0.1, float("-inf")],
        [True, None, False],
        [Decimal("-1.5000"), Decimal("1234567890123456.7891")],
        ['{"a": [1]}', None],
        Interval(13, -1, -5)._asdict(),
    ),
    ([], [], [], [], [], [], Interval()._asdict()),
    (None,) * 7,
]


def changes(
    *diffs: int, desc: RelationDesc = DESC, rows: list[tuple[Any, ...]] = ROWS
) -> pa.RecordBatchReader:
    schema = arrow_schema(desc, with_updates=False).append(
        pa.field("mz_diff", pa.int64(), nullable=False)
    )
    columns = [*zip(*rows, strict=True), diffs]
    return pa.table(
        [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema
    ).to_reader()


def test_every_type_reads_back() -> None:
    desc = RelationDesc((*DESC.columns, *COMPOSITES))
    rows = [(*row, *members) for row, members in zip(ROWS, MEMBERS, strict=True)]
    encoder = Encoder(desc, ("id",), Envelope.UPSERT, JsonForm(), JsonForm())
    arriving = changes(1, 1, 1, desc=desc, rows=rows)
    messages = [message for batch in encoder.messages(Timestamp(7), arriving) for message in batch]
    encoder.close()
    assert sorted(json.loads(key)["id"] for key, _, _ in messages if key) == [-(2**63), 2, 3]
    lines = b"".join(value + b"\n" for _, value, _ in messages if value is not None)
    found = decode(lines, JsonFormat(), desc, key="k", offset=0)
    assert (
        sorted((tuple(row.values()) for row in found.to_pylist()), key=lambda row: row[0]) == rows
    )


def test_without_a_key_each_copy_is_a_message() -> None:
    encoder = Encoder(DESC, (), Envelope.DEBEZIUM, JsonForm(), JsonForm())
    messages = [
        json.loads(value)
        for batch in encoder.messages(Timestamp(7), changes(2, -1, 1))
        for _, value, _ in batch
        if value
    ]
    encoder.close()
    assert sorted((message["op"], message["ts_ms"]) for message in messages) == [
        ("c", 7),
        ("c", 7),
        ("c", 7),
        ("d", 7),
    ]
    [deletion] = [message for message in messages if message["op"] == "d"]
    assert deletion["after"] is None
    assert deletion["before"]["id"] == 2


def test_every_type_reads_back_from_avro() -> None:
    schema = value_schema(DESC.columns, Envelope.UPSERT, AVRO)
    encoder = Encoder(
        DESC, ("id",), Envelope.UPSERT, AvroForm("topic-value", schema, {}), JsonForm()
    )
    messages = [
        message for batch in encoder.messages(Timestamp(7), changes(1, 1, 1)) for message in batch
    ]
    encoder.close()
    found = avro.read(
        [value for _, value, _ in messages if value], "", lambda id: json.dumps(schema)
    )
    rows = sorted((tuple(row.values()) for row in found), key=lambda row: row[0])
    assert [
        tuple(at.replace(tzinfo=None) if isinstance(at, dt.datetime) else at for at in row)
        for row in rows
    ] == [
        tuple(at.replace(tzinfo=None) if isinstance(at, dt.datetime) else at for at in row)
        for row in ROWS
    ]
    assert [field["name"] for field in schema["fields"]][:3] == ["id", "it_s__q_", "flag"]
    columns = columns_of(json.dumps(schema))
    assert [column.type for column in columns] == [
        *(column.type for column in DESC.columns[:-1]),
        TIMESTAMP,
    ]
    assert [column.is_nullable for column in columns] == [
        column.is_nullable for column in DESC.columns
    ]


def test_names_that_avro_does_not_allow_are_told_apart() -> None:
    columns = [Column(name, TEXT) for name in ("a b", "a_b", "A_B", "1a", "é")]
    assert [field["name"] for field in record(columns, AVRO)["fields"]] == [
        "a_b",
        "a_b_1",
        "A_B_2",
        "_1a",
        "_",
    ]


def test_events_in_avro_tell_what_was_before_and_after() -> None:
    written = value_schema(DESC.columns, Envelope.DEBEZIUM, AVRO)
    schema = json.dumps(written)
    encoder = Encoder(
        DESC, ("id",), Envelope.DEBEZIUM, AvroForm("topic-value", written, {}), JsonForm()
    )
    messages = [
        message for batch in encoder.messages(Timestamp(7), changes(1, -1, 1)) for message in batch
    ]
    encoder.close()
    found = avro.read([value for _, value, _ in messages if value], "", lambda id: schema)
    expected = {
        (event["before"] or event["after"])["id"]: (event["op"], event["ts_ms"]) for event in found
    }
    assert expected == {-(2**63): ("c", 7), 2: ("d", 7), 3: ("c", 7)}
    assert row_columns_of(schema) == columns_of(json.dumps(record(DESC.columns, AVRO)))


def test_what_may_be_null_has_that_as_its_default_where_it_is_said() -> None:
    schema = value_schema(DESC.columns, Envelope.DEBEZIUM, replace(AVRO, has_null_defaults=True))
    assert schema["name"] == "shop.Order"
    before, after, *_ = schema["fields"]
    assert (before["default"], after["default"]) == (None, None)
    row = before["type"][1]
    assert ["default" in field for field in row["fields"]] == [
        column.is_nullable for column in DESC.columns
    ]
    reader = json.dumps(
        schema
        | {
            "fields": [
                *schema["fields"],
                {"name": "more", "type": ["null", "int"], "default": None},
            ]
        }
    )
    encoder = Encoder(
        DESC, ("id",), Envelope.DEBEZIUM, AvroForm("topic-value", schema, {}), JsonForm()
    )
    [(_, value, _), *_] = [
        message for batch in encoder.messages(Timestamp(7), changes(1, 1, 1)) for message in batch
    ]
    encoder.close()
    assert value is not None
    [event] = avro.read([value], reader, lambda id: json.dumps(schema))
    assert (event["op"], event["more"]) == ("c", None)


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        ("id", [str(-(2**63)), "2", "3"]),
        ('it\'s "q"', ['a"\\\n\u2028é💡', None, ""]),
        ("flag", ["true", None, "false"]),
        ("amount", ["-1234567890123456.7891", None, "0.0000"]),
        ("day", ["0001-01-01", None, "9999-12-31"]),
        ("at", ["2020-02-29T01:02:03.000004", None, "1969-12-31T00:00:00.000000"]),
        ("raw", [b"\x00\xff\\", None, b""]),
    ],
)
def test_a_key_may_be_nothing_but_its_column(column: str, texts: list[str | bytes | None]) -> None:
    encoder = Encoder(DESC, (column,), Envelope.UPSERT, JsonForm(), PlainForm())
    messages = [
        message for batch in encoder.messages(Timestamp(7), changes(1, 1, 1)) for message in batch
    ]
    encoder.close()
    keys = {json.loads(value)["id"]: key for key, value, _ in messages if value is not None}
    assert [keys[row[0]] for row in ROWS] == [
        text.encode() if isinstance(text, str) else text for text in texts
    ]


HEADED = RelationDesc((Column("id", BIGINT, False), Column("h", TEXT), Column("word", TEXT)))


def headed(*rows: tuple[int, str | None, str, int]) -> pa.RecordBatchReader:
    names = [*HEADED.names, "mz_diff"]
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows]).to_reader()


@pytest.mark.parametrize("key", [("id",), ()])
def test_headers_are_beside_the_value(key: tuple[str, ...]) -> None:
    envelope = Envelope.UPSERT if key else Envelope.DEBEZIUM
    encoder = Encoder(HEADED, key, envelope, JsonForm(), JsonForm(), headers="h")
    rows = headed(
        (1, '{"trace": "é", "none": null}', "old", -1),
        (1, r'[["raw", "\\x00ff"], ["raw", "b"]]', "new", 1),
        (2, None, "plain", 1),
        (3, '{"gone": "yes"}', "x", -1),
    )
    messages = [message for batch in encoder.messages(Timestamp(7), rows) for message in batch]
    encoder.close()
    assert not [value for _, value, _ in messages if value and b'"h"' in value]
    found = sorted(str(headers) for _, _, headers in messages)
    new, gone = [("raw", b"\x00\xff"), ("raw", b"b")], [("gone", b"yes")]
    old = [[("trace", "é".encode()), ("none", None)]] if not key else []
    assert found == sorted(map(str, [[], new, gone, *old]))


@pytest.mark.parametrize(
    "value", ["1", '"x"', '{"n": 1}', '[["a"]]', "[1]", '[["a", "\\\\xzz"]]', "{"]
)
def test_what_is_no_document_of_headers_is_an_error(value: str) -> None:
    encoder = Encoder(HEADED, ("id",), Envelope.UPSERT, JsonForm(), JsonForm(), headers="h")
    with pytest.raises(SinkHeadersInvalid):
        list(encoder.messages(Timestamp(7), headed((1, value, "a", 1))))
    encoder.close()
