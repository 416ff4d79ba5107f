"""Incarnations of a topic: a topic of the same name that was deleted and created again, or that
lost its last messages, has other messages at offsets that are bound already.

A source's offsets only grow. So after RESNAPSHOT they count on: each partition of the new
incarnation begins at a ``base``, the source's offset at which it follows the earlier one. The base
is in the evidence, beside the topic's id. It is bound with the first offsets that need it, in one
commit, so no process can die between the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from reclock.connectors.connector import Bound, Increment
from reclock.reclocking.frontiers import Partition


@dataclass(frozen=True, slots=True)
class Incarnation:
    """One partition's topic, and the source's offset of its own offset 0. ``follows`` is false for
    a source's first topic, to which START OFFSET applies."""

    topic_id: str
    base: int = 0
    follows: bool = False

    @classmethod
    def of(cls, evidence: str) -> Self:
        """The inverse of ``str``. An id has no ``@``."""
        topic_id, follows, base = evidence.partition("@")
        return cls(topic_id, int(base or 0), bool(follows))

    def __str__(self) -> str:
        return f"{self.topic_id}@{self.base}" if self.follows else self.topic_id


def bound_incarnations(bound: Bound) -> dict[Partition, Incarnation]:
    """The incarnation of every bound partition."""
    return {partition: Incarnation.of(evidence[1]) for partition, evidence in bound.items()}


def current_incarnations(
    bound: Bound, topic_id: str, partitions: Iterable[int]
) -> dict[int, Incarnation]:
    """The incarnation of every partition of the topic with this id, which is the bound one."""
    known = bound_incarnations(bound)
    other = Incarnation(topic_id, 0, any(incarnation.follows for incarnation in known.values()))
    return {partition: known.get(partition, other) for partition in partitions}


def follow_from_start(
    bound: Bound, topic_id: str, begin: Mapping[int, int], end: Mapping[int, int]
) -> list[Increment]:
    """The increments that bind every partition's own offsets from 0 to ``end`` after those that
    are bound. Rows begin at the own offset ``begin``. Bound partitions that the topic lacks, or
    that are empty, get its evidence too."""
    increments = []
    for partition in sorted({*end, *(int(str(partition)) for partition in bound)}):
        size, base = end.get(partition, 0), bound[partition][0] if partition in bound else 0
        if size or partition in bound:
            incarnation = Incarnation(topic_id, base, follows=True)
            start = base + min(begin.get(partition, 0), size)
            increments.append(
                Increment(partition, base, base + size, size, (str(incarnation),), {"begin": start})
            )
    return increments


def follow_from_end(bound: Bound, end: Mapping[int, int]) -> list[Increment]:
    """Increments without offsets, whose evidence says that the topic's offset ``end`` of each of these
    partitions follows what is bound."""
    increments = []
    for partition, end_offset in sorted(end.items()):
        offset, evidence = bound[partition]
        incarnation = Incarnation(
            Incarnation.of(evidence).topic_id, offset - end_offset, follows=True
        )
        increments.append(
            Increment(partition, offset, offset, 0, (str(incarnation),), {"begin": offset})
        )
    return increments
