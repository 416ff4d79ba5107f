"""Functions about the catalog and the session answer as PostgreSQL's, NULLs and errors included."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from fixtures.side_by_side import assert_same_answers
from fixtures.side_by_side import ours as ours
from fixtures.side_by_side import theirs as theirs

PRIVILEGES = """
    CREATE TABLE held (a int); CREATE SEQUENCE numbers_of;
    SELECT has_table_privilege('held', 'SELECT'), has_table_privilege('reader_of', 'held', 'SELECT');
    GRANT SELECT ON held TO reader_of;
    SELECT has_table_privilege('reader_of', 'held', 'select'),
        has_table_privilege('reader_of', 'held', 'INSERT , SELECT'),
        has_table_privilege('reader_of', 'held', 'INSERT'),
        has_table_privilege('reader_of', 'held', 'SELECT WITH GRANT OPTION'),
        has_table_privilege('held', 'select with grant option'),
        has_table_privilege('held', 'TRUNCATE'), has_table_privilege('held', 'TRIGGER, REFERENCES');
    SELECT has_table_privilege(NULL, 'held', 'SELECT'), has_table_privilege('reader_of', NULL, 'SELECT'),
        has_table_privilege('reader_of', 'held', NULL);
    SELECT has_table_privilege('reader_of', 999999::oid, 'SELECT'),
        has_table_privilege(999999::oid, 'held'::regclass, 'SELECT');
    SELECT has_table_privilege('reader_of', 'held', 'OWN');
    SELECT has_table_privilege('reader_of', 'held', 'USAGE');
    SELECT has_table_privilege('reader_of', 'held', '');
    SELECT has_table_privilege('reader_of', 'nothing', 'SELECT');
    SELECT has_table_privilege('reader_of', 'not', 'SELECT');
    SELECT has_table_privilege('nobody', 'held', 'SELECT');
    SELECT has_table_privilege('held');
    SELECT has_column_privilege('held', 'a', 'SELECT'), has_column_privilege('held', NULL, 'SELECT');
    SELECT has_column_privilege('held', 'a', 'DELETE');
    SELECT has_column_privilege('held', 1::smallint, 'SELECT'), has_column_privilege('held', 9::smallint, 'SELECT');
    SELECT has_any_column_privilege('reader_of', 'held', 'SELECT, UPDATE');
    SELECT has_any_column_privilege('reader_of', 'held', 'DELETE');
    SELECT has_sequence_privilege('numbers_of', 'USAGE');
    SELECT has_sequence_privilege('numbers_of', 'CREATE');
    SELECT has_schema_privilege('reader_of', 'side_by_side', 'USAGE'),
        has_schema_privilege('side_by_side', 'CREATE, USAGE'), has_schema_privilege(NULL, 'USAGE'),
        has_schema_privilege('reader_of', NULL, 'USAGE'),
        has_schema_privilege('reader_of', 'pg_catalog', 'USAGE'),
        has_schema_privilege('reader_of', 999999::oid, 'USAGE');
    SELECT has_schema_privilege('side_by_side', 'SELECT');
    SELECT has_schema_privilege('nowhere', 'USAGE');
    SELECT has_database_privilege(current_database(), 'CREATE'),
        has_database_privilege(current_database(), 'CREATE, CONNECT'),
        has_database_privilege('reader_of', current_database(), 'CREATE'),
        has_database_privilege('reader_of', current_database(), 'TEMP'),
        has_database_privilege('reader_of', NULL, 'CREATE'),
        has_database_privilege('reader_of', 999999::oid, 'CREATE');
    SELECT has_database_privilege(oid, 'CREATE'), has_database_privilege(datname, 'CREATE')
        FROM pg_database WHERE datname = current_database();
    SELECT has_database_privilege('nowhere', 'CREATE');
    SELECT has_database_privilege(current_database(), 'DELETE');
    SELECT has_type_privilege('int4', 'USAGE'), has_type_privilege('reader_of', 'int4', 'USAGE'),
        has_type_privilege(NULL, 'int4', 'USAGE'), has_type_privilege('reader_of', 'int4', NULL);
    SELECT has_type_privilege('int4', 'SELECT');
    SELECT has_type_privilege('reader_of', 999999::oid, 'USAGE');
    SELECT has_type_privilege('nothing', 'USAGE');
    SELECT has_type_privilege('nobody', 'int4', 'USAGE');
    SELECT has_function_privilege('now()', 'EXECUTE'), has_language_privilege('sql', 'USAGE');
    SELECT pg_has_role('reader_of', 'MEMBER'), pg_has_role(NULL, 'MEMBER'),
        pg_has_role('reader_of', 'reader_of', 'MEMBER');
    SELECT pg_has_role('reader_of', 'SELECT')
