"""A table that gets its columns later, as migrations of others write it."""

from __future__ import annotations

import psycopg
import pytest
from fixtures.side_by_side import assert_same_answers

SCRIPT = """
    CREATE TABLE t ();
    SELECT * FROM t;
    SELECT t.* FROM t;
    SELECT FROM t;
    SELECT count(*) FROM t;
    SELECT count(*) FROM (SELECT * FROM t) AS u;
    SELECT EXISTS (SELECT * FROM t);
    SELECT g FROM generate_series(1, 2) AS g LEFT JOIN t ON TRUE;
    SELECT *;
    DELETE FROM t;
    UPDATE t SET a = 1;
    CREATE TABLE copied (LIKE t);
    CREATE TABLE t ();
    ALTER TABLE t ADD COLUMN id int PRIMARY KEY;
    ALTER TABLE t ADD COLUMN name text NOT NULL DEFAULT 'none';
    INSERT INTO t VALUES (1), (2);
    SELECT * FROM t;
    SELECT count(*) FROM copied;
    DROP TABLE copied;
    BEGIN;
    CREATE TABLE begun ();
    ALTER TABLE begun ADD COLUMN tags int[];
    INSERT INTO begun VALUES ('{1}');
    COMMIT;
    SELECT * FROM begun
"""


def test_it_has_no_rows_until_it_has_columns(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    assert_same_answers(ours, theirs, SCRIPT, messages=(), is_ordered=False)


def test_a_row_without_columns_is_refused(ours: psycopg.Connection) -> None:
    ours.execute("CREATE TABLE t ()")
    for statement in ("INSERT INTO t DEFAULT VALUES", "INSERT INTO t SELECT", "COPY t FROM STDIN"):
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="has no columns"):
            ours.execute(statement)
    ours.execute("CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM t")
    ours.execute("ALTER TABLE t ADD COLUMN a int")
    ours.execute("INSERT INTO t VALUES (1)")
    assert ours.execute("SELECT n FROM counted").fetchall() == [(1,)]
