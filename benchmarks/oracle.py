"""The timestamp oracle by its callers: reads, batched and one by one, and writes a second, on each
consensus database.

SQLite, and PostgreSQL if ``RECLOCK_BENCH_POSTGRES`` is its URL. What a read costs alone, beside, is
one SELECT of a row by its key.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable

import sqlalchemy as sa

from reclock.algebra.timestamps import EPOCH_MS, MINIMUM, system_clock
from reclock.consensus.database.store import Consensus
from reclock.oracle.batching import BatchingOracle
from reclock.oracle.oracle import ConsensusOracle

CALLERS = (1, 8, 64, 512)
SECONDS = 2.0


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        _of("SQLite", f"sqlite:///{home}/consensus.db")
    if url := os.environ.get("RECLOCK_BENCH_POSTGRES"):
        _of("PostgreSQL", url)


def _of(name: str, url: str) -> None:
    consensus = Consensus.connect(url)
    alone = ConsensusOracle(consensus, system_clock)
    alone.open_timeline(EPOCH_MS, MINIMUM)
    batching = BatchingOracle(alone)
    row = sa.text("SELECT read_ts FROM reclock_timeline WHERE timeline = 'epoch_ms'")
    calls: dict[str, Callable[[], object]] = {
        "bare SELECT": lambda: consensus.read(lambda connection: connection.scalar(row)),
        "ReadTs": lambda: alone.read_ts(EPOCH_MS),
        "ReadTs, batched": lambda: batching.read_ts(EPOCH_MS),
        "WriteTs": lambda: batching.write_ts(EPOCH_MS),
    }
    for callers in CALLERS:
        for what, call in calls.items():
            print(
                f"{name}, {what:<16} {callers:>4} callers {_rate(call, callers):9.0f} a second",
                flush=True,
            )
    consensus.close()


def _rate(call: Callable[[], object], callers: int) -> float:
    """Calls a second of all callers together."""
    counts = [0] * callers
    together = threading.Barrier(callers + 1)

    def work(number: int) -> None:
        call()
        together.wait()
        until = time.perf_counter() + SECONDS
        while time.perf_counter() < until:
            call()
            counts[number] += 1

    threads = [threading.Thread(target=work, args=[number]) for number in range(callers)]
    for thread in threads:
        thread.start()
    together.wait()
    started = time.perf_counter()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - started)
