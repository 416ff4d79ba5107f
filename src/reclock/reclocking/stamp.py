"""Stamping: which ranges of offsets a step reads, without those that a decision skipped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from reclock.reclocking.frontiers import SourceFrontier
from reclock.reclocking.mint import Binding
from reclock.reclocking.remap import BoundRange


def stamp(bindings: Iterable[Binding], bound: SourceFrontier) -> list[BoundRange]:
    """The ranges of one step's ``bindings``, if ``bound`` is the source frontier before it."""
    return [
        BoundRange(
            binding.partition,
            bound.get(binding.partition, 0),
            bound.get(binding.partition, 0) + binding.increment,
            binding.time,
        )
        for binding in bindings
    ]


def intersects(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two half-open ranges have an offset in common."""
    return max(one[0], other[0]) < min(one[1], other[1])


def without(whole: BoundRange, skipped: Sequence[tuple[int, int]]) -> list[BoundRange]:
    """The parts of ``whole`` outside of the half-open ranges ``skipped``, in order."""
    remaining: list[BoundRange] = []
    lower = whole.lower
    for start, end in sorted(skipped):
        if intersects((start, end), (lower, whole.upper)):
            if start > lower:
                remaining.append(replace(whole, lower=lower, upper=start))
            lower = max(lower, end)
    if lower < whole.upper:
        remaining.append(replace(whole, lower=lower))
    return remaining
