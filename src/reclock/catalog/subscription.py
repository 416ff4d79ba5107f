"""Following the catalog: a snapshot, and then every change in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.catalog.encoding import CatalogUpdate, ObjectChange
from reclock.catalog.log import CatalogLog

Receive = Callable[[Timestamp, Sequence[CatalogUpdate]], list[ObjectChange]]
"""Decodes updates that were read up to an upper, and returns them after ``ApplyWrite`` of that
upper."""


@dataclass(frozen=True, slots=True)
class CatalogBatch:
    """All changes at times in ``[lower, upper)``, retractions before additions at each time.

    The first batch of a subscription begins at 0. It has one addition for each object, all at one
    time.
    """

    lower: Timestamp
    upper: Timestamp
    changes: tuple[ObjectChange, ...]


class CatalogSubscription:
    """Batches from ``at`` on, without gaps or overlaps, for one subscriber. It holds no thread and
    no connection."""

    def __init__(
        self, log: CatalogLog, at: Timestamp, receive: Receive, *, only: Collection[str] | None
    ) -> None:
        self._log = log
        self._at = at
        self._receive = receive
        self._only = only
        self._upper = MINIMUM
        self._has_started = False

    @property
    def upper(self) -> Timestamp:
        """The upper of the last batch that ``poll`` returned; 0 before the first."""
        return self._upper

    def poll(self) -> CatalogBatch | None:
        """The next batch; None if the catalog's upper has not moved, or not reached the
        subscription's first time.

        A batch is empty if only the upper moved. Raises as ``sync`` does.
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
        changes = tuple(
            ObjectChange(change.object, time, change.diff)
            for change in self._receive(upper, updates)
        )
        self._upper, self._has_started = self._at, True
        return CatalogBatch(MINIMUM, self._at, changes)
