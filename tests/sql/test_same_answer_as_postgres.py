"""A query means what it means to PostgreSQL: plans run on the small engine, texts on a real server,
over the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

import psycopg
import pytest
from fixtures.planning import World
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg.types.string import TextLoader
from sql.compared import (
    ANSWERED,
    COLUMNS,
    DEFINITIONS,
    OF_USERS_TYPES,
    PRINTED,
    ROWS,
    ZONE,
    answer,
    comparable,
    new_world,
    printed_answer,
    queries,
)

from reclock.algebra.intervals import Interval
from reclock.algebra.object_ids import defined_type_rows, type_oid, type_rows
from reclock.algebra.relations import enum
from reclock.algebra.text_style import TextStyle
from reclock.compute.engines.duckdb import DuckDbEngine
from reclock.errors import ReclockError
from reclock.sql.catalog.entries import CompositeEntry, EnumEntry
from reclock.sql.names import SessionNames
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.parse import parse_one


@pytest.fixture(scope="module")
def server(postgres_server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_server.dsn(), autocommit=True) as connection:
        connection.execute("CREATE SCHEMA answers")
        connection.execute("SET search_path = answers; SET TimeZone = 'UTC'")
        connection.adapters.register_loader("interval", TextLoader)  # Python has no months
        for definition in DEFINITIONS:
            connection.execute(definition)
        for name, columns in (COLUMNS | OF_USERS_TYPES).items():
            connection.execute(f"CREATE TABLE {name} ({columns})")
            for row in ROWS[name]:
                values = [str(value) if isinstance(value, Interval) else value for value in row]
                connection.execute(
                    f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(row))})", values
                )
        yield connection
        connection.execute("DROP SCHEMA answers CASCADE")


@pytest.fixture(scope="module")
def world() -> World:
    return new_world()


@pytest.fixture(scope="module")
def engine() -> DuckDbEngine:
    return DuckDbEngine(threads=1)


@pytest.mark.parametrize("sql", [sql for name in ANSWERED for sql in queries(name)])
def test_a_query_means_what_it_means_to_postgresql(
    sql: str, server: psycopg.Connection, world: World, engine: DuckDbEngine
) -> None:
    cursor = server.execute(sql.encode())
    names = {type_row.oid: type_row.name for type_row in type_rows()} | {
        1043: "text",
        1015: "_text",
    }
    types = [names.get(column.type_code, column.type_code) for column in cursor.description or ()]
    select = world.select(sql)
    desc = select.desc
    assert [names[type_oid(column.type)] for column in desc.columns] == types
    if "(WITH x AS" not in sql:  # the star of a subquery has no name here
        assert list(desc.names) == [column.name for column in cursor.description or ()]
    theirs = [comparable(row) for row in cursor.fetchall()]
    ours = [comparable(row) for row in answer(world, engine, select)]
    assert Counter(ours) == Counter(theirs)
    # so that it can be a view's definition
    parsed = parse_one(sql)
    assert parse_one(to_sql(parsed)) == parsed
    if "ORDER BY" in sql.rsplit(")", 1)[-1]:
        assert ours == theirs


def printed_by_postgresql(cursor: psycopg.Cursor) -> list[tuple[str | None, ...]]:
    result = cursor.pgresult
    assert result is not None
    rows = [
        [result.get_value(row, place) for place in range(result.nfields)]
        for row in range(result.ntuples)
    ]
    return [tuple(None if raw is None else raw.decode() for raw in row) for row in rows]


@cache
def row_types(server: psycopg.Connection) -> dict[int, str]:
    """PostgreSQL's types that are no built-in ones: enums, composite types, and those of the rows of
    each table, which are records here."""
    rows = server.execute(
        "SELECT t.oid, typarray, CASE relkind WHEN 'r' THEN 'record' ELSE typname END "
        "FROM pg_type AS t LEFT JOIN pg_class AS c ON c.oid = typrelid "
        "WHERE typtype IN ('c', 'e') AND typnamespace = 'answers'::regnamespace"
    ).fetchall()
    return {
        oid: name
        for oid, array_oid, type_name in rows
        for oid, name in ((oid, type_name), (array_oid, f"_{type_name}"))
    }


def defined_types(world: World) -> dict[int, str]:
    """The names of the world's enums and composite types, and of their arrays, by number."""
    types = [
        enum(entry.enum) if isinstance(entry, EnumEntry) else entry.composite
        for entry in world.catalog.entries()
        if isinstance(entry, EnumEntry | CompositeEntry)
    ]
    return {row.oid: row.name for type in types for row in defined_type_rows(type)}


