"""The system relations about sinks."""

from __future__ import annotations

from reclock.algebra.object_ids import object_oid
from reclock.algebra.relations import BIGINT, OID, TEXT, TIMESTAMPTZ
from reclock.algebra.timestamps import as_datetime
from reclock.introspection.relation import Builtin, CatalogState, Rows, SystemState, desc


def _sinks(state: CatalogState) -> Rows:
    for id, facts in state.sinks.items():
        item = state.catalog.items[id]
        yield (
            id,
            object_oid(id),
            item.schema_id,
            item.name,
            facts.type,
            facts.envelope,
            facts.on_id,
            facts.cluster_id,
            item.owner_role_id,
            item.create_sql,
        )


def _registrations(state: SystemState) -> Rows:
    for table in state.registrations():
        entry, at = table.entry, as_datetime(table.at)
        status = "failing" if table.error else "registered" if table.is_registered else "pending"
        place = table.sink_id, table.sink, entry.url, entry.namespace, entry.table
        yield *place, status, table.error, table.detail, table.hint, at


SINKS: tuple[Builtin, ...] = (
    Builtin(
        "mz_catalog",
        "mz_sinks",
        desc(
            "oid",
            id=TEXT,
            oid=OID,
            schema_id=BIGINT,
            name=TEXT,
            type=TEXT,
            envelope_type=TEXT,
            on_id=TEXT,
            cluster_id=BIGINT,
            owner_id=TEXT,
            create_sql=TEXT,
        ),
        catalog_rows=_sinks,
    ),
    Builtin(
        "mz_internal",
        "mz_sink_registrations",
        desc(
            "sink_id",
            sink_id=TEXT,
            sink=TEXT,
            url=TEXT,
            namespace=TEXT,
            table_name=TEXT,
            status=TEXT,
            error=TEXT,
            detail=TEXT,
            hint=TEXT,
            updated_at=TIMESTAMPTZ,
        ),
        _registrations,
    ),
)
