"""Why an object cannot be read or written, though the catalog has it: an error that names it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.controllers.implied import storage_commands
from reclock.errors import (
    CollectionDamaged,
    CollectionUnready,
    DroppedMeanwhile,
    ForeignCollection,
    ReclockError,
    UnknownCollection,
)
from reclock.introspection.relation import BrokenObject
from reclock.protocol.storage import CreateCollections
from reclock.runtime.environment import Environment
from reclock.sql.catalog.planner_catalog import PlannerCatalog

Unavailable = (UnknownCollection, CollectionDamaged, ForeignCollection)
"""What stores say of a collection, by its id."""


def require_ready(environment: Environment, catalog: PlannerCatalog, ids: Iterable[GlobalId]) -> None:
    """Storage has made what it keeps for these objects; what it could not make before is tried again.

    Raises ``CollectionUnready``.
    """
    wanted = set(ids)
    if not wanted & environment.stores.stored_objects.unready().keys():
        return
    environment.control_plane.storage_controller.step()
    unready = environment.stores.stored_objects.unready()
    for id in sorted(wanted & unready.keys()):
        raise CollectionUnready(_name(catalog, id), error=unready[id].error, hint=unready[id].hint)


def retry_unready(environment: Environment) -> None:
    """Storage tries again to make what it could not make before."""
    if environment.stores.stored_objects.unready():
        environment.control_plane.storage_controller.step()


def named(
    error: UnknownCollection | CollectionDamaged | ForeignCollection, environment: Environment, catalog: PlannerCatalog
) -> ReclockError:
    """The error of a statement that needed the collection: about the object that the user knows.

    Raises ``CollectionUnready`` if storage has not made it yet.
    """
    id = object_of(error.name)
    name = _name(catalog, id)
    require_ready(environment, catalog, [id])
    if not isinstance(error, UnknownCollection):
        return error.named(name)
    if environment.stores.planner_catalog().entry(id) is None:
        return DroppedMeanwhile(name)
    return CollectionDamaged(name, detail="its Delta table is missing in the lake, or its frontier in consensus")


def about_object(error: ReclockError, environment: Environment) -> ReclockError:
    """``error`` as people are told of it: where it is about a collection, the error that names the object."""
    if not isinstance(error, Unavailable):
        return error
    try:
        return named(error, environment, environment.stores.planner_catalog())
    except CollectionUnready as unready:
        return unready


def object_of(name: str) -> GlobalId:
    """The object that a collection, or a frontier group, is of, by the name that stores give it."""
    if "/" not in name:
        return GlobalId(name)
    id = StorageCollectionId.parse(name)
    return id.guest or id.source_id


def broken_objects(environment: Environment, catalog: PlannerCatalog) -> list[BrokenObject]:
    """The objects whose definition cannot be planned, those that storage could not make anything for, and those whose collections
    are damaged."""
    broken = [
        BrokenObject(entry.id, str(entry.name), entry.type.value, "definition", entry.reason, entry.refusal.hint)
        for entry in catalog.quarantined()
    ]
    for id, failure in environment.stores.stored_objects.unready().items():
        entry = catalog.entry(id)
        if entry is not None:
            broken.append(BrokenObject(id, str(entry.name), entry.type.value, "collection", failure.error, failure.hint))
    return [*broken, *_damaged_objects(environment, catalog)]


def _damaged_objects(environment: Environment, catalog: PlannerCatalog) -> Iterator[BrokenObject]:
    """Looks at each collection that storage has made."""
    made = environment.stores.frontiers.get_all().keys() | environment.stores.tables.log.known()
    commands = [command for command in storage_commands({}, catalog) if isinstance(command, CreateCollections)]
    for wanted in commands:
        entry = catalog.entry(wanted.id)
        if entry is None or wanted.id not in made:
            continue
        try:
            for collection in wanted.collections:
                environment.stores.lake.open(collection.id).pin()
        except Unavailable as error:
            told = named(error, environment, catalog)
            yield BrokenObject(entry.id, str(entry.name), entry.type.value, "collection", told.detail or told.message, told.hint)


def _name(catalog: PlannerCatalog, id: GlobalId) -> str:
    entry = catalog.entry(id)
    return str(entry.name) if entry is not None else id
