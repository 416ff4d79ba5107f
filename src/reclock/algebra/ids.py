"""Names of collections."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

GlobalId = NewType("GlobalId", str)
"""``s1…`` system, ``u1…`` user, ``t1…`` transient. Never reused; bound to one object for ever."""


class CollectionType(StrEnum):
    """Which of the collections of one object is meant."""

    RECLOCKED = "reclocked"
    """The data: upstream records at their reclocked times; also the only collection of a table, view or index."""
    REMAPPING = "remapping"
    """The bindings of upstream offsets to times."""
    EVIDENCE = "evidence"
    """What was known of each upstream partition when it was bound (sizes, checksums). Private to its source."""


@dataclass(frozen=True, slots=True, order=True)
class StorageCollectionId:
    """The address of one collection in the lake; written ``u4/reclocked``."""

    source_id: GlobalId
    collection: CollectionType = CollectionType.RECLOCKED

    def __str__(self) -> str:
        return f"{self.source_id}/{self.collection}"
