"""From the catalog to commands: pure functions. Applied in any batching, a history of changes
commands what its end implies."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.timestamps import Timestamp
from reclock.catalog.objects import IdAllocator, Item, ItemType, Kind
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.definitions.sinks import SinkInput, SinkSpec
from reclock.definitions.sources import SourceSpec, collections_of
from reclock.errors import UnknownObject
from reclock.plan.relational import collections
from reclock.protocol.compute import CreateDataflow, Dataflow, DropDataflow
from reclock.protocol.orchestration import ReplicaDescription
from reclock.protocol.storage import CollectionDescription, CreateCollections, DropCollections
from reclock.sql.catalog.entries import IndexEntry, QuarantinedEntry, RelationEntry, SinkEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.queries.views import relation_plan

_STORED = (ItemType.SOURCE, ItemType.TABLE, ItemType.INDEX, ItemType.SINK)


def storage_commands(
    present: Mapping[GlobalId, str], catalog: PlannerCatalog
) -> list[CreateCollections | DropCollections]:
    """The commands that lead from the objects that have collections now, ``present`` with their
    incarnations, to those that need them in ``catalog``, in the order of ids. A present object of
    another incarnation counts as missing."""
    snapshot = _snapshot(catalog)
    desired = incarnations(catalog)
    missing = {id for id, incarnation in desired.items() if present.get(id) != incarnation}
    creates = [_create(catalog, snapshot.items[id]) for id in _in_order(missing)]
    dropped = tuple(
        _in_order({id for id in present.keys() - desired.keys() if is_dropped(snapshot, id)})
    )
    return [*creates, *([DropCollections(dropped)] if dropped else [])]


def incarnations(catalog: PlannerCatalog) -> dict[GlobalId, str]:
    """The items that have collections, or a frontier group, of their own; a subsource's are its
    source's. What a quarantined item has stays, and nothing new is made for it."""
    items = (item for item in _snapshot(catalog).items.values() if item.type in _STORED)
    return {item.id: item.incarnation for item in items if _is_stored(catalog, item)}


def _is_stored(catalog: PlannerCatalog, item: Item) -> bool:
    return not isinstance(catalog.entry(item.id), QuarantinedEntry) and not catalog.is_subsource(
        item.id
    )


def is_dropped(snapshot: CatalogSnapshot, id: str) -> bool:
    """Whether an item had this id and is no more. An id that the catalog has not given out yet is
    another actor's newer item."""
    allocator: IdAllocator | None = snapshot.get(Kind.ID_ALLOCATOR, "user")
    known_below = allocator.next_id if allocator else 0
    return (
        id.startswith("u")
        and id[1:].isdecimal()
        and int(id[1:]) < known_below
        and GlobalId(id) not in snapshot.items
    )


def compute_commands(
    running: Mapping[GlobalId, Dataflow], catalog: PlannerCatalog, cluster_id: int
) -> list[CreateDataflow | DropDataflow]:
    """The commands that lead from the dataflows that a replica runs to those of its cluster, in
    the order of ids."""
    desired = dataflows(catalog, cluster_id)
    drops = [DropDataflow(id) for id in _in_order(running.keys() - desired.keys())]
    return [
        *drops,
        *(
            CreateDataflow(dataflow)
            for id, dataflow in desired.items()
            if running.get(id) != dataflow
        ),
    ]


def dataflows(catalog: PlannerCatalog, cluster_id: int) -> dict[GlobalId, Dataflow]:
    """The indexes of a cluster in the order they were made, so that each comes after what it can
    read."""
    indexes = {index.id: index for index in catalog.indexes() if index.cluster_id == cluster_id}
    return {id: dataflow(catalog, indexes[id]) for id in _in_order(indexes.keys())}


def replicas_of(catalog: PlannerCatalog, cluster_id: int) -> list[ReplicaDescription]:
    """The replicas that the cluster is to have, by id; none where it is gone, or virtual."""
    snapshot = _snapshot(catalog)
    replicas = sorted(snapshot.cluster_replicas.values(), key=lambda replica: replica.id)
    return [
        ReplicaDescription(
            replica.id, snapshot.clusters[cluster_id].name, replica.name, replica.size
        )
        for replica in replicas
        if replica.cluster_id == cluster_id and replica.size is not None
    ]


