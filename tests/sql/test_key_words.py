"""The key words of a real PostgreSQL are names here where they are names there."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from fixtures.postgres import PostgresServer
from fixtures.sessions import run

from reclock.adapter.session.session import Session
from reclock.errors import ReclockError
from reclock.runtime.environment import Environment
from reclock.sql.syntax.parse import parse

PLACES = (
    "CREATE TABLE t ({} int)",
    "CREATE TABLE {} (a int)",
    "SELECT 1 AS {}",
    "SELECT t.{} FROM t",
    "UPDATE t SET {} = 1",
    "INSERT INTO t ({}) VALUES (1)",
)
"""Where any key word may be a name that is none in its grammar."""
PLACES_OF_UNRESERVED = (
    *PLACES,
    "SELECT 1 {}",
    "SELECT {} FROM t",
    "SELECT 1 FROM {}",
    "SELECT 1 FROM t {}",
    "SELECT 1 FROM t AS {}",
    "SELECT 1 FROM t AS u ({})",
    "SELECT a FROM t ORDER BY {}",
    "UPDATE t {} SET a = 1",
    "DELETE FROM t {} WHERE true",
    "CREATE TABLE t (a {})",
    "SELECT CAST(1 AS {})",
    "SELECT 1::public.{}[]",
)


@pytest.fixture(scope="module")
def words(postgres_server: PostgresServer) -> list[tuple[str, str]]:
    """Each key word with its category: U stands for unreserved."""
    with psycopg.connect(postgres_server.dsn()) as connection:
        return connection.execute("SELECT word, catcode FROM pg_get_keywords()").fetchall()


def test_key_words_are_names_where_they_are_in_postgresql(
    words: list[tuple[str, str]], postgres_server: PostgresServer
) -> None:
    refused = []
    with psycopg.connect(postgres_server.dsn(), autocommit=True) as connection:
        for word, category in words:
            for place in PLACES_OF_UNRESERVED if category == "U" else PLACES:
                text = place.format(word)
                if _is_read(connection, text) and not _is_read_here(text):
                    refused.append(text)
    assert refused == []


def _is_read(connection: psycopg.Connection, text: str) -> bool:
    try:
        with connection.transaction(force_rollback=True):
            connection.execute(text.encode())
    except psycopg.errors.SyntaxError:
        return False
    except psycopg.Error:  # there is no such table
        return True
    return True


def _is_read_here(text: str) -> bool:
    try:
        return len(parse(text)) == 1
    except ReclockError:
        return False


def test_a_table_has_columns_of_all_names_that_are_not_reserved(
    words: list[tuple[str, str]], tmp_path: Path
) -> None:
    names = [word for word, category in words if category == "U"]
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        run(session, f"CREATE TABLE t ({', '.join(f'{name} int' for name in names)})")
        numbers = tuple(range(len(names)))
        run(session, f"INSERT INTO t ({', '.join(names)}) VALUES {numbers}")
        run(session, f"CREATE VIEW v AS SELECT {', '.join(names)} FROM t")
        run(session, "ALTER TABLE t ALTER COLUMN drop SET DEFAULT 1")
        assert run(session, f"SELECT {', '.join(f'{name} {name}' for name in names)} FROM v") == [
            numbers
        ]
