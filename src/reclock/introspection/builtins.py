"""The system relations: each a name, a description and a function from the environment's state to
rows.

They are computed when read, from the catalog's snapshot and from consensus, so they are always
current and cost nothing otherwise. A new one is one entry of ``BUILTINS``.
"""

from __future__ import annotations

import json

from reclock.algebra.ids import GlobalId
from reclock.algebra.object_ids import object_oid
from reclock.algebra.relations import BIGINT, BOOLEAN, INTEGER, OID, TEXT, TIMESTAMPTZ
from reclock.algebra.timestamps import Timestamp, as_datetime
from reclock.catalog.acl import Acl
from reclock.catalog.objects import MATERIALIZED_VIEW, Item, ItemType, Kind
from reclock.catalog.roles import acl_of, shown_acl
from reclock.introspection.connections import CONNECTIONS
from reclock.introspection.constraints import CONSTRAINTS
from reclock.introspection.domains import DOMAINS
from reclock.introspection.empty_catalogs import PG_ABSENT
from reclock.introspection.for_clients import FOR_CLIENTS
from reclock.introspection.information_schema import INFORMATION_SCHEMA
from reclock.introspection.operations import OPERATIONS
from reclock.introspection.pg_activity import PG_ACTIVITY
from reclock.introspection.pg_catalog import PG_CATALOG, PG_DEPENDENCIES
from reclock.introspection.relation import Builtin, CatalogState, Rows, SystemState, desc
from reclock.introspection.sinks import SINKS
from reclock.introspection.statuses import STATUSES
from reclock.introspection.unified import UNIFIED


def _items(state: CatalogState, *types: ItemType) -> list[Item]:
    return sorted(
        (item for item in state.catalog.items.values() if item.type in types),
        key=lambda item: int(item.id[1:]),
    )


def _indexed(state: CatalogState) -> set[GlobalId]:
    return {facts.on_id for facts in state.indexes.values()}


def _objects(state: CatalogState) -> Rows:
    indexed = _indexed(state)
    for item in _items(state, *ItemType):
        kind = (
            MATERIALIZED_VIEW
            if item.type is ItemType.VIEW and item.id in indexed
            else item.type.value
        )
        yield (
            item.id,
            object_oid(item.id),
            item.schema_id,
            item.name,
            kind,
            item.owner_role_id,
            _array(shown_acl(item)),
        )
    for mapping in state.catalog.all(Kind.SYSTEM_OBJECT_MAPPING).values():
        schema = next(
            schema.id
            for schema in state.catalog.schemas.values()
            if schema.name == mapping.schema_name
        )
        yield (
            mapping.id,
            object_oid(mapping.id),
            schema,
            mapping.object_name,
            mapping.object_type,
            "s1",
            "{s1=r/s1,=r/s1}",
        )


def _array(acl: Acl) -> str:
    """The privileges in PostgreSQL's text form of an array of ``aclitem``."""
    return "{" + ",".join(map(str, acl)) + "}"


def _default_privileges(state: CatalogState) -> Rows:
    for default in state.catalog.sorted(Kind.DEFAULT_PRIVILEGE):
        yield (
            default.role_id,
            default.database_id,
            default.schema_id,
            default.object_type,
            default.grantee,
            default.privileges,
        )


def _columns(state: CatalogState) -> Rows:
    for id_, relation in state.descs.items():
        for position, column in enumerate(relation.columns, 1):
            yield id_, column.name, position, column.is_nullable, column.sql_type


def _indexes(state: CatalogState) -> Rows:
    modes = state.maintenance()
    for id, facts in state.indexes.items():
        item, key = state.catalog.items[id], ", ".join(part.sql for part in facts.key)
        yield (
            id,
            object_oid(id),
            item.name,
            facts.on_id,
            facts.cluster_id,
            key,
            modes[id],
            item.owner_role_id,
        )


def _views(state: CatalogState, *, materialized: bool) -> Rows:
    indexed = _indexed(state)
    for item in _items(state, ItemType.VIEW):
        if (item.id in indexed) is materialized:
            yield _defined(item)


def _defined(item: Item) -> tuple[object, ...]:
    return (
        item.id,
        object_oid(item.id),
        item.schema_id,
        item.name,
        item.owner_role_id,
        item.create_sql,
    )


def _sources(state: CatalogState) -> Rows:
    for item in _items(state, ItemType.SOURCE):
        kind = state.source_types.get(item.id)
        yield (
            item.id,
            object_oid(item.id),
            item.schema_id,
            item.name,
            kind,
            item.owner_role_id,
            item.create_sql,
        )


def _source_progresses(state: CatalogState) -> Rows:
    for item in _items(state, ItemType.SOURCE_PROGRESS):
        if item.progress is not None:
            yield item.id, item.name, item.progress.source_id


