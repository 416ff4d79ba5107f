"""Following the catalog: a snapshot, then everything that changes, in order and in full."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.catalog.encoding import CatalogUpdate, ObjectChange
from reclock.catalog.log import CatalogLog

Receive = Callable[[Timestamp, Sequence[CatalogUpdate]], list[ObjectChange]]
"""Decodes updates that were read up to an upper, once ``ApplyWrite`` of that upper has happened."""


@dataclass(frozen=True, slots=True)
class CatalogBatch:
    """All changes at times in ``[lower, upper)``, retractions before additions at each time.

    The first batch of a subscription begins at 0 and holds the sums, all at one time: one addition per object there is.
    """

    lower: Timestamp
    upper: Timestamp
    changes: tuple[ObjectChange, ...]


class CatalogSubscription:
    """Batches without gap or overlap from ``at`` on. Each subscriber has its own; it holds no thread and no connection."""

    def __init__(self, log: CatalogLog, at: Timestamp, receive: Receive, *, only: Collection[str] | None) -> None:
        self._log = log
        self._at = at
        self._receive = receive
        self._only = only
        self._upper = MINIMUM
        self._has_started = False

    @property
    def upper(self) -> Timestamp:
        """Everything below it has been handed out; 0 before the first batch."""
        return self._upper

    def poll(self) -> CatalogBatch | None:
        """The next batch, or None if the catalog's upper has not moved (or, at first, not reached the time asked for).

        A batch may be empty: then only the upper moved. Raises as ``sync`` does.
        """
        if not self._has_started:
            return self._start()
        upper, updates = self._log.updates(self._upper, only=self._only)
        if upper <= self._upper:
            return None
        ordered = sorted(self._receive(upper, updates), key=lambda change: (change.ts, change.diff))
        batch = CatalogBatch(self._upper, upper, tuple(ordered))
        self._upper = upper
        return batch

    def _start(self) -> CatalogBatch | None:
        upper, updates = self._log.snapshot(below=self._at, only=self._only)
        if upper < self._at:
            return None
        time = Timestamp(max(self._at - 1, 0))
        changes = tuple(ObjectChange(change.object, time, change.diff) for change in self._receive(upper, updates))
        self._upper, self._has_started = self._at, True
        return CatalogBatch(MINIMUM, self._at, changes)
