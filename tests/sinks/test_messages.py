"""What a sink writes as JSON, a source of FORMAT JSON reads back."""

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
from reclock.sinks.description import Envelope
from reclock.sinks.messages import Encoder
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
    encoder = Encoder(DESC, ("id",), Envelope.UPSERT)
    [messages] = list(encoder.messages(Timestamp(7), changes(1, 1, 1)))
    encoder.close()
    assert sorted(json.loads(key)["id"] for key, _ in messages if key) == [-(2**63), 2, 3]
    lines = b"".join(value + b"\n" for _, value in messages if value is not None)
    found = decode(lines, JsonFormat(), DESC, key="k", offset=0)
    assert sorted((tuple(row.values()) for row in found.to_pylist()), key=lambda row: row[0]) == ROWS


def test_without_a_key_each_copy_is_a_message() -> None:
    encoder = Encoder(DESC, (), Envelope.DEBEZIUM)
    messages = [json.loads(value) for batch in encoder.messages(Timestamp(7), changes(2, -1, 1)) for _, value in batch if value]
    encoder.close()
    assert sorted((message["op"], message["ts_ms"]) for message in messages) == [("c", 7), ("c", 7), ("c", 7), ("d", 7)]
    [gone] = [message for message in messages if message["op"] == "d"]
    assert gone["after"] is None
    assert gone["before"]["id"] == 2
