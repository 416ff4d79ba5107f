"""Timing in pairs: both sides in turn, so that what else the machine does falls on both."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Figures:
    """Seconds of several runs."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.seconds)

    def __str__(self) -> str:
        return (
            f"median {self.median:.3f} s (min {min(self.seconds):.3f}, max "
            f"{max(self.seconds):.3f}, {len(self.seconds)} runs)"
        )


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def paired(
    ours: Callable[[], object], theirs: Callable[[], object], *, runs: int
) -> tuple[Figures, Figures]:
    """``runs`` of each, alternating."""
    seconds = [(timed(ours), timed(theirs)) for _ in range(runs)]
    return Figures(tuple(a for a, _ in seconds)), Figures(tuple(b for _, b in seconds))
