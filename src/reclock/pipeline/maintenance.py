"""Maintenance: keeps an environment small and fast, and changes no answer. ``reclock maintain`` and
the DAG run these steps.

Every step is idempotent, and may run beside ticks, readers and other maintainers. A step that loses
a race leaves the work to the winner, or to the next run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reclock.adapter.transaction import cleanup
from reclock.algebra.ids import INTROSPECTION, TABLES, CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.catalog.objects import ItemType
from reclock.collections.compaction import checkpoint, compact, vacuum
from reclock.collections.tables import Tables, table_id
from reclock.compute.engines.spool import Spool
from reclock.consensus.frontiers.claims import GroupFrontier
from reclock.controllers.implied import is_dropped
from reclock.errors import (
    CollectionDamaged,
    InternalError,
    ReclockError,
    SinceHeld,
    UnknownCollection,
    UpperMismatch,
    known_failure,
    plain_text,
    quoted_name,
)
from reclock.failpoints import failpoint
from reclock.pipeline import registrations
from reclock.runtime.environment import Environment
from reclock.runtime.stores import Stores
from reclock.sql.catalog.entries import IndexEntry, RelationEntry, SecretEntry

_SECRET_GRACE_MS = 24 * 3_600_000
"""How long a transaction that creates a secret may take to commit."""

_SPOOL_GRACE_MS = 24 * 3_600_000
"""How long a client may take to fetch rows that were spooled to files."""

_USAGES_AT_ONCE = 50_000
"""How many measurements of storage usage one transaction deletes."""

_ATTEMPTS = 10
"""How often a step is repeated after a lost race."""


@dataclass(frozen=True, slots=True)
class CollectionReport:
    """One collection before and after. ``freed_bytes`` is what vacuum deleted."""

    collection: StorageCollectionId
    files_before: int
    files_after: int
    freed_bytes: int


@dataclass(frozen=True, slots=True)
class GroupReport:
    """One frontier group. ``failed`` has the collections that could not be maintained, with the
    reason."""

    name: str
    since_before: Timestamp
    since_after: Timestamp
    collections: tuple[CollectionReport, ...]
    failed: dict[str, ReclockError]


@dataclass(frozen=True, slots=True)
class SweepReport:
    """How much garbage was deleted: tables of dropped objects, read holds, entries of the status
    history, values of secrets whose CREATE or ALTER was never committed, files of results that no
    client fetched, and old measurements of storage usage. ``failed_cleanups`` is the number of
    dropped sources that still have something upstream."""

    orphans: tuple[StorageCollectionId, ...]
    holds: int
    statuses: int
    secrets: int
    spooled: int
    storage_usages: int
    failed_cleanups: int


@dataclass(frozen=True, slots=True)
class MaintenanceReport:
    """The report of one run. ``failed`` is by collection or step. ``catalog_updates`` is how many
    updates of the catalog's history were deleted."""

    groups: tuple[GroupReport, ...]
    stored_bytes: int
    catalog_updates: int
    failed: dict[str, ReclockError]


def group_names(stores: Stores) -> dict[str, str]:
    """The names of the frontier groups that need maintenance, in order of id."""
    catalog = stores.planner_catalog()
    assert catalog.snapshot is not None
    items = catalog.snapshot.items
    names = {}
    for group in sorted(stores.frontiers.get_all(), key=lambda group: (len(group), group)):
        item, entry = items.get(GlobalId(group)), catalog.entry(GlobalId(group))
        if isinstance(entry, RelationEntry) and entry.collection.group != group:
            continue  # a guest
        if (
            item is not None
            and item.type in (ItemType.SOURCE, ItemType.INDEX)
            and entry is not None
        ):
            names[group] = str(entry.name)
        elif group in (TABLES, INTROSPECTION):
            names[group] = group
    return names


def sweep(environment: Environment) -> SweepReport:
    """Delete what dropped objects and ended readers left behind."""
    stores = environment.stores
    catalog = stores.planner_catalog()
    assert catalog.snapshot is not None
    # what readers were still at, when it was dropped, goes now
    environment.control_plane.storage_controller.step()
    for owner in sorted(stores.holds.lasting_owners()):
        if is_dropped(catalog.snapshot, owner):  # its last refresh held inputs after it was dropped
            for hold in stores.holds.owned_by(owner):
                stores.holds.release(hold)
    stores.managed.drop_unknown()
    groups = stores.frontiers.get_all()
    dropped = [id for id in stores.lake.list() if is_dropped(catalog.snapshot, id.source_id)]
    abandoned = stores.tables.abandoned(id.source_id for id in dropped if id.group == TABLES)
    orphans = [
        id
        for id in dropped
        if (id.source_id in abandoned if id.group == TABLES else id.group not in groups)
    ]
    for id in orphans:
        stores.lake.drop(id)
    history_from = Timestamp(stores.clock() - stores.settings.status_retention_ms)
    statuses = stores.statuses.prune(history_from)
    failed_cleanups = cleanup.run_all(environment)
    registrations.reconcile(environment, is_verified=True)
    spool = Spool.of_lake(stores.lake.root, stores.lake.storage_options)
    spooled = spool.sweep(Timestamp(stores.clock() - _SPOOL_GRACE_MS))
    return SweepReport(
        orphans=tuple(orphans),
        holds=stores.holds.sweep(),
        statuses=statuses,
        secrets=_sweep_secrets(stores),
        spooled=spooled,
        storage_usages=_expire_storage_usage(stores),
        failed_cleanups=failed_cleanups,
    )


