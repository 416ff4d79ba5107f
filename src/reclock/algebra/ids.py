"""Names of collections."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NewType, Self

GlobalId = NewType("GlobalId", str)
"""``s1…`` system, ``u1…`` user, ``t1…`` transient. Never reused; bound to one object for ever."""


class CollectionType(StrEnum):
    """Which of the collections of one object is meant."""

    RECLOCKED = "reclocked"
    """The data: upstream records at their reclocked times; also the only collection of a view or
    index."""
    REMAPPING = "remapping"
    """The bindings of upstream offsets to times."""
    EVIDENCE = "evidence"
    """What was known of each upstream partition when it was bound (sizes, checksums). Private to
    its source."""
    TABLE = "table"
    """The rows of a table. Those of all tables are one frontier group."""


TABLES = "tables"
"""The frontier group of all tables."""

INTROSPECTION = "introspection"
"""The frontier group of all that replicas and processes report of themselves: tables with system
ids."""


@dataclass(frozen=True, slots=True, order=True)
class StorageCollectionId:
    """The address of one collection in the lake; written ``u4/reclocked``, or ``u4/reclocked.bids``
    for that of a subsource."""

    source_id: GlobalId
    collection: CollectionType = CollectionType.RECLOCKED
    output: str = ""
    """Which of the relations that a source fills; ``""`` is its own."""

    def __str__(self) -> str:
        return f"{self.source_id}/{self.collection}" + (f".{self.output}" if self.output else "")

    @classmethod
    def parse(cls, text: str) -> Self:
        """The inverse of ``str``. Raises ``ValueError``."""
        source_id, _, rest = text.partition("/")
        collection, _, output = rest.partition(".")
        return cls(GlobalId(source_id), CollectionType(collection), output)

    @classmethod
    def of_guest(cls, host: GlobalId, guest: GlobalId, output: str) -> Self:
        """That of an output of ``guest``, which is bound with the transactions of the source
        ``host``, in its group."""
        return cls(host, CollectionType.RECLOCKED, f"{output}@{guest}")

    @property
    def guest(self) -> GlobalId | None:
        """The source that it is of, if that is a guest of ``source_id``: such a collection comes
        late to its group."""
        _, at, guest = self.output.rpartition("@")
        return GlobalId(guest) if at else None

    @property
    def group(self) -> str:
        """The frontier group it belongs to: its source's or index's own, or that of all tables, or
        of all introspection."""
        if self.collection is not CollectionType.TABLE:
            return self.source_id
        return INTROSPECTION if self.is_system else TABLES

    @property
    def is_system(self) -> bool:
        """Whether it is a system relation's: what that is, is said by the program, and queries are
        given its rows."""
        return self.source_id.startswith("s")

    @property
    def is_transient(self) -> bool:
        """Whether it is one session's own, whose queries are given its rows."""
        return self.source_id.startswith("t")

    @property
    def has_times(self) -> bool:
        """Whether it is read as of a time, not as it is now."""
        return not self.is_system and not self.is_transient
