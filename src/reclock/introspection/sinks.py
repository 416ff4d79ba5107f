"""The system relations about sinks."""

from __future__ import annotations

from reclock.algebra.object_ids import object_oid
from reclock.algebra.relations import BIGINT, OID, TEXT
from reclock.introspection.relation import Builtin, CatalogState, Rows, desc


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
)
