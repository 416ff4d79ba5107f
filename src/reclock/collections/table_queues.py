"""Queues before the optimistic commit: statements of one process that would only conflict take turns instead.

A queue is no lock: the commit alone decides about conflicts, also with other processes and with transaction blocks, which
take no turns. It only spares statements the work that a conflict would throw away.
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
from reclock.consensus.database.waiting import LOOK_S, check

BLIND_PATIENCE_S = 1.0
"""For how long a statement that reads nothing, and so never conflicts itself, lets others finish before it."""


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """What one statement reads, and by which keys if the plan shows that (None: all of it), and which tables it writes."""

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
            own = self.reads.get(table)
            if table in self.reads and (own is None or own.overlap(wanted)):
                return True  # the rows it writes are most likely those that it reads
        return False


class TableQueues:
    """The turns of the statements of one process, in the order they came. Safe for threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._turns: list[Turn] = []

    @contextmanager
    def taking(self, turn: Turn) -> Iterator[None]:
        """Inside the block no earlier statement that conflicts is under way, or it was waited for in vain by a statement that
        reads nothing. Interruptible while it waits."""
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
                self._changed.wait(LOOK_S)

    def _earlier(self, turn: Turn) -> Iterator[Turn]:
        for earlier in self._turns:
            if earlier is turn:
                return
            yield earlier
