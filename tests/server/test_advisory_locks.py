"""Advisory locks of sessions, beside PostgreSQL's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest
from fixtures.postgres import PostgresServer
from fixtures.server import SqlServer

SCRIPT = [
    (0, "SELECT pg_advisory_lock(7)"),
    (0, "SELECT pg_advisory_lock(7)"),
    (1, "SELECT pg_try_advisory_lock(7), pg_try_advisory_lock_shared(7) AS shared"),
    (0, "SELECT pg_advisory_unlock(7)"),
    (1, "SELECT pg_try_advisory_lock(7)"),
    (0, "SELECT pg_catalog.pg_advisory_unlock(7)"),
    (0, "SELECT pg_advisory_unlock(7)"),
    (1, "SELECT pg_try_advisory_lock(7)"),
    (1, "SELECT pg_try_advisory_lock(0, 7) AS Locked"),
    (1, 'SELECT pg_try_advisory_lock(0, 7) AS "lockObtained"'),
    (0, "SELECT pg_try_advisory_lock(0, 7), pg_try_advisory_lock(7::bigint)"),
    (1, "SELECT pg_advisory_unlock_all()"),
    (0, "SELECT pg_try_advisory_lock(n) FROM (VALUES (7), (8), (NULL)) AS keys (n)"),
    (0, "SELECT pg_advisory_unlock_shared(7)"),
    (1, "SELECT pg_try_advisory_lock(8)"),
    (0, "DISCARD ALL"),
    (1, "SELECT pg_try_advisory_lock(8)"),
    (1, "SELECT pg_advisory_unlock_all()"),
    # of transactions
    (0, "BEGIN"),
    (0, "SELECT pg_advisory_xact_lock(9), pg_try_advisory_xact_lock_shared(10)"),
    (1, "SELECT pg_try_advisory_xact_lock(9), pg_try_advisory_xact_lock_shared(10)"),
    (0, "SELECT pg_advisory_unlock(9)"),
    (1, "SELECT pg_try_advisory_lock(9)"),
    (0, "ROLLBACK"),
    (1, "SELECT pg_try_advisory_xact_lock(9)"),
    (0, "SELECT pg_try_advisory_xact_lock(9)"),
    (0, "BEGIN"),
    (0, "SELECT pg_try_advisory_lock(11)"),
    (0, "SELECT 1 / 0"),
    (0, "COMMIT"),
    (1, "SELECT pg_try_advisory_lock(11)"),
    # refusals
    (1, "SET lock_timeout = '100ms'"),
    (1, "SELECT pg_advisory_lock(11)"),
    (1, "RESET lock_timeout"),
    (1, "SET statement_timeout = '1500ms'"),
    (1, "SELECT pg_advisory_lock_shared(11)"),
    (1, "SELECT pg_sleep(5)"),
    (1, "SELECT pg_sleep(0.01)"),
    (1, "SELECT pg_advisory_lock()"),
]


@pytest.fixture
def sessions(sql_server: SqlServer) -> Iterator[list[psycopg.Connection]]:
    with ExitStack() as stack:
        yield [stack.enter_context(sql_server.connect()) for _ in range(2)]


def answer(connection: psycopg.Connection, statement: str) -> object:
    try:
        cursor = connection.execute(statement)
    except psycopg.Error as error:
        return error.sqlstate
    if cursor.description is None:
        return cursor.statusmessage
    return [column.name for column in cursor.description], cursor.fetchall()


def test_locks_behave_as_in_postgres(
    sessions: list[psycopg.Connection], postgres_server: PostgresServer
) -> None:
    with ExitStack() as stack:
        theirs = [
            stack.enter_context(psycopg.connect(postgres_server.dsn(), autocommit=True))
            for _ in range(2)
        ]
        for number, statement in SCRIPT:
            expected = answer(theirs[number], statement)
            assert (statement, answer(sessions[number], statement)) == (statement, expected)


def test_a_waiting_session_gets_the_lock_when_its_owner_ends(sql_server: SqlServer) -> None:
    with sql_server.connect() as waiting:
        holder = sql_server.connect()
        holder.execute("SELECT pg_advisory_lock(%s)", (2**40,))
        end = threading.Timer(0.5, holder.close)
        end.start()
        waiting.execute("SELECT pg_advisory_lock(%s)", (2**40,))
        assert holder.closed
        end.join()
