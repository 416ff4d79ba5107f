"""Money moves between tables through several servers, one of which is killed: every sum at every
time is the same, on all."""

from __future__ import annotations

import random
import threading
import time
from contextlib import suppress
from pathlib import Path

import psycopg
from histories.cluster import Cluster

TABLES = ("ada", "bob", "eve")
TOTAL = 600
SUM = (
    "SELECT sum(n) FROM (SELECT n FROM ada UNION ALL SELECT n FROM bob UNION ALL SELECT n "
    "FROM eve) x"
)
DEFINITIONS = [
    statement
    for table in TABLES
    for statement in (
        f"CREATE TABLE {table} (id int NOT NULL, n int NOT NULL)",
        f"INSERT INTO {table} VALUES (1, 100), (2, 100)",
    )
]


def test_the_sum_is_the_same_at_every_time_on_every_server(
    consensus_url: str, tmp_path: Path
) -> None:
    with Cluster(
        tmp_path / "home", consensus_url, DEFINITIONS, settings="table_apply_delay_ms = 20"
    ) as cluster:
        cluster.restart_maintainer()
        first = _read_timestamp(cluster.servers[0].connect())
        moved: list[int] = []
        sums: list[tuple[int | None, int]] = []
        movers = [
            threading.Thread(target=_move, args=(cluster, random.Random(seed), 10, moved))
            for seed in range(3)
        ]
        readers = [
            threading.Thread(target=_read, args=(cluster, random.Random(seed), first, 10, sums))
            for seed in range(3, 6)
        ]
        for thread in (*movers, *readers):
            thread.start()
        while len(moved) < 5 and any(mover.is_alive() for mover in movers):
            time.sleep(0.01)
        cluster.restart(0)
        for thread in (*movers, *readers):
            thread.join()
        for server in cluster.servers:
            with server.connect() as connection:
                sums += [(None, _sum(connection)), (first, _sum(connection, first))]
        assert len(moved) == 30
        assert len(sums) == 36
        assert [wrong for wrong in sums if wrong[1] != TOTAL] == []


def _move(cluster: Cluster, chance: random.Random, count: int, moved: list[int]) -> None:
    """Transfers in blocks, of an amount or of all that an account has, until ``count`` of them are
    known to be done."""
    transfers = 0
    connection = _connect(cluster, chance)
    while transfers < count:
        source, target = chance.sample(TABLES, 2)
        amount = chance.randrange(1, 20)
        change = [
            f"UPDATE {source} SET n = n - {amount} WHERE id = 1",
            f"UPDATE {target} SET n = n + {amount} WHERE id = 2",
        ]
        if chance.random() < 0.3:
            all_of_it = f"(SELECT n FROM {source} WHERE id = 2)"
            change = [
                f"UPDATE {target} SET n = n + {all_of_it} WHERE id = 1",
                f"DELETE FROM {source} WHERE id = 2",
            ]
            change += [f"INSERT INTO {source} VALUES (2, 0)"]
        try:
            for statement in ("BEGIN", *change, "COMMIT"):
                connection.execute(statement)
        except psycopg.OperationalError:
            # a conflict, or the server was killed: then who knows whether it was done
            connection.close()
            connection = _connect(cluster, chance)
            continue
        transfers += 1
        moved.append(amount)
    connection.close()


def _read(
    cluster: Cluster,
    chance: random.Random,
    first: int,
    count: int,
    sums: list[tuple[int | None, int]],
) -> None:
    """Sums, as they are now and as of random times since ``first``."""
    connection = _connect(cluster, chance)
    reads = 0
    while reads < count:
        try:
            at = (
                None
                if chance.random() < 0.3
                else chance.randint(first, _read_timestamp(connection))
            )
            sums.append((at, _sum(connection, at)))
        except psycopg.OperationalError:
            connection = _connect(cluster, chance)
            continue
        reads += 1
    connection.close()


def _connect(cluster: Cluster, chance: random.Random) -> psycopg.Connection:
    while True:
        with suppress(psycopg.OperationalError):
            return chance.choice(cluster.servers).connect()
        time.sleep(0.02)


def _sum(connection: psycopg.Connection, at: int | None = None) -> int:
    [(total,)] = connection.execute(SUM if at is None else f"{SUM} AS OF {at}").fetchall()
    return int(total)


def _read_timestamp(connection: psycopg.Connection) -> int:
    return int(connection.execute(f"EXPLAIN TIMESTAMP FOR {SUM}").fetchall()[0][0].split()[-1])