"""

TYPES = """
    CREATE SCHEMA unsearched; CREATE TYPE unsearched.shade AS ENUM ('dark'); CREATE TYPE hue AS ENUM ('red');
    SELECT typname::text, pg_type_is_visible(oid) FROM pg_type WHERE typname IN ('int4', 'shade', 'hue') ORDER BY 1;
    SELECT pg_type_is_visible(NULL), pg_type_is_visible(999999), pg_function_is_visible(0),
        pg_collation_is_visible(950), pg_operator_is_visible(NULL);
    DROP TYPE hue; DROP SCHEMA unsearched CASCADE;
    SELECT modifier, format_type(23, modifier), format_type(25, modifier), format_type(26, modifier),
        format_type(1042, modifier), format_type(1043, modifier), format_type(1083, modifier),
        format_type(1114, modifier), format_type(1184, modifier), format_type(1700, modifier),
        format_type(1231, modifier), format_type(1007, modifier)
        FROM (VALUES (NULL), (-1), (0), (3), (4), (5), (14), (655366), (2490371)) AS m (modifier)
        ORDER BY 1;
    SELECT format_type(0, 1), format_type(0, NULL), format_type(NULL, 1), format_type(6, NULL),
        format_type(6000, -100), format_type(18, NULL), format_type(1009, NULL);
    SELECT pg_typeof('joe'::name)::text, pg_typeof('a'::text)::text, pg_typeof('a'::varchar(3))::text,
        pg_typeof(('a'::char(2)))::text, pg_typeof(1::pg_catalog.int8)::text,
        pg_typeof('abc'::text::"char")::text, 'abc'::varchar::"char"::text;
    CREATE TABLE letters (c "char", d pg_catalog."char");
    INSERT INTO letters VALUES ('abc', ''), (NULL, 'd');
    SELECT lower(c), upper(d) FROM letters ORDER BY d
"""

SEARCHED = """
    CREATE SCHEMA paints; CREATE TYPE paints.shade AS ENUM ('dark', 'light');
    CREATE TYPE paints.mixture AS (parts int); CREATE DOMAIN paints."Odd Name" AS int;
    CREATE TYPE public.ink AS (x int, y text);
    CREATE TABLE public.painted (e paints.shade, s paints.shade[], i public.ink, d paints."Odd Name", v varchar(5));
    SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute
        WHERE attrelid = 'public.painted'::regclass AND attnum > 0 ORDER BY attnum;
    SET search_path = public, paints;
    SELECT pg_typeof('dark'::paints.shade)::text, pg_typeof(ARRAY['dark'::shade])::text,
        pg_typeof(ROW(1)::mixture)::text, pg_typeof(1::"Odd Name")::text, 'shade'::regtype::text,
        format_type('shade'::regtype, NULL);
    CREATE TYPE public.shade AS ENUM ('none');
    SELECT pg_typeof('dark'::paints.shade)::text, pg_typeof('none'::shade)::text,
        pg_type_is_visible('paints.shade'::regtype), pg_type_is_visible('public.shade'::regtype);
    SET search_path = paints;
    SELECT pg_typeof('dark'::shade)::text, pg_typeof(NULL::public.ink)::text,
        pg_typeof(ARRAY[NULL::public.ink])::text;
    SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute
        WHERE attrelid = 'public.painted'::regclass AND attnum > 0 ORDER BY attnum;
    SET search_path = public;
    INSERT INTO painted (v) VALUES ('a');
    SELECT pg_typeof(v)::text, pg_typeof(v || 'x')::text, pg_typeof(upper(v))::text,
        pg_typeof(coalesce(v, 'x'))::text FROM painted;
    SELECT pg_typeof(max(v))::text FROM painted;
    SELECT 0::regclass::text, 0::regtype::text, 0::regrole::text, 0::regnamespace::text,
        NULL::oid::regclass::text;
    DROP TABLE painted; DROP TYPE ink; DROP TYPE shade;
    DROP DOMAIN paints."Odd Name"; DROP SCHEMA paints CASCADE
"""

SETTINGS = """
    SELECT current_setting('search_path'), current_setting('nothing', true), current_setting(NULL);
    SELECT current_setting('nothing');
    SELECT current_setting(true);
    SELECT current_setting('search_path', 3);
    SELECT pg_backend_pid() > 0
"""


@pytest.fixture
def role(ours: psycopg.Connection, theirs: psycopg.Connection) -> Iterator[None]:
    for connection in (ours, theirs):
        connection.execute("CREATE ROLE reader_of")
    yield
    for connection in (ours, theirs):
        connection.execute("DROP OWNED BY reader_of")
        connection.execute("DROP ROLE reader_of")


@pytest.mark.usefixtures("role")
def test_privileges_are_found_and_refused_as_in_postgresql(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    assert_same_answers(ours, theirs, PRIVILEGES, messages={"22023"}, details=())


@pytest.mark.parametrize("script", [TYPES, SEARCHED, SETTINGS])
def test_types_and_settings_are_named_as_in_postgresql(
    ours: psycopg.Connection, theirs: psycopg.Connection, script: str
) -> None:
    assert_same_answers(ours, theirs, script, messages={"42883"}, details=())
