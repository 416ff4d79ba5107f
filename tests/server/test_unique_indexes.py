"""Unique indexes over expressions, and of some rows, are what they are in PostgreSQL."""

from __future__ import annotations

import psycopg
import pytest
from fixtures.server import SqlServer
from fixtures.side_by_side import assert_same_answers

WRITES = """
    CREATE TABLE users (id int PRIMARY KEY, email text, tenant int, n numeric(10, 2), gone timestamptz);
    INSERT INTO users VALUES (1, 'Ada@x', 1, 1), (2, 'bob@x', 1, 2);
    CREATE UNIQUE INDEX by_email ON users (lower(email));
    CREATE UNIQUE INDEX ON users (tenant, (n * 2)) WHERE gone IS NULL;
    INSERT INTO users VALUES (3, 'ADA@X', 2, 3);
    INSERT INTO users VALUES (3, 'c@x', 1, 2.00);
    INSERT INTO users VALUES (3, 'c@x', 1, 2, now()), (4, 'd@x', 1, 2, now());
    INSERT INTO users VALUES (5, NULL, NULL, 2), (6, NULL, NULL, 2);
    INSERT INTO users VALUES (7, 'e@x', 7, 2), (8, 'E@x', 8, 2);
    UPDATE users SET gone = NULL WHERE id = 3;
    UPDATE users SET email = 'BOB@X' WHERE id = 1;
    UPDATE users SET email = upper(email);
    SELECT id, email, tenant FROM users ORDER BY id;
    BEGIN;
    DELETE FROM users WHERE id = 1;
    INSERT INTO users VALUES (9, 'BOB@x', 9);
    SAVEPOINT s;
    INSERT INTO users VALUES (10, 'boB@x', 10);
    ROLLBACK TO s;
    COMMIT;
    SELECT id, email, tenant FROM users ORDER BY id
"""
CONFLICTS = """
    CREATE TABLE users (id int PRIMARY KEY, email text, tenant int, gone timestamptz);
    CREATE UNIQUE INDEX by_email ON users (lower(email));
    CREATE UNIQUE INDEX ON users (tenant) WHERE gone IS NULL;
    INSERT INTO users VALUES (1, 'Ada@x', 1), (2, 'bob@x', 2);
    INSERT INTO users VALUES (3, 'ADA@x', 3), (4, 'd@x', 2), (5, 'e@x', 5), (6, 'E@x', 6), (7, 'f@x', 5) ON CONFLICT DO NOTHING;
    INSERT INTO users VALUES (8, 'Bob@X', 8) ON CONFLICT (lower(email)) DO UPDATE SET email = excluded.email || '!' RETURNING *;
    INSERT INTO users VALUES (8, 'h@X', 1) ON CONFLICT (tenant) WHERE gone IS NULL DO UPDATE SET tenant = 100 RETURNING *;
    INSERT INTO users VALUES (9, 'i@X', 5) ON CONFLICT (tenant) WHERE gone IS NULL AND id > 0 DO NOTHING;
    INSERT INTO users VALUES (9, 'i@X', 5) ON CONFLICT (tenant) DO NOTHING;
    INSERT INTO users VALUES (9, 'i@X', 5) ON CONFLICT (upper(email)) DO NOTHING;
    INSERT INTO users VALUES (9, 'i@X', 5) ON CONFLICT (lower(email), nothing) DO NOTHING;
    INSERT INTO users VALUES (9, 'i@X', 5) ON CONFLICT ON CONSTRAINT by_email DO NOTHING;
    INSERT INTO users VALUES (9, 'k@X', 9), (10, 'K@x', 10) ON CONFLICT (lower(email)) DO UPDATE SET tenant = 0;
    INSERT INTO users VALUES (9, 'k@X', 5, now()), (10, NULL, 5, now()), (11, NULL, NULL)
        ON CONFLICT (tenant) WHERE gone IS NULL DO NOTHING;
    SELECT id, email, tenant FROM users ORDER BY id
"""
DEFINITIONS = """
    CREATE TABLE users (id int PRIMARY KEY, email text, tenant int, gone timestamptz);
    INSERT INTO users VALUES (1, 'a', 1), (2, 'A', 2);
    CREATE UNIQUE INDEX ON users (upper(email));
    CREATE UNIQUE INDEX by_email ON users (lower(email)) WHERE id > 1;
    CREATE UNIQUE INDEX IF NOT EXISTS by_email ON users (tenant) WHERE id > 1;
    CREATE UNIQUE INDEX CONCURRENTLY ON users USING btree (lower(users.email), tenant) NULLS NOT DISTINCT WHERE users.gone IS NULL;
    CREATE UNIQUE INDEX ON users (lower(nobody));
    CREATE UNIQUE INDEX ON users (email) WHERE id;
    CREATE UNIQUE INDEX ON users (max(id));
    CREATE UNIQUE INDEX ON users USING gin (lower(email));
    SELECT indexname::text, indexdef FROM pg_indexes WHERE schemaname = current_schema ORDER BY 1;
    SELECT i.indkey::text, i.indisunique, pg_get_expr(i.indpred, i.indrelid) FROM pg_index i
        WHERE indrelid = 'users'::regclass ORDER BY 1;
    SELECT conname::text FROM pg_constraint WHERE conrelid = 'users'::regclass AND contype <> 'n';
    SELECT constraint_name::text FROM information_schema.table_constraints
        WHERE table_name = 'users' AND constraint_type <> 'CHECK' AND table_schema = current_schema;
    ALTER TABLE users RENAME COLUMN email TO mail;
    CREATE TABLE others (LIKE users INCLUDING INDEXES);
    INSERT INTO others VALUES (2, 'x'), (3, 'X');
    SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema ORDER BY 1;
    INSERT INTO users VALUES (3, 'a', 3);
    ALTER INDEX by_email RENAME TO by_mail;
    INSERT INTO users VALUES (3, 'a', 3);
    ALTER TABLE users ALTER COLUMN mail TYPE varchar(20);
    INSERT INTO users VALUES (3, 'a', 3);
    DROP INDEX by_mail;
    INSERT INTO users VALUES (3, 'a', 3), (4, 'A', 3);
    ALTER TABLE users DROP COLUMN gone;
    SELECT indexdef FROM pg_indexes WHERE tablename = 'users' AND schemaname = current_schema;
    CREATE UNIQUE INDEX one_row ON users ((true)) WHERE id < 0;
    INSERT INTO users VALUES (-1);
    INSERT INTO users VALUES (-2);
    BEGIN;
    CREATE UNIQUE INDEX ON users (upper(mail)) WHERE id > 100;
    INSERT INTO users VALUES (101, 'x'), (102, 'X');
    ROLLBACK;
    SELECT tenant FROM users GROUP BY id HAVING count(*) > 1
"""
OF_COLUMNS = """
    CREATE TABLE users (id int PRIMARY KEY, email text, tenant int, UNIQUE (tenant));
    CREATE UNIQUE INDEX ON users (email);
    CREATE UNIQUE INDEX pair ON users (tenant, email) NULLS NOT DISTINCT;
    SELECT conname::text, contype::text FROM pg_constraint
        WHERE conrelid = 'users'::regclass AND contype <> 'n' ORDER BY 1;
    SELECT constraint_name::text, constraint_type::text FROM information_schema.table_constraints
        WHERE table_name = 'users' AND constraint_type <> 'CHECK' AND table_schema = current_schema ORDER BY 1;
    SELECT indexname::text, indexdef FROM pg_indexes WHERE schemaname = current_schema ORDER BY 1;
    SELECT c.relname::text, i.indisunique, i.indnullsnotdistinct FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        WHERE indrelid = 'users'::regclass ORDER BY 1;
    INSERT INTO users VALUES (1, 'a', 1), (2, 'b', NULL);
    INSERT INTO users VALUES (3, 'a', 3);
    INSERT INTO users VALUES (1, 'c', 3) ON CONFLICT (email) DO NOTHING;
    INSERT INTO users VALUES (3, 'a', 3) ON CONFLICT (email) DO UPDATE SET email = 'd' RETURNING *;
    INSERT INTO users VALUES (3, 'a', 3) ON CONFLICT ON CONSTRAINT users_email_idx DO NOTHING;
    INSERT INTO users VALUES (3, 'd', 3) ON CONFLICT ON CONSTRAINT users_tenant_key DO NOTHING;
    CREATE TABLE orders (id int, email text REFERENCES users (email));
    INSERT INTO orders VALUES (1, 'd'), (2, NULL);
    INSERT INTO orders VALUES (1, 'nobody');
    DROP INDEX users_email_idx;
    CREATE TABLE others (LIKE users INCLUDING INDEXES);
    SELECT indexname::text FROM pg_indexes WHERE tablename = 'others' AND schemaname = current_schema ORDER BY 1;
    ALTER INDEX IF EXISTS pair RENAME TO two;
    ALTER TABLE users RENAME COLUMN email TO mail;
    SELECT indexdef FROM pg_indexes WHERE indexname = 'two' AND schemaname = current_schema;
    DROP INDEX two;
    INSERT INTO users VALUES (4, 'd', NULL)
"""


