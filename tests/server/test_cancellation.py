"""Results arrive as they are computed, and a statement ends when its client cancels it, is gone, or
its timeout has passed."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from fixtures.server import SqlServer, cancelled
from fixtures.waiting import eventually
from psycopg import errors

ENDLESS = (
    "SELECT count(*) FROM numbers a, numbers b, numbers c, numbers d, numbers e WHERE a.n + "
    "b.n + c.n + d.n + e.n = 7"
)


PLANNED_FOR_EVER = (
    "WITH a0 AS (SELECT n FROM numbers)"
    + "".join(f", a{i + 1} AS (SELECT x.n FROM a{i} x, a{i} y)" for i in range(40))
    + " SELECT n FROM a40"
)


def test_rows_are_streamed(sql_server: SqlServer) -> None:
    """A million million rows begin to arrive; leaving them costs the server nothing."""
    with sql_server.connect() as connection, connection.cursor() as cursor:
        rows = cursor.stream("SELECT a.n, b.name FROM numbers a, numbers b, numbers c, numbers d")
        assert len([next(rows) for _ in range(5000)]) == 5000
        connection.cancel_safe()
        with pytest.raises(errors.QueryCanceled):
            for _ in rows:
                pass


@pytest.mark.parametrize("is_prepared", [False, True])
@pytest.mark.parametrize("query", [ENDLESS, PLANNED_FOR_EVER], ids=["computes", "plans"])
def test_cancel_and_timeout_end_what_computes(
    sql_server: SqlServer, query: str, is_prepared: bool
) -> None:
    with sql_server.connect() as connection:
        with (
            cancelled(connection),
            pytest.raises(errors.QueryCanceled, match="user request"),
        ):
            connection.execute(query, prepare=is_prepared)
        connection.execute("SET statement_timeout = 1500")
        with pytest.raises(errors.QueryCanceled, match="statement timeout"):
            connection.execute(query, prepare=is_prepared)
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_what_runs_for_a_client_that_is_gone_is_cancelled(sql_server: SqlServer) -> None:
    client = sql_server.connect(options="-c statement_timeout=0")
    process_id = client.info.backend_pid
    client.pgconn.send_query(ENDLESS.encode())
    client.pgconn.flush()
    client.pgconn.finish()
    closed = re.compile(rf"connection closed .*connection={process_id}\b")
    eventually(lambda: closed.search(sql_server.log()), sql_server.log)


@pytest.mark.parametrize("is_copy", [False, True], ids=["rows", "copy"])
def test_a_result_that_the_client_does_not_take_can_be_cancelled(
    sql_server: SqlServer, is_copy: bool
) -> None:
    """The server waits for the client then, and nothing computes."""
    query = "SELECT * FROM generate_series(1, 3000000)"

    def taken() -> Iterator[object]:
        if not is_copy:
            yield from connection.cursor().stream(query)
        else:
            with connection.cursor().copy(f"COPY ({query}) TO STDOUT") as copy:
                yield from copy

    with sql_server.connect() as connection:
        rows = taken()
        next(rows)
        time.sleep(0.5)  # what lies between the server and the client becomes full
        connection.cancel_safe(timeout=30)
        with pytest.raises(errors.QueryCanceled):
            list(rows)
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_subscription_comes_as_it_becomes_known_until_it_is_canceled(
    sql_server: SqlServer,
) -> None:
    with sql_server.connect() as connection, sql_server.connect() as other:
        other.execute("CREATE TABLE followed (n integer)")
        connection.execute("SET statement_timeout = 2000")
        updates = connection.cursor().stream(
            "SUBSCRIBE (SELECT n FROM followed WHERE n > %s)", (0,)
        )
        for n in (1, 2):
            other.execute("INSERT INTO followed VALUES (%s), (-1)", (n,))
            assert next(updates)[1:] == (1, n)
        connection.cancel_safe()
        with pytest.raises(errors.QueryCanceled):
            next(updates)
        with connection.cursor().copy("COPY (SUBSCRIBE followed) TO STDOUT") as copy:
            assert sorted((copy.read_row() or ())[1:] for _ in range(3)) == [
                ("1", "1"),
                ("1", "2"),
                ("2", "-1"),
            ]
            other.execute("INSERT INTO followed VALUES (3)")
            assert (copy.read_row() or ())[1:] == ("1", "3")
            connection.cancel_safe()
            with pytest.raises(errors.QueryCanceled):
                copy.read_row()
        assert connection.execute("SELECT count(*) FROM followed").fetchone() == (5,)
    with sql_server.connect() as gone:
        next(gone.cursor().stream("SUBSCRIBE followed"))
