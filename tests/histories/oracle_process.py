"""One of several processes that use an oracle at once; it tells of every call before it makes it,
so that it may be killed."""

from __future__ import annotations

import random
import threading
import time
from multiprocessing.connection import Connection
from typing import Any, Literal

from histories.models import OracleCall
from histories.server_process import Clock, Faults, prepare

from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.consensus.database.store import Consensus
from reclock.errors import ConsensusOutcomeUnknown
from reclock.oracle.batching import BatchingOracle
from reclock.oracle.oracle import ConsensusOracle

OracleCallKind = Literal["read", "write", "apply"]
CALLS: tuple[OracleCallKind, ...] = ("read", "read", "write", "apply")
CALLS_AT_FIRST: tuple[OracleCallKind, ...] = ("read", "read", "write", "write")
"""While there is no timestamp to apply."""
THREADS = 3


class Teller:
    """Tells what happens, when, of which call."""

    def __init__(self, told: Connection) -> None:
        self._told, self._guard = told, threading.Lock()

    def tell(self, call_id: Any, call: OracleCall) -> None:
        with self._guard:
            self._told.send((call_id, time.monotonic_ns(), call))


def use(url: str, offset_ms: Any, faults: Faults, calls: int, reports: Connection) -> None:
    """``calls`` calls by some threads. Each is told twice: as it begins, and with its answer, if
    there is one."""
    consensus = Consensus.connect(url)
    inner = ConsensusOracle(consensus, Clock(offset_ms))
    inner.open_timeline(EPOCH_MS, Timestamp(1))
    prepare(faults)
    oracle, teller = BatchingOracle(inner), Teller(reports)

    def work(thread: int) -> None:
        chance = random.Random(faults.seed * THREADS + thread)
        timestamps: list[Timestamp] = []
        for number in range(thread, calls, THREADS):
            kind = chance.choice(CALLS if timestamps else CALLS_AT_FIRST)
            ts = timestamps.pop(chance.randrange(len(timestamps))) if kind == "apply" else None
            call_id = (faults.seed, number)
            teller.tell(call_id, OracleCall(kind, ts))
            try:
                if kind == "read":
                    ts = oracle.read_ts(EPOCH_MS)
                elif ts is None:
                    timestamps.append(ts := oracle.write_ts(EPOCH_MS))
                else:
                    oracle.apply_write(EPOCH_MS, ts)
            except ConsensusOutcomeUnknown:
                continue
            teller.tell(call_id, OracleCall(kind, ts))

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reports.close()
