"""What a new catalog holds."""

from __future__ import annotations

from reclock.algebra.timestamps import CATALOG, EPOCH_MS, MINIMUM
from reclock.catalog.kinds import CatalogObject
from reclock.catalog.objects import Cluster, Config, Database, IdAllocator, Role, Schema, TimelineFloor

CATALOG_VERSION = 2
"""The layout this program reads and writes: the last step of ``catalog_migrations``."""

SYSTEM_ROLE_ID = "s1"
USER_ROLE_ID = "u1"
DATABASE_ID = 1
DEFAULT_CLUSTER_ID = 1

SYSTEM_SCHEMAS = ("mz_catalog", "mz_internal", "pg_catalog", "information_schema")


def initial_objects() -> list[CatalogObject]:
    """The first contents: everything but ``epoch`` and ``deploy_generation``, which the write before them has set."""
    schemas: list[tuple[int | None, str, str]] = [(None, name, SYSTEM_ROLE_ID) for name in SYSTEM_SCHEMAS]
    schemas.append((DATABASE_ID, "public", USER_ROLE_ID))
    next_ids = {
        "audit_log": 1,
        "cluster": DEFAULT_CLUSTER_ID + 1,
        "cluster_replica": 1,
        "database": DATABASE_ID + 1,
        "schema": len(schemas) + 1,
        "storage_usage": 1,
        "system": 1,
        "system_role": 2,
        "user": 1,
        "user_role": 2,
    }
    return [
        Config("version", CATALOG_VERSION),
        Role(SYSTEM_ROLE_ID, "mz_system", ("superuser",)),
        Role(USER_ROLE_ID, "reclock", ("superuser",)),
        Database(DATABASE_ID, "reclock", USER_ROLE_ID),
        *(Schema(id, database_id, name, owner) for id, (database_id, name, owner) in enumerate(schemas, start=1)),
        Cluster(DEFAULT_CLUSTER_ID, "default", None, SYSTEM_ROLE_ID),
        *(IdAllocator(name, next_id) for name, next_id in next_ids.items()),
        TimelineFloor(EPOCH_MS, MINIMUM),
        TimelineFloor(CATALOG, MINIMUM),
    ]
