"""Sinks: CREATE, ALTER, and the sinks of the catalog by name."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.statements.sources.specs import written_parts
from reclock.adapter.transaction.catalog_change import CatalogChange, defines
from reclock.catalog.acl import Privilege
from reclock.catalog.objects import ItemType, Kind
from reclock.catalog.transaction import CatalogTransaction
from reclock.consensus.frontiers.claims import SWITCH
from reclock.errors import UnknownObject, UpperMismatch
from reclock.runtime.stores import Stores
from reclock.sql.catalog.entries import SinkEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames
from reclock.sql.statements.sinks.alter_plan import AlterSink, settled
from reclock.sql.statements.sinks.plan import CreateSink

_NAMES = SessionNames()


@requires(CreateSink)
def _(statement: CreateSink, context: AuthorizationContext) -> Requirements:
    in_cluster = replace(context, cluster=context.catalog.cluster_name(statement.cluster_id))
    return context.require(
        *context.creating(statement.name),
        *in_cluster.reading([statement.on]),
        *context.using(statement.sink.uses),
        context.need((Kind.CLUSTER, statement.cluster_id), Privilege.CREATE),
    )


@defines(CreateSink)
def _(statement: CreateSink, change: CatalogChange) -> None:
    if statement.as_of is not None:
        change.hold_readable(statement.inputs, statement.as_of)
    id = change.insert(
        statement.name, ItemType.SINK, statement.create_sql, begins_at=statement.as_of
    )
    change.audit("create", "sink", statement.name, id=id, create_sql=statement.create_sql)


@requires(AlterSink)
def _(statement: AlterSink, context: AuthorizationContext) -> Requirements:
    sink = context.catalog.entry(statement.id)
    assert isinstance(sink, SinkEntry)
    in_cluster = replace(context, cluster=context.catalog.cluster_name(sink.cluster_id))
    return context.require(
        *in_cluster.reading([statement.on]), owner_of=((Kind.ITEM, statement.id),)
    )


@defines(AlterSink)
def _(statement: AlterSink, change: CatalogChange) -> None:
    change.replace_item(statement.id, statement.create_sql)
    change.audit("alter", "sink", statement.name, create_sql=statement.create_sql)


def settle(stores: Stores, sink: SinkEntry) -> None:
    """Remove the previous relation from the definition of a sink, once its target has the rows of
    its relation. Changes nothing while the sink has not switched."""
    claim = stores.frontiers.get(sink.id).claim
    if claim is not None and claim.payload["kind"] == SWITCH:
        return
    with stores.ddl_lock, suppress(UpperMismatch):  # the next emission tries again
        tx = CatalogTransaction(stores.catalog.sync())
        item = tx.snapshot.items.get(sink.id)
        if item is not None and item.create_sql == sink.create_sql:
            tx.update(replace(item, create_sql=settled(sink.create_sql)))
            stores.catalog.commit_transaction(tx)


def sinks(catalog: PlannerCatalog) -> list[SinkEntry]:
    """Every sink, in order of id."""
    return sorted(catalog.sinks(), key=lambda entry: int(entry.id[1:]))


def named_sink(catalog: PlannerCatalog, name: str) -> SinkEntry:
    """The sink of that name, qualified or not, as SQL would resolve it. Raises
    ``UnknownObject``."""
    entry = catalog.find(written_parts(name), _NAMES)
    if not isinstance(entry, SinkEntry):
        raise UnknownObject("sink", name)
    return entry
