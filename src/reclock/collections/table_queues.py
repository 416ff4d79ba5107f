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
from dataclasses import dataclass

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
        return self._may_invalidate(other) or other._may_invalidate(self)

    def _may_invalidate(self, other: Turn) -> bool:
        for table in self.writes & other.reads.keys():
            wanted = other.reads[table]
            if wanted is None:
                return True
            own_keys = self.reads.get(table)
            if table in self.reads and (own_keys is None or own_keys.overlap(wanted)):
                return True  # it most likely writes the rows that it reads
        return False


class TableQueues:
    """The turns of the statements of one process, in the order they came. Safe for threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._turns: list[Turn] = []

    @contextmanager
    def wait_turn(self, turn: Turn) -> Iterator[None]:
        """Inside the block no earlier conflicting statement is running. A statement that reads
        nothing waits for them only ``BLIND_PATIENCE_S``. The wait is interruptible."""
        if not turn.reads and not turn.writes:
            yield
            return
        with self._changed:
            self._turns.append(turn)
        try:
            self._await(turn)
            yield
        finally:
            with self._changed:
                self._turns.remove(turn)
                self._changed.notify_all()

    def _await(self, turn: Turn) -> None:
        deadline = time.monotonic() + BLIND_PATIENCE_S if not turn.reads else math.inf
        with self._changed:
            while any(turn.conflicts_with(earlier) for earlier in self._earlier(turn)):
                if time.monotonic() >= deadline:
                    return
                check("waiting for other statements that change the same rows")
                self._changed.wait(CHECK_INTERVAL_S)

    def _earlier(self, turn: Turn) -> Iterator[Turn]:
        for earlier in self._turns:
            if earlier is turn:
                return
            yield earlier
