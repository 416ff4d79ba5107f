"""The remap history: the running sums of the bindings, and the questions that they answer."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from operator import itemgetter

from reclock.algebra.timestamps import Timestamp
from reclock.algebra.updates import consolidate
from reclock.errors import InternalError
from reclock.reclocking.frontiers import Partition, SourceFrontier
from reclock.reclocking.mint import Binding, bindings_of, updates_of


@dataclass(frozen=True, slots=True)
class BoundRange:
    """The offsets ``[lower, upper)`` of ``partition``, all bound to ``time``."""

    partition: Partition
    lower: int
    upper: int
    time: Timestamp

    @property
    def size(self) -> int:
        return self.upper - self.lower


@dataclass(frozen=True, slots=True)
class Staircase:
    """The history of one partition: at ``times[i]`` (ascending) its frontier became ``offsets[i]``
    (strictly ascending)."""

    times: tuple[Timestamp, ...]
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Remap:
    """The bindings of a source. Frontiers only grow with time, and every bound offset has exactly
    one time."""

    partitions: Mapping[Partition, Staircase]

    @classmethod
    def of(cls, bindings: Iterable[Binding]) -> Remap:
        """The history that ``bindings``, in any order, add up to.

        Raises ``InternalError`` if a partition's frontier would ever fall.
        """
        by_partition: dict[Partition, list[Binding]] = {}
        for binding in bindings_of(consolidate(updates_of(bindings))):
            if binding.increment < 0:
                raise InternalError(
                    f'partition "{binding.partition}" is bound backwards by '
                    f"{-binding.increment} at {binding.time}"
                )
            by_partition.setdefault(binding.partition, []).append(binding)
        return cls(
            {
                partition: Staircase(
                    tuple(binding.time for binding in bindings_of_partition),
                    tuple(accumulate(binding.increment for binding in bindings_of_partition)),
                )
                for partition, bindings_of_partition in sorted(
                    by_partition.items(), key=itemgetter(0)
                )
            }
        )

    @property
    def bindings(self) -> list[Binding]:
        """The bindings, one per partition and time, in order of partition and time."""
        return [Binding(step.partition, step.time, step.size) for step in self.ranges(Timestamp(0))]

    def frontier_at(self, time: Timestamp) -> SourceFrontier:
        """The source frontier at ``time``: the next unbound offset of every partition bound by
        then."""
        frontier: dict[Partition, int] = {}
        for partition, stairs in self.partitions.items():
            steps = bisect_right(stairs.times, time)
            if steps:
                frontier[partition] = stairs.offsets[steps - 1]
        return frontier

    def time_of(self, partition: Partition, offset: int) -> Timestamp | None:
        """The time of the first binding whose running sum exceeds ``offset``; None if there is no
        such binding yet."""
        stairs = self.partitions.get(partition)
        step = bisect_right(stairs.offsets, offset) if stairs else 0
        return stairs.times[step] if stairs and step < len(stairs.times) else None

    def ranges(self, lower: Timestamp, upper: Timestamp | None = None) -> list[BoundRange]:
        """The ranges bound to the times in ``[lower, upper)``: those of one step, or all of them
        for a rebuild."""
        return [
            BoundRange(partition, start, end, time)
            for partition, stairs in self.partitions.items()
            for time, start, end in zip(
                stairs.times, (0, *stairs.offsets), stairs.offsets, strict=False
            )
            if lower <= time and (upper is None or time < upper)
        ]


def without(whole: BoundRange, skipped: Sequence[tuple[int, int]]) -> list[BoundRange]:
    """The parts of ``whole`` outside of the half-open ranges ``skipped``, in order."""
    remaining: list[BoundRange] = []
    lower = whole.lower
    for start, end in sorted(skipped):
        if max(start, lower) < min(end, whole.upper):
            if start > lower:
                remaining.append(replace(whole, lower=lower, upper=start))
            lower = max(lower, end)
    if lower < whole.upper:
        remaining.append(replace(whole, lower=lower))
    return remaining
