"""Commands of the storage controller. All of them are idempotent: creating what exists and dropping
what does not exist changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.protocol.frontier import AdvanceCatalogFrontier


@dataclass(frozen=True, slots=True)
class CollectionDescription:
    """One collection: its id, its columns, and whether it has insertions only."""

    id: StorageCollectionId
    desc: RelationDesc
    is_monotonic: bool = False


@dataclass(frozen=True, slots=True)
class CreateCollections:
    """Create the collections of one object, empty, and then their frontier group. All tables share
    one group.

    A sink has no collection; its group has its progress.
    """

    id: GlobalId
    collections: tuple[CollectionDescription, ...]
    since: Timestamp
    upper: Timestamp
    incarnation: str = ""
    """The catalog's UUID for the object, which its collections contain."""
    inputs: frozenset[str] = frozenset()
    """The groups of its inputs, which it holds from ``since`` on."""
    is_backfilled: bool = False
    """Whether a backfill moves its upper before anything else does."""
    replaces: GlobalId | None = None
    """The sink whose target this sink continues to write."""

    @property
    def group(self) -> str:
        return self.collections[0].id.group if self.collections else self.id


@dataclass(frozen=True, slots=True)
class DropCollections:
    """Delete the collections of these objects with all files, their frontier groups, claims and
    statuses."""

    ids: tuple[GlobalId, ...]


StorageCommand = CreateCollections | DropCollections | AdvanceCatalogFrontier


@dataclass(frozen=True, slots=True)
class NotDropped:
    """The response to a drop that is not complete, because a read is active or the lake failed.
    Command it again later."""

    ids: tuple[GlobalId, ...]


@dataclass(frozen=True, slots=True)
class NotCreated:
    """The response to a failed creation. Command it again later. Only statements that use this
    object are affected."""

    id: GlobalId
    error: str
    hint: str | None


class StoragePlane(Protocol):
    """Carries out the commands of the storage controller, during one of its terms."""

    def present(self) -> Mapping[GlobalId, str]:
        """The objects with collections, complete or not, and the incarnation of each, with which a
        new controller reconciles."""
        ...

    def carry_out(self, command: StorageCommand) -> NotCreated | NotDropped | None:
        """Carry out a command durably. Raises ``TermOver`` if another process leads the controller
        now."""
        ...

    def report(self, failures: Sequence[NotCreated]) -> None:
        """Record that exactly these objects could not be created."""
        ...
