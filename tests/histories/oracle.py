"""Histories of the oracle: threads of several processes call it, while processes are killed and
clocks turned."""

from __future__ import annotations

import random
import threading
from multiprocessing.connection import Connection
from typing import Any

from fixtures.forks import fork, shared_number
from histories.linearizability import NO_ORDER, UNDECIDED, Operation, Undecided, linearization
from histories.models import OracleCall, OracleState, oracle_step
from histories.oracle_process import use
from histories.server_process import HOUR_MS, Faults

PROCESSES = 3


def run(
    consensus_url: str, seed: int, operations: int, planted: str | None = None
) -> list[Operation]:
    """One history, on an empty consensus."""
    chance = random.Random(seed)
    lost_answers = chance.choice((0.0, 0.03))
    clients: list[Told] = []

    def begin(life: int) -> Told:
        faults = Faults(seed * 1_000 + life, lost_answers, planted)
        clients.append(Told(consensus_url, faults, operations // (PROCESSES + 1)))
        return clients[-1]

    for life in range(PROCESSES):
        begin(life)
    chance.choice(clients).kill_after(chance.randrange(operations // PROCESSES))
    begin(PROCESSES)
    return [operation for client in clients for operation in client.operations()]


def violations(history: list[Operation]) -> list[str]:
    """What no sequential use of the oracle explains; none if all is well."""
    try:
        is_right = linearization(history, OracleState(1, 1), oracle_step) is not None
    except Undecided as undecided:
        return [f"{UNDECIDED}: {undecided}"]
    return [] if is_right else [NO_ORDER]


class Told:
    """What one process tells, until it ends or is killed. Its clock jumps as it goes."""

    def __init__(self, consensus_url: str, faults: Faults, calls: int) -> None:
        self._calls: dict[Any, list[tuple[int, OracleCall]]] = {}
        self._offset_ms = shared_number()
        self._chance = random.Random(faults.seed)
        self._kill_after: int | None = None
        self._process, told = fork(use, consensus_url, self._offset_ms, faults, calls)
        self._listener = threading.Thread(target=self._listen, args=(told,))
        self._listener.start()

    def kill_after(self, calls: int) -> None:
        self._kill_after = calls

    def operations(self) -> list[Operation]:
        """All of them, once the process has ended."""
        self._listener.join()
        self._process.join()
        return [
            Operation(times[0][0], times[1][0] if len(times) == 2 else None, times[-1][1])
            for times in self._calls.values()
        ]

    def _listen(self, reports: Connection) -> None:
        with reports:
            while True:
                try:
                    call_id, at, call = reports.recv()
                except EOFError:
                    return
                self._calls.setdefault(call_id, []).append((at, call))
                if self._chance.random() < 0.05:
                    self._offset_ms.value = self._chance.choice((-HOUR_MS, 0, HOUR_MS))
                if self._kill_after is not None and len(self._calls) > self._kill_after:
                    self._process.kill()
