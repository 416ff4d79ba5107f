"""``information_schema``: the standard's names for what ``pg_catalog`` says."""

from __future__ import annotations

from functools import partial

from reclock.algebra.relations import INTEGER, TEXT
from reclock.introspection.relation import Builtin, empty, view

_view, _empty = partial(view, "information_schema"), partial(empty, "information_schema")

INFORMATION_SCHEMA: tuple[Builtin, ...] = (
    _view("information_schema_catalog_name", "SELECT current_database()", catalog_name=TEXT),
    _view(
        "schemata",
        "SELECT current_database(), nspname, pg_get_userbyid(nspowner), NULL, NULL, NULL, NULL FROM pg_catalog.pg_namespace",
        catalog_name=TEXT,
        schema_name=TEXT,
        schema_owner=TEXT,
        default_character_set_catalog=TEXT,
        default_character_set_schema=TEXT,
        default_character_set_name=TEXT,
        sql_path=TEXT,
    ),
    _view(
        "tables",
        """SELECT current_database(), n.nspname, c.relname, CASE WHEN c.relkind = 'v' THEN 'VIEW'
        WHEN c.relpersistence = 't' THEN 'LOCAL TEMPORARY' ELSE 'BASE TABLE' END,
        CASE WHEN c.relkind = 'r' THEN 'YES' ELSE 'NO' END, 'NO'
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v')""",
        table_catalog=TEXT,
        table_schema=TEXT,
        table_name=TEXT,
        table_type=TEXT,
        is_insertable_into=TEXT,
        is_typed=TEXT,
    ),
    _view(
        "views",
        """SELECT current_database(), n.nspname, c.relname, pg_get_viewdef(c.oid), 'NONE', 'NO', 'NO'
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'v'""",
        table_catalog=TEXT,
        table_schema=TEXT,
        table_name=TEXT,
        view_definition=TEXT,
        check_option=TEXT,
        is_updatable=TEXT,
        is_insertable_into=TEXT,
    ),
    _view(
        "columns",
        """SELECT current_database(), n.nspname, c.relname, a.attname, a.attnum, d.adbin,
        CASE WHEN a.attnotnull THEN 'NO' ELSE 'YES' END, CASE WHEN t.category = 'A' THEN 'ARRAY' ELSE t.sql_name END,
        CASE WHEN t.name IN ('bpchar', 'varchar') AND a.atttypmod > 4 THEN a.atttypmod - 4 END,
        CASE WHEN a.atttypid = 1700 AND a.atttypmod > 4 THEN (a.atttypmod - 4) / 65536
             WHEN t.name IN ('int2', 'int4', 'int8', 'float4', 'float8')
             THEN CASE t.name WHEN 'int2' THEN 16 WHEN 'int4' THEN 32 WHEN 'int8' THEN 64 WHEN 'float4' THEN 24 ELSE 53 END END,
        CASE WHEN a.atttypid = 1700 AND a.atttypmod > 4 THEN 10 WHEN t.category = 'N' THEN 2 END,
        CASE WHEN a.atttypid = 1700 AND a.atttypmod > 4 THEN (a.atttypmod - 4) % 65536 WHEN t.name LIKE 'int_' THEN 0 END,
        CASE WHEN t.category = 'D' THEN 6 END, current_database(), 'pg_catalog', t.name, 'NO', 'NEVER',
        CASE WHEN c.relkind = 'r' THEN 'YES' ELSE 'NO' END
        FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
        JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN mz_internal.mz_types t ON t.oid = a.atttypid
        LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE c.relkind IN ('r', 'v')""",
        table_catalog=TEXT,
        table_schema=TEXT,
        table_name=TEXT,
        column_name=TEXT,
        ordinal_position=INTEGER,
        column_default=TEXT,
        is_nullable=TEXT,
        data_type=TEXT,
        character_maximum_length=INTEGER,
        numeric_precision=INTEGER,
        numeric_precision_radix=INTEGER,
        numeric_scale=INTEGER,
        datetime_precision=INTEGER,
        udt_catalog=TEXT,
        udt_schema=TEXT,
        udt_name=TEXT,
        is_identity=TEXT,
        is_generated=TEXT,
        is_updatable=TEXT,
    ),
    _view(
        "applicable_roles",
        """SELECT m.rolname, r.rolname, 'NO' FROM pg_catalog.pg_auth_members a JOIN pg_catalog.pg_roles m ON m.oid = a.member
        JOIN pg_catalog.pg_roles r ON r.oid = a.roleid""",
        grantee=TEXT,
        role_name=TEXT,
        is_grantable=TEXT,
    ),
    _view("enabled_roles", "SELECT rolname FROM pg_catalog.pg_roles", role_name=TEXT),
    _view(
        "character_sets",
        "SELECT NULL, NULL, 'UTF8', 'UCS', 'UTF8', current_database()",
        **dict.fromkeys(
            (
                "character_set_catalog",
                "character_set_schema",
                "character_set_name",
                "character_repertoire",
                "form_of_use",
                "default_collate_catalog",
            ),
            TEXT,
        ),
    ),
    _empty(
        "routines",
        **dict.fromkeys(
            (
                "specific_catalog",
                "specific_schema",
                "specific_name",
                "routine_catalog",
                "routine_schema",
                "routine_name",
                "routine_type",
                "data_type",
            ),
            TEXT,
        ),
    ),
    _empty("sequences", **dict.fromkeys(("sequence_catalog", "sequence_schema", "sequence_name", "data_type"), TEXT)),
)
