"""Minting: binding what has been reached, and was not bound before, to a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter

from reclock.algebra.timestamps import Timestamp
from reclock.algebra.updates import Update
from reclock.reclocking.frontiers import Partition, SourceFrontier, check_frontier


@dataclass(frozen=True, slots=True)
class Binding:
    """The next ``increment`` offsets of ``partition`` belong to ``time``. An update: row ``(partition,)``, diff ``increment``."""

    partition: Partition
    time: Timestamp
    increment: int


def mint(reached: SourceFrontier, bound: SourceFrontier, at: Timestamp) -> list[Binding]:
    """Bind at ``at`` every offset reached and not yet bound, in order of partition.

    A partition only ever advances: one that was reached less far than it is bound gets no binding.
    """
    check_frontier(reached)
    return [
        Binding(partition, at, increment=upper - bound.get(partition, 0))
        for partition, upper in sorted(reached.items(), key=itemgetter(0))
        if upper > bound.get(partition, 0)
    ]


def updates_of(bindings: Iterable[Binding]) -> list[Update]:
    """The bindings as updates of the remap collection."""
    return [Update(_row(binding.partition), binding.time, binding.increment) for binding in bindings]


def bindings_of(updates: Iterable[Update]) -> list[Binding]:
    """The updates of a remap collection as bindings; the inverse of ``updates_of``."""
    return [Binding(update.row[0] if update.row else (), update.time, update.diff) for update in updates]


def _row(partition: Partition) -> tuple[Partition, ...]:
    return partition if isinstance(partition, tuple) else (partition,)
