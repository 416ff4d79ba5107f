"""The readings of an object: each is a partition of its source, and begins at byte 0.

The first reading of an object is named by its key. An object whose published bytes changed can be
given up (``SKIP``): its newest reading ends where it is. ``RESTART`` begins the next one, which
holds the object as it is now, under a partition name of its own: ``a.csv``, then ``a.csv#2``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from reclock.connectors.connector import Bound, Evidence
from reclock.reclocking.frontiers import Partition

UNKNOWN_VERSION = ""

_GIVEN_UP = "set aside"
_DELETED = "deleted"
_NUMBERED = re.compile(r"reading (\d+): (.*)", re.DOTALL)


def partition_of(key: str, number: int) -> str:
    """The name of the partition of an object's ``number``-th reading, counted from 1."""
    return key if number == 1 else f"{key}#{number}"


@dataclass(frozen=True, slots=True)
class ObjectEvidence:
    """What was known of an object when the first ``length`` bytes of its ``number``-th reading were
    bound: ``crc32`` is the checksum of those bytes, ``version`` the version that the store showed.
    """

    key: str
    length: int
    crc32: int
    version: str
    number: int = 1

    @property
    def partition(self) -> str:
        return partition_of(self.key, self.number)

    @property
    def is_abandoned(self) -> bool:
        """Whether this reading has ended."""
        return self.version == _GIVEN_UP

    def abandoned(self) -> ObjectEvidence:
        return replace(self, version=_GIVEN_UP)

    @property
    def is_deleted(self) -> bool:
        """Whether the object was deleted upstream. Its rows stay. If it appears again, it must
        begin with the bound bytes."""
        return self.version == _DELETED

    def deleted(self) -> ObjectEvidence:
        return replace(self, version=_DELETED)

    def next_reading(self, number: int) -> ObjectEvidence:
        """The evidence of a later reading, with nothing bound."""
        return ObjectEvidence(self.key, 0, 0, UNKNOWN_VERSION, number)

    @classmethod
    def of(cls, partition: Partition, row: Evidence) -> Self:
        """The inverse of ``stored``, for a partition's row of evidence."""
        length, crc32, version = row
        if (numbered := _NUMBERED.fullmatch(version)) is None:
            return cls(str(partition), length, crc32, version)
        number = int(numbered[1])
        return cls(str(partition).removesuffix(f"#{number}"), length, crc32, numbered[2], number)

    @property
    def stored(self) -> tuple[int, str]:
        """The evidence beside the length. The version distinguishes a second reading from another
        object whose key is that partition's name."""
        return (
            self.crc32,
            self.version if self.number == 1 else f"reading {self.number}: {self.version}",
        )


def by_partition(bound: Bound) -> dict[str, ObjectEvidence]:
    """The evidence of every reading, by partition."""
    return {str(partition): ObjectEvidence.of(partition, row) for partition, row in bound.items()}


def newest_readings(bound: Bound) -> dict[str, ObjectEvidence]:
    """The evidence of the newest reading of each object, by key."""
    newest: dict[str, ObjectEvidence] = {}
    for evidence in by_partition(bound).values():
        if evidence.key not in newest or evidence.number > newest[evidence.key].number:
            newest[evidence.key] = evidence
    return newest


def restarted(
    newest: Mapping[str, ObjectEvidence], restarts: Mapping[str, int]
) -> dict[str, ObjectEvidence]:
    """``newest``, with an unbound reading of the given number in place of each one that is to be
    restarted."""
    return {
        key: evidence.next_reading(restarts[key])
        if evidence.number < restarts.get(key, 0)
        else evidence
        for key, evidence in newest.items()
    }
