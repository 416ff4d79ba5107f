"""Commands to whoever keeps collections. Each may be repeated: what is there is left as it stands, what is gone is gone."""

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
    """One collection: its address, the shape of its rows, and whether it is known to hold insertions only."""

    id: StorageCollectionId
    desc: RelationDesc
    is_monotonic: bool = False


@dataclass(frozen=True, slots=True)
class CreateCollections:
    """The collections of one object are there, empty, and then their frontier group; that of all tables is shared.

    A sink has none: its group says how far it is.
    """

    id: GlobalId
    collections: tuple[CollectionDescription, ...]
    since: Timestamp
    upper: Timestamp
    incarnation: str = ""
    """The catalog's UUID for the object, which its collections carry."""
    inputs: frozenset[str] = frozenset()
    """The groups of which it holds what it reads, from ``since`` on."""
    is_backfilled: bool = False
    """Whether its history is to be given before anything else moves its upper."""

    @property
    def group(self) -> str:
        return self.collections[0].id.group if self.collections else self.id


@dataclass(frozen=True, slots=True)
class DropCollections:
    """The collections of these objects are gone with all their files, their frontier groups, claims and statuses."""

    ids: tuple[GlobalId, ...]


StorageCommand = CreateCollections | DropCollections | AdvanceCatalogFrontier


@dataclass(frozen=True, slots=True)
class NotDropped:
    """The answer to a drop that is not complete, because somebody reads there or the lake failed: command it again later."""

    ids: tuple[GlobalId, ...]


@dataclass(frozen=True, slots=True)
class NotCreated:
    """The answer to a creation that failed: command it again later. Only what reads or writes that object is concerned."""

    id: GlobalId
    error: str
    hint: str | None


class StoragePlane(Protocol):
    """Whoever carries out the commands of the storage controller, for one term of it."""

    def present(self) -> Mapping[GlobalId, str]:
        """The objects that have collections, whole or half made, and the incarnation of each: what a controller that begins
        reconciles with."""
        ...

    def carry_out(self, command: StorageCommand) -> NotCreated | NotDropped | None:
        """Returns when it is durable. Raises ``TermOver`` if another process leads the controller by now."""
        ...

    def report(self, failures: Sequence[NotCreated]) -> None:
        """Everyone may know that these objects, and no others, could not be made."""
        ...