def _sweep_secrets(stores: Stores) -> int:
    """Delete old values that the catalog does not refer to. A value is stored before the catalog
    refers to it; so the old values are listed first, and then the references."""
    old = stores.secrets.kept_before(Timestamp(stores.clock() - _SECRET_GRACE_MS))
    pending = cleanup.secrets_of(stores.pending_cleanup.get_all())
    named = {
        entry.reference
        for entry in stores.planner_catalog().entries()
        if isinstance(entry, SecretEntry)
    }
    if unnamed := old - named - pending:
        stores.secrets.forget(unnamed)
    return len(unnamed)


def _expire_storage_usage(stores: Stores) -> int:
    """Delete the measurements that are older than their retention. Returns their number."""
    oldest = stores.clock() - stores.settings.storage_usage_retention_ms
    catalog, expired, conflicts = stores.catalog, 0, 0
    while True:
        catalog.sync()
        tx = catalog.transaction()
        old = [usage for usage in catalog.get_storage_usages() if usage.collected_at < oldest][
            :_USAGES_AT_ONCE
        ]
        if not old:
            return expired
        tx.expire_storage_usage(old)
        try:
            catalog.commit_transaction(tx)
        except UpperMismatch:
            conflicts += 1
            if conflicts == _ATTEMPTS:
                raise
        else:
            expired += len(old)


def maintain(stores: Stores, group: str) -> GroupReport:
    """Advance the group's since, then compact, checkpoint and vacuum each of its collections. The
    report of a group that is dropped meanwhile is empty."""
    name = group_names(stores).get(group, group)
    before = stores.frontiers.get_all([group]).get(group)
    if before is None:
        return GroupReport(name, Timestamp(0), Timestamp(0), (), {})
    try:
        since = advance_since(stores, before)
    except UnknownCollection:
        return GroupReport(name, before.since, before.since, (), {})
    failpoint("maintenance.after_since")
    reports: list[CollectionReport] = []
    failed: dict[str, ReclockError] = {}
    for id in _collections(stores, group):
        try:
            reports.append(_maintain_collection(stores, id, since))
        except Exception as failure:  # the edge of the loop over collections
            if _is_gone(stores, id):
                continue
            failed[f"{name} ({id})"] = _as_error(str(id), failure)
    return GroupReport(name, before.since, since, tuple(reports), failed)


def followed_since(frontier: GroupFrontier, *, lag_ms: int, read_ts: Timestamp) -> Timestamp:
    """The since that lags ``lag_ms`` behind the upper, but never beyond the time of a read that
    begins now."""
    return Timestamp(max(frontier.since, min(frontier.upper - lag_ms, frontier.upper - 1, read_ts)))


def advance_since(stores: Stores, frontier: GroupFrontier) -> Timestamp:
    """Advance since as far as retention demands and holds allow. Returns the new since. Raises
    ``UnknownCollection``.

    A backfilled source keeps its history, unless its definition sets a retention.
    """
    group = frontier.group
    lag_ms = _lag_ms(stores, group)
    if lag_ms is None:
        return frontier.since
    new_since = followed_since(frontier, lag_ms=lag_ms, read_ts=stores.oracle.read_ts(EPOCH_MS))
    stores.shared_holds.release_idle([group])
    for _ in range(_ATTEMPTS):
        held_at = stores.holds.earliest([group]).get(group, new_since)
        try:
            stores.frontiers.allow_compaction(group, min(new_since, held_at))
        except SinceHeld:  # a reader has come since
            continue
        break
    return stores.frontiers.get(group).since


def _lag_ms(stores: Stores, group: str) -> int | None:
    """How far since lags behind the upper; None if it never moves."""
    if group == INTROSPECTION:
        return stores.settings.introspection_retention_ms
    entry = stores.planner_catalog().entry(GlobalId(group))
    source = entry.source if isinstance(entry, RelationEntry) else None
    if source is not None and (source.retain_ms is not None or source.start is not None):
        return source.retain_ms
    is_index = entry is not None and entry.type is ItemType.INDEX
    return stores.settings.index_retention_ms if is_index else stores.settings.retention_ms


def _collections(stores: Stores, group: str) -> Sequence[StorageCollectionId]:
    tables = _tables(stores, group)
    if tables is None:
        return stores.lake.list(group)
    tables.apply()
    return [table_id(table) for table in sorted(tables.log.table_ids())]


