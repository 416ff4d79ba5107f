"""``information_schema``: the standard's names for what ``pg_catalog`` has. The SQL is in
``sql/information_schema``."""

from __future__ import annotations

from reclock.introspection.relation import Builtin
from reclock.introspection.views import views

INFORMATION_SCHEMA: tuple[Builtin, ...] = (
    *views(
        "information_schema",
        "information_schema_catalog_name",
        "schemata",
        "tables",
        "views",
        "columns",
        "applicable_roles",
        "enabled_roles",
        "sequences",
        "character_sets",
        "routines",
        "table_privileges",
        "role_table_grants",
    ),
)
