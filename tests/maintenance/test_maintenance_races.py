"""Two maintainers, a writer and readers at once, with no grace at all: nobody fails, and nobody
reads anything wrong."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from fixtures.maintained import World

from reclock.adapter.session.session import Session
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.pipeline import maintenance
from reclock.runtime.environment import Environment

TICKS = 25
RUNS = 6


def test_maintainers_a_writer_and_readers_do_not_disturb_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "RETENTION_MS": "50",
        "VACUUM_GRACE_MS": "0",
        "CATALOG_RETENTION_MS": "0",
        "READ_HOLD_LEASE_MS": "4000",
    }.items():
        monkeypatch.setenv(f"RECLOCK_{name}", value)
    world = World(tmp_path)
    group = world.create("words")
    world.write(group, 1_010, "a")
    over, failures, runs = threading.Event(), [], []

    def since() -> Timestamp:
        return world.environment.stores.frontiers.get(group).since

    def work(step) -> threading.Thread:
        def repeat() -> None:
            with Environment.open(tmp_path, clock=lambda: Timestamp(world.now)) as environment:
                while not over.is_set():
                    try:
                        step(environment)
                    except Exception as failure:
                        failures.append(failure)
                        return

        thread = threading.Thread(target=repeat)
        thread.start()
        return thread

    def maintain(environment: Environment) -> None:
        report = maintenance.run(environment)
        failures.extend(report.failed.values())
        runs.append(report)

    def read(environment: Environment) -> None:
        """There is one row for each tick so far, numbered by its time, and no tick is missing that
        was published before."""
        published = environment.stores.oracle.read_ts(EPOCH_MS)
        [result] = Session(environment).execute("SELECT count(*), max(number) FROM words")
        [(count, last)] = result.rows()
        assert (last - 1_000) // 10 == count
        assert last >= published

    threads = [work(maintain), work(maintain), work(read), work(read)]
    try:
        ticks = 1
        # a hold is shared for two seconds
        while (ticks < TICKS or len(runs) < RUNS or since() <= 1_050) and not failures:
            ticks += 1
            world.write(group, 1_000 + 10 * ticks, "a")
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert world.collection(group).pin().rewrites > 1
    assert world.sql("SELECT count(*), min(number), max(number) FROM words") == [
        (ticks, 1_010, 1_000 + 10 * ticks)
    ]
    world.close()
