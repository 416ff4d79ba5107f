"""TPCH: the tables agree with one another as TPC-H says, at the first tick and after every later
one."""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb
import pyarrow as pa

from reclock.algebra.timestamps import Timestamp
from reclock.connectors.connector import Increment
from reclock.connectors.load_generators.connector import Generator
from reclock.definitions.load_generators import GENERATED
from reclock.definitions.sources import LoadGenerator

TABLES = GENERATED["TPCH"]
COUNTS = {
    "region": 5,
    "nation": 25,
    "supplier": 10,
    "part": 200,
    "partsupp": 800,
    "customer": 150,
    "orders": 1500,
}
"""At scale factor 0.001."""

KEYS = (
    ("nation", "n_regionkey", "region", "r_regionkey"),
    ("customer", "c_nationkey", "nation", "n_nationkey"),
    ("orders", "o_custkey", "customer", "c_custkey"),
    ("lineitem", "l_orderkey", "orders", "o_orderkey"),
    ("lineitem", "(l_partkey, l_suppkey)", "partsupp", "(ps_partkey, ps_suppkey)"),
)
WRONG_ORDERS = """
    SELECT o_orderkey FROM orders LEFT JOIN (
        SELECT l_orderkey, sum(round(l_extendedprice * (1 - l_discount) * (1 + l_tax), 2)) AS total,
            count(*) FILTER (WHERE l_linestatus = 'O') AS opened, count(*) AS lines
        FROM lineitem GROUP BY l_orderkey
    ) ON o_orderkey = l_orderkey
    WHERE o_totalprice IS DISTINCT FROM total
        OR o_orderstatus <> CASE WHEN opened = 0 THEN 'F' WHEN opened = lines THEN 'O' ELSE 'P' END
"""
WRONG_ITEMS = """
    SELECT l_orderkey FROM lineitem WHERE l_receiptdate <= l_shipdate
        OR l_linestatus <> CASE WHEN l_shipdate > date '1995-06-17' THEN 'O' ELSE 'F' END
"""


def state(ticks: int) -> dict[str, pa.Table]:
    """What is there after so many ticks."""
    generator = Generator(
        LoadGenerator("TPCH", 10, scale_factor=0.001), TABLES, Timestamp(0), Timestamp(0)
    )
    rows_of_table: dict[str, Counter[Any]] = {name: Counter() for name in TABLES}
    schemas = {}
    for task in generator.tasks([Increment((), 0, ticks, ticks)], ()):
        for name, table in generator.read(task):
            schemas[name] = table.schema
            for row in table.to_pylist():
                rows_of_table[name][tuple(row[column] for column in TABLES[name].names)] += row[
                    "mz_diff"
                ]
    tables = {}
    for name, rows in rows_of_table.items():
        assert all(count >= 0 for count in rows.values())
        columns = TABLES[name].names
        listed = [dict(zip(columns, row, strict=True)) for row in rows.elements()]
        tables[name] = pa.Table.from_pylist(listed, schemas[name].remove(len(columns)))
    return tables


def ask(tables: dict[str, pa.Table], query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        return connection.execute(query).fetchall()


def check(tables: dict[str, pa.Table]) -> None:
    for name, count in COUNTS.items():
        assert tables[name].num_rows == count
    assert ask(tables, "SELECT count(DISTINCT o_orderkey) FROM orders") == [(1500,)]
    for table, columns, other, key in KEYS:
        assert ask(
            tables,
            f"SELECT count(*) FROM {table} WHERE {columns} NOT IN (SELECT {key} FROM {other})",
        ) == [(0,)]
    assert ask(tables, WRONG_ORDERS) == []
    assert ask(tables, WRONG_ITEMS) == []
    drawn = (
        "SELECT count(DISTINCT l_returnflag), count(DISTINCT l_shipmode), min(l_linenumber) "
        "FROM lineitem"
    )
    assert ask(tables, drawn) == [(3, 7, 1)]


def test_the_tables_agree_at_first_and_after_every_refresh() -> None:
    first, later = state(1), state(1 + 1500 + 40)
    check(first)
    check(later)
    both = {"a": first["orders"], "b": later["orders"]}
    assert ask(both, "SELECT * FROM a INTERSECT SELECT * FROM b") == []  # every order had its turn
    assert first["part"] == later["part"]


def test_without_an_interval_there_is_only_the_first_tick() -> None:
    once = Generator(
        LoadGenerator("TPCH", 0, scale_factor=0.001), TABLES, Timestamp(5), Timestamp(10**9)
    )
    assert [(increment.lower, increment.upper) for increment in once.probe({})] == [(0, 1)]
    assert once.probe({(): (1,)}) == []
    assert once.upstream.is_monotonic
    assert not LoadGenerator("TPCH", 1000).is_monotonic
