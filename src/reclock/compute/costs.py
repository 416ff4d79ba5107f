"""The cheaper way to refresh an index, from what each way took before.

Maintaining an index from changes costs less than recomputing it if few rows change, and more if the
inputs are small or much of them changes. Where the two meet depends on the query, the data and the
machine, so a replica measures it. Nothing here matters for correctness: both ways append the same
updates.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median

from reclock.algebra.ids import GlobalId
from reclock.compute.maintenance import MaintenanceMode

_ASSUMED_BYTES_A_SECOND = {MaintenanceMode.FROM_CHANGES: 5e6, MaintenanceMode.RECOMPUTED: 1e8}
"""The assumed throughput of a way, in Parquet bytes a second, until it has been measured."""

_ASSUMED_SECONDS = 0.05
"""The assumed fixed time of a way."""

_READS_WITHOUT_STATE = 2
"""How often a refresh from changes reads inputs in full while there is no state for lookups: before
the step and after it."""

_SAMPLES = 3
"""How many of a way's last measurements count. Their median ignores one disturbed measurement."""

_SHARE_OF_TRIALS = 0.1
"""The share of the time spent on an index's refreshes that trials of the dearer way may waste."""

_MOST_HALVINGS = 4
"""Each trial that confirms the estimates halves the share of the next ones, at most this often: a
refresh from changes after it has state to build again."""

_WARM_UPS = 3
"""How many refreshes in a row may build state, and so tell nothing about the next ones. If there
are more, the state does not last."""

_DEAREST_TRIAL, _SHORT_SECONDS = 4.0, 1.0
"""Recomputing is not tried if it is estimated to take this many times as long and is not short,
because it could take hours."""


@dataclass(frozen=True, slots=True)
class RefreshWork:
    """The Parquet bytes that a refresh would read: of all inputs, of their changes, and of those of
    which a refresh from changes needs other rows too, which it finds by key or reads in full."""

    all_bytes: int
    changed_bytes: int
    searched_bytes: int = 0

    def bytes_for(self, mode: MaintenanceMode) -> int:
        """The bytes that determine the cost of this way."""
        return self.changed_bytes if mode is MaintenanceMode.FROM_CHANGES else self.all_bytes


@dataclass(frozen=True, slots=True)
class RefreshChoice:
    """The way that a refresh takes, and the seconds that each way was estimated to take."""

    mode: MaintenanceMode
    estimates: Mapping[MaintenanceMode, float] = field(default_factory=dict)
    """Empty for inputs that are too small for a choice."""


@dataclass(slots=True)
class _IndexCosts:
    samples: dict[MaintenanceMode, deque[tuple[int, float]]] = field(
        default_factory=lambda: {mode: deque(maxlen=_SAMPLES) for mode in MaintenanceMode}
    )
    """Pairs of bytes and seconds."""
    seconds_since: dict[MaintenanceMode, float] = field(
        default_factory=lambda: dict.fromkeys(MaintenanceMode, 0.0)
    )
    """The time spent on refreshes since the way was last chosen."""
    confirmed: dict[MaintenanceMode, int] = field(
        default_factory=lambda: dict.fromkeys(MaintenanceMode, 0)
    )
    """How many trials of the way in a row took longer than the other way was estimated to."""
    limit: float | None = None
    """In a trial, the seconds that the other way was estimated to take."""
    warm_ups: int = 0
    """How many refreshes from changes in a row built state."""
    warm_up_seconds: float = 0.0
    """What the last of them took. A refresh in the other way makes it necessary again."""
    builds_state: bool = False
    """Whether a refresh from changes may build state. It is not worth it at the first refresh of a
    process that may end after it."""

    def estimate(self, mode: MaintenanceMode, work: RefreshWork) -> float:
        """Seconds. Beyond a fixed part they follow the bytes.

        Of two measurements the lower one counts, because the first refreshes read files that are
        not in memory yet. With one, the assumption stands if it is lower.
        """
        bytes, measured = work.bytes_for(mode), []
        for sample_bytes, seconds in self.samples[mode]:
            fixed = min(seconds, _ASSUMED_SECONDS)
            measured.append(fixed + (seconds - fixed) * bytes / max(sample_bytes, 1))
        if len(measured) == _SAMPLES:
            return median(measured)
        if len(measured) > 1:
            return min(measured)
        assumed = _ASSUMED_SECONDS + bytes / _ASSUMED_BYTES_A_SECOND[mode]
        if mode is MaintenanceMode.FROM_CHANGES and not self.builds_state:
            scanned_bytes = _READS_WITHOUT_STATE * work.searched_bytes
            assumed += scanned_bytes / _ASSUMED_BYTES_A_SECOND[MaintenanceMode.RECOMPUTED]
        return min([assumed, *measured])


