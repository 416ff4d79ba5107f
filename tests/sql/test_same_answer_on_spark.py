"""A query means on Spark what it means on DuckDB, whose answers are compared with PostgreSQL's.

``--on-spark N`` computes so many of the queries, chosen by chance once for all.
"""

from __future__ import annotations

from collections import Counter
from zlib import crc32

import pytest
from fixtures.planning import World
from sql.compared import (
    ANSWERED_BY_BOTH,
    NOT_ON_SPARK,
    PRINTED_BY_BOTH,
    ZONE,
    answer,
    comparable,
    new_world,
    printed_answer,
    queries,
)

from reclock.algebra.text_style import TextStyle
from reclock.compute.engines.duckdb import DuckDbEngine
from reclock.compute.engines.spark import SparkEngine
from reclock.errors import UnsupportedSql
from reclock.sql.names import SessionNames

pytestmark = pytest.mark.spark

QUERIES = {
    (name, sql): None
    for name in (*ANSWERED_BY_BOTH, *PRINTED_BY_BOTH, "recursive", "zones")
    for sql in queries(name)
    if " FROM " in sql  # others are constants
}


@pytest.fixture(scope="module")
def world() -> World:
    return new_world()


@pytest.fixture(scope="module")
def engine() -> DuckDbEngine:
    return DuckDbEngine(threads=1)


def test_both_engines_answer_the_same(
    name: str, sql: str, world: World, engine: DuckDbEngine, spark_engine: SparkEngine
) -> None:
    zone = ZONE if name == "zones" else "UTC"
    world.session = SessionNames(style=TextStyle(zone))
    select = world.select(sql)

    def rows(of: DuckDbEngine | SparkEngine) -> Counter[object]:
        if name in ANSWERED_BY_BOTH:  # floating point may differ in its last digit
            return Counter(map(comparable, answer(world, of, select)))
        return Counter(printed_answer(world, of, select, zone))

    theirs = rows(engine)
    try:
        ours = rows(spark_engine)
    except UnsupportedSql:  # such a plan runs on DuckDB
        assert any(part in sql for part in NOT_ON_SPARK)
    else:
        assert ours == theirs


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    chosen = sorted(QUERIES, key=lambda query: crc32(query[1].encode()))
    metafunc.parametrize(("name", "sql"), chosen[: metafunc.config.getoption("on_spark")])
