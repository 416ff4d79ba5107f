"""One of several processes that use an oracle at once, each with a clock of its own that jumps both
ways; reports its calls."""

import itertools
import random
import threading
import time
from collections.abc import Callable

from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.consensus.database.store import Consensus
from reclock.oracle.batching import BatchingOracle
from reclock.oracle.oracle import ConsensusOracle, TimestampOracle


def call_often(
    begin_together: Callable[[], None], url: str, seed: int, threads: int, steps: int
) -> list[tuple[int, int, str, int]]:
    chance = random.Random(seed)
    begin_together()
    consensus = Consensus.connect(url)
    oracle = ConsensusOracle(consensus, lambda: Timestamp(chance.randrange(1, 400)))
    oracle.open_timeline(EPOCH_MS, Timestamp(7))
    shared: TimestampOracle = BatchingOracle(oracle)
    calls: list[list[tuple[int, int, str, int]]] = [[] for _ in range(threads)]
    running = [
        threading.Thread(target=work, args=(shared, chance, steps, calls[n]))
        for n in range(threads)
    ]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    consensus.close()
    return list(itertools.chain.from_iterable(calls))


def work(
    oracle: TimestampOracle,
    chance: random.Random,
    steps: int,
    calls: list[tuple[int, int, str, int]],
) -> None:
    pending: list[Timestamp] = []
    for _ in range(steps):
        began = time.monotonic_ns()
        match chance.choice(("read", "read", "write", "apply")):
            case "apply" if pending:
                ts = pending.pop(chance.randrange(len(pending)))
                oracle.apply_write(EPOCH_MS, ts)
                operation = "apply"
            case "write":
                ts = oracle.write_ts(EPOCH_MS)
                pending.append(ts)
                operation = "write"
            case _:
                ts = oracle.read_ts(EPOCH_MS)
                operation = "read"
        calls.append((began, time.monotonic_ns(), operation, ts))
