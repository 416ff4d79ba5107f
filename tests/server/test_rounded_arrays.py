"""Arrays of moments with a precision hold rounded moments, however they are written."""

from __future__ import annotations

import psycopg
from fixtures.side_by_side import assert_same_answers

SCRIPT = """
    SELECT '{"2024-01-01 00:00:00.16"}'::timestamp(1)[];
    SELECT x::timestamp(1)[] FROM (VALUES
        ('{{"2024-01-01 00:00:00.16"},{"2024-01-01 00:00:00.15"}}'::timestamp[]), (NULL)) AS v (x);
    SELECT x::time(0)[] FROM (VALUES ('{"00:00:00.56",NULL}'::time[])) AS v (x);
    SELECT x::timestamptz(2)[]
        FROM (VALUES ('{"1999-01-01 00:00:00.165+02",NULL}'::timestamptz[])) AS v (x);
    CREATE TABLE t (a timestamp(1)[], b time(1)[], c timestamptz(0)[]);
    INSERT INTO t VALUES (
        ARRAY['2024-01-01 00:00:00.16'::timestamp], ARRAY['00:00:00.16'::time],
        ARRAY['2024-01-01 00:00:00.5+00'::timestamptz]);
    INSERT INTO t VALUES ('{"2024-01-01 00:00:00.16"}', '{00:00:00.16}', '{2024-01-01 00:00:00.5+00}');
    INSERT INTO t SELECT a, b, c FROM (VALUES ('{"2024-01-01 00:00:00.16"}'::timestamp[],
        '{00:00:00.16}'::time[], '{2024-01-01 00:00:00.5+00}'::timestamptz[])) AS v (a, b, c);
    UPDATE t SET a = a || '2024-01-01 00:00:00.16'::timestamp;
    SELECT * FROM t;
    SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute
        WHERE attrelid = 't'::regclass AND attnum > 0 ORDER BY attnum;
    CREATE TABLE texts (a varchar(2)[], b char(2)[]);
    CREATE VIEW v AS SELECT t.a, b, x.a AS c FROM t, texts AS x;
    CREATE TABLE copy (LIKE v);
    SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute
        WHERE attrelid = 'copy'::regclass AND attnum > 0 ORDER BY attnum
"""


def test_they_are_what_they_are_in_postgresql(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    assert_same_answers(ours, theirs, SCRIPT, messages=())


def test_copy_rounds_them_too(ours: psycopg.Connection) -> None:
    ours.execute("CREATE TABLE t (a timestamp(1)[], b time(0)[])")
    with ours.cursor().copy("COPY t FROM STDIN") as copy:
        copy.write('{"2024-01-01 00:00:00.16",NULL}\t{00:00:00.5}\n{}\t\\N\n')
    assert ours.execute("SELECT a::text, b::text FROM t ORDER BY b").fetchall() == [
        ('{"2024-01-01 00:00:00.2",NULL}', "{00:00:01}"),
        ("{}", None),
    ]