@dataclass(slots=True)
class RefreshCosts:
    """Measured costs of refreshes, for the indexes of one replica. Thread-safe."""

    least_bytes: int
    """Indexes over smaller inputs are maintained from changes as long as that is quick, because the
    difference is too small to measure."""
    builds_state_at_once: bool = False
    """Whether the replica lasts, so that state is worth building at an index's first refresh."""
    _indexes: dict[GlobalId, _IndexCosts] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def estimate(self, index: GlobalId, work: RefreshWork) -> dict[MaintenanceMode, float]:
        """The estimated seconds of each way."""
        with self._guard:
            costs = self._costs_of(index)
            return {mode: costs.estimate(mode, work) for mode in MaintenanceMode}

    def choose(self, index: GlobalId, work: RefreshWork) -> RefreshChoice:
        """The way with the lower estimate, or the other one as a trial.

        A trial takes place as soon as its estimated loss is a small share of the time spent on
        refreshes since the other way was last chosen. So wrong estimates do not last. The loss
        includes that state for refreshes from changes is built anew. The share is the smaller the
        more trials in a row were a loss.
        """
        estimates = self.estimate(index, work)
        is_quick = estimates[MaintenanceMode.FROM_CHANGES] < _SHORT_SECONDS
        if work.all_bytes < self.least_bytes and is_quick:
            return RefreshChoice(MaintenanceMode.FROM_CHANGES)
        cheaper, dearer = sorted(MaintenanceMode, key=lambda mode: estimates[mode])
        is_too_dear = dearer is MaintenanceMode.RECOMPUTED and estimates[dearer] > max(
            _DEAREST_TRIAL * estimates[cheaper], _SHORT_SECONDS
        )
        with self._guard:
            costs = self._indexes[index]
            lost = estimates[dearer] - estimates[cheaper] + costs.warm_up_seconds
            share = _SHARE_OF_TRIALS / 2 ** min(costs.confirmed[dearer], _MOST_HALVINGS)
            is_trial = lost <= share * costs.seconds_since[dearer] and not is_too_dear
            costs.limit = estimates[cheaper] if is_trial else None
        return RefreshChoice(dearer if is_trial else cheaper, estimates)

    def measured(self, index: GlobalId) -> dict[MaintenanceMode, float]:
        """The seconds that the newest measured refresh of each way took."""
        with self._guard:
            samples = self._indexes[index].samples if index in self._indexes else {}
            return {mode: listed[-1][1] for mode, listed in samples.items() if listed}

    def record(
        self,
        index: GlobalId,
        mode: MaintenanceMode,
        work: RefreshWork,
        seconds: float,
        *,
        is_warm: bool = True,
    ) -> None:
        """Record what a refresh took, and whether it had all its state (``is_warm``)."""
        with self._guard:
            costs = self._costs_of(index)
            costs.builds_state = True
            if mode is MaintenanceMode.FROM_CHANGES:
                costs.warm_ups = 0 if is_warm else costs.warm_ups + 1
                is_warm = is_warm or costs.warm_ups > _WARM_UPS
                costs.warm_up_seconds = costs.warm_up_seconds if is_warm else seconds
            if mode is MaintenanceMode.RECOMPUTED or is_warm:
                costs.samples[mode].append((work.bytes_for(mode), seconds))
            is_confirmed = costs.limit is not None and seconds > costs.limit
            costs.confirmed[mode] = costs.confirmed[mode] + 1 if is_confirmed else 0
            costs.limit = None
            for other in MaintenanceMode:
                costs.seconds_since[other] = (
                    0.0 if other is mode else costs.seconds_since[other] + seconds
                )

    def _costs_of(self, index: GlobalId) -> _IndexCosts:
        return self._indexes.setdefault(index, _IndexCosts(builds_state=self.builds_state_at_once))

    def forget(self, index: GlobalId) -> None:
        """Forget a dropped index."""
        with self._guard:
            self._indexes.pop(index, None)
