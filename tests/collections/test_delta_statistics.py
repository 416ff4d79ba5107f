"""The log's statistics are true, and no reader of the Delta table loses a row by them."""

import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder
from fixtures.lakes import FLIGHTS, put

from reclock.algebra import relations as types
from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.algebra.updates import Update
from reclock.collections.collection import Collection
from reclock.collections.lake import Lake

DESC = RelationDesc(
    (
        Column("yes", types.BOOLEAN),
        Column("small", types.SMALLINT),
        Column("number", types.INTEGER),
        Column("big", types.BIGINT),
        Column("short float", types.REAL),
        Column("long float", types.DOUBLE),
        Column("exact", types.numeric(12, 3)),
        Column("text", types.TEXT),
        Column("bytes", types.BYTEA),
        Column("day", types.DATE),
        Column("at", types.TIMESTAMP),
        Column("at utc", types.TIMESTAMPTZ),
    )
)
NOON = datetime(2013, 1, 1, 12, 0, 0, 1)
ROWS = [
    (
        True,
        1,
        2,
        2**40,
        1.5,
        2.5,
        Decimal("3.125"),
        "ORD",
        b"\x00",
        date(2013, 1, 1),
        NOON,
        NOON.replace(tzinfo=UTC),
    ),
    (
        False,
        -1,
        -2,
        -3,
        math.nan,
        math.inf,
        Decimal("-1.000"),
        "z" * 40,
        b"\xff",
        date(1, 1, 1),
        datetime.min,
        NOON.replace(tzinfo=UTC),
    ),
    tuple(None for _ in range(12)),
]


@pytest.fixture
def flights(lake: Lake) -> Collection:
    collection = lake.create(FLIGHTS, DESC)
    for time, row in enumerate(ROWS):
        put(collection, Update(row, Timestamp(time), 1), to=time + 1)
    return collection


def test_the_log_tells_of_times_and_diffs_and_nothing_that_may_lack_a_bound(
    flights: Collection,
) -> None:
    with open(f"{flights.uri}/_delta_log/{2:020}.json") as log:
        (stats,) = [
            json.loads(json.loads(line)["add"]["stats"])
            for line in log
            if "add" in json.loads(line)
        ]
    bounds = {"mz_timestamp": 1, "mz_diff": 1}
    zero = {"mz_timestamp": 0, "mz_diff": 0}
    assert stats == {"numRecords": 1, "minValues": bounds, "maxValues": bounds, "nullCount": zero}


@pytest.mark.parametrize(
    ("predicate", "count"),
    [
        ("mz_timestamp = 1", 1),
        ("mz_timestamp >= 1 AND mz_timestamp < 9", 2),
        ("small > 0", 1),
        ("number < 0", 1),
        ("big = 1099511627776", 1),
        ("text = 'ORD'", 1),
        ("text > 'zzz'", 1),
        ("day = DATE '2013-01-01'", 1),
        ("day < DATE '1900-01-01'", 1),
        ("\"at\" = TIMESTAMP '2013-01-01T12:00:00.000001'", 1),
        ('"short float" = 1.5', 1),
        ("yes", 1),
        ('"long float" > 1000', 1),
        ('"long float" = 2.5', 1),
        ("exact = 3.125", 1),
        ("exact < 0", 1),
        (f"text = '{'z' * 40}'", 1),
        ("text IS NULL", 1),
        ("TRUE", 3),
    ],
)
def test_readers_of_the_delta_table_find_every_row(
    flights: Collection, predicate: str, count: int
) -> None:
    table = DeltaTable(flights.uri)
    rust = pa.table(
        QueryBuilder()
        .register("flights", table)
        .execute(f"SELECT mz_timestamp FROM flights WHERE {predicate}")
        .read_all()
    )
    duck = duckdb.connect()
    duck.register("flights", table.to_pyarrow_dataset())
    found = duck.execute(f"SELECT count(*) FROM flights WHERE {predicate}").fetchone()
    assert (rust.num_rows, found) == (count, (count,))


def test_the_table_asks_no_more_of_a_reader_than_its_types_need(
    lake: Lake, flights: Collection
) -> None:
    plain = lake.create(
        StorageCollectionId(GlobalId("u5")), RelationDesc((Column("a", types.TEXT),))
    )
    assert DeltaTable(plain.uri).protocol().min_reader_version == 1
    assert DeltaTable(flights.uri).protocol().reader_features == ["timestampNtz"]