@pytest.mark.parametrize("sql", [sql for name in PRINTED for sql in queries(name)])
def test_values_are_printed_as_postgresql_prints_them(
    sql: str, server: psycopg.Connection, world: World, engine: DuckDbEngine
) -> None:
    cursor, select = server.execute(sql.encode()), world.select(sql)
    theirs = printed_by_postgresql(cursor)
    ours = printed_answer(world, engine, select)
    assert Counter(ours) == Counter(theirs)
    if "ORDER BY" in sql.rsplit(")", 1)[-1]:
        assert ours == theirs
    names = {type_row.oid: type_row.name for type_row in type_rows()} | {
        1043: "text",
        1015: "_text",
    }
    theirs_by_oid = names | row_types(server)
    types = [theirs_by_oid.get(column.type_code) for column in cursor.description or ()]
    ours_by_oid = names | defined_types(world)
    assert [ours_by_oid[type_oid(column.type)] for column in select.desc.columns] == types
    assert list(select.desc.names) == [column.name for column in cursor.description or ()]


@pytest.fixture
def abroad(server: psycopg.Connection, world: World) -> Iterator[psycopg.Connection]:
    """The server and the world in another time zone than UTC."""
    server.execute(f"SET TimeZone = '{ZONE}'")
    world.session = SessionNames(style=TextStyle(ZONE))
    yield server
    server.execute("SET TimeZone = 'UTC'")
    world.session = SessionNames()


@pytest.mark.parametrize("sql", queries("zones"))
def test_moments_in_a_time_zone_are_those_of_postgresql(
    sql: str, abroad: psycopg.Connection, world: World, engine: DuckDbEngine
) -> None:
    theirs = printed_by_postgresql(abroad.execute(sql.encode()))
    assert Counter(printed_answer(world, engine, world.select(sql), ZONE)) == Counter(theirs)


def test_quotients_are_printed_as_postgresql_prints_them(
    server: psycopg.Connection, world: World, engine: DuckDbEngine
) -> None:
    @given(
        st.lists(
            st.tuples(st.integers(-(10**18), 10**18), st.integers(1, 10**6)),
            min_size=1,
            max_size=30,
        )
    )
    @settings(max_examples=20)
    def agrees(pairs: list[tuple[int, int]]) -> None:
        known = [
            (a, b)
            for a, b in pairs
            if not any(10**n * b <= abs(a) < 2 * 10**n * b for n in range(0, 20, 4))
        ]
        # see decision 63 about the others
        values = ", ".join(f"({a}.0, {b})" for a, b in known if abs(a) > b)
        sql = f"SELECT a / b, (a / b)::text FROM (VALUES {values or '(7.0, 3)'}) AS pairs (a, b)"
        assert Counter(printed_answer(world, engine, world.select(sql))) == Counter(
            printed_by_postgresql(server.execute(sql.encode()))
        )

    agrees()


@pytest.mark.parametrize("sql", queries("failing"))
def test_what_fails_for_postgresql_fails(
    sql: str, server: psycopg.Connection, world: World, engine: DuckDbEngine
) -> None:
    with pytest.raises(psycopg.Error) as theirs:
        server.execute(sql.encode()).fetchall()
    with pytest.raises(ReclockError) as ours:
        answer(world, engine, world.select(sql))
    if theirs.value.sqlstate != "42601":
        assert ours.value.sqlstate == theirs.value.sqlstate, (ours.value, theirs.value)


@pytest.mark.parametrize("sql", queries("refused"))
def test_what_means_nothing_to_postgresql_is_refused_when_planned_with_its_code(
    sql: str, server: psycopg.Connection, world: World
) -> None:
    with pytest.raises(psycopg.Error) as theirs:
        server.execute(sql.encode())
    with pytest.raises(ReclockError) as ours:
        world.plan(sql)
    assert ours.value.sqlstate[:2] == (theirs.value.sqlstate or "")[:2], (ours.value, theirs.value)


@pytest.mark.parametrize("sql", queries("refused_recursive"))
def test_a_recursion_that_postgresql_refuses_is_refused_in_its_words(
    sql: str, server: psycopg.Connection, world: World
) -> None:
    with pytest.raises(psycopg.Error) as theirs:
        server.execute(sql.encode())
    with pytest.raises(ReclockError) as ours:
        world.plan(sql)
    if theirs.value.sqlstate in ("42P19", "42804"):
        assert (ours.value.sqlstate, ours.value.message) == (
            theirs.value.sqlstate,
            theirs.value.diag.message_primary,
        )
    elif theirs.value.sqlstate == "0A000":
        assert ours.value.sqlstate == "0A000"
        assert str(theirs.value.diag.message_primary) in ours.value.message
    else:
        assert ours.value.sqlstate[:2] == (theirs.value.sqlstate or "")[:2], (
            ours.value,
            theirs.value,
        )
