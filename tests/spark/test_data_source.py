"""A plain Spark session reads the rows and changes that SQL answers, from a home and over the
wire."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fixtures.server import SqlServer
from pyspark.sql import DataFrame, SparkSession

import reclock
from reclock.spark import ReclockDataSource

SRC = Path(__file__).parents[2] / "src"
TYPES = """CREATE TABLE kinds (s smallint, i integer, b bigint NOT NULL, r real, d double precision, n numeric(10, 2), u numeric,
  t text, f boolean, day date, at timestamp, tz timestamptz, raw bytea);
INSERT INTO kinds VALUES
  (1, 2, 3, 1.5, 'NaN', 1.10, 1.5, 'x', true, '2026-11-21', '2026-11-21 10:00:00.123456', '2026-11-21 10:00:00+01', '\\x0102'),
  (-1, NULL, 4, '-Infinity', -0.0, -9999.99, NULL, '', false, '0001-01-01', '9999-12-31 23:59:59', '1969-12-31 23:59:59+00', ''),
  (NULL, 7, 5, NULL, 2.25, NULL, 0.000000001, 'żółw ''"', NULL, NULL, NULL, NULL, NULL),
  (NULL, 7, 5, NULL, 2.25, NULL, 0.000000001, 'żółw ''"', NULL, NULL, NULL, NULL, NULL)"""

pytestmark = pytest.mark.spark

Read = Callable[..., DataFrame]


@pytest.fixture(scope="module")
def client(sql_server: SqlServer) -> Iterator[reclock.Client]:
    with reclock.connect(sql_server.home) as client:
        client.sql(TYPES)
        yield client
        client.sql("DROP TABLE kinds")


@pytest.fixture
def orders(client: reclock.Client) -> Iterator[reclock.Client]:
    client.sql("CREATE TABLE orders (id integer, item text)")
    client.sql("INSERT INTO orders VALUES (1, 'cup'), (2, 'pan'), (2, 'pan')")
    yield client
    client.sql("DROP TABLE orders")


@pytest.fixture(params=["home", "wire"])
def read(request: pytest.FixtureRequest, spark: SparkSession, sql_server: SqlServer) -> Read:
    spark.dataSource.register(ReclockDataSource)
    url = f"postgresql://reclock@127.0.0.1:{sql_server.port}/reclock"
    location = {"home": str(sql_server.home)} if request.param == "home" else {"url": url}

    def load(relation: str, **options: object) -> DataFrame:
        texts = {name: str(value) for name, value in options.items()}
        return spark.read.format("reclock").options(**location, **texts).load(relation)

    return load


def rows(frame: DataFrame) -> Counter[tuple[Any, ...]]:
    """The rows as a multiset; values as text, since NaN is not equal to itself."""
    return Counter(tuple(map(repr, row.values())) for row in frame.toArrow().to_pylist())


def answer(
    client: reclock.Client, query: str, as_of: int | None = None
) -> Counter[tuple[Any, ...]]:
    return Counter(
        tuple(map(repr, row.values())) for row in client.sql(query, as_of=as_of).arrow().to_pylist()
    )


def time_of(client: reclock.Client) -> int:
    return int(client.sql("EXPLAIN TIMESTAMP FOR SELECT * FROM orders").rows()[0][0].split()[-1])


def test_values_of_every_type_arrive(client: reclock.Client, read: Read) -> None:
    frame = read("public.kinds", numPartitions=3)
    assert dict(frame.dtypes) == {
        "s": "smallint",
        "i": "int",
        "b": "bigint",
        "r": "float",
        "d": "double",
        "n": "decimal(10,2)",
        "u": "decimal(38,9)",
        "t": "string",
        "f": "boolean",
        "day": "date",
        "at": "timestamp_ntz",
        "tz": "timestamp",
        "raw": "binary",
    }
    assert rows(frame) == answer(client, "SELECT * FROM kinds")


@pytest.mark.parametrize("read", ["wire"], indirect=True)
def test_a_server_divides_rows_by_hash(client: reclock.Client, read: Read) -> None:
    frame = read("numbers", numPartitions=3)
    assert frame.rdd.getNumPartitions() == 3
    assert rows(frame) == answer(client, "SELECT * FROM numbers")
    assert read("numbers").rdd.getNumPartitions() == 1


def test_a_frame_stays_at_its_time(orders: reclock.Client, read: Read) -> None:
    before = time_of(orders)
    frame, partitioned = read("orders"), read("orders", numPartitions=5)
    orders.sql("DELETE FROM orders WHERE id = 2; INSERT INTO orders VALUES (3, 'jug')")
    assert (
        rows(frame)
        == rows(partitioned)
        == rows(read("orders", asOf=before))
        == answer(orders, "SELECT * FROM orders", before)
    )
    assert rows(read("orders", numPartitions=2)) == answer(orders, "SELECT * FROM orders")


def test_partitions_have_each_row_once_whatever_its_types(
    client: reclock.Client, read: Read
) -> None:
    client.sql("CREATE TABLE spans (age interval, parts integer[], doc jsonb)")
    client.sql(
        "INSERT INTO spans SELECT interval '1 day' * n, ARRAY[n, NULL], '{}' "
        "FROM generate_series(1, 20) AS n"
    )
    try:
        assert rows(read("spans", numPartitions=3)) == answer(client, "SELECT * FROM spans")
    finally:
        client.sql("DROP TABLE spans")


def test_views_and_system_relations_are_read(orders: reclock.Client, read: Read) -> None:
    orders.sql("CREATE VIEW counts AS SELECT item, count(*) AS n FROM orders GROUP BY item")
    assert rows(read("counts", numPartitions=2)) == answer(orders, "SELECT * FROM counts")
    assert read("mz_catalog.mz_tables").where("name = 'orders'").count() == 1
    orders.sql("DROP VIEW counts")


def test_changes_of_a_range_of_times(orders: reclock.Client, read: Read) -> None:
    before = time_of(orders)
    orders.sql("UPDATE orders SET item = 'mug' WHERE id = 1")
    first = time_of(orders)
    orders.sql("DELETE FROM orders WHERE id = 2")
    second = time_of(orders)
    changes = read("orders", changes=f"{before + 1}..{second}", numPartitions=2)
    assert changes.columns == ["id", "item", "mz_timestamp", "mz_diff"]
    assert sorted(map(tuple, changes.collect())) == [(1, "cup", first, -1), (1, "mug", first, 1)]
    assert sorted(map(tuple, read("orders", changes=f"{first + 1}..").collect())) == [
        (2, "pan", second, -2)
    ]
    everything = read("orders", changes="true", asOf=before)
    assert Counter(map(tuple, everything.collect())) == Counter(
        [
            (1, "cup", before, 1),
            (2, "pan", before, 2),
            (1, "cup", first, -1),
            (1, "mug", first, 1),
            (2, "pan", second, -2),
        ]
    )
    later = second + 5  # nothing was written since
    assert read("orders", changes=f"{second + 1}..{later}").collect() == []
    assert read("orders", changes=f"{second + 1}..{second + 1}").collect() == []


@pytest.mark.parametrize(
    ("read", "relation", "options", "message"),
    [
        ("wire", "nothing", {}, 'relation "nothing" does not exist'),
        ("home", "orders", {"asOf": 5}, "the earliest time that can be read is"),
        ("home", "orders", {"asOf": 99999999999999}, "the collection is complete below"),
        ("home", "orders", {"changes": "5..6"}, "the earliest time that can be read is"),
        (
            "wire",
            "orders",
            {"changes": "99999999999990..99999999999999"},
            "the collection is complete below",
        ),
        ("home", "mz_tables", {"changes": "true"}, "without times"),
        ("home", "orders", {"colour": "red"}, "hint: options are home, url"),
    ],
    indirect=["read"],
)
def test_errors_are_those_of_load(
    orders: reclock.Client, read: Read, relation: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(Exception, match="PYTHON_DATA_SOURCE_ERROR") as raised:
        read(relation, **options)
    assert message in str(raised.value)


def test_a_given_schema_chooses_columns(
    orders: reclock.Client, spark: SparkSession, sql_server: SqlServer
) -> None:
    spark.dataSource.register(ReclockDataSource)
    reader = spark.read.format("reclock").option("home", str(sql_server.home)).schema("item string")
    assert sorted(row.item for row in reader.load("orders").collect()) == ["cup", "pan", "pan"]


FILTERS = [
    *(f"{name} = 1" for name in ("s", "i", "r", "d", "n", "u")),
    *(f"{name} <> 0" for name in ("s", "i", "r", "d", "n", "u")),
    *(f"{name} > -1" for name in ("s", "b", "r", "d", "n", "u")),
    "d = double('NaN')",
    "d <= double('Infinity')",
    "i IN (2, 7)",
    "i NOT IN (2)",
    "i IN (2, NULL)",
    "t >= 'x'",
    "t < 'ż'",
    "t LIKE '%w%'",
    "f",
    "NOT f",
    "at < timestamp_ntz '2027-01-01'",
    "tz >= timestamp '2026-11-21 09:00:00+00'",
    "day = date '0001-01-01'",
    "raw > X'01'",
    "s IS NULL AND t IS NOT NULL",
    "i <=> NULL",
]


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


@pytest.mark.parametrize("read", ["home"], indirect=True)
def test_filters_keep_the_same_rows_where_they_are_pushed(
    client: reclock.Client, read: Read, spark: SparkSession
) -> None:
    everything = spark.createDataFrame(read("kinds").toArrow(), read("kinds").schema)
    pushing = read("kinds", pushFilters="true")
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        for condition in FILTERS:
            assert rows(pushing.where(condition)) == rows(everything.where(condition)), condition
        assert "Filter " in plan_of(pushing.where("t LIKE '%w%'"))
        assert "Filter " not in plan_of(pushing.where("i = 7"))
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


STRINGS_OF_SPARK = """CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE labels (u uuid, j jsonb, e mood, h time, r int4range, c character(4), v varchar(4));
INSERT INTO labels VALUES
  ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"a": 1}', 'ok', '10:30', '[1,5)', 'y', 'y'),
  ('00eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '[2]', 'sad', '09:00', 'empty', 'yy', 'Ü'),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL)"""
FILTERS_OF_STRINGS = [
    "u = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'",
    "u > 'b' OR u > '1'",
    "u <> 'no uuid'",
    "j = '{\"a\":1}'",
    "j > '['",
    "e > 'ok'",
    "e IN ('ok', 'no label')",
    "h > '10'",
    "r <> '[1,4]'",
    "c = 'y'",
    "c > 'y'",
    "v > 'y'",
    "u IS NULL",
]


@pytest.mark.parametrize("read", ["home"], indirect=True)
def test_filters_on_strings_that_are_no_text_compare_strings(
    client: reclock.Client, read: Read, spark: SparkSession
) -> None:
    client.sql(STRINGS_OF_SPARK)
    try:
        everything = spark.createDataFrame(read("labels").toArrow(), read("labels").schema)
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
        pushing = read("labels", pushFilters="true")
        for condition in FILTERS_OF_STRINGS:
            assert rows(pushing.where(condition)) == rows(everything.where(condition)), condition
        assert "Filter " not in plan_of(pushing.where("v = 'y'"))
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")
        client.sql("DROP TABLE labels; DROP TYPE mood")


CONNECT_PROGRAM = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.remote("local[1]").getOrCreate()
reader = spark.read.format("reclock").option("home", sys.argv[1])
print(type(spark).__module__, reader.load("numbers").where("n <= 10").count())
changes = reader.option("changes", "true").option("numPartitions", 3)
print(changes.load("numbers").agg({"mz_diff": "sum"}).first()[0])
spark.stop()
"""


def test_spark_connect_finds_the_source_of_an_installed_reclock(sql_server: SqlServer) -> None:
    process = subprocess.run(
        [sys.executable, "-c", CONNECT_PROGRAM, str(sql_server.home)],
        env=os.environ | {"PYTHONPATH": str(SRC)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.stdout.split() == ["pyspark.sql.connect.session", "10", "1000"], process.stderr[
        -3000:
    ]
