"""JSON documents mean on each engine what they mean to PostgreSQL: operators, functions, casts and
errors over the same rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from fixtures.planning import World
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reclock.algebra.json_documents import normal_form
from reclock.algebra.timestamps import Timestamp
from reclock.collections.schema import arrow_schema
from reclock.compute.engines.engine import Engine, TableInput
from reclock.errors import ReclockError
from reclock.plan.relational import collections
from reclock.sql.queries.views import expand
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.parse import parse_one


def lines(name: str) -> list[str]:
    """The lines of ``answers/name``."""
    return (Path(__file__).parent / "answers" / name).read_text().splitlines()


DOCUMENTS = lines("jsonb_documents.txt")
EXPRESSIONS = lines("jsonb_expressions.sql")
PAIRS = [
    *("a.doc @> b.doc", "a.doc <@ b.doc", "a.doc || b.doc", "a.doc = b.doc"),
    *("a.doc < b.doc", "a.doc >= b.doc"),
    *("a.doc ? (b.doc #>> '{}')", "a.doc -> (b.doc ->> 0)"),
]


@pytest.fixture(scope="module")
def server(postgres_server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_server.dsn(), autocommit=True) as connection:
        connection.execute("CREATE SCHEMA documents")
        connection.execute("SET search_path = documents; SET TimeZone = 'UTC'")
        connection.execute("CREATE TABLE d (id int, doc jsonb, txt text)")
        for row in rows():
            connection.execute("INSERT INTO d VALUES (%s, %s, %s)", row)
        connection.adapters.register_loader("jsonb", psycopg.types.string.TextLoader)
        yield connection
        connection.execute("DROP SCHEMA documents CASCADE")


def rows() -> list[tuple[int, str | None, str]]:
    return [(0, None, "null"), *((i, text, text) for i, text in enumerate(DOCUMENTS, 1))]


@pytest.fixture(scope="module")
def world() -> World:
    world = World()
    world.execute(
        "CREATE SOURCE d (id int, doc jsonb, txt text) FROM S3 DISCOVER OBJECTS USING "
        "BUCKET SCAN 'b' FORMAT JSON"
    )
    return world


def answer(world: World, engine: Engine, sql: str) -> list[tuple[Any, ...]]:
    select = world.select(sql)
    plan = expand(select.plan, world.catalog)
    inputs = {}
    for collection in collections(plan):
        entry = world.catalog.relation(collection.source_id)
        stored = [
            (id, None if text is None else normal_form(text), txt) for id, text, txt in rows()
        ]
        records = [dict(zip(entry.desc.names, row, strict=True)) for row in stored]
        inputs[collection] = TableInput(
            pa.Table.from_pylist(records, arrow_schema(entry.desc, with_updates=False))
        )
    batches = list(engine.run(plan, select.finishing, inputs, Timestamp(0)).batches)
    return [
        row
        for batch in batches
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    ]


@pytest.mark.parametrize("first", range(0, len(EXPRESSIONS), 30))
def test_expressions_mean_what_they_mean_to_postgresql(
    first: int, server: psycopg.Connection, world: World, engine: Engine
) -> None:
    part = EXPRESSIONS[first : first + 30]
    sql = (
        f"SELECT id, {', '.join(f'{each} AS e{i}' for i, each in enumerate(part))} FROM d "
        "ORDER BY id"
    )
    ours, theirs = answer(world, engine, sql), server.execute(sql.encode()).fetchall()
    for place, expression in enumerate(part, 1):
        assert [(row[0], row[place]) for row in ours] == [(row[0], row[place]) for row in theirs], (
            expression
        )
    written = to_sql(parse_one(sql))
    assert to_sql(parse_one(written)) == written  # so that it can be a view's definition


def test_operators_of_two_documents_mean_what_they_mean_to_postgresql(
    server: psycopg.Connection, world: World, engine: Engine
) -> None:
    columns = ", ".join(f"{expression} AS e{i}" for i, expression in enumerate(PAIRS))
    sql = f"SELECT a.id AS one, b.id AS other, {columns} FROM d AS a, d AS b ORDER BY one, other"
    for ours, theirs in zip(
        answer(world, engine, sql), server.execute(sql.encode()).fetchall(), strict=True
    ):
        assert ours == theirs


KEYS = st.sampled_from(["a", "b", "aa", "é", "", "1", "-1", "null"])
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda x: not repr(x).endswith(".0")
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | KEYS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
OF_ANY = [
    *(
        "a::text",
        "a -> k",
        "a ->> k",
        "a -> i",
        "a ->> i",
        "a || b",
        "a @> b",
        "a <@ b",
        "a = b",
        "a ? k",
        "a #>> ARRAY[k, i::text]",
    ),
    *(
        "a #> ARRAY[i::text, k]",
        "jsonb_typeof(a)",
        "jsonb_strip_nulls(a)",
        "jsonb_pretty(a)",
        "jsonb_build_array(a, k, i, b)",
    ),
    *("jsonb_build_object(k, a, i, b)", "to_jsonb(a::text)", "a @> (a -> k)", "(a || b) @> b"),
    *("a < b", "a >= b", "greatest(a, b)::text"),
]


@given(VALUES, VALUES, KEYS, st.integers(-3, 3))
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_random_documents_mean_what_they_mean_to_postgresql(
    server: psycopg.Connection,
    world: World,
    duckdb_engine: Engine,
    document: Any,
    other: Any,
    key: str,
    index: int,
) -> None:
    row = (
        f"'{json.dumps(document)}'::jsonb AS a, '{json.dumps(other)}'::jsonb AS b, '{key}' AS k, "
        f"{index} AS i"
    )
    sql = (
        f"SELECT {', '.join(f'{each} AS e{i}' for i, each in enumerate(OF_ANY))} FROM "
        f"(SELECT {row}) AS q"
    )
    theirs, ours = server.execute(sql.encode()).fetchall(), answer(world, duckdb_engine, sql)
    for expression, *values in zip(OF_ANY, ours[0], theirs[0], strict=True):
        assert values[0] == values[1], expression


@pytest.mark.parametrize("sql", lines("jsonb_rows.sql"))
def test_functions_return_the_rows_that_they_return_to_postgresql(
    sql: str, server: psycopg.Connection, world: World, engine: Engine
) -> None:
    cursor = server.execute(sql.encode())
    assert [column.name for column in world.select(sql).desc.columns] == [
        column.name for column in cursor.description or ()
    ]
    assert Counter(answer(world, engine, sql)) == Counter(cursor.fetchall())


@pytest.mark.parametrize("sql", lines("jsonb_failing.sql"))
def test_what_fails_for_postgresql_fails(
    sql: str, server: psycopg.Connection, world: World, duckdb_engine: Engine
) -> None:
    with pytest.raises(psycopg.Error) as expected:
        server.execute(sql.encode()).fetchall()
    with pytest.raises(ReclockError) as ours:
        answer(world, duckdb_engine, sql)
    if (expected.value.sqlstate or "")[:2] == "42":
        assert ours.value.sqlstate[:2] == "42"
        return
    assert ours.value.sqlstate == expected.value.sqlstate, (ours.value, expected.value)
    if expected.value.sqlstate != "22003":
        assert str(ours.value) == expected.value.diag.message_primary
