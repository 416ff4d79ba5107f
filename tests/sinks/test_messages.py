"""What a sink writes as JSON or Avro, a source of that format reads back."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Column,
    RelationDesc,
    numeric,
)
from reclock.algebra.timestamps import Timestamp
from reclock.collections.schema import arrow_schema
from reclock.sinks.avro_messages import AvroForm, record, value_schema
from reclock.sinks.description import Envelope
from reclock.sinks.json_messages import JsonForm
from reclock.sinks.messages import Encoder
from reclock.sources import avro
from reclock.sources.avro_schemas import columns_of, row_columns_of
from reclock.sources.decode import decode
from reclock.sources.description import JsonFormat

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


def changes(*diffs: int) -> pa.RecordBatchReader:
    schema = arrow_schema(DESC, with_updates=False).append(pa.field("mz_diff", pa.int64(), nullable=False))
    columns = [*zip(*ROWS, strict=True), diffs]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema).to_reader()


def test_every_type_reads_back() -> None:
    encoder = Encoder(DESC, ("id",), Envelope.UPSERT, JsonForm())
    messages = [message for batch in encoder.messages(Timestamp(7), changes(1, 1, 1)) for message in batch]
    encoder.close()
    assert sorted(json.loads(key)["id"] for key, _ in messages if key) == [-(2**63), 2, 3]
    lines = b"".join(value + b"\n" for _, value in messages if value is not None)
    found = decode(lines, JsonFormat(), DESC, key="k", offset=0)
    assert sorted((tuple(row.values()) for row in found.to_pylist()), key=lambda row: row[0]) == ROWS


def test_without_a_key_each_copy_is_a_message() -> None:
    encoder = Encoder(DESC, (), Envelope.DEBEZIUM, JsonForm())
    messages = [json.loads(value) for batch in encoder.messages(Timestamp(7), changes(2, -1, 1)) for _, value in batch if value]
    encoder.close()
    assert sorted((message["op"], message["ts_ms"]) for message in messages) == [("c", 7), ("c", 7), ("c", 7), ("d", 7)]
    [gone] = [message for message in messages if message["op"] == "d"]
    assert gone["after"] is None
    assert gone["before"]["id"] == 2


def test_every_type_reads_back_from_avro() -> None:
    form = AvroForm(DESC, ("id",), Envelope.UPSERT, "topic", {})
    encoder = Encoder(DESC, ("id",), Envelope.UPSERT, form)
    messages = [message for batch in encoder.messages(Timestamp(7), changes(1, 1, 1)) for message in batch]
    encoder.close()
    schema = value_schema(DESC.columns, Envelope.UPSERT)
    found = avro.read([value for _, value in messages if value], "", lambda id: json.dumps(schema))
    rows = sorted((tuple(row.values()) for row in found), key=lambda row: row[0])
    assert [tuple(at.replace(tzinfo=None) if isinstance(at, dt.datetime) else at for at in row) for row in rows] == [
        tuple(at.replace(tzinfo=None) if isinstance(at, dt.datetime) else at for at in row) for row in ROWS
    ]
    assert [field["name"] for field in schema["fields"]][:3] == ["id", "it_s__q_", "flag"]
    columns = columns_of(json.dumps(schema))
    assert [column.type for column in columns] == [*(column.type for column in DESC.columns[:-1]), TIMESTAMP]
    assert [column.is_nullable for column in columns] == [column.is_nullable for column in DESC.columns]


def test_names_that_avro_does_not_allow_are_told_apart() -> None:
    columns = [Column(name, TEXT) for name in ("a b", "a_b", "A_B", "1a", "é")]
    assert [field["name"] for field in record("row", columns)["fields"]] == ["a_b", "a_b_1", "A_B_2", "_1a", "_"]


def test_events_in_avro_tell_what_was_before_and_after() -> None:
    form = AvroForm(DESC, ("id",), Envelope.DEBEZIUM, "topic", {})
    encoder = Encoder(DESC, ("id",), Envelope.DEBEZIUM, form)
    schema = json.dumps(value_schema(DESC.columns, Envelope.DEBEZIUM))
    messages = [message for batch in encoder.messages(Timestamp(7), changes(1, -1, 1)) for message in batch]
    encoder.close()
    found = avro.read([value for _, value in messages if value], "", lambda id: schema)
    told = {(event["before"] or event["after"])["id"]: (event["op"], event["ts_ms"]) for event in found}
    assert told == {-(2**63): ("c", 7), 2: ("d", 7), 3: ("c", 7)}
    assert row_columns_of(schema) == columns_of(json.dumps(record("row", DESC.columns)))
