"""Indexes of a served environment follow their inputs, and nobody ticks."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import psycopg
from fixtures.server import SqlServer
from fixtures.waiting import eventually

STATUS = "SELECT status, detail FROM mz_internal.mz_index_statuses WHERE name = 'm_primary_idx'"
FRONTIER = (
    "SELECT f.upper FROM mz_internal.mz_frontiers AS f JOIN mz_objects AS o ON o.id = "
    "f.object_id WHERE o.name = %s"
)
UPDATES = """SELECT updates FROM mz_internal.mz_compute_last_refreshes AS r JOIN mz_indexes AS i ON i.id = r.export_id
WHERE i.name = 'm_primary_idx'"""


def follow(
    server: SqlServer, connection: psycopg.Connection, statement: str, view: str = "m"
) -> None:
    """Execute the statement, and wait until the index is beyond its time."""
    connection.execute(statement)
    ((written,),) = connection.execute(FRONTIER, ("t",)).fetchall()
    reach(server, connection, view, written)


def reach(server: SqlServer, connection: psycopg.Connection, view: str, upper: int) -> None:
    """Wait until the view's index is complete below ``upper``."""
    eventually(
        lambda: connection.execute(FRONTIER, (f"{view}_primary_idx",)).fetchall() >= [(upper,)],
        lambda: (connection.execute(STATUS).fetchall(), server.log()),
    )


def expire(server: SqlServer, connection: psycopg.Connection) -> None:
    """Rows go at their own times, although nothing is written and nobody reads the view."""
    connection.execute("CREATE MATERIALIZED VIEW live AS SELECT a FROM t WHERE mz_now() <= a")
    follow(server, connection, "INSERT INTO t VALUES (16)", "live")
    ((now,),) = connection.execute("SELECT mz_now()").fetchall()
    due = int(now) + 5000  # the writes come before, also on a slow machine
    follow(server, connection, f"INSERT INTO t VALUES ({due}), ({due + 7})", "live")
    reach(server, connection, "live", due + 9)
    for at, rows in ((due, 2), (due + 1, 1), (due + 7, 1), (due + 8, 0)):
        answer = connection.execute(f"SELECT a FROM live AS OF {at}").fetchall()
        assert len(answer) == rows, at


def test_an_index_follows_its_tables_through_kills(
    new_server: Callable[..., SqlServer], tmp_path: Path
) -> None:
    options = {
        "RECLOCK_REFRESH_INTERVAL_MS": "50",
        "RECLOCK_CLAIM_LEASE_MS": "2000",
        "RECLOCK_CONTROLLER_LEASE_MS": "2000",
    }
    server = new_server(tmp_path, **options)
    with server.connect() as connection:
        connection.execute("CREATE TABLE t (a bigint)")
        connection.execute("CREATE MATERIALIZED VIEW m AS SELECT sum(a) AS s FROM t")
        follow(server, connection, "INSERT INTO t VALUES (1)")
        assert connection.execute(STATUS).fetchall() == [("running", None)]
        follow(server, connection, "INSERT INTO t VALUES (2)")
        assert connection.execute(UPDATES).fetchall() == [(2,)]  # one row goes and one comes
        connection.execute("INSERT INTO t VALUES (4)")
        server.kill()
    server = new_server(tmp_path, **options)
    with server.connect() as connection:
        follow(server, connection, "INSERT INTO t VALUES (8)")
        assert connection.execute("SELECT s FROM m").fetchall() == [(15,)]
        expire(server, connection)
    assert server.stop() == 0


def test_only_ticks_refresh_where_that_is_wanted(
    new_server: Callable[..., SqlServer], tmp_path: Path
) -> None:
    server = new_server(tmp_path, RECLOCK_REFRESH_INTERVAL_MS="0")
    with server.connect() as connection:
        connection.execute("CREATE TABLE t (a int)")
        connection.execute("CREATE MATERIALIZED VIEW m AS SELECT sum(a) AS s FROM t")
        connection.execute("INSERT INTO t VALUES (1)")
        time.sleep(1)
        assert connection.execute(STATUS).fetchall() == [
            ("created", "it waits for its first refresh")
        ]
        assert connection.execute("SELECT s FROM m").fetchall() == [(1,)]
