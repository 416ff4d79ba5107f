"""The cheaper way to refresh an index, from what each way took before.

Maintaining an index from changes costs less than recomputing it if few rows change, and more if the
inputs are small or much of them changes. Where the two meet depends on the query, the data and the
machine, so a replica measures it. Nothing here matters for correctness: both ways append the same
updates.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from statistics import median

from reclock.algebra.ids import GlobalId
from reclock.compute.maintenance import MaintenanceMode

_ASSUMED_BYTES_A_SECOND = {MaintenanceMode.FROM_CHANGES: 5e6, MaintenanceMode.RECOMPUTED: 1e8}
"""Parquet bytes that each way is assumed to take in until it has been measured."""

_ASSUMED_SECONDS = 0.05
"""What each way is assumed to take besides."""

_SAMPLES = 3
"""How many of the last measurements of a way count. Their median leaves one disturbed measurement out."""

_SHARE_OF_TRIALS = 0.1
"""How much of the time spent on an index's refreshes may be lost by trying the dearer way again."""

_DEAREST_TRIAL = 4.0
"""Recomputing is not tried where it is estimated to take so many times as long: it could take hours."""


@dataclass(frozen=True, slots=True)
class RefreshWork:
    """The Parquet bytes that a refresh has before it: of all its inputs, and of their changes."""

    all_bytes: int
    changed_bytes: int

    def bytes_for(self, mode: MaintenanceMode) -> int:
        """The bytes that the cost of this way follows."""
        return self.changed_bytes if mode is MaintenanceMode.FROM_CHANGES else self.all_bytes


@dataclass(slots=True)
class _IndexCosts:
    samples: dict[MaintenanceMode, deque[tuple[int, float]]] = field(
        default_factory=lambda: {mode: deque(maxlen=_SAMPLES) for mode in MaintenanceMode}
    )
    """Bytes and seconds."""
    seconds_since: dict[MaintenanceMode, float] = field(default_factory=lambda: dict.fromkeys(MaintenanceMode, 0.0))
    """What refreshes took since the way was last taken."""

    def estimate(self, mode: MaintenanceMode, bytes: int) -> float:
        """Seconds. Beyond a fixed part they follow the bytes.

        Until there are enough measurements the assumption stands if it is lower: the first refreshes
        read files that are not in memory yet, and sort them for lookups.
        """
        measured = []
        for sample_bytes, seconds in self.samples[mode]:
            fixed = min(seconds, _ASSUMED_SECONDS)
            measured.append(fixed + (seconds - fixed) * bytes / max(sample_bytes, 1))
        if len(measured) == _SAMPLES:
            return median(measured)
        return min([_ASSUMED_SECONDS + bytes / _ASSUMED_BYTES_A_SECOND[mode], *measured])


@dataclass(slots=True)
class RefreshCosts:
    """What refreshes of the indexes of one replica took. Safe for threads."""

    least_bytes: int
    """Indexes over smaller inputs are always maintained from changes: the difference is not worth measuring."""
    _indexes: dict[GlobalId, _IndexCosts] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def estimate(self, index: GlobalId, work: RefreshWork) -> dict[MaintenanceMode, float]:
        """Seconds that each way is estimated to take."""
        with self._guard:
            costs = self._indexes.setdefault(index, _IndexCosts())
            return {mode: costs.estimate(mode, work.bytes_for(mode)) for mode in MaintenanceMode}

    def choose(self, index: GlobalId, work: RefreshWork) -> MaintenanceMode:
        """The way that is estimated to be cheaper, or the other one for a trial.

        The other way is tried as soon as the time that a trial is estimated to lose is a small share
        of the time that refreshes took since it was last taken, so wrong estimates do not last.
        """
        if work.all_bytes < self.least_bytes:
            return MaintenanceMode.FROM_CHANGES
        estimates = self.estimate(index, work)
        cheaper, dearer = sorted(MaintenanceMode, key=lambda mode: estimates[mode])
        lost = estimates[dearer] - estimates[cheaper]
        is_too_dear = dearer is MaintenanceMode.RECOMPUTED and estimates[dearer] > _DEAREST_TRIAL * estimates[cheaper]
        with self._guard:
            is_due = lost <= _SHARE_OF_TRIALS * self._indexes[index].seconds_since[dearer]
        return dearer if is_due and not is_too_dear else cheaper

    def record(self, index: GlobalId, mode: MaintenanceMode, work: RefreshWork, seconds: float) -> None:
        """A refresh in this way took so long."""
        with self._guard:
            costs = self._indexes.setdefault(index, _IndexCosts())
            costs.samples[mode].append((work.bytes_for(mode), seconds))
            for other in MaintenanceMode:
                costs.seconds_since[other] = 0.0 if other is mode else costs.seconds_since[other] + seconds

    def forget(self, index: GlobalId) -> None:
        """The index was dropped."""
        with self._guard:
            self._indexes.pop(index, None)