def _pending_cleanups(state: SystemState) -> Rows:
    """The resources that upstreams still hold for dropped sources."""
    for cleanup in state.pending_cleanups():
        if cleanup.source_id not in state.catalog.items:
            yield (
                cleanup.source_id,
                cleanup.name,
                cleanup.what,
                as_datetime(cleanup.at),
                cleanup.error,
                cleanup.detail,
            )


def _frontiers(state: SystemState) -> Rows:
    for id, frontier in state.frontiers().items():
        claim = frontier.claim
        yield (
            id,
            frontier.since,
            frontier.upper,
            claim and claim.at,
            claim and claim.owner,
            claim and claim.payload.get("phase"),
        )


def _audit_events(state: SystemState) -> Rows:
    for event in state.audit_events():
        yield (
            event.id,
            event.event_type,
            event.object_type,
            event.object_name,
            json.dumps(event.details, sort_keys=True),
            event.user,
            as_datetime(event.occurred_at),
        )


def _object_usages(state: SystemState) -> dict[tuple[str, Timestamp], int]:
    """Bytes of each object at each moment its collections were measured, in order of
    measurement."""
    sizes: dict[tuple[str, Timestamp], int] = {}
    for usage in state.storage_usages():
        key = (usage.collection.partition("/")[0], usage.collected_at)
        sizes[key] = sizes.get(key, 0) + usage.size_bytes
    return sizes


def _recent_storage_usage(state: SystemState) -> Rows:
    latest = {object_id: size for (object_id, _), size in _object_usages(state).items()}
    return (
        (object_id, size) for object_id, size in latest.items() if object_id in state.catalog.items
    )


_DEFINED = desc(
    "oid", id=TEXT, oid=OID, schema_id=BIGINT, name=TEXT, owner_id=TEXT, create_sql=TEXT
)

