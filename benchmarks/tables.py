"""Single-row INSERTs a second through sessions of one process, at 1 and 8 threads, beside a bare
database's of the same rows.

What is bare: one INSERT in a transaction of its own, in SQLite as consensus has it (write-ahead
log, ``synchronous = FULL``), or in PostgreSQL. Consensus is on SQLite, and once more on PostgreSQL
if ``RECLOCK_BENCH_POSTGRES`` is its URL. All are durable when they return. Last, the time of one
point lookup and one UPDATE of a table of ``ROWS`` rows.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa

from benchmarks.figures import Figures, timed
from reclock.adapter.context.results import Result
from reclock.adapter.session.session import Session
from reclock.runtime.environment import Environment

INSERTS = 200
"""Inserts of one thread in one run."""
RUNS = 5
ROWS = 100_000

Insert = Callable[[int], object]


def main() -> None:
    _beside("SQLite", "", _bare_sqlite)
    if url := os.environ.get("RECLOCK_BENCH_POSTGRES"):
        _beside("PostgreSQL", url, partial(_bare_postgresql, url))
    with tempfile.TemporaryDirectory() as home, Environment.initialise(home) as environment:
        session = Session(environment)
        _run(session, "CREATE TABLE t (id int NOT NULL, name text)")
        values = ", ".join(f"({id}, 'name {id}')" for id in range(1_000))
        _run(session, f"INSERT INTO t VALUES {values}")
        while _count(session) < ROWS:
            _run(session, "INSERT INTO t SELECT id + (SELECT count(*) FROM t)::int, name FROM t")
        environment.stores.tables.apply()
        lookup = Figures(
            tuple(
                timed(partial(_run, session, f"SELECT name FROM t WHERE id = {id}"))
                for id in range(20)
            )
        )
        update = Figures(
            tuple(
                timed(partial(_run, session, f"UPDATE t SET name = 'x' WHERE id = {id}"))
                for id in range(20)
            )
        )
        print(f"of {_count(session)} rows: lookup {lookup}; update {update}")


def _beside(name: str, url: str, bare: Callable[[Path], Callable[[], Insert]]) -> None:
    for threads in (1, 8):
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            if url:
                os.environ["RECLOCK_CONSENSUS_URL"] = url
            with Environment.initialise(home / "home") as environment:
                _run(
                    Session(environment),
                    "CREATE TABLE IF NOT EXISTS inserted (id int NOT NULL, name text)",
                )
                ours, theirs = [], []
                new_bare = bare(home)
                for _ in range(RUNS):
                    ours.append(_rate(threads, partial(_new_insert, environment)))
                    theirs.append(_rate(threads, new_bare))
            os.environ.pop("RECLOCK_CONSENSUS_URL", None)
        mine, other = (sorted(rates)[len(rates) // 2] for rates in (ours, theirs))
        print(
            (
                f"{name}, {threads} threads: {mine:.0f} inserts/s; bare {other:.0f}/s; ratio "
                f"{mine / other:.2f}"
            ),
            flush=True,
        )


def _rate(threads: int, new_insert: Callable[[], Insert]) -> float:
    inserts = [new_insert() for _ in range(threads)]

    def work(insert: Insert, number: int) -> None:
        for id in range(INSERTS):
            insert(number * INSERTS + id)

    running = [
        threading.Thread(target=work, args=(insert, number))
        for number, insert in enumerate(inserts)
    ]

    def run() -> None:
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()

    return threads * INSERTS / timed(run)


def _new_insert(environment: Environment) -> Insert:
    session = Session(environment)
    return lambda id: _run(session, f"INSERT INTO inserted VALUES ({id}, 'name {id}')")


def _run(session: Session, text: str) -> list[list[tuple[Any, ...]]]:
    results = [result for result in session.execute(text) if isinstance(result, Result)]
    return [list(result.rows()) for result in results]


def _count(session: Session) -> int:
    [[(count,)]] = _run(session, "SELECT count(*) FROM t")
    return int(count)


def _bare_sqlite(home: Path) -> Callable[[], Insert]:
    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(
            home / "bare.db", timeout=60, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    connect().execute("CREATE TABLE inserted (id INTEGER NOT NULL, name TEXT)")

    def new() -> Insert:
        connection = connect()

        def insert(id: int) -> None:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO inserted VALUES (?, ?)", (id, f"name {id}"))
            connection.execute("COMMIT")

        return insert

    return new


def _bare_postgresql(url: str, _home: Path) -> Callable[[], Insert]:
    given = sa.make_url(url)
    dsn = (
        f"host={given.host} port={given.port} user={given.username} "
        f"password={given.password} dbname={given.database}"
    )
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS bare_inserted (id integer NOT NULL, name text)"
        )

    def new() -> Insert:
        connection = psycopg.connect(dsn, autocommit=True)
        return lambda id: connection.execute(
            "INSERT INTO bare_inserted VALUES (%s, %s)", (id, f"name {id}")
        )

    return new
