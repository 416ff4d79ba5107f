"""Why an object cannot be read or written, though the catalog has it: an error that names it."""

from __future__ import annotations

from collections.abc import Iterable

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.environment import Environment
from reclock.errors import (
    CollectionDamaged,
    CollectionUnready,
    DroppedMeanwhile,
    ForeignCollection,
    ReclockError,
    UnknownCollection,
)
from reclock.introspection.relation import BrokenObject
from reclock.sql.catalog import PlannerCatalog

Unavailable = UnknownCollection | CollectionDamaged | ForeignCollection
"""What stores say of a collection, by its id."""


def require_ready(environment: Environment, catalog: PlannerCatalog, ids: Iterable[GlobalId]) -> None:
    """Storage has made what it keeps for these objects; what it could not make before is tried again.

    Raises ``CollectionUnready``.
    """
    wanted = set(ids)
    if not wanted & environment.stored_objects.unready().keys():
        return
    environment.storage_controller.step()
    unready = environment.stored_objects.unready()
    for id in sorted(wanted & unready.keys()):
        raise CollectionUnready(_name(catalog, id), error=unready[id].error, hint=unready[id].hint)


def named(error: Unavailable, environment: Environment, catalog: PlannerCatalog) -> ReclockError:
    """The error of a statement that needed the collection: about the object that the user knows.

    Raises ``CollectionUnready`` if storage has not made it yet.
    """
    id = object_of(error.name)
    name = _name(catalog, id)
    require_ready(environment, catalog, [id])
    if not isinstance(error, UnknownCollection):
        return error.named(name)
    if environment.planner_catalog().entry(id) is None:
        return DroppedMeanwhile(name)
    return CollectionDamaged(name, detail="its Delta table is missing in the lake, or its frontier in consensus")


def object_of(name: str) -> GlobalId:
    """The object that a collection, or a frontier group, is of, by the name that stores give it."""
    if "/" not in name:
        return GlobalId(name)
    id = StorageCollectionId.parse(name)
    return id.guest or id.source_id


def broken_objects(environment: Environment, catalog: PlannerCatalog) -> list[BrokenObject]:
    """The objects whose definition cannot be planned, and those that storage could not make anything for."""
    broken = [
        BrokenObject(entry.id, str(entry.name), entry.type.value, "definition", entry.reason, entry.refusal.hint)
        for entry in catalog.quarantined()
    ]
    for id, failure in environment.stored_objects.unready().items():
        entry = catalog.entry(id)
        if entry is not None:
            broken.append(BrokenObject(id, str(entry.name), entry.type.value, "collection", failure.error, failure.hint))
    return broken


def _name(catalog: PlannerCatalog, id: GlobalId) -> str:
    entry = catalog.entry(id)
    return str(entry.name) if entry is not None else id
