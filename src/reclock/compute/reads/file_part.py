"""A part of a query that some files of a collection hold. Processes that pass parts on import only
this, so it imports what a part is made of for its types alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reclock.algebra.timestamps import Timestamp

if TYPE_CHECKING:
    from reclock.algebra.ids import StorageCollectionId
    from reclock.algebra.relations import RelationDesc
    from reclock.collections.files import DataFile
    from reclock.plan.relational import Plan


@dataclass(frozen=True, slots=True)
class UpdateRange:
    """The changes at times in ``[lower, upper)``. With ``has_snapshot``, the rows at ``lower`` stand
    for all changes up to that time."""

    lower: Timestamp
    upper: Timestamp
    has_snapshot: bool = False

    @property
    def first(self) -> Timestamp:
        """The first time that must be told apart from earlier ones."""
        return self.lower if self.has_snapshot else Timestamp(self.lower - 1)

    @property
    def last(self) -> Timestamp:
        return Timestamp(self.upper - 1)


@dataclass(frozen=True, slots=True)
class FilePart:
    """What some files of a collection hold of a query. It can be pickled."""

    relations: str
    """The names of the relations that the query reads, for errors."""
    plan: Plan
    desc: RelationDesc
    """The query's columns."""
    collection: StorageCollectionId
    version: int
    files: tuple[DataFile, ...]
    """Files of that version of the collection."""
    updates: UpdateRange
    has_times: bool
    """Whether each row is followed by ``mz_timestamp`` and ``mz_diff``. Otherwise ``updates`` has
    one time, and each row comes as often as the query answers it then."""
