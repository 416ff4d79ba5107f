"""What a replica knows of the indexes that it refreshes, and which of them it refreshes
together."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from reclock.algebra.error_intervals import ErrorInterval
from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.compute.reads.failing_rows import FailingRow

_ROUND_S = 1.0
"""How long the indexes that are claimed together may take, as far as the replica knows. So a result
does not wait long for others to be published, and a replica that dies does not hold up indexes that
it has not begun."""


@dataclass(slots=True)
class KnownResults:
    """What a replica knows of the indexes that it has refreshed, so that one that nothing touched
    costs nothing in the lake. Safe for threads. Nothing here matters for correctness but that an
    entry is of exactly the upper that it names."""

    _results: dict[GlobalId, tuple[Timestamp, ErrorInterval | None]] = field(default_factory=dict)
    _seconds: dict[GlobalId, float] = field(default_factory=dict)
    _due: dict[GlobalId, tuple[Timestamp, Timestamp | None]] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    failing_rows: dict[GlobalId, FailingRow] = field(default_factory=dict)
    """See ``IndexSteps``. A step of an index has its claim, so no other step of it runs."""

    def at(self, index: GlobalId, upper: Timestamp) -> tuple[ErrorInterval | None] | None:
        """The lasting error, or none, of the index that was published at exactly this upper; None
        if that is not known."""
        with self._guard:
            known = self._results.get(index)
        return (known[1],) if known is not None and known[0] == upper else None

    def published(self, index: GlobalId, upper: Timestamp, error: ErrorInterval | None) -> None:
        with self._guard:
            self._results[index] = upper, error

    def next_due(self, index: GlobalId, upper: Timestamp) -> Timestamp | None:
        """The next time at which the index, complete below exactly this upper, changes if no input
        does; None if that is not known."""
        with self._guard:
            known = self._due.get(index)
        return known[1] if known is not None and known[0] == upper else None

    def due(self, index: GlobalId, upper: Timestamp, next_due: Timestamp | None) -> None:
        """The index will be complete below ``upper``, and then changes at ``next_due``."""
        with self._guard:
            self._due[index] = upper, next_due

    def took(self, index: GlobalId, seconds: float) -> None:
        """The last step of the index took so long."""
        with self._guard:
            self._seconds[index] = seconds

    def seconds(self, index: GlobalId) -> float:
        """How long the next step is assumed to take; a whole round if that is not known."""
        with self._guard:
            return self._seconds.get(index, _ROUND_S)

    def forget(self, index: GlobalId) -> None:
        """The index was dropped."""
        with self._guard:
            self._results.pop(index, None)
            self._due.pop(index, None)
            self._seconds.pop(index, None)
        self.failing_rows.pop(index, None)

    def in_rounds(self, indexes: Sequence[GlobalId]) -> Iterator[list[GlobalId]]:
        """The indexes in groups whose steps take about a round at most."""
        together: list[GlobalId] = []
        expected_s = 0.0
        for index in indexes:
            expected_s += self.seconds(index)
            if together and expected_s > _ROUND_S:
                yield together
                together, expected_s = [], self.seconds(index)
            together.append(index)
        if together:
            yield together
