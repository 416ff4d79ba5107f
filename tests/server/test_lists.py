"""Lists and maps as drivers know them: types of the catalog, in the text format alone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import asyncpg
import psycopg
import pytest
from fixtures.server import SqlServer, start_server

ROWS = [(1, "{1,NULL}", '{a=>"x y",b=>NULL}'), (2, "{}", "{}"), (3, None, None)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlServer]:
    server = start_server(tmp_path_factory.mktemp("lists"))
    try:
        with server.connect() as connection:
            connection.execute("CREATE TABLE w (id int, l int list, m map[text=>text])")
        yield server
    finally:
        server.kill()


@pytest.fixture
def connection(server: SqlServer) -> Iterator[psycopg.Connection]:
    with server.connect() as connection:
        connection.execute("DELETE FROM w")
        for row in ROWS:
            connection.execute("INSERT INTO w VALUES (%s, %s, %s)", row)
        yield connection


def test_values_are_sent_and_read_as_texts(connection: psycopg.Connection) -> None:
    cursor = connection.execute("SELECT * FROM w ORDER BY id")
    numbers = [column.type_code for column in cursor.description or ()]
    assert cursor.fetchall() == ROWS
    names = connection.execute(
        "SELECT typname FROM pg_type WHERE oid = ANY (%s) ORDER BY 1", (numbers,)
    ).fetchall()
    assert names == [("int4",), ("list",), ("map",)]
    selected = connection.execute("SELECT id FROM w WHERE l = %s", ("{1,NULL}",))
    assert selected.fetchall() == [(1,)]


def test_the_binary_format_is_refused(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="has no binary format"):
        connection.cursor(binary=True).execute("SELECT l FROM w")
    with (
        pytest.raises(psycopg.errors.FeatureNotSupported, match="has no binary format"),
        connection.cursor().copy("COPY w TO STDOUT (FORMAT binary)") as copy,
    ):
        list(copy)


@pytest.mark.parametrize("options", ["", "(FORMAT csv)"])
def test_copy_writes_and_reads_them(connection: psycopg.Connection, options: str) -> None:
    with connection.cursor().copy(f"COPY w TO STDOUT {options}") as copy:
        copied = b"".join(bytes(piece) for piece in copy)
    connection.execute("DELETE FROM w")
    with connection.cursor().copy(f"COPY w FROM STDIN {options}") as copy:
        copy.write(copied)
    assert connection.execute("SELECT * FROM w ORDER BY id").fetchall() == ROWS


def test_asyncpg_finds_the_types_and_reads_texts(
    connection: psycopg.Connection, server: SqlServer
) -> None:
    async def read() -> list[tuple[object, ...]]:
        client = await asyncpg.connect(
            host="127.0.0.1", port=server.port, user="reclock", database="reclock"
        )
        try:
            rows = await client.fetch("SELECT * FROM w WHERE l IS DISTINCT FROM $1", "{}")
            return sorted(tuple(row.values()) for row in rows)
        finally:
            await client.close()

    assert asyncio.run(read()) == [ROWS[0], ROWS[2]]