_RELATIONS: tuple[Builtin, ...] = (
    Builtin(
        "mz_catalog",
        "mz_databases",
        desc("oid", id=BIGINT, oid=OID, name=TEXT, owner_id=TEXT, privileges=TEXT),
        catalog_rows=lambda state: (
            (
                database.id,
                object_oid(database.id),
                database.name,
                database.owner_role_id,
                _array(shown_acl(database)),
            )
            for database in state.catalog.databases.values()
        ),
    ),
    Builtin(
        "mz_catalog",
        "mz_schemas",
        desc(
            "oid", id=BIGINT, oid=OID, database_id=BIGINT, name=TEXT, owner_id=TEXT, privileges=TEXT
        ),
        catalog_rows=lambda state: (
            (
                schema.id,
                object_oid(schema.id),
                schema.database_id,
                schema.name,
                schema.owner_role_id,
                _array(shown_acl(schema)),
            )
            for schema in state.catalog.schemas.values()
        ),
    ),
    Builtin(
        "mz_catalog",
        "mz_objects",
        desc(
            "oid",
            id=TEXT,
            oid=OID,
            schema_id=BIGINT,
            name=TEXT,
            type=TEXT,
            owner_id=TEXT,
            privileges=TEXT,
        ),
        catalog_rows=_objects,
    ),
    Builtin(
        "mz_catalog",
        "mz_columns",
        desc(id=TEXT, name=TEXT, position=INTEGER, nullable=BOOLEAN, type=TEXT),
        catalog_rows=_columns,
    ),
    Builtin(
        "mz_catalog",
        "mz_sources",
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
        catalog_rows=_sources,
    ),
    Builtin(
        "mz_catalog",
        "mz_source_progresses",
        desc(id=TEXT, name=TEXT, source_id=TEXT),
        catalog_rows=_source_progresses,
    ),
    Builtin(
        "mz_catalog",
        "mz_tables",
        _DEFINED,
        catalog_rows=lambda state: (_defined(item) for item in _items(state, ItemType.TABLE)),
    ),
    Builtin(
        "mz_catalog",
        "mz_views",
        _DEFINED,
        catalog_rows=lambda state: _views(state, materialized=False),
    ),
    Builtin(
        "mz_catalog",
        "mz_materialized_views",
        _DEFINED,
        catalog_rows=lambda state: _views(state, materialized=True),
    ),
    Builtin(
        "mz_catalog",
        "mz_indexes",
        desc(
            "oid",
            id=TEXT,
            oid=OID,
            name=TEXT,
            on_id=TEXT,
            cluster_id=BIGINT,
            key=TEXT,
            maintenance=TEXT,
            owner_id=TEXT,
        ),
        catalog_rows=_indexes,
    ),
    Builtin(
        "mz_catalog",
        "mz_clusters",
        desc(id=BIGINT, name=TEXT, virtual=BOOLEAN, size=TEXT, owner_id=TEXT, privileges=TEXT),
        catalog_rows=lambda state: (
            (
                cluster.id,
                cluster.name,
                cluster.size is None,
                cluster.size,
                cluster.owner_role_id,
                _array(shown_acl(cluster)),
            )
            for cluster in state.catalog.clusters.values()
        ),
    ),
    Builtin(
        "mz_catalog",
        "mz_cluster_replicas",
        desc(id=BIGINT, name=TEXT, cluster_id=BIGINT, size=TEXT),
        catalog_rows=lambda state: (
            (replica.id, replica.name, replica.cluster_id, replica.size)
            for replica in state.catalog.cluster_replicas.values()
        ),
    ),
    Builtin(
        "mz_catalog",
        "mz_roles",
        desc(
            "oid",
            id=TEXT,
            oid=OID,
            name=TEXT,
            inherit=BOOLEAN,
            rolcanlogin=BOOLEAN,
            rolsuper=BOOLEAN,
        ),
        catalog_rows=lambda state: (
            (
                role.id,
                object_oid(role.id),
                role.name,
                True,
                "login" in role.attributes,
                "superuser" in role.attributes,
            )
            for role in state.catalog.roles.values()
        ),
    ),
    Builtin(
        "mz_catalog",
        "mz_role_members",
        desc(role_id=TEXT, member=TEXT, grantor=TEXT),
        catalog_rows=lambda state: (
            (of, member.id, grantor)
            for member in state.catalog.roles.values()
            for of, grantor in member.membership.items()
        ),
    ),
    Builtin(
        "mz_catalog",
        "mz_role_parameters",
        desc(role_id=TEXT, parameter_name=TEXT, parameter_value=TEXT),
        catalog_rows=lambda state: (
            (role.id, name, value)
            for role in state.catalog.roles.values()
            for name, value in role.configuration.items()
        ),
    ),
    Builtin(
        "mz_catalog",
        "mz_default_privileges",
        desc(
            role_id=TEXT,
            database_id=BIGINT,
            schema_id=BIGINT,
            object_type=TEXT,
            grantee=TEXT,
            privileges=TEXT,
        ),
        catalog_rows=_default_privileges,
    ),
    Builtin(
        "mz_catalog",
        "mz_system_privileges",
        desc(privileges=TEXT),
        catalog_rows=lambda state: ((str(item),) for item in acl_of(state.catalog, None)),
    ),
    Builtin(
        "mz_catalog",
        "mz_audit_events",
        desc(
            id=BIGINT,
            event_type=TEXT,
            object_type=TEXT,
            object_name=TEXT,
            details=TEXT,
            user=TEXT,
            occurred_at=TIMESTAMPTZ,
        ),
        _audit_events,
    ),
    Builtin(
        "mz_catalog",
        "mz_storage_usage",
        desc(object_id=TEXT, size_bytes=BIGINT, collection_timestamp=TIMESTAMPTZ),
        lambda state: (
            (object_id, size, as_datetime(at))
            for (object_id, at), size in _object_usages(state).items()
        ),
    ),
    Builtin(
        "mz_catalog",
        "mz_recent_storage_usage",
        desc(object_id=TEXT, size_bytes=BIGINT),
        _recent_storage_usage,
    ),
    Builtin(
        "mz_internal",
        "mz_storage_usage_by_collection",
        desc(id=BIGINT, collection=TEXT, size_bytes=BIGINT, collection_timestamp=TIMESTAMPTZ),
        lambda state: (
            (usage.id, usage.collection, usage.size_bytes, as_datetime(usage.collected_at))
            for usage in state.storage_usages()
        ),
    ),
    Builtin(
        "mz_internal",
        "mz_source_leftovers",
        desc(source_id=TEXT, name=TEXT, kept=TEXT, tried_at=TIMESTAMPTZ, error=TEXT, detail=TEXT),
        _pending_cleanups,
    ),
    Builtin(
        "mz_internal",
        "mz_frontiers",
        desc(
            "object_id",
            object_id=TEXT,
            since=BIGINT,
            upper=BIGINT,
            claimed_at=BIGINT,
            claimed_by=TEXT,
            claim_phase=TEXT,
        ),
        _frontiers,
    ),
)

BUILTINS: tuple[Builtin, ...] = (
    *_RELATIONS,
    *CONNECTIONS,
    *SINKS,
    *STATUSES,
    *UNIFIED,
    *OPERATIONS,
    *FOR_CLIENTS,
    *CONSTRAINTS,
    *DOMAINS,
    *PG_CATALOG,
    *PG_ABSENT,
    *PG_ACTIVITY,
    *PG_DEPENDENCIES,
    *INFORMATION_SCHEMA,
)
