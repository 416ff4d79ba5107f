"""Whether storage has created an object's collections, and errors about collections in terms of
objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.catalog.objects import ItemType
from reclock.controllers.implied import storage_commands
from reclock.errors import (
    CollectionDamaged,
    CollectionUnready,
    DroppedMeanwhile,
    ForeignCollection,
    OutputFailed,
    ReclockError,
    UnknownCollection,
    about_source,
)
from reclock.introspection.relation import BrokenObject
from reclock.protocol.storage import CreateCollections
from reclock.runtime.environment import Environment
from reclock.sql.catalog.planner_catalog import PlannerCatalog

Unavailable = (UnknownCollection, CollectionDamaged, ForeignCollection)
"""The errors of stores about a collection, which name it by its id."""


def require_ready(
    environment: Environment, catalog: PlannerCatalog, ids: Iterable[GlobalId]
) -> None:
    """Check that storage has created the collections of these objects. It retries those that it
    could not create before.

    Raises ``CollectionUnready``.
    """
    required_ids = set(ids)
    if not required_ids & environment.stores.stored_objects.unready().keys():
        return
    environment.control_plane.storage_controller.step()
    unready = environment.stores.stored_objects.unready()
    for id in sorted(required_ids & unready.keys()):
        raise CollectionUnready(_name(catalog, id), error=unready[id].error, hint=unready[id].hint)


def retry_unready(environment: Environment) -> None:
    """Have storage retry the collections that it could not create before."""
    if environment.stores.stored_objects.unready():
        environment.control_plane.storage_controller.step()


def named(
    error: UnknownCollection | CollectionDamaged | ForeignCollection,
    environment: Environment,
    catalog: PlannerCatalog,
) -> ReclockError:
    """The error for the user, about the object that the collection belongs to.

    Raises ``CollectionUnready`` if storage has not created the collection yet.
    """
    id = object_of(error.name)
    name = _name(catalog, id)
    before = environment.stores.stored_objects.unready().get(id)
    require_ready(environment, catalog, [id])
    if before is not None:
        return CollectionUnready(name, error=before.error, hint="it exists by now: try again")
    if not isinstance(error, UnknownCollection):
        return error.named(name)
    if environment.stores.planner_catalog().entry(id) is None:
        return DroppedMeanwhile(name)
    return CollectionDamaged(
        name, detail="its Delta table is missing in the lake, or its frontier in consensus"
    )


def about_object(error: ReclockError, environment: Environment) -> ReclockError:
    """``error`` for the user: an error about a collection becomes one that names the object."""
    if not isinstance(error, Unavailable):
        return error
    try:
        return named(error, environment, environment.stores.planner_catalog())
    except CollectionUnready as unready:
        return unready


def about_source_of(error: OutputFailed, catalog: PlannerCatalog) -> OutputFailed:
    """``error`` of a read, whose hint proposes statements about the source that the relation
    reads."""
    if error.collection is None:
        return error
    source = catalog.entry(object_of(error.collection))
    if source is not None and source.type is not ItemType.SOURCE:
        source = catalog.source_read_by(source.id)
    return error if source is None else about_source(str(source.name), error)


def object_of(name: str) -> GlobalId:
    """The id of the object that a collection or a frontier group belongs to, from the name that
    stores give it."""
    if "/" not in name:
        return GlobalId(name)
    id = StorageCollectionId.parse(name)
    return id.guest or id.source_id


def broken_objects(environment: Environment, catalog: PlannerCatalog) -> list[BrokenObject]:
    """The objects whose definition cannot be planned, whose collections storage could not create,
    or whose collections are damaged."""
    broken = [
        BrokenObject(
            entry.id,
            str(entry.name),
            entry.type.value,
            "definition",
            entry.reason,
            entry.refusal.hint,
        )
        for entry in catalog.quarantined()
    ]
    for id, failure in environment.stores.stored_objects.unready().items():
        entry = catalog.entry(id)
        if entry is not None:
            broken.append(
                BrokenObject(
                    id, str(entry.name), entry.type.value, "collection", failure.error, failure.hint
                )
            )
    return [*broken, *_damaged_objects(environment, catalog)]


def _damaged_objects(environment: Environment, catalog: PlannerCatalog) -> Iterator[BrokenObject]:
    """Opens each collection that storage has created."""
    created_ids = (
        environment.stores.frontiers.get_all().keys() | environment.stores.tables.log.table_ids()
    )
    commands = [
        command
        for command in storage_commands({}, catalog)
        if isinstance(command, CreateCollections)
    ]
    for creation in commands:
        entry = catalog.entry(creation.id)
        if entry is None or creation.id not in created_ids:
            continue
        try:
            for collection in creation.collections:
                environment.stores.lake.open(collection.id).pin()
        except Unavailable as error:
            cause = named(error, environment, catalog)
            yield BrokenObject(
                entry.id,
                str(entry.name),
                entry.type.value,
                "collection",
                cause.detail or cause.message,
                cause.hint,
            )


def _name(catalog: PlannerCatalog, id: GlobalId) -> str:
    entry = catalog.entry(id)
    return str(entry.name) if entry is not None else id
