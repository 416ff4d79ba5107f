"""Rows that refer to rows which other servers delete meanwhile: at no time does one refer to nothing.
With a bug planted into the servers, some do."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psycopg
from histories.cluster import Cluster
from histories.server_process import Faults

PARENTS = 6
DEFINITIONS = [
    "CREATE TABLE parents (id int PRIMARY KEY)",
    "CREATE TABLE strict (parent int NOT NULL REFERENCES parents)",
    "CREATE TABLE gone (parent int NOT NULL REFERENCES parents ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE loose (parent int REFERENCES parents ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED)",
    f"INSERT INTO parents SELECT g FROM generate_series(1, {PARENTS}) AS s (g)",
]
ORPHANS = " UNION ALL ".join(
    f"SELECT parent FROM {table} WHERE parent NOT IN (SELECT id FROM parents)"
    for table in ("strict", "gone", "loose")
)


def test_nothing_refers_to_a_row_that_is_gone(
    new_postgres_url: Callable[[], str], tmp_path: Path
) -> None:
    done, orphans = _history(new_postgres_url(), tmp_path / "home", 0, None)
    assert done >= 100
    assert orphans == []


def test_what_refers_to_gone_rows_is_found(
    new_postgres_url: Callable[[], str], tmp_path: Path
) -> None:
    bug = "keys_are_checked_before_the_commit_alone"
    histories = (_history(new_postgres_url(), tmp_path / str(i), i, bug) for i in range(8))
    assert any(orphans for _, orphans in histories)


def _history(
    consensus_url: str, folder: Path, seed: int, planted: str | None
) -> tuple[int, list[object]]:
    """How many statements were executed, and what referred to nothing, now or at another time."""
    faults = Faults(seed, 0.0, planted)
    settings = "table_apply_delay_ms = 20"
    with Cluster(folder, consensus_url, DEFINITIONS, faults, settings=settings) as cluster:
        cluster.restart_maintainer()
        outcomes: list[str] = []
        times: list[int] = []
        clients = [
            threading.Thread(target=_write, args=(cluster, random.Random(i), 30, outcomes, times))
            for i in range(seed * 10, seed * 10 + 6)
        ]
        for client in clients:
            client.start()
        while len(outcomes) < 40 and any(client.is_alive() for client in clients):
            time.sleep(0.01)
        if planted is None:
            cluster.restart(0)
        for client in clients:
            client.join()
        orphans: list[object] = []
        with cluster.servers[1].connect() as connection:
            for at in ("", *(f" AS OF {time}" for time in times[-20:])):
                orphans += connection.execute(f"SELECT * FROM ({ORPHANS}) AS o{at}").fetchall()
        return len(outcomes), orphans


def _write(
    cluster: Cluster, chance: random.Random, count: int, outcomes: list[str], times: list[int]
) -> None:
    connection = _connect(cluster, chance)
    for _ in range(count):
        parent, other = chance.randint(1, PARENTS), chance.randint(1, PARENTS)
        tables = chance.sample(["strict", "gone", "loose"], 3)
        statements = chance.choice(
            [
                [f"INSERT INTO {tables[0]} VALUES ({parent}), ({other})"],
                [f"INSERT INTO {tables[0]} SELECT id FROM parents WHERE id = {parent}"],
                [
                    f"DELETE FROM strict WHERE parent = {parent}",
                    f"DELETE FROM parents WHERE id = {parent}",
                ],
                [f"DELETE FROM parents WHERE id = {parent}"],
                [f"INSERT INTO parents VALUES ({parent}) ON CONFLICT DO NOTHING"],
                [f"UPDATE parents SET id = {other} WHERE id = {parent}"],
                [f"INSERT INTO loose VALUES ({parent})", f"INSERT INTO parents VALUES ({parent})"],
                [f"UPDATE {tables[0]} SET parent = {other} WHERE parent = {parent}"],
            ]
        )
        try:
            for statement in ("BEGIN", *statements, "COMMIT"):
                connection.execute(statement)
            explained = connection.execute("EXPLAIN TIMESTAMP FOR SELECT * FROM gone").fetchall()
            times.append(int(explained[0][0].split()[-1]))
        except (psycopg.IntegrityError, psycopg.errors.SerializationFailure):
            connection.execute("ROLLBACK")
        except psycopg.OperationalError:  # the server was killed
            connection.close()
            connection = _connect(cluster, chance)
        outcomes.append(statements[-1])
    connection.close()


def _connect(cluster: Cluster, chance: random.Random) -> psycopg.Connection:
    while True:
        with suppress(psycopg.OperationalError):
            return chance.choice(cluster.servers).connect()
        time.sleep(0.02)
