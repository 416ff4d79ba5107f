"""Queues before the optimistic commit: statements of one process that would conflict take turns
instead.

A queue is no lock: only the commit detects conflicts, also with other processes and with
transaction blocks, which do not queue. A queue saves statements the work that a conflict would
throw away.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from reclock.algebra.ids import GlobalId
from reclock.collections.keys import Keys
from reclock.consensus.database.waiting import CHECK_INTERVAL_S, check

BLIND_PATIENCE_S = 1.0
"""How long a statement that reads nothing, and so never fails by a conflict, waits for others."""


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """The tables that one statement reads, with the keys that its plan restricts each to (None: all
    rows), and those it writes."""

    reads: Mapping[GlobalId, Keys | None]
    writes: frozenset[GlobalId]

    def conflicts_with(self, other: Turn) -> bool:
        """Whether one of them may write what the other reads."""
        if not (self.reads or other.reads):
            return False
        return self._may_invalidate(other) or other._may_invalidate(self)

    def _may_invalidate(self, other: Turn) -> bool:
        for table in self.writes & other.reads.keys():
            keys_read = other.reads[table]
            if keys_read is None:
                return True
            own_keys = self.reads.get(table)
            if table in self.reads and (own_keys is None or own_keys.overlap(keys_read)):
                return True  # it most likely writes the rows that it reads
        return False


@dataclass(slots=True)
class _Blocked:
    """The earlier turns that one waits for."""

    by: set[Turn]
    is_free: threading.Event = field(default_factory=threading.Event)


class TableQueues:
    """The turns of the statements of one process, in the order they came. Safe for threads.

    The end of a turn wakes up only those that it was the last to block, so that its cost does not
    grow with the square of their number.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: list[Turn] = []
        self._blocked: dict[Turn, _Blocked] = {}

    @contextmanager
    def wait_turn(self, turn: Turn) -> Iterator[None]:
        """Inside the block no earlier conflicting statement is running. A statement that reads
        nothing waits for them only ``BLIND_PATIENCE_S``. The wait is interruptible."""
        if not turn.reads and not turn.writes:
            yield
            return
        try:
            self._await(turn, self._enqueue(turn))
            yield
        finally:
            self._remove(turn)

    def _enqueue(self, turn: Turn) -> threading.Event:
        """Set once no earlier conflicting statement is left."""
        with self._lock:
            blockers = {earlier for earlier in self._turns if turn.conflicts_with(earlier)}
            self._turns.append(turn)
            blocked = self._blocked[turn] = _Blocked(blockers)
        if not blockers:
            blocked.is_free.set()
        return blocked.is_free

    def _remove(self, turn: Turn) -> None:
        with self._lock:
            self._turns.remove(turn)
            del self._blocked[turn]
            for blocked in self._blocked.values():
                blocked.by.discard(turn)
                if not blocked.by:
                    blocked.is_free.set()

    def _await(self, turn: Turn, is_free: threading.Event) -> None:
        deadline = time.monotonic() + BLIND_PATIENCE_S if not turn.reads else math.inf
        while not is_free.is_set() and time.monotonic() < deadline:
            check("waiting for other statements that change the same rows")
            is_free.wait(CHECK_INTERVAL_S)