@pytest.mark.parametrize("script", [WRITES, CONFLICTS, DEFINITIONS, OF_COLUMNS])
def test_a_unique_index_holds_as_in_postgresql(
    script: str, ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    assert_same_answers(ours, theirs, script, messages=(), details=())


def test_the_violation_names_the_index_and_the_key(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    script = """
        CREATE TABLE t (a text, b int);
        CREATE UNIQUE INDEX i ON t (lower(a), b) WHERE b > 0;
        INSERT INTO t VALUES ('X', 1);
        INSERT INTO t VALUES ('x', 1)
    """
    assert_same_answers(ours, theirs, script, messages=("23505",))


def test_rows_of_other_sessions_count(sql_server: SqlServer, ours: psycopg.Connection) -> None:
    ours.execute("CREATE TABLE shared (a text)")
    ours.execute("CREATE UNIQUE INDEX ON shared (lower(a))")
    with sql_server.connect(autocommit=False) as other:
        other.execute("SET search_path TO side_by_side")
        ours.execute("INSERT INTO shared VALUES ('first')")
        other.execute("INSERT INTO shared VALUES ('Second')")
        ours.execute("INSERT INTO shared VALUES ('SECOND')")
        with pytest.raises((psycopg.errors.UniqueViolation, psycopg.errors.SerializationFailure)):
            other.commit()
    assert ours.execute("SELECT a FROM shared ORDER BY a").fetchall() == [("SECOND",), ("first",)]


def test_conditions_of_on_conflict_have_parameters(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    answers = []
    for connection in (ours, theirs):
        connection.execute("CREATE TABLE t (a int, b int, n numeric, s text, c text)")
        connection.execute("CREATE UNIQUE INDEX ON t (a) WHERE b = 1 AND s = 'x' AND n = 1.5")
        upsert = """INSERT INTO t VALUES (1, %s, %s, %s, %s)
            ON CONFLICT (a) WHERE b = %s AND s = %s AND n = %s DO UPDATE SET c = excluded.c"""
        rows: list[object] = []
        for b, c in ((1, "first"), (1, "second"), (2, "third")):
            try:
                values = [b, 1.5, "x", c, b, "x", 1.5]
                rows.append(connection.execute(upsert, values).statusmessage)
            except psycopg.Error as error:
                rows.append(error.sqlstate)
        rows.append(connection.execute("SELECT * FROM t").fetchall())
        answers.append(rows)
    assert answers[0] == answers[1]
