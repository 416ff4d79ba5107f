"""The queries of TPC-H, as they are published, have the answers that PostgreSQL gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from fixtures.planning import World

from reclock.algebra.timestamps import Timestamp
from reclock.compute.engines.duckdb import DuckDbEngine
from reclock.compute.engines.engine import Engine, TableInput
from reclock.compute.engines.spark import SparkEngine
from reclock.connectors.connector import Increment
from reclock.connectors.load_generators.connector import Generator
from reclock.definitions.load_generators import GENERATED
from reclock.definitions.sources import LoadGenerator
from reclock.plan.relational import collections
from reclock.sql.queries.views import expand

TABLES = GENERATED["TPCH"]
QUERIES = (
    (Path(__file__).parent / "answers" / "tpch.sql").read_text().rstrip().rstrip(";").split(";\n\n")
)
NAMES = [f"q{number:02d}" for number in range(1, len(QUERIES) + 1)]


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    """The rows of the load generator at its first tick."""
    generator = Generator(
        LoadGenerator("TPCH", 10, scale_factor=0.005), TABLES, Timestamp(0), Timestamp(0)
    )
    parts: dict[str, list[pa.Table]] = {name: [] for name in TABLES}
    for task in generator.tasks([Increment((), 0, 1, 1)], ()):
        for name, table in generator.read(task):
            parts[name].append(table.select(TABLES[name].names))
    return {name: pa.concat_tables(read) for name, read in parts.items()}


@pytest.fixture(scope="module")
def server(postgres_server: Any, tables: Mapping[str, pa.Table]) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_server.dsn(), autocommit=True) as connection:
        connection.execute("CREATE SCHEMA tpch; SET search_path = tpch")
        for name, desc in TABLES.items():
            columns = ", ".join(f"{column.name} {column.sql_type}" for column in desc.columns)
            connection.execute(f"CREATE TABLE {name} ({columns})".encode())
            with connection.cursor().copy(f"COPY {name} FROM STDIN".encode()) as copy:
                for row in zip(
                    *(column.to_pylist() for column in tables[name].columns), strict=True
                ):
                    copy.write_row(row)
            connection.execute(f"ANALYZE {name}".encode())
        yield connection
        connection.execute("DROP SCHEMA tpch CASCADE")


@pytest.fixture(scope="module")
def world() -> World:
    world = World()
    for name, desc in TABLES.items():
        columns = ", ".join(f"{column.name} {column.sql_type}" for column in desc.columns)
        world.execute(
            f"CREATE SOURCE {name} ({columns}) FROM S3 DISCOVER OBJECTS USING BUCKET "
            "SCAN 'b' FORMAT JSON"
        )
    return world


def answer(
    world: World, engine: Engine, tables: Mapping[str, pa.Table], sql: str
) -> list[tuple[Any, ...]]:
    select = world.select(sql)
    plan = expand(select.plan, world.catalog)
    inputs = {
        id: TableInput(tables[world.catalog.relation(id.source_id).name.item])
        for id in collections(plan)
    }
    rows = engine.run(plan, select.finishing, inputs, Timestamp(0)).batches.read_all()
    return [
        tuple(map(rounded, row))
        for row in zip(*(column.to_pylist() for column in rows.columns), strict=True)
    ]


def rounded(value: Any) -> Any:
    return round(float(value), 9) if isinstance(value, Decimal | float) else value


@pytest.mark.parametrize("sql", QUERIES, ids=NAMES)
def test_a_published_query_has_the_answer_of_postgresql(
    sql: str, server: psycopg.Connection, world: World, tables: Mapping[str, pa.Table]
) -> None:
    theirs = [tuple(map(rounded, row)) for row in server.execute(sql.encode()).fetchall()]
    engine = DuckDbEngine(threads=1)
    ours = answer(world, engine, tables, sql)
    engine.close()
    assert ours == theirs


@pytest.mark.spark
def test_published_queries_have_the_same_answers_on_spark(
    spark_engine: SparkEngine, world: World, tables: Mapping[str, pa.Table]
) -> None:
    engine = DuckDbEngine(threads=1)
    for name, sql in zip(NAMES, QUERIES, strict=True):
        if "interval" in sql:
            assert answer(world, spark_engine, tables, sql) == answer(world, engine, tables, sql), (
                name
            )
    engine.close()