def _tables(stores: Stores, group: str) -> Tables | None:
    """The tables of the group, if it is that of tables."""
    if group == INTROSPECTION:
        return stores.managed.tables
    return stores.tables if group == TABLES else None


def _maintain_collection(
    stores: Stores, id: StorageCollectionId, since: Timestamp
) -> CollectionReport:
    collection = stores.lake.open(id)
    files_before = len(collection.pin().all_files)
    is_bindings = id.collection is CollectionType.REMAPPING  # a progress relation shows their times
    compact(
        collection,
        since,
        keeps_last_times=is_bindings,
        cluster_by=_index_key(stores, id),
        clock=stores.clock,
    )
    failpoint("maintenance.after_compact")
    checkpoint(collection)
    failpoint("maintenance.after_checkpoint")
    begun_before = Timestamp(stores.clock() - stores.settings.vacuum_grace_ms)
    # Claims are read after that moment: what is staged for later ones is newer.
    claimed = _claimed_staging(stores, id.group)
    freed = vacuum(collection, before=begun_before, claimed_staging=claimed, clock=stores.clock)
    return CollectionReport(id, files_before, len(collection.pin().all_files), freed.size_bytes)


def _index_key(stores: Stores, id: StorageCollectionId) -> list[str]:
    """The columns of the collection that the key of its index begins with; none if it is no
    index."""
    catalog = stores.planner_catalog()
    entry = catalog.entry(id.source_id)
    if not isinstance(entry, IndexEntry):
        return []
    names = catalog.relation(entry.on).desc.stored.names
    columns: list[str] = []
    for part in entry.key:
        if part.position is None:
            break
        columns.append(names[part.position])
    return columns


def _is_gone(stores: Stores, id: StorageCollectionId) -> bool:
    """Whether the object was dropped, so that it needs no maintenance."""
    snapshot = stores.catalog.sync()
    return is_dropped(snapshot, id.source_id) or not stores.lake.exists(id)


def _claimed_staging(stores: Stores, group: str) -> frozenset[str]:
    """The staging folders that the group's claim names; for tables, those that the WAL needs."""
    tables = _tables(stores, group)
    if tables is not None:
        return tables.log.staged_names()
    claim = stores.frontiers.get(group).claim
    name = claim.payload.get("staging") if claim is not None else None
    return frozenset() if name is None else frozenset({name})


def _sizes(stores: Stores) -> dict[str, int]:
    """The bytes of each collection, without dropped and damaged ones."""
    sizes = {}
    for id in stores.lake.list():
        try:
            sizes[str(id)] = stores.lake.open(id).stored_bytes()
        except CollectionDamaged:  # its own maintenance reports it
            continue
        except Exception:
            if not _is_gone(stores, id):
                raise
    return sizes


def record_usage(stores: Stores) -> int:
    """Record the size of each collection in the catalog, at one moment. Returns the sum of
    bytes."""
    sizes = _sizes(stores)
    measured_at = stores.clock()
    failpoint("maintenance.before_record")
    for attempt in range(_ATTEMPTS):
        stores.catalog.sync()
        tx = stores.catalog.transaction()
        for collection, size_bytes in sizes.items():
            tx.record_storage_usage(collection, size_bytes, collected_at=measured_at)
        try:
            stores.catalog.commit_transaction(tx)
            break
        except UpperMismatch:
            if attempt == _ATTEMPTS - 1:
                raise
    failpoint("maintenance.after_record")
    return sum(sizes.values())


def compact_catalog(stores: Stores) -> int:
    """Delete the catalog's history that is older than its retention. Returns the number of
    updates."""
    return stores.catalog.compact(
        Timestamp(max(stores.clock() - stores.settings.catalog_retention_ms, 0))
    )


def run(environment: Environment) -> MaintenanceReport:
    """Run all steps in this process. A failure is reported, and stops nothing else."""
    failed: dict[str, ReclockError] = {}
    reports: list[GroupReport] = []
    try:
        sweep(environment)
    except Exception as failure:
        failed["sweep"] = _as_error("sweep", failure)
    for group, name in group_names(environment.stores).items():
        try:
            report = maintain(environment.stores, group)
        except Exception as failure:
            failed[name] = _as_error(name, failure)
        else:
            reports.append(report)
            failed |= report.failed
    stored_bytes = 0
    try:
        stored_bytes = record_usage(environment.stores)
    except Exception as failure:
        failed["storage usage"] = _as_error("storage usage", failure)
    catalog_updates = 0
    try:
        catalog_updates = compact_catalog(environment.stores)
    except Exception as failure:
        failed["catalog"] = _as_error("catalog", failure)
    return MaintenanceReport(tuple(reports), stored_bytes, catalog_updates, failed)


def _as_error(name: str, failure: Exception) -> ReclockError:
    if isinstance(failure, ReclockError):
        return failure
    internal = InternalError(
        f"maintenance of {quoted_name(name)} failed",
        detail=f"{type(failure).__name__}: {plain_text(failure)}",
    )
    return known_failure(failure) or internal
