"""How often keys occur, by their hashes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from reclock.collections.key_hashes import Counts, Hashes

_MANY = 10_000
"""So many keys at once are kept sorted, fewer in a dictionary."""


@dataclass(frozen=True, slots=True)
class SortedKeys:
    """The hashes of keys, ascending, and the running sum of their counts; no sums if each counts
    once."""

    hashes: Hashes
    sums: Counts | None

    @classmethod
    def of(cls, hashes: Hashes, counts: Counts) -> SortedKeys:
        """Of hashes that ascend."""
        if (counts == 1).all():
            return cls(hashes, None)
        return cls(hashes, np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]))

    def counts(self, hashes: Hashes) -> Counts:
        """The sum of the counts of each hash."""
        first = np.searchsorted(self.hashes, hashes, "left")
        end = np.searchsorted(self.hashes, hashes, "right")
        return end - first if self.sums is None else self.sums[end] - self.sums[first]


@dataclass(slots=True)
class KeyCounts:
    """Counts that are added to, a few or many at a time."""

    few: dict[int, int] = field(default_factory=dict)
    many: list[SortedKeys] = field(default_factory=list)

    def add(self, hashes: Hashes, counts: Counts) -> None:
        """Add to the counts of hashes, which ascend."""
        if len(hashes) > _MANY:
            self.many.append(SortedKeys.of(hashes, counts))
            return
        for hash, count in zip(hashes.tolist(), counts.tolist(), strict=True):
            total = self.few.get(hash, 0) + count
            if total:
                self.few[hash] = total
            else:
                self.few.pop(hash, None)

    def add_all(self, other: KeyCounts) -> None:
        """Add the counts of another, which does not change from now on."""
        self.many += other.many
        for hash, count in other.few.items():
            self.few[hash] = self.few.get(hash, 0) + count

    def counts(self, hashes: Hashes) -> Counts:
        """The sum of the counts of each hash."""
        totals = np.zeros(len(hashes), np.int64)
        for keys in self.many:
            totals += keys.counts(hashes)
        if self.few:
            totals += np.fromiter(
                (self.few.get(hash, 0) for hash in hashes.tolist()), np.int64, len(hashes)
            )
        return totals
