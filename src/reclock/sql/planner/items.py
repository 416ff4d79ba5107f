"""Items of the durable catalog, planned again from their text."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.catalog.objects import Item, ItemType
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.errors import InternalError, ObjectQuarantined, ReclockError
from reclock.sql import connection_nodes, nodes
from reclock.sql.catalog import (
    ConnectionEntry,
    Entry,
    IndexEntry,
    PlannerCatalog,
    QuarantinedEntry,
    RelationEntry,
    Scope,
    SecretEntry,
    SinkEntry,
)
from reclock.sql.names import QualifiedName, SessionNames, fold, parts
from reclock.sql.parse import parse_one
from reclock.sql.planner.connections import define_connection
from reclock.sql.planner.create import define_view
from reclock.sql.planner.create_table import define_table
from reclock.sql.planner.index_keys import index_key
from reclock.sql.planner.sinks import define_sink
from reclock.sql.planner.sources import define_source

_SESSION = SessionNames()
_logger = structlog.get_logger(__name__)


def fill(catalog: PlannerCatalog, snapshot: CatalogSnapshot, schemas: Mapping[int, Scope], previous: PlannerCatalog | None) -> None:
    """Enter every item of ``snapshot``, in the order they were made, so that each finds what it stands on.

    One that cannot be planned is quarantined under its name: what stands on it is, too, and nothing else.
    """
    for item in sorted(snapshot.items.values(), key=lambda item: (item.id.startswith("t"), int(item.id[1:]))):
        name = QualifiedName(*schemas[item.schema_id], item.name)
        old = previous.entry(item.id) if previous is not None else None
        if old is not None and previous is not None and _is_unchanged(item, name, old, catalog, previous):
            catalog.add(old)
        else:
            catalog.add(_define_or_quarantine(item, name, catalog, is_known=isinstance(old, QuarantinedEntry)))


def _define_or_quarantine(item: Item, name: QualifiedName, catalog: PlannerCatalog, *, is_known: bool) -> Entry:
    try:
        return define(item, name, catalog)
    except Exception as failure:  # the edge of the loop over items: whatever one's text says, the others are planned
        entry = _quarantined(item, name, failure)
    if not is_known:
        _logger.warning("the definition of an object cannot be planned", name=str(name), id=item.id, reason=entry.reason)
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


def _is_unchanged(item: Item, name: QualifiedName, old: Entry, catalog: PlannerCatalog, previous: PlannerCatalog) -> bool:
    if (
        isinstance(old, QuarantinedEntry)
        or old.name != name
        or old.create_sql != item.create_sql
        or (isinstance(old, IndexEntry | SinkEntry) and catalog.clusters != previous.clusters)
    ):
        return False
    pairs = [(catalog.entry(id), previous.entry(id)) for id in old.depends_on]
    return all(now is before or now == before for now, before in pairs)


def define(item: Item, name: QualifiedName, catalog: PlannerCatalog) -> Entry:
    """The entry of one item; what it stands on is in ``catalog``."""
    collection = StorageCollectionId(item.id)
    if item.progress is not None:
        source_id: GlobalId = item.progress.source_id
        remap = StorageCollectionId(_host(catalog.relation(source_id)) or source_id, CollectionType.REMAPPING)
        return RelationEntry(item.id, remap, name, ItemType.SOURCE_PROGRESS, item.progress.desc, depends_on=frozenset({source_id}))
    text = item.create_sql or ""
    match parse_one(text):
        case nodes.CreateSourceStatement() as node:
            source = define_source(node, catalog, _SESSION)
            below = source.depends_on
            if source.host is not None:
                collection, below = StorageCollectionId(source.host), below | {source.host}
            return RelationEntry(
                item.id, collection, name, item.type, source.desc, create_sql=text, depends_on=below, source=source
            )
        case connection_nodes.CreateSecretStatement() as node:
            return SecretEntry(item.id, name, node.args["reference"].name, text)
        case connection_nodes.CreateConnectionStatement() as node:
            defined = define_connection(node, catalog, _SESSION)
            return ConnectionEntry(item.id, name, defined.connection, text, defined.depends_on)
        case nodes.CreateSubsourceStatement() as node:
            of = catalog.resolve(parts(node.args["source"]), _SESSION)
            table = node.args["table"].name
            host = _host(of)
            output = (
                StorageCollectionId(of.id, CollectionType.RECLOCKED, table)
                if host is None
                else StorageCollectionId.of_guest(host, of.id, table)
            )
            desc = of.source.subsources[table] if of.source is not None else of.desc
            return RelationEntry(item.id, output, name, item.type, desc, create_sql=text, depends_on=frozenset({of.id}))
        case nodes.CreateTableStatement() as node:
            table = define_table(node)
            rows = StorageCollectionId(item.id, CollectionType.TABLE)
            return RelationEntry(item.id, rows, name, item.type, table.desc, create_sql=text, table=table)
        case nodes.CreateViewStatement() as node:
            view = define_view(node, catalog, _SESSION)
            return RelationEntry(item.id, collection, name, item.type, view.desc, view.plan, text, view.depends_on)
        case nodes.CreateIndexStatement() as node:
            on = catalog.resolve(parts(node.args["on"]), _SESSION)
            key = index_key(node.args["keys"], on.desc, on.name)
            return IndexEntry(item.id, name, on.id, key, catalog.cluster_id(fold(node.args["cluster"])), text)
        case nodes.CreateSinkStatement() as node:
            on = catalog.resolve(parts(node.args["on"]), _SESSION)
            cluster_id = catalog.cluster_id(fold(node.args["cluster"]))
            return SinkEntry(item.id, name, on.id, cluster_id, define_sink(node, on, catalog, _SESSION), text)
        case _:
            raise InternalError(f'item "{name}" has a definition of another kind', detail=text)


def _host(entry: RelationEntry) -> GlobalId | None:
    return entry.source.host if entry.source is not None else None
