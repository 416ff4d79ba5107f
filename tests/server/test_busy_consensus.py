"""A server whose consensus database is busy: statements that wait can be ended, and make nobody
else wait."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
from fixtures.server import SqlServer, cancelled
from psycopg import errors

WAITING = 36
"""More than there are cores or threads for statements on any machine."""


@pytest.fixture
def server(new_server: Callable[..., SqlServer], tmp_path: Path) -> SqlServer:
    started = new_server(tmp_path / "home")
    with started.connect() as connection:
        connection.execute("CREATE TABLE t (a int)")
        connection.execute("INSERT INTO t VALUES (0)")
    return started


@contextmanager
def locked(server: SqlServer) -> Iterator[None]:
    """Inside the block nobody else can write to consensus."""
    connection = sqlite3.connect(server.home / "consensus.db", isolation_level=None, timeout=60)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


def test_an_insert_that_waits_ends_with_its_timeout_and_inserts_nothing(server: SqlServer) -> None:
    with server.connect() as connection:
        connection.execute("SET statement_timeout = 1500")
        with locked(server), pytest.raises(errors.QueryCanceled, match="statement timeout"):
            connection.execute("INSERT INTO t VALUES (1)")
        connection.execute("RESET statement_timeout")
        assert connection.execute("SELECT a FROM t").fetchall() == [(0,)]
        assert connection.execute("INSERT INTO t VALUES (2)").rowcount == 1


def test_an_insert_that_waits_can_be_cancelled(server: SqlServer) -> None:
    with server.connect() as connection:
        with (
            locked(server),
            cancelled(connection),
            pytest.raises(errors.QueryCanceled, match="user request"),
        ):
            connection.execute("INSERT INTO t VALUES (1)")
        assert connection.execute("SELECT a FROM t").fetchall() == [(0,)]


def test_inserts_that_wait_make_no_other_session_wait(server: SqlServer) -> None:
    with ExitStack() as scope:
        waiting = [scope.enter_context(server.connect()) for _ in range(WAITING)]
        other = scope.enter_context(server.connect())
        with locked(server):
            for number, connection in enumerate(waiting, 1):
                connection.pgconn.send_query(f"INSERT INTO t VALUES ({number})".encode())
                connection.pgconn.flush()
            other.execute("SET statement_timeout = 30000")
            assert other.execute("SELECT 1").fetchone() == (1,)
            assert other.execute("SHOW cluster").fetchone() == ("default",)
        for connection in waiting:
            assert connection.pgconn.get_result().status == psycopg.pq.ExecStatus.COMMAND_OK
            assert connection.pgconn.get_result() is None
        assert other.execute("SELECT count(*) FROM t").fetchone() == (WAITING + 1,)
