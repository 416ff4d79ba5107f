"""Builds the catalog that planning reads: the items of the durable catalog, planned again from
their text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import structlog

from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.catalog.objects import Item, ItemType, Kind
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.errors import InternalError, ObjectQuarantined, ReclockError
from reclock.sql.catalog.entries import (
    Entry,
    IndexEntry,
    PlannerSettings,
    QuarantinedEntry,
    RelationEntry,
    Scope,
    SinkEntry,
)
from reclock.sql.catalog.planner_catalog import PlannerCatalog, RelationPlan
from reclock.sql.names import SYSTEM_SCHEMAS, QualifiedName
from reclock.sql.planning.registry import item_planner_of
from reclock.sql.syntax.parse import parse_one

_logger = structlog.get_logger(__name__)


def build_catalog(
    snapshot: CatalogSnapshot,
    builtins: Sequence[RelationEntry] = (),
    previous: PlannerCatalog | None = None,
    settings: PlannerSettings | None = None,
    uncommitted: PlannerCatalog | None = None,
) -> PlannerCatalog:
    """The planner catalog of ``snapshot``. An item is planned again only if it, or an item that it
    depends on, changed since ``previous``; and not if it was created as it is in ``uncommitted``,
    the catalog of a transaction before its commit."""
    if previous is not None and previous.snapshot is snapshot:
        return previous
    settings = settings or PlannerSettings()
    schemas = _schemas(snapshot)
    if previous is not None and (difference := _item_difference(previous, snapshot)) is not None:
        changed = [*difference.created, *difference.redefined]
        if uncommitted is not None and not _has_all(uncommitted, changed):
            uncommitted = None
        catalog = previous.at(snapshot, settings, difference.dropped)
        if _redefine_items(catalog, difference.redefined, schemas, uncommitted):
            _add_items(catalog, difference.created, schemas, uncommitted)
            return catalog
    catalog = PlannerCatalog(
        clusters={cluster.name: cluster.id for cluster in snapshot.clusters.values()},
        databases=frozenset(database.name for database in snapshot.databases.values()),
        schemas=frozenset(schemas.values()) | {(None, name) for name in SYSTEM_SCHEMAS},
        snapshot=snapshot,
        settings=settings,
        builtin_plans=previous.builtin_plans if previous is not None else {},
        relation_plans=_remaining_plans(previous, snapshot),
    )
    for builtin in builtins:
        catalog.add(builtin)
    _add_items(catalog, snapshot.items.values(), schemas, previous)
    return catalog


def _remaining_plans(
    previous: PlannerCatalog | None, snapshot: CatalogSnapshot
) -> dict[GlobalId, RelationPlan]:
    plans = {} if previous is None else dict(previous.relation_plans)
    return {id: plan for id, plan in plans.items() if id in snapshot.items}


def _schemas(snapshot: CatalogSnapshot) -> dict[int, Scope]:
    databases = {database.id: database.name for database in snapshot.databases.values()}
    return {
        schema.id: (databases.get(schema.database_id or 0), schema.name)
        for schema in snapshot.schemas.values()
    }


@dataclass(frozen=True, slots=True)
class _ItemDifference:
    """The items that were created, dropped, and given another definition under the same name."""

    created: Sequence[Item]
    dropped: Set[GlobalId]
    redefined: Sequence[Item]


def _item_difference(previous: PlannerCatalog, snapshot: CatalogSnapshot) -> _ItemDifference | None:
    """How the items differ from those of ``previous``. None if more than that has changed, so that
    other entries may have to be planned again."""
    before = previous.snapshot
    changed = _changed_items(before, snapshot) if before is not None else None
    if before is None or changed is None:
        return None
    created: list[Item] = []
    redefined: list[Item] = []
    dropped = set[GlobalId]()
    for id in changed:
        old, item = before.items.get(id), snapshot.items.get(id)
        if old is None and item is not None:
            created.append(item)
        elif old is not None and item is None:
            dropped.add(id)
        elif old is not None and item is not None and _definition(old) != _definition(item):
            if _name(old) != _name(item):
                return None
            redefined.append(item)
    newest = previous.newest_id
    if newest is not None and any(
        _creation_order(item.id) < _creation_order(newest) for item in created
    ):
        return None
    for entry in previous.entries():
        if isinstance(entry, QuarantinedEntry) or (
            dropped and entry.id not in dropped and not dropped.isdisjoint(entry.depends_on)
        ):
            return None
    return _ItemDifference(created, dropped, redefined)


def _changed_items(before: CatalogSnapshot, after: CatalogSnapshot) -> Set[GlobalId] | None:
    """The items that may differ. None if any of the other objects that entries are made from
    differs."""
    changed = after.changed_since(before)
    if changed is not None:
        if any(
            before.get(kind, key) != after.get(kind, key)
            for kind, key in changed
            if kind in _FOUNDATIONS
        ):
            return None
        return {GlobalId(str(key)) for kind, key in changed if kind is Kind.ITEM}
    # by ==, since != of the library's maps is wrong
    if not all(after.all(kind) == before.all(kind) for kind in _FOUNDATIONS):
        return None
    return {*before.items, *after.items}


_FOUNDATIONS = (Kind.DATABASE, Kind.SCHEMA, Kind.CLUSTER, Kind.SYSTEM_OBJECT_MAPPING)
"""The kinds of objects, besides items, that entries are made from."""


def _has_all(catalog: PlannerCatalog, items: Iterable[Item]) -> bool:
    assert catalog.snapshot is not None
    return all(catalog.snapshot.items.get(item.id) == item for item in items)


def _name(item: Item) -> tuple[object, ...]:
    return item.schema_id, item.name


def _definition(item: Item) -> tuple[object, ...]:
    return *_name(item), item.create_sql, item.progress


def _creation_order(id: GlobalId) -> tuple[bool, int]:
    """Temporary items come last."""
    return id.startswith("t"), int(id[1:])


_INDEPENDENT = (ItemType.TYPE, ItemType.SECRET)


def _add_items(
    catalog: PlannerCatalog,
    items: Iterable[Item],
    schemas: Mapping[int, Scope],
    previous: PlannerCatalog | None,
) -> None:
    """Add the items in the order of creation, so that each finds the items that it depends on.
    Types and secrets, which depend on none, come first: a transaction reserves the id of a table
    that it fills, which may so be lower than that of a type that it created before; and a
    connection may be altered to use a newer secret.

    An item that cannot be planned is quarantined under its name, with those that depend on it, and
    no others.
    """
    for item in sorted(
        items, key=lambda item: (item.type not in _INDEPENDENT, *_creation_order(item.id))
    ):
        name = QualifiedName(*schemas[item.schema_id], item.name)
        catalog.add(_entry_of(item, name, catalog, previous))


def _redefine_items(
    catalog: PlannerCatalog,
    items: Iterable[Item],
    schemas: Mapping[int, Scope],
    uncommitted: PlannerCatalog | None,
) -> bool:
    """Give these tables their new definitions. Return False if one is no table, or if the objects
    that depend on it have to be planned again."""
    for item in items:
        old = catalog.entry(item.id)
        if not isinstance(old, RelationEntry) or old.table is None:
            return False
        new = _entry_of(item, old.name, catalog, uncommitted)
        if not isinstance(new, RelationEntry) or new.seen_by_dependents != old.seen_by_dependents:
            return False
        catalog.redefine(new)
    return True


def _entry_of(
    item: Item, name: QualifiedName, catalog: PlannerCatalog, previous: PlannerCatalog | None
) -> Entry:
    """That of ``previous``, if it would be the same. An item that cannot be planned is quarantined."""
    old = previous.entry(item.id) if previous is not None else None
    if (
        previous is not None
        and old is not None
        and _is_unchanged(item, name, old, catalog, previous)
    ):
        return old
    try:
        return define(item, name, catalog)
    except Exception as failure:
        # the edge of the loop over items: whatever one's text says, the others are planned
        entry = _quarantined(item, name, failure)
    if not isinstance(old, QuarantinedEntry):
        _logger.warning(
            "the definition of an object cannot be planned",
            name=str(name),
            id=item.id,
            reason=entry.reason,
        )
    return entry


def _quarantined(item: Item, name: QualifiedName, failure: Exception) -> QuarantinedEntry:
    stands_on = frozenset[GlobalId]()
    if isinstance(failure, ObjectQuarantined):
        reason, stands_on = failure.message, frozenset({GlobalId(failure.id)})
    elif isinstance(failure, ReclockError):
        reason = ": ".join(filter(None, (failure.message, failure.detail)))
    else:
        reason = f"{type(failure).__name__}: {failure}"
    return QuarantinedEntry(item.id, name, item.type, item.create_sql, reason, stands_on)


def _is_unchanged(
    item: Item, name: QualifiedName, old: Entry, catalog: PlannerCatalog, previous: PlannerCatalog
) -> bool:
    if (
        isinstance(old, QuarantinedEntry)
        or old.name != name
        or old.create_sql != item.create_sql
        or (isinstance(old, IndexEntry | SinkEntry) and catalog.clusters != previous.clusters)
    ):
        return False
    return all(_is_seen_unchanged(catalog.entry(id), previous.entry(id)) for id in old.depends_on)


def _is_seen_unchanged(now: Entry | None, before: Entry | None) -> bool:
    """Whether objects that depend on an entry are planned as before."""
    if now is before:
        return True
    if isinstance(now, RelationEntry) and isinstance(before, RelationEntry):
        return now.seen_by_dependents == before.seen_by_dependents
    return now == before


def define(item: Item, name: QualifiedName, catalog: PlannerCatalog) -> Entry:
    """The entry of one item. The items that it depends on are in ``catalog``."""
    if item.progress is not None:
        source_id: GlobalId = item.progress.source_id
        source = catalog.relation(source_id).source
        host = source.host if source is not None else None
        remap = StorageCollectionId(host or source_id, CollectionType.REMAPPING)
        return RelationEntry(
            item.id,
            remap,
            name,
            ItemType.SOURCE_PROGRESS,
            item.progress.desc,
            depends_on=frozenset({source_id}),
        )
    node = parse_one(item.create_sql or "")
    planner = item_planner_of(type(node))
    if planner is None:
        raise InternalError(
            f'item "{name}" has a definition of another kind', detail=item.create_sql
        )
    return planner(node, item, name, catalog)
