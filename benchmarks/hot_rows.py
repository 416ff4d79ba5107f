"""UPDATEs of one row by 1, 8 and 24 clients over the SQL port, and of a row of each client's own,
beside PostgreSQL's. They are sent to one process, and to two workers of one server.

Consensus is on SQLite, and once more on the PostgreSQL of ``RECLOCK_BENCH_POSTGRES``, if that is
its URL; the same server, or one that is started for it, is measured beside with READ COMMITTED,
which waits for the row too.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psycopg
import sqlalchemy as sa

CLIENTS = (1, 8, 24)
SECONDS = 4.0
HOT, OWN = "UPDATE hot SET n = n + 1 WHERE id = 0", "UPDATE hot SET n = n + 1 WHERE id = {client}"

Connect = Callable[[], psycopg.Connection]


def main() -> None:
    url = os.environ.get("RECLOCK_BENCH_POSTGRES", "")
    peer = dict(_rates(_postgres(url))) if url else {}
    for name, consensus in (("SQLite", ""), ("PostgreSQL", url)):
        for workers in (1, 2) if name == "SQLite" or url else ():
            with _served(consensus, workers) as connect:
                processes = f"{workers} process{'es' if workers > 1 else ''}"
                _print(f"{name}, {processes}", _rates(connect), peer)


def _print(
    name: str,
    rates: Iterator[tuple[tuple[str, int], tuple[float, int]]],
    peer: Mapping[tuple[str, int], tuple[float, int]],
) -> None:
    first: dict[str, float] = {}
    for (statement, clients), (rate, refused) in rates:
        alone = first.setdefault(statement, rate)
        what = "one row" if statement == HOT else "a row each"
        beside = f"; PostgreSQL {peer[statement, clients][0]:.0f}" if peer else ""
        print(
            f"consensus on {name}, {what}, {clients} clients: {rate:.1f}/s, "
            f"{rate / alone:.2f} times one client's,"
            f" {refused} refused{beside}",
            flush=True,
        )


def _rates(connect: Connect) -> Iterator[tuple[tuple[str, int], tuple[float, int]]]:
    """By statement and number of clients: updates a second, and how many ended with an error."""
    with connect() as connection:
        connection.execute("CREATE TABLE hot (id int NOT NULL, n int)")
        connection.execute(
            f"INSERT INTO hot VALUES {', '.join(f'({id}, 0)' for id in range(max(CLIENTS)))}"
        )
    for statement in (HOT, OWN):
        for clients in CLIENTS:
            yield (statement, clients), _rate(connect, statement, clients)


def _rate(connect: Connect, statement: str, clients: int) -> tuple[float, int]:
    executed, refused = [0] * clients, [0] * clients
    until = time.monotonic() + SECONDS

    def work(client: int) -> None:
        with connect() as connection:
            while time.monotonic() < until:
                try:
                    connection.execute(statement.format(client=client))
                    executed[client] += 1
                except psycopg.Error:
                    refused[client] += 1

    began = time.monotonic()
    threads = [threading.Thread(target=work, args=(client,)) for client in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(executed) / (time.monotonic() - began), sum(refused)


@contextmanager
def _served(consensus: str, workers: int) -> Iterator[Connect]:
    """``reclock serve`` over a new environment."""
    reclock = str(Path(sys.executable).with_name("reclock"))
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"RECLOCK_HOME": f"{folder}/home"}
        if consensus:
            environment |= {"RECLOCK_CONSENSUS_URL": _new_database(consensus)}
        subprocess.run([reclock, "init"], env=environment, check=True, stdout=subprocess.DEVNULL)
        command = [reclock, "serve", "--port", "0", "--workers", str(workers)]
        with (
            open(f"{folder}/log", "w") as log,
            subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True
            ) as server,
        ):
            assert server.stdout is not None
            port = server.stdout.readline().strip().rsplit(":", 1)[1]
            dsn = f"host=127.0.0.1 port={port} user=reclock dbname=reclock"
            try:
                yield lambda: psycopg.connect(dsn, autocommit=True)
            finally:
                server.terminate()


def _new_database(url: str) -> str:
    """An empty database on the same server."""
    name = f"hot_{time.time_ns()}"
    with _postgres(url)() as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return sa.make_url(url).set(database=name).render_as_string(hide_password=False)


def _postgres(url: str) -> Connect:
    given = sa.make_url(url)
    dsn = (
        f"host={given.host} port={given.port} user={given.username} "
        f"password={given.password} dbname={given.database}"
    )
    return lambda: psycopg.connect(dsn, autocommit=True)
