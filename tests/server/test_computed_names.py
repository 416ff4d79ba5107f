"""Names of objects that a query computes mean what they mean in PostgreSQL, and are errors if there
is no such object."""

from __future__ import annotations

import psycopg
from fixtures.side_by_side import assert_same_answers

NAMES = """
    CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 't');
    SELECT b::regclass::text FROM t;
    INSERT INTO t VALUES (2, 'nope'), (3, NULL);
    SELECT b::regclass::text FROM t;
    SELECT b::regclass::text FROM t WHERE a <> 2 ORDER BY a;
    SELECT count(b::regclass) FROM t WHERE a = 1;
    SELECT upper(b)::regclass::text FROM t WHERE a = 2;
    SELECT ('"' || b || '"')::regclass::text FROM t WHERE a = 2;
    SELECT b::regrole::text FROM t WHERE a = 2;
    SELECT b::regnamespace::text FROM t WHERE a = 2;
    SELECT has_table_privilege(b, 'SELECT') FROM t WHERE a = 2;
    SELECT has_table_privilege(b, 't', 'SELECT') FROM t WHERE a = 2;
    SELECT has_schema_privilege(b, 'USAGE') FROM t WHERE a = 2;
    SELECT has_database_privilege(b, 'CREATE') FROM t WHERE a = 2;
    SELECT to_regclass(b)::text, to_regnamespace(b)::text, to_regrole(b)::text FROM t ORDER BY a;
    SELECT to_regclass('123')::oid, to_regclass('123'::text)::oid, to_regclass(NULL)::oid;
    SELECT '123'::regclass::oid, '-'::regclass::oid;
    SELECT '123'::text::regclass;
    SELECT ('12' || '3')::regclass
"""


def test_computed_names_of_nothing_are_errors(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    assert_same_answers(
        ours, theirs, NAMES, messages=("42P01", "42704", "3F000", "3D000"), details=()
    )
