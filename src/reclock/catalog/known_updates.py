"""The part of a changelog that a process has in memory: the sums of all updates below an upper, and
the newest updates themselves."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence

from reclock.algebra.timestamps import Timestamp
from reclock.catalog.encoding import CatalogUpdate
from reclock.catalog.objects import APPEND_ONLY

KEPT = 10_000
"""The least number of newest updates that are kept beside the sums."""


class KnownUpdates:
    """Complete below ``upper``: the sums of the cached kinds, and the updates of every kind at
    ``since`` or later.

    Not safe for threads.
    """

    def __init__(self, sums: Mapping[tuple[str, str, str], int], upper: Timestamp) -> None:
        self._sums = dict(sums)
        self._recent: list[CatalogUpdate] = []
        self.since = self.upper = upper

    def add(self, updates: Sequence[CatalogUpdate], upper: Timestamp) -> None:
        """Add ``updates``: all at times in ``[self.upper, upper)``, in order of time."""
        for update in updates:
            if update.kind not in APPEND_ONLY:
                self._count(self._sums, update, update.diff)
        self._recent.extend(updates)
        self.upper = upper
        if len(self._recent) > 2 * KEPT:
            self.since = self._recent[-KEPT].ts
            del self._recent[: self._first(self.since)]

    def updates(self, since: Timestamp, only: Collection[str] | None) -> list[CatalogUpdate]:
        """The updates at ``since`` or later, of the kinds in ``only`` (None: the cached kinds).
        ``since`` is at least ``self.since``."""
        return [
            update for update in self._recent[self._first(since) :] if _is_chosen(update.kind, only)
        ]

    def summed(self, below: Timestamp, only: Collection[str] | None) -> list[CatalogUpdate]:
        """The sums of updates below ``below``, of the cached kinds in ``only`` (None: all of them).
        ``below`` is at least ``self.since``."""
        sums = self._sums
        if below < self.upper:
            sums = dict(sums)
            for update in self._recent[self._first(below) :]:
                if update.kind not in APPEND_ONLY:
                    self._count(sums, update, -update.diff)
        return [
            CatalogUpdate(kind, key, value, below, total)
            for (kind, key, value), total in sums.items()
            if only is None or kind in only
        ]

    def _first(self, since: Timestamp) -> int:
        return bisect_left(self._recent, since, key=lambda update: update.ts)

    @staticmethod
    def _count(sums: dict[tuple[str, str, str], int], update: CatalogUpdate, diff: int) -> None:
        row = (update.kind, update.key, update.value)
        total = sums.get(row, 0) + diff
        if total:
            sums[row] = total
        else:
            del sums[row]


def _is_chosen(kind: str, only: Collection[str] | None) -> bool:
    return kind not in APPEND_ONLY if only is None else kind in only