def source_spec(catalog: PlannerCatalog, entry: RelationEntry) -> SourceSpec:
    """The entry of a source as ingestion wants it."""
    source = entry.source
    assert source is not None
    created_at = _snapshot(catalog).items[entry.id].created_at
    is_shared = source.connector.reclocking.is_shared
    guests = (
        tuple(
            e.id for e in catalog.relations() if e.source is not None and e.source.host == entry.id
        )
        if is_shared
        else ()
    )
    return SourceSpec(
        entry.id,
        str(entry.name),
        source.connector,
        source.format,
        entry.desc,
        source.subsources,
        created_at,
        source.start,
        guests,
        source.reject_limit,
    )


def sink_spec(catalog: PlannerCatalog, id: GlobalId) -> SinkSpec:
    """A sink as emitting wants it. Raises ``UnknownObject`` if there is none."""
    sink = catalog.entry(id) if id in _snapshot(catalog).items else None
    if not isinstance(sink, SinkEntry):
        raise UnknownObject("sink", id)
    read = _sink_input(catalog, sink.on, sink.cluster_id)
    created_at = _snapshot(catalog).items[sink.id].created_at
    return SinkSpec(
        sink.id,
        str(sink.name),
        read.plan,
        catalog.relation(sink.on).desc,
        sink.sink.target,
        sink.sink.with_snapshot,
        created_at,
        sink.sink.continues.creator if sink.sink.continues else sink.id,
        read.indexes,
        _sink_input(catalog, sink.previous, sink.cluster_id) if sink.previous else None,
    )


def _sink_input(catalog: PlannerCatalog, id: GlobalId, cluster_id: int) -> SinkInput:
    on = catalog.relation(id)
    indexes = tuple(index.id for index in catalog.indexes_on(id) if index.cluster_id == cluster_id)
    return SinkInput(relation_plan(on, catalog), indexes)


def dataflow(catalog: PlannerCatalog, index: IndexEntry) -> Dataflow:
    """The index as a replica is told to maintain it."""
    on = catalog.relation(index.on)
    return Dataflow(index.id, str(index.name), relation_plan(on, catalog), on.desc.stored)


def _create(catalog: PlannerCatalog, item: Item) -> CreateCollections:
    return replace(_create_at(item.created_at, catalog, item), incarnation=item.incarnation)


def _create_at(begins: Timestamp, catalog: PlannerCatalog, item: Item) -> CreateCollections:
    entry = catalog.entry(item.id)
    if isinstance(entry, IndexEntry):
        # Nothing is known of it yet: it becomes readable at the time of its first refresh.
        collection = CollectionDescription(
            StorageCollectionId(item.id), catalog.relation(entry.on).desc.stored
        )
        return CreateCollections(item.id, (collection,), since=begins, upper=begins)
    if isinstance(entry, SinkEntry):
        inputs = frozenset(id.group for id in collections(sink_spec(catalog, entry.id).plan))
        continued = entry.sink.continues
        replaces = None if continued is None else continued.replaced
        return CreateCollections(
            item.id, (), since=begins, upper=begins, inputs=inputs, replaces=replaces
        )
    assert isinstance(entry, RelationEntry)
    if entry.source is not None and entry.source.host is not None:
        late = (
            (StorageCollectionId.of_guest(entry.source.host, item.id, o), desc)
            for o, desc in entry.source.subsources.items()
        )
        return CreateCollections(
            item.id,
            tuple(CollectionDescription(*parts) for parts in late),
            since=begins,
            upper=begins,
        )
    if entry.source is not None:
        descriptions = tuple(
            CollectionDescription(*parts) for parts in collections_of(source_spec(catalog, entry))
        )
        if entry.source.start is not None:
            return CreateCollections(
                item.id, descriptions, since=begins, upper=begins, is_backfilled=True
            )
    else:
        descriptions = (CollectionDescription(entry.collection, entry.desc),)
    return CreateCollections(item.id, descriptions, since=begins, upper=Timestamp(begins + 1))


def _in_order(ids: Set[GlobalId]) -> list[GlobalId]:
    return sorted(ids, key=lambda id: int(id[1:]))


def _snapshot(catalog: PlannerCatalog) -> CatalogSnapshot:
    assert catalog.snapshot is not None
    return catalog.snapshot
