"""Minting: binds the offsets that were reached, and not bound before, to a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter

from reclock.algebra.timestamps import Timestamp
from reclock.algebra.updates import Update
from reclock.reclocking.frontiers import Partition, SourceFrontier, check_frontier


@dataclass(frozen=True, slots=True)
class Binding:
    """The next ``increment`` offsets of ``partition`` belong to ``time``. As an update: the row
    ``(partition,)`` with the diff ``increment``."""

    partition: Partition
    time: Timestamp
    increment: int


def mint(reached: SourceFrontier, bound: SourceFrontier, at: Timestamp) -> list[Binding]:
    """Bind at ``at`` every offset that was reached and is not bound yet, in order of partition.

    Partitions only advance: one that was reached less far than it is bound gets no binding.
    """
    check_frontier(reached)
    return [
        Binding(partition, at, increment=upper - bound.get(partition, 0))
        for partition, upper in sorted(reached.items(), key=itemgetter(0))
        if upper > bound.get(partition, 0)
    ]


def updates_of(bindings: Iterable[Binding]) -> list[Update]:
    """The bindings as updates of the remap collection."""
    return [
        Update(_row(binding.partition), binding.time, binding.increment) for binding in bindings
    ]


def bindings_of(updates: Iterable[Update]) -> list[Binding]:
    """The updates of a remap collection as bindings; the inverse of ``updates_of``."""
    return [
        Binding(update.row[0] if update.row else (), update.time, update.diff) for update in updates
    ]


def _row(partition: Partition) -> tuple[Partition, ...]:
    return partition if isinstance(partition, tuple) else (partition,)
