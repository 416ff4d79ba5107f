"""The contents of a new catalog."""

from __future__ import annotations

from reclock.algebra.timestamps import CATALOG, EPOCH_MS, MINIMUM
from reclock.catalog.acl import PUBLIC_ROLE_ID, Acl, AclItem, Privilege
from reclock.catalog.kinds import CatalogObject
from reclock.catalog.objects import (
    Cluster,
    Config,
    Database,
    IdAllocator,
    Role,
    Schema,
    TimelineFloor,
)
from reclock.catalog.source_indexes import INTROSPECTION_RELATIONS, introspection_source_indexes

CATALOG_VERSION = 9
"""The layout this program reads and writes: the last step of ``catalog_migrations``."""

SYSTEM_ROLE_ID = "s1"
USER_ROLE_ID = "u1"
DATABASE_ID = 1
DEFAULT_CLUSTER_ID = 1

SYSTEM_SCHEMAS = ("mz_catalog", "mz_internal", "pg_catalog", "information_schema")


def _usable_by_all(owner_role_id: str) -> Acl:
    return (AclItem(PUBLIC_ROLE_ID, Privilege.USAGE.value, owner_role_id),)


def initial_objects() -> list[CatalogObject]:
    """The first contents, without ``epoch`` and ``deploy_generation``, which the previous write has
    set.

    Every role may use the database, its public schema and the cluster, as in Materialize. CREATE
    must be granted.
    """
    schemas: list[tuple[int | None, str, str]] = [
        (None, name, SYSTEM_ROLE_ID) for name in SYSTEM_SCHEMAS
    ]
    schemas.append((DATABASE_ID, "public", USER_ROLE_ID))
    index_ids = range(1, len(INTROSPECTION_RELATIONS) + 1)
    next_ids = {
        "audit_log": 1,
        "cluster": DEFAULT_CLUSTER_ID + 1,
        "cluster_replica": 1,
        "database": DATABASE_ID + 1,
        "schema": len(schemas) + 1,
        "storage_usage": 1,
        "system": len(index_ids) + 1,
        "system_role": 2,
        "user": 1,
        "user_role": 2,
    }
    return [
        Config("version", CATALOG_VERSION),
        Role(SYSTEM_ROLE_ID, "mz_system", ("superuser",)),
        Role(USER_ROLE_ID, "reclock", ("superuser", "login")),
        Database(DATABASE_ID, "reclock", USER_ROLE_ID, _usable_by_all(USER_ROLE_ID)),
        *(
            Schema(id, database_id, name, owner, _usable_by_all(owner))
            for id, (database_id, name, owner) in enumerate(schemas, start=1)
        ),
        Cluster(
            DEFAULT_CLUSTER_ID, "default", None, SYSTEM_ROLE_ID, _usable_by_all(SYSTEM_ROLE_ID)
        ),
        *introspection_source_indexes(DEFAULT_CLUSTER_ID, index_ids),
        *(IdAllocator(name, next_id) for name, next_id in next_ids.items()),
        TimelineFloor(EPOCH_MS, MINIMUM),
        TimelineFloor(CATALOG, MINIMUM),
    ]
