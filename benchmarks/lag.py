"""How long a commit upstream takes to be readable, with ``reclock tick --every 1s``: from when it
returns to its writer to when a client of the SQL port, who asks all the time, first has it. Both
are threads of this process, and go by its clock.

``RECLOCK_BENCH_COMMITS`` says how many; they come at random moments, three a second.
"""

from __future__ import annotations

import os
import random
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles

import psycopg
from fixtures.kafka import Broker
from fixtures.server import RECLOCK, start_server

from benchmarks.postgres import upstream

COMMITS = int(os.environ.get("RECLOCK_BENCH_COMMITS", "200"))
_BETWEEN_S = (0.05, 0.6)
_ASKED_EVERY_S = 0.02


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        _postgres(Path(folder))
        _kafka(Path(folder))


def _postgres(folder: Path) -> None:
    with upstream(folder) as server:
        server.run(
            "CREATE TABLE lag (n bigint PRIMARY KEY)", "CREATE PUBLICATION lag FOR TABLE lag"
        )
        create = (
            f"CREATE SOURCE s FROM POSTGRES CONNECTION '{server.connection}' PUBLICATION "
            "'lag' FOR ALL TABLES"
        )
        with psycopg.connect(server.server.dsn(), autocommit=True) as connection:
            _measure(
                "PostgreSQL",
                folder / "of-postgres",
                create,
                lambda n: connection.execute("INSERT INTO lag VALUES (%s)", [n]),
            )


def _kafka(folder: Path) -> None:
    broker = Broker.make(folder / "broker")
    broker.start()
    try:
        topic = broker.topic()
        create = (
            f"CREATE SOURCE lag (n bigint) FROM KAFKA BROKER '{broker.address}' TOPIC "
            f"'{topic}' FORMAT JSON"
        )
        producer = broker.producer()

        def commit(n: int) -> None:
            producer.produce(topic, f'{{"n":{n}}}', partition=0)
            assert producer.flush(30) == 0

        _measure("Kafka", folder / "of-kafka", create, commit)
    finally:
        broker.stop()


def _measure(upstream: str, home: Path, create: str, commit: Callable[[int], object]) -> None:
    home.mkdir()
    server = start_server(home)
    try:
        with server.connect() as reader:
            reader.execute(create)
            with _ticking(home):
                commit(0)
                _await(reader, 0)
                committed: dict[int, float] = {}
                writer = threading.Thread(target=_commit_all, args=(commit, committed))
                writer.start()
                read_at = _await(reader, COMMITS)
                writer.join()
    finally:
        server.stop()
    percentiles = quantiles((read_at[n] - committed[n] for n in committed), n=100)
    print(
        f"{upstream}, {COMMITS} commits, from commit to readable: p50 "
        f"{percentiles[49]:.2f} s, p99 {percentiles[98]:.2f} s; "
        f"load {os.getloadavg()[0]:.0f}",
        flush=True,
    )


def _commit_all(commit: Callable[[int], object], committed: dict[int, float]) -> None:
    chance = random.Random(1)
    for n in range(1, COMMITS + 1):
        time.sleep(chance.uniform(*_BETWEEN_S))
        commit(n)
        committed[n] = time.monotonic()


def _await(reader: psycopg.Connection, last: int) -> dict[int, float]:
    """When each number was first read. Queries until ``last`` is read."""
    read_at: dict[int, float] = {}
    while last not in read_at:
        [newest] = reader.execute("SELECT COALESCE(max(n), -1) FROM lag").fetchone() or [-1]
        now = time.monotonic()
        read_at |= dict.fromkeys(range(len(read_at), newest + 1), now)
        time.sleep(_ASKED_EVERY_S)
    return read_at


@contextmanager
def _ticking(home: Path) -> Iterator[None]:
    with (home / "tick.log").open("w") as log:
        process = subprocess.Popen(
            [RECLOCK, "tick", "--home", str(home), "--every", "1s"], stdout=log, stderr=log
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
