"""Sinks: CREATE, and the sinks of the catalog by name."""

from __future__ import annotations

from dataclasses import replace

from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.statements.sources.specs import written_parts
from reclock.adapter.transaction.catalog_change import CatalogChange, defines
from reclock.catalog.acl import Privilege
from reclock.catalog.objects import ItemType, Kind
from reclock.errors import UnknownObject
from reclock.sql.catalog.entries import SinkEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames
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
