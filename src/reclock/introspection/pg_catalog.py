"""``pg_catalog``: what PostgreSQL's clients ask about, as views over the system relations. Their
SQL is in ``sql/pg_catalog``."""

from __future__ import annotations

from reclock.introspection.views import views

PG_CATALOG = views(
    "pg_catalog",
    "pg_database",
    "pg_namespace",
    "pg_class",
    "pg_attribute",
    "pg_attrdef",
    "pg_index",
    "pg_type",
    "pg_enum",
    "pg_range",
    "pg_proc",
    "pg_roles",
    "pg_user",
    "pg_auth_members",
    "pg_am",
    "pg_collation",
    "pg_tablespace",
    "pg_timezone_names",
    "pg_settings",
    "pg_tables",
    "pg_views",
    "pg_matviews",
    "pg_indexes",
    "pg_sequence",
    "pg_sequences",
    "pg_description",
    "pg_shdescription",
)

PG_DEPENDENCIES = views("pg_catalog", "pg_rewrite", "pg_depend")
"""What views depend on, in PostgreSQL's form: each view is a rule, and the rule is a part of the
view (``i``) and depends on the relations that it names (``n``)."""
