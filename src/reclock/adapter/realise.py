"""What follows from the catalog: every item has its frontier group and its collections, and what was dropped has none.

Derived from the catalog alone and idempotent, so that whoever notices may do it, after a crash too.
"""

from __future__ import annotations

from reclock.adapter.sources import source_spec
from reclock.algebra.ids import TABLES, GlobalId, StorageCollectionId
from reclock.algebra.timestamps import Timestamp
from reclock.catalog.objects import IdAllocator, Item, ItemType, Kind
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.environment import Environment
from reclock.ingest.lineup import collections_of
from reclock.sql.catalog import IndexEntry, PlannerCatalog


def realise(environment: Environment, catalog: PlannerCatalog) -> None:
    """Make what ``catalog`` implies and is missing; drop what it knew and has no more."""
    snapshot = catalog.snapshot
    assert snapshot is not None
    if environment.realised_upper == snapshot.content_upper:
        return
    _realise_tables(environment, catalog, snapshot)
    items = {id: item for id, item in snapshot.items.items() if item.type in (ItemType.SOURCE, ItemType.INDEX)}
    wanted = {id: item for id, item in items.items() if not catalog.is_subsource(id)}  # its source's group is its own
    present = environment.frontiers.get_all()
    for id in sorted(wanted.keys() - present.keys(), key=lambda id: int(id[1:])):
        _make(environment, catalog, wanted[id])
    gone = [group for group in present.keys() - wanted.keys() if is_dropped(snapshot, group)]
    for group in gone:
        for hold in environment.holds.owned_by(group):
            environment.holds.release(hold)
    environment.shared_holds.let_go(gone)
    held = environment.holds.earliest(gone) if gone else {}
    is_done = not held
    gone = [group for group in gone if group not in held]  # what a reader is still at goes with the next call
    for group in gone:
        environment.lake.drop_all(GlobalId(group))
    if gone:
        environment.statuses.forget(gone)
        environment.frontiers.drop(gone)
    if is_done:
        environment.realised_upper = snapshot.content_upper


def _realise_tables(environment: Environment, catalog: PlannerCatalog, snapshot: CatalogSnapshot) -> None:
    wanted = {id: item for id, item in snapshot.items.items() if item.type is ItemType.TABLE}
    known = environment.tables.log.known()
    for id in sorted(wanted.keys() - known, key=lambda id: int(id[1:])):
        at = wanted[id].created_at
        environment.frontiers.create(TABLES, since=at, upper=Timestamp(at + 1))
        environment.tables.create(id, catalog.relation(id).desc, at=at)
    for id in known - wanted.keys():
        if is_dropped(snapshot, id):
            environment.tables.drop(id)


def is_dropped(snapshot: CatalogSnapshot, id: str) -> bool:
    """Whether an item had this id and is no more. An id that the catalog has not given out yet is another actor's newer item."""
    allocator: IdAllocator | None = snapshot.get(Kind.ID_ALLOCATOR, "user")
    known_below = allocator.next_id if allocator else 0
    return id.startswith("u") and id[1:].isdecimal() and int(id[1:]) < known_below and GlobalId(id) not in snapshot.items


def _make(environment: Environment, catalog: PlannerCatalog, item: Item) -> None:
    """Collections first: a group that is there can be written."""
    entry = catalog.entry(item.id)
    if isinstance(entry, IndexEntry):
        on = catalog.relation(entry.on)
        environment.lake.create(StorageCollectionId(item.id), on.desc)
        # Nothing is known of it yet: it becomes readable at the time of its first refresh.
        environment.frontiers.create(item.id, since=item.created_at, upper=item.created_at)
        return
    for id, desc, is_monotonic in collections_of(source_spec(catalog, catalog.relation(item.id))):
        environment.lake.create(id, desc, is_monotonic=is_monotonic)
    environment.frontiers.create(item.id, since=item.created_at, upper=Timestamp(item.created_at + 1))
