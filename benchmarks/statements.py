"""Small statements over the SQL port beside PostgreSQL: the same client in turn, both on this
machine.

Prepared ``SELECT 1``, point lookups of other keys each time, single-row INSERTs, and
``executemany`` of psycopg, which sends its executions in a pipeline. Reclock serves once from one
process and once from two workers. A figure is executions a second, and in brackets its ratio to
PostgreSQL's. The rows that arrived are compared. What is written is durable in both, on the same
disk: PostgreSQL runs with ``fsync`` and ``synchronous_commit``.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import psycopg
from fixtures.postgres import running

from benchmarks.server import CLIENTS, new_folder, print_durability, served

ROWS, MANY = 1_000, 50_000
SECONDS, RUNS = 2.0, 3
WORKERS = 2
STATEMENTS = {
    "SELECT 1": ("SELECT 1", 0),
    "point lookup": ("SELECT name FROM numbers WHERE n = %s", 1),
    "insert": ("INSERT INTO inserted VALUES (%s, 'inserted')", 1),
}


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="reclock-benchmark-"))
    try:
        with (
            served(folder / "one") as one_process,
            served(folder / "several", WORKERS) as several,
            running(new_folder(folder / "postgres"), is_durable=True) as postgres,
        ):
            places = {
                "one process": one_process,
                f"{WORKERS} workers": several,
                "PostgreSQL": postgres.dsn(),
            }
            print_durability(postgres.dsn())
            for dsn in places.values():
                _fill(dsn)
            for name, (query, parameters) in STATEMENTS.items():
                for clients in CLIENTS:
                    compare(
                        f"{name}, {clients} clients",
                        places,
                        lambda dsn: rate(dsn, query, parameters, clients),  # noqa: B023
                    )
            compare("executemany of INSERT", places, _many_rate)
            arrived = [_arrived(dsn) for dsn in places.values()]
            assert arrived[0] == arrived[1] == arrived[2], arrived
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fill(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection, connection.cursor() as cursor:
        for table in ("numbers", "inserted", "many"):
            cursor.execute(f"CREATE TABLE {table} (n integer, name text)")
        with cursor.copy("COPY numbers FROM STDIN") as copy:
            for n in range(ROWS):
                copy.write_row((n, f"number {n}"))


def compare(name: str, places: dict[str, str], rate: Callable[[str], float]) -> None:
    """``rate`` is executions a second. The servers take turns; of each the median is printed."""
    runs = [[rate(dsn) for dsn in places.values()] for _ in range(RUNS)]
    medians = dict(zip(places, map(median, zip(*runs, strict=True)), strict=True))
    base = medians["PostgreSQL"]
    print(
        f"{name:<28}",
        *(f"{place} {each:8.0f} ({each / base:.2f})" for place, each in medians.items()),
        flush=True,
    )


def rate(dsn: str, query: str, parameters: int, clients: int) -> float:
    counts: list[int] = []
    together = threading.Barrier(clients)

    def work(client: int) -> None:
        with psycopg.connect(dsn, autocommit=True) as connection:
            count = 0
            together.wait()
            until = time.perf_counter() + SECONDS
            while time.perf_counter() < until:
                values = ((client + count * 7) % ROWS,)[:parameters]
                connection.execute(query, values, prepare=True)
                count += 1
            counts.append(count)

    threads = [threading.Thread(target=work, args=(client,)) for client in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / SECONDS


def _many_rate(dsn: str) -> float:
    rows = [(n, f"number {n}") for n in range(MANY)]
    with psycopg.connect(dsn, autocommit=True) as connection, connection.cursor() as cursor:
        started = time.perf_counter()
        cursor.executemany("INSERT INTO many VALUES (%s, %s)", rows)
        return MANY / (time.perf_counter() - started)


def _arrived(dsn: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        looked_up = connection.execute("SELECT name FROM numbers WHERE n = %s", (7,)).fetchall()
        return (
            looked_up
            + connection.execute("SELECT count(*), sum(n), max(name) FROM many").fetchall()
        )
