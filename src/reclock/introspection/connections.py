"""System relations about secrets and connections. None of them has the value of a secret, nor where
it is kept."""

from __future__ import annotations

from reclock.algebra.object_ids import object_oid
from reclock.algebra.relations import BIGINT, OID, TEXT
from reclock.catalog.objects import ItemType
from reclock.introspection.relation import Builtin, CatalogState, Rows, desc


def _secrets(state: CatalogState) -> Rows:
    for item in state.catalog.items.values():
        if item.type is ItemType.SECRET:
            yield item.id, object_oid(item.id), item.schema_id, item.name, item.owner_role_id


def _connections(state: CatalogState) -> Rows:
    for item in state.catalog.items.values():
        if item.type is ItemType.CONNECTION:
            kind = state.connection_types.get(item.id)
            yield (
                item.id,
                object_oid(item.id),
                item.schema_id,
                item.name,
                kind,
                item.owner_role_id,
                item.create_sql,
            )


CONNECTIONS: tuple[Builtin, ...] = (
    Builtin(
        "mz_catalog",
        "mz_secrets",
        desc("oid", id=TEXT, oid=OID, schema_id=BIGINT, name=TEXT, owner_id=TEXT),
        catalog_rows=_secrets,
    ),
    Builtin(
        "mz_catalog",
        "mz_connections",
        desc(
            "oid",
            id=TEXT,
            oid=OID,
            schema_id=BIGINT,
            name=TEXT,
            type=TEXT,
            owner_id=TEXT,
            create_sql=TEXT,
        ),
        catalog_rows=_connections,
    ),
)
