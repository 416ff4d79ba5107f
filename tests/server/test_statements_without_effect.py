"""VACUUM, ANALYZE, COLLATE, and statements about extensions, triggers and storage answer as PostgreSQL does; LOCK
TABLE, DO, LISTEN and NOTIFY say what to do instead."""

from __future__ import annotations

import psycopg
import pytest
from fixtures.side_by_side import assert_same_answers

DEFINITIONS = """
    CREATE TABLE t (a int, b int);
    INSERT INTO t VALUES (1, 2);
    CREATE VIEW v AS SELECT a FROM t;
    CREATE MATERIALIZED VIEW m AS SELECT a FROM t;
    CREATE INDEX i ON t (a);
    CREATE SEQUENCE s
"""
SCRIPT = """
    VACUUM t;
    VACUUM t, v, i, s, m;
    ANALYZE v, m;
    ANALYZE side_by_side.t (a, b), v;
    ANALYSE VERBOSE t;
    VACUUM FULL FREEZE VERBOSE ANALYZE t (b);
    VACUUM (FULL off, ANALYZE 1, VERBOSE FALSE, TRUNCATE) t (b);
    VACUUM (PARALLEL 2, INDEX_CLEANUP AUTO, BUFFER_USAGE_LIMIT '256 kB', SKIP_LOCKED) t;
    ANALYZE (VERBOSE, SKIP_LOCKED ON, BUFFER_USAGE_LIMIT '256 kB') t;
    VACUUM t (a);
    VACUUM (ANALYZE off) t (a);
    VACUUM (FULL, ANALYZE) t (a, nothing);
    ANALYZE t (a, a);
    VACUUM (nonsense) t;
    ANALYZE (FULL) t;
    VACUUM (FULL maybe) t;
    VACUUM nothing;
    ANALYZE nothing;
    BEGIN;
    ANALYZE t;
    VACUUM t;
    ROLLBACK;
    DROP EXTENSION IF EXISTS one, "Two" CASCADE;
    DROP EXTENSION one;
    DROP TRIGGER IF EXISTS one ON t CASCADE;
    DROP TRIGGER IF EXISTS one ON nowhere;
    DROP RULE IF EXISTS one ON side_by_side.t;
    DROP POLICY IF EXISTS "One" ON t;
    DROP TRIGGER one ON t;
    DROP RULE one ON t;
    DROP POLICY one ON nowhere;
    ALTER TABLE IF EXISTS nothing ADD c int;
    ALTER TABLE IF EXISTS nothing RENAME TO x;
    ALTER TABLE IF EXISTS nothing SET SCHEMA public;
    ALTER VIEW IF EXISTS nothing RENAME TO x;
    ALTER MATERIALIZED VIEW IF EXISTS nothing RENAME TO x;
    ALTER INDEX IF EXISTS nothing RENAME TO x;
    ALTER SEQUENCE IF EXISTS nothing RENAME TO x;
    ALTER SEQUENCE IF EXISTS nothing RESTART;
    ALTER TABLE t SET (fillfactor = 70, autovacuum_enabled = false), ALTER COLUMN b SET STATISTICS 100;
    ALTER TABLE t RESET (fillfactor), ALTER b SET STATISTICS -1;
    ALTER TABLE ONLY t REPLICA IDENTITY FULL, SET WITHOUT CLUSTER;
    ALTER TABLE t CLUSTER ON i;
    ALTER TABLE t SET (nonsense = 1);
    ALTER TABLE t ALTER nothing SET STATISTICS 1;
    CREATE TABLE of_texts (a text COLLATE "C" NOT NULL, b varchar(3) COLLATE pg_catalog."default", c text[] COLLATE "POSIX");
    CREATE TABLE of_numbers (a int COLLATE "C");
    CREATE TABLE of_texts_elsewhere (a text COLLATE nowhere);
    ALTER TABLE of_texts ADD d char(3) COLLATE "C" DEFAULT 'x', ALTER b TYPE text COLLATE "C";
    CREATE DOMAIN short_text AS text COLLATE "C" CHECK (length(VALUE) < 3);
    INSERT INTO of_texts (a) VALUES ('b'), ('B'), ('a'::short_text);
    SELECT * FROM of_texts ORDER BY a COLLATE "C";
    CREATE INDEX CONCURRENTLY by_a ON of_texts (a COLLATE "C");
    DROP INDEX CONCURRENTLY by_a;
    DROP INDEX CONCURRENTLY IF EXISTS by_a;
    DROP TABLE of_texts; DROP DOMAIN short_text;
    CREATE EXTENSION IF NOT EXISTS one WITH SCHEMA public VERSION '1' CASCADE;
    SELECT * FROM t
"""


def test_answers_are_those_of_postgresql(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    heard = _notices(ours), _notices(theirs)
    ours.execute(DEFINITIONS)
    theirs.execute(DEFINITIONS)
    assert_same_answers(ours, theirs, SCRIPT, messages=("25001",))
    # those of one DROP are one notice here
    assert "; ".join(heard[0]) == "; ".join(heard[1])


def _notices(connection: psycopg.Connection) -> list[str]:
    """The notices about what is skipped, which grows with the statements. PostgreSQL says more."""
    heard: list[str] = []

    def hear(notice: psycopg.errors.Diagnostic) -> None:
        if "skipping" in str(notice.message_primary):
            heard.append(str(notice.message_primary))

    connection.add_notice_handler(hear)
    return heard


def test_extensions_that_are_built_in_are_named_in_a_notice(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    heard: list[str] = []
    ours.add_notice_handler(lambda notice: heard.append(str(notice.message_primary)))
    statements = [
        *('CREATE EXTENSION IF NOT EXISTS "plpgsql" WITH SCHEMA pg_catalog VERSION "1.0" CASCADE',),
        *("COMMENT ON EXTENSION plpgsql IS 'a language'", "COMMENT ON EXTENSION nothing IS NULL"),
    ]
    for statement in statements:
        assert_same_answers(ours, theirs, statement, messages=("42704",))
    ours.execute('CREATE EXTENSION "uuid-ossp"; CREATE EXTENSION pgcrypto SCHEMA public')
    assert [notice.split(":")[0] for notice in heard] == [
        'extension "plpgsql" is not needed',
        'extension "plpgsql" has no comment',
        'extension "uuid-ossp" is not needed',
        'extension "pgcrypto" is not needed',
    ]


def test_vacuum_is_sent_alone(ours: psycopg.Connection, theirs: psycopg.Connection) -> None:
    for connection in (ours, theirs):
        with pytest.raises(psycopg.errors.ActiveSqlTransaction):
            connection.execute("SELECT 1; VACUUM")


def test_lock_table_is_refused_with_what_to_do_instead(ours: psycopg.Connection) -> None:
    ours.execute("CREATE TABLE t (a int)")
    with pytest.raises(psycopg.errors.FeatureNotSupported) as refusal:
        ours.execute("BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
    assert "40001" in str(refusal.value.diag.message_hint)
    assert "pg_advisory_xact_lock" in str(refusal.value.diag.message_hint)


@pytest.mark.parametrize(
    ("statement", "instead"),
    [
        ("DO $$ BEGIN NULL; END $$", "CREATE FUNCTION"),
        ("LISTEN channel", "SUBSCRIBE"),
        ("NOTIFY channel, 'payload'", "SUBSCRIBE"),
    ],
)
def test_statements_are_refused_with_what_to_do_instead(
    statement: str, instead: str, ours: psycopg.Connection
) -> None:
    with pytest.raises(psycopg.errors.FeatureNotSupported) as refusal:
        ours.execute(statement)
    assert instead in str(refusal.value.diag.message_hint)
