"""Comments on constraints belong to them: they are shown, renamed, copied and dropped as in PostgreSQL."""

from __future__ import annotations

import psycopg
from fixtures.side_by_side import assert_same_answers

SHOWN = """
    SELECT conname::text, pg_get_constraintdef(c.oid), description FROM pg_constraint AS c
        LEFT JOIN pg_description AS d ON d.objoid = c.oid AND d.classoid = 'pg_constraint'::regclass
            AND d.objsubid = 0
        WHERE connamespace = 'side_by_side'::regnamespace AND contype <> 'n' ORDER BY conrelid::regclass::text, 1;
"""
SCRIPT = f"""
    CREATE TABLE u (k int PRIMARY KEY);
    CREATE TABLE t (
        a int CONSTRAINT a_positive CHECK (a > 0),
        b int CONSTRAINT b_key UNIQUE,
        CONSTRAINT t_fk FOREIGN KEY (a) REFERENCES u (k)
    );
    CREATE DOMAIN d AS int CONSTRAINT small CHECK (VALUE < 10);
    COMMENT ON CONSTRAINT a_positive ON t IS 'it''s positive';
    COMMENT ON CONSTRAINT t_fk ON t IS 'first';
    COMMENT ON CONSTRAINT t_fk ON t IS 'refers';
    COMMENT ON CONSTRAINT b_key ON side_by_side.t IS 'soon gone';
    COMMENT ON CONSTRAINT b_key ON t IS '';
    COMMENT ON CONSTRAINT small ON DOMAIN d IS 'a small one';
    {SHOWN}
    COMMENT ON CONSTRAINT nothing ON t IS 'x';
    COMMENT ON CONSTRAINT nothing ON nothing IS 'x';
    COMMENT ON CONSTRAINT nothing ON DOMAIN d IS 'x';
    COMMENT ON CONSTRAINT small ON d IS 'x';
    SELECT obj_description(oid, 'pg_constraint'), obj_description(oid, 'pg_class')
        FROM pg_constraint WHERE conname = 't_fk';
    ALTER TABLE t RENAME CONSTRAINT t_fk TO fk;
    ALTER TABLE t DROP CONSTRAINT b_key;
    ALTER TABLE t ADD CONSTRAINT b_key UNIQUE (b);
    ALTER DOMAIN d RENAME CONSTRAINT small TO little;
    ALTER TABLE t ADD COLUMN c int;
    {SHOWN}
    CREATE TABLE without_comments (LIKE t INCLUDING CONSTRAINTS);
    CREATE TABLE with_comments (LIKE t INCLUDING ALL);
    {SHOWN}
    COMMENT ON CONSTRAINT a_positive ON with_comments IS NULL;
    ALTER TABLE t DROP COLUMN a;
    ALTER TABLE t ADD COLUMN a int CONSTRAINT a_positive CHECK (a > 0);
    {SHOWN}
    CREATE TEMPORARY TABLE x (a int CONSTRAINT c CHECK (a > 1));
    COMMENT ON CONSTRAINT c ON x IS 'temporary';
    SELECT obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conname = 'c'
"""
INDEXES = """
    CREATE TABLE t (a int PRIMARY KEY, b int);
    CREATE UNIQUE INDEX above ON t ((b + 1));
    COMMENT ON INDEX above IS 'an index';
    SELECT obj_description('above'::regclass), obj_description('above'::regclass, 'pg_class');
    SELECT 'above'::regclass::text, 'side_by_side.t_pkey'::regclass::text, 'nothing'::regclass;
    SELECT 'above'::regclass::text, 'side_by_side.t_pkey'::regclass::text;
    DROP INDEX t_pkey;
    DROP INDEX side_by_side.t_pkey;
    ALTER INDEX t_pkey RENAME TO t_key;
    SELECT 't_key'::regclass::text, conname::text FROM pg_constraint WHERE conrelid = 't'::regclass
        AND contype = 'p';
    DROP INDEX above;
    SELECT count(*) FROM pg_description WHERE description = 'an index'
"""


def test_they_are_what_they_are_in_postgresql(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    assert_same_answers(ours, theirs, SCRIPT, messages=())


def test_unique_indexes_have_comments_and_object_ids_too(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    assert_same_answers(ours, theirs, INDEXES, messages=("2BP01",))


def test_the_text_of_a_definition_has_the_comment(ours: psycopg.Connection) -> None:
    ours.execute("CREATE TABLE t (a int CONSTRAINT c CHECK (a > 0))")
    ours.execute("COMMENT ON CONSTRAINT c ON t IS 'it''s positive'")
    [(_, text)] = ours.execute("SHOW CREATE TABLE t").fetchall()
    ours.execute("DROP TABLE t")
    ours.execute(text)
    assert ours.execute("SHOW CREATE TABLE t").fetchall()[0][1] == text
    [(comment,)] = ours.execute(
        "SELECT obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conname = 'c'"
    ).fetchall()
    assert comment == "it's positive"
