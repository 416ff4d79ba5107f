"""Definitions a second: CREATE VIEW by 1 and 8 clients over two ``reclock serve`` processes, beside
PostgreSQL itself."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import psycopg
from fixtures.postgres import running
from fixtures.server import start_server

from benchmarks.server import new_folder

CLIENTS = (1, 8)
DEFINITIONS = 120


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="reclock-benchmark-"))
    try:
        with ExitStack() as scope:
            postgres = scope.enter_context(running(new_folder(folder / "postgres")))
            options = {"RECLOCK_CONSENSUS_URL": postgres.url()}
            (folder / "home").mkdir()
            servers = [start_server(folder / "home", options) for _ in range(2)]
            for server in servers:
                scope.callback(server.stop)
            for clients in CLIENTS:
                print(
                    f"{clients} clients, reclock    "
                    f"{_rate([server.dsn() for server in servers], clients):8.1f} a second"
                )
                print(
                    (
                        f"{clients} clients, postgresql "
                        f"{_rate([postgres.dsn()], clients):8.1f} a second"
                    ),
                    flush=True,
                )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _rate(places: Sequence[str], clients: int) -> float:
    count = DEFINITIONS // clients

    def work(number: int) -> None:
        with psycopg.connect(places[number % len(places)], autocommit=True) as connection:
            for i in range(count):
                connection.execute(f"CREATE VIEW v_{clients}_{number}_{i} AS SELECT {i} AS n")

    threads = [threading.Thread(target=work, args=[number]) for number in range(clients)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return count * clients / (time.perf_counter() - started)
