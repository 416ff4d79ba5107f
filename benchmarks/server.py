"""The SQL port beside PostgreSQL itself: the same client, the same queries, both on this
machine. What is written is durable in both, on the same disk."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from fixtures.postgres import running
from fixtures.server import RECLOCK, start_server

ROWS = 1_000
SECONDS = 3.0
COPIED = 500_000
_PIECE_BYTES = 1 << 16
CLIENTS = (1, 8, 64)


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="reclock-benchmark-"))
    try:
        with (
            served(folder / "home") as ours,
            running(new_folder(folder / "postgres"), is_durable=True) as theirs,
        ):
            print_durability(theirs.dsn())
            places = {"reclock": ours, "postgresql": theirs.dsn()}
            for dsn in places.values():
                _fill(dsn)
            for name, query, values in (
                ("SELECT 1", "SELECT 1", ()),
                ("point lookup", "SELECT name FROM numbers WHERE n = %s", (ROWS // 2,)),
                ("insert", "INSERT INTO inserted VALUES (%s, 'inserted')", (1,)),
            ):
                for clients in CLIENTS:
                    for place, dsn in places.items():
                        _report(
                            f"{name}, {clients} clients, {place}",
                            _latencies(dsn, query, values, clients),
                        )
            _report_rows(places)
            _report_copied_in(places)
        print(f"start until the first answer: {_start(folder / 'home'):.2f} s")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def print_durability(dsn: str) -> None:
    """Print whether this PostgreSQL flushes its commits to the disk."""
    with psycopg.connect(dsn) as connection:
        settings = ("fsync", "synchronous_commit")
        values = [connection.execute(f"SHOW {name}").fetchone() for name in settings]
    named = (f"{name} {value[0]}" for name, value in zip(settings, values, strict=True) if value)
    print("PostgreSQL:", ", ".join(named), flush=True)


def new_folder(folder: Path) -> Path:
    folder.parent.chmod(0o755)
    folder.mkdir()
    return folder


@contextmanager
def served(home: Path, workers: int = 1) -> Iterator[str]:
    home.mkdir(parents=True)
    server = start_server(home, workers=workers)
    try:
        yield server.dsn()
    finally:
        server.stop()


def _fill(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE numbers (n integer, name text)")
        cursor.execute("CREATE TABLE inserted (n integer, name text)")
        with cursor.copy("COPY numbers FROM STDIN") as copy:
            for n in range(ROWS):
                copy.write_row((n, f"number {n}"))


def _latencies(
    dsn: str, query: str, values: tuple[int, ...], clients: int
) -> tuple[list[float], float]:
    """The latency of each query, and the elapsed time of all, in seconds."""
    latencies: list[float] = []
    together = threading.Barrier(clients + 1)

    def work() -> None:
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(query, values, prepare=True)
            together.wait()
            until = time.perf_counter() + SECONDS
            while (started := time.perf_counter()) < until:
                connection.execute(query, values, prepare=True)
                latencies.append(time.perf_counter() - started)

    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    together.wait()
    started = time.perf_counter()
    for thread in threads:
        thread.join()
    return latencies, time.perf_counter() - started


def _report(label: str, measured: tuple[list[float], float]) -> None:
    seconds, elapsed = sorted(measured[0]), measured[1]
    p50, p99 = (
        seconds[min(len(seconds) - 1, int(len(seconds) * part))] * 1000 for part in (0.5, 0.99)
    )
    print(
        f"{label:<40} {len(seconds) / elapsed:8.0f} a second, p50 {p50:7.2f} ms, p99 {p99:7.2f} ms",
        flush=True,
    )


def _report_rows(places: dict[str, str]) -> None:
    """Rows of many types, for a client that only receives them."""
    columns = (
        "a.n, b.name, a.n / 7.0 AS x, a.n * 1.25::float8 AS y, TIMESTAMPTZ '2026-01-01 "
        "12:30:00' + a.n * INTERVAL '1 minute' AS t"
    )
    query = f"SELECT {columns} FROM numbers a, numbers b WHERE a.n < 500"
    for place, dsn in places.items():
        with psycopg.connect(dsn, autocommit=True) as connection:
            started = time.perf_counter()
            count = connection.pgconn.exec_(query.encode()).ntuples
            _report_rate(f"rows selected, {place}", count, started)
            started = time.perf_counter()
            with connection.cursor().copy(f"COPY ({query}) TO STDOUT") as copy:
                count = sum(1 for _ in copy)
            _report_rate(f"rows copied, {place}", count, started)


def _report_copied_in(places: dict[str, str]) -> None:
    """The same data into a new table of each."""
    moment = "2026-01-01 12:{:02d}:00+00"
    lines = (
        f"{i}\tnumber {i}\t{i / 4}\t{i * 0.5}\t{moment.format(i % 60)}\n" for i in range(COPIED)
    )
    data = "".join(lines).encode()
    for place, dsn in places.items():
        with psycopg.connect(dsn, autocommit=True) as connection, connection.cursor() as cursor:
            for name in ("first", "second"):
                cursor.execute(
                    f"CREATE TABLE {name} (n integer, name text, x numeric(20, 4), y "
                    "float8, t timestamptz)"
                )
                started = time.perf_counter()
                with cursor.copy(f"COPY {name} FROM STDIN") as copy:
                    for at in range(0, len(data), _PIECE_BYTES):
                        copy.write(data[at : at + _PIECE_BYTES])
            _report_rate(f"rows copied in, {place}", COPIED, started)
            started = time.perf_counter()
            cursor.execute("INSERT INTO first SELECT * FROM second")
            _report_rate(f"rows inserted by a query, {place}", COPIED, started)
            started = time.perf_counter()
            cursor.execute("UPDATE first SET x = x + 1 WHERE n % 10 = 0")
            _report_rate(f"rows updated, {place}", 2 * COPIED // 10, started)


def _report_rate(what: str, count: int, started: float) -> None:
    print(f"{what:<40} {count / (time.perf_counter() - started):8.0f} a second", flush=True)


def _start(home: Path) -> float:
    started = time.perf_counter()
    environment = os.environ | {"RECLOCK_HOME": str(home)}
    with (home / "serve.log").open("a") as log:
        process = subprocess.Popen(
            [RECLOCK, "serve", "--port", "0"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    assert process.stdout is not None
    port = int(process.stdout.readline().rsplit(":", 1)[1])
    with psycopg.connect(f"host=127.0.0.1 port={port} user=reclock dbname=reclock") as connection:
        connection.execute("SELECT 1").fetchall()
    elapsed = time.perf_counter() - started
    process.terminate()
    process.wait()
    return elapsed
