"""WITH before statements that change tables, and WITH that holds them, do what they do in
PostgreSQL."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from fixtures.server import SqlServer
from fixtures.side_by_side import SCHEMA, assert_same_answers

MOVES = """
    CREATE TABLE a (id int PRIMARY KEY, n int NOT NULL DEFAULT 1 CHECK (n >= 0), code varchar(4));
    CREATE TABLE b (id int, n bigint, code text DEFAULT 'none');
    CREATE TABLE log (at serial, what text);
    INSERT INTO a SELECT g, g * 10, 'c' || g FROM generate_series(1, 9) AS s (g);
    WITH moved AS (DELETE FROM a WHERE id > 7 RETURNING *) INSERT INTO b SELECT * FROM moved;
    WITH moved (x, y) AS (DELETE FROM a WHERE id = 7 RETURNING id, code) INSERT INTO b (id, code) SELECT x, y
        FROM moved RETURNING *;
    SELECT * FROM b ORDER BY id;
    WITH u AS (UPDATE a SET n = n + 1 WHERE id < 3 RETURNING id, n) SELECT u.id, u.n, a.n AS before FROM u JOIN
        a USING (id);
    SELECT * FROM a ORDER BY id;
    WITH i AS (INSERT INTO a VALUES (20, 5)) SELECT count(*) FROM a;
    WITH i AS (INSERT INTO log (what) VALUES ('x'), ('y') RETURNING *) SELECT what, at > 0 FROM i ORDER BY what
        DESC LIMIT 1;
    WITH d AS (DELETE FROM b), i AS (INSERT INTO log (what) SELECT code FROM b), u AS (UPDATE a SET code = 'u'
        WHERE id = 1)
        SELECT (SELECT count(*) FROM b), (SELECT count(*) FROM log), (SELECT max(code) FROM a WHERE id = 1);
    SELECT count(*) FROM b;
    SELECT what FROM log ORDER BY what;
    INSERT INTO log (what) VALUES ('z') RETURNING what, (SELECT count(*) FROM log) AS before;
    INSERT INTO a VALUES (1), (21) ON CONFLICT (id) DO UPDATE SET n = 0 RETURNING id, (SELECT sum(n) FROM a) AS before;
    SELECT * FROM a WHERE id IN (1, 20) ORDER BY id;
    WITH few AS (SELECT id FROM a WHERE id < 3), gone AS (DELETE FROM a USING few WHERE a.id = few.id RETURNING
        a.id AS id, n),
        total AS (SELECT sum(n) AS n FROM gone) UPDATE b SET n = 0;
    WITH few AS (SELECT id FROM a WHERE id < 5), gone AS (DELETE FROM a USING few WHERE a.id = few.id RETURNING
        a.id AS id, n),
        total AS (SELECT sum(n) AS n FROM gone) INSERT INTO b SELECT few.id, total.n FROM few, total RETURNING id, n;
    WITH x AS (VALUES (30, 3), (31, 4)) INSERT INTO a SELECT * FROM x RETURNING id;
    WITH x (v) AS (SELECT 30) UPDATE a SET n = v FROM x WHERE id = v;
    WITH x AS (SELECT 31 AS v) DELETE FROM a WHERE id IN (TABLE x) RETURNING id;
    WITH x AS (SELECT 30 AS v) MERGE INTO a USING x ON a.id = x.v WHEN MATCHED THEN UPDATE SET n = 77 RETURNING
        merge_action(), a.n;
    WITH m AS (MERGE INTO a USING (VALUES (30), (40)) AS s (k) ON id = k WHEN MATCHED THEN DELETE
        WHEN NOT MATCHED THEN INSERT VALUES (k) RETURNING merge_action() AS what, id) INSERT INTO log (what)
        SELECT what || id FROM m RETURNING what;
    WITH RECURSIVE up (k) AS (SELECT 50 UNION ALL SELECT k + 1 FROM up WHERE k < 53), i AS (INSERT INTO a
        SELECT k FROM up RETURNING id)
        SELECT * FROM i;
    WITH RECURSIVE later AS (SELECT id FROM i), i AS (INSERT INTO a VALUES (60) RETURNING id) SELECT * FROM later;
    WITH first AS (INSERT INTO a VALUES (70) RETURNING id), second AS (INSERT INTO b SELECT id FROM first
        RETURNING id, code)
        SELECT first.id, second.* FROM first, second;
    WITH d AS (DELETE FROM a WHERE id = 70 RETURNING id, n) INSERT INTO a SELECT id, n + 5 FROM d RETURNING id, n;
    WITH d AS (DELETE FROM a WHERE id = 70 RETURNING id, n) INSERT INTO a SELECT id, n + 5 FROM d ON CONFLICT
        (id) DO NOTHING RETURNING id, n;
    WITH u AS (UPDATE a SET n = 0 WHERE id = 999 RETURNING id) INSERT INTO a SELECT 999, 1 WHERE NOT EXISTS
        (SELECT FROM u);
    WITH u AS (UPDATE a SET n = 0 WHERE id = 999 RETURNING id) INSERT INTO a SELECT 999, 1 WHERE NOT EXISTS
        (SELECT 1 FROM u);
    WITH i AS (INSERT INTO a VALUES (70, 1) ON CONFLICT (id) DO UPDATE SET n = a.n + excluded.n RETURNING id,
        n) SELECT * FROM i;
    WITH i AS (INSERT INTO a VALUES (80)) INSERT INTO a VALUES (70), (81) ON CONFLICT DO NOTHING;
    WITH i AS (INSERT INTO a VALUES (90) RETURNING id) INSERT INTO a SELECT id FROM i ON CONFLICT (id) DO NOTHING;
    WITH i AS (INSERT INTO a VALUES (91) RETURNING id) INSERT INTO a SELECT id FROM i ON CONFLICT (id) DO
        UPDATE SET n = 1;
    SELECT * FROM a ORDER BY id;
    SELECT * FROM b ORDER BY id
"""
TARGETS = """
    CREATE TABLE t (k int, v text);
    INSERT INTO t VALUES (1, 'one'), (2, 'two'), (2, 'two'), (3, 'three');
    WITH t AS (SELECT 2 AS k) DELETE FROM t USING t AS mine WHERE mine.k = t.k RETURNING t.k;
    WITH t AS (SELECT 9 AS k) INSERT INTO t SELECT k FROM t;
    WITH t AS (SELECT 9 AS k) UPDATE t SET v = 'nine' WHERE t.k = (SELECT k FROM t);
    WITH t AS (SELECT 9 AS k) MERGE INTO t AS x USING t ON x.k = t.k WHEN MATCHED THEN UPDATE SET v = 'NINE';
    WITH d AS (DELETE FROM t AS x WHERE x.k = 3 RETURNING x.*, v || '!' AS loud) SELECT * FROM d;
    WITH i AS (INSERT INTO t VALUES (9, 'NINE')) DELETE FROM t WHERE k = 9;
    SELECT * FROM t ORDER BY k;
    BEGIN;
    INSERT INTO t VALUES (5, 'five');
    WITH d AS (DELETE FROM t WHERE k = 5 RETURNING *), i AS (INSERT INTO t SELECT k + 1, v FROM d RETURNING *)
        SELECT (SELECT count(*) FROM t WHERE k = 5), (SELECT count(*) FROM t WHERE k = 6), * FROM i;
    SELECT * FROM t ORDER BY k;
    SAVEPOINT s;
    WITH d AS (DELETE FROM t) SELECT 1 / 0;
    ROLLBACK TO s;
    CREATE TEMPORARY TABLE scratch (k int);
    WITH i AS (INSERT INTO scratch SELECT k FROM t RETURNING k), n AS (SELECT count(*) AS n FROM scratch)
        SELECT n.n, i.k FROM n, i;
    WITH d AS (DELETE FROM scratch RETURNING k) INSERT INTO t SELECT k * 100, (SELECT max(k) FROM
        scratch)::text FROM d;
    COMMIT;
    SELECT * FROM t ORDER BY k;
    WITH d AS (DELETE FROM t WHERE k > 50 RETURNING k) SELECT k / (k - 600) FROM d;
    SELECT count(*) FROM t;
    PREPARE move (int) AS WITH d AS (DELETE FROM t WHERE k = $1 RETURNING k) INSERT INTO t SELECT k + $2, $3
        FROM d RETURNING *;
    EXECUTE move (100, 11, 'moved');
    EXECUTE move (100, 11, 'moved');
    DEALLOCATE move;
    BEGIN READ ONLY;
    WITH d AS (DELETE FROM t) SELECT 1;
    ROLLBACK;
    DROP TABLE scratch
"""
QUEUE = """
    CREATE TABLE jobs (id int PRIMARY KEY, task text, state text DEFAULT 'new');
    INSERT INTO jobs (id, task) VALUES (1, 'a'), (2, 'b'), (3, 'c');
    WITH job AS (SELECT id FROM jobs ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
        DELETE FROM jobs USING job WHERE jobs.id = job.id RETURNING jobs.*;
    WITH job AS (SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
        UPDATE jobs SET state = 'taken' WHERE id IN (SELECT id FROM job) RETURNING id, task;
    WITH job AS (SELECT id FROM jobs WHERE state = 'new' LIMIT 1 FOR UPDATE SKIP LOCKED), gone AS (DELETE FROM
        jobs USING job WHERE jobs.id = job.id
        RETURNING task) SELECT gone.task, job.id FROM gone, job;
    SELECT * FROM jobs
"""
REFERRING = """
    CREATE TABLE p (id int PRIMARY KEY);
    CREATE TABLE c (id int, p int REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE);
    CREATE TABLE d (p int REFERENCES p);
    INSERT INTO p VALUES (1), (2), (3), (4);
    INSERT INTO c VALUES (1, 1), (2, 1), (3, 2), (4, 3);
    INSERT INTO d VALUES (4);
    WITH parent AS (INSERT INTO p VALUES (10) RETURNING id) INSERT INTO c SELECT id * 10, id FROM parent;
    WITH child AS (INSERT INTO c VALUES (7, 11)) INSERT INTO p VALUES (11);
    WITH child AS (DELETE FROM c WHERE p = 1 RETURNING id) DELETE FROM p WHERE id = 1;
    WITH parent AS (DELETE FROM p WHERE id = 2) DELETE FROM c WHERE p = 2;
    WITH parent AS (DELETE FROM p WHERE id = 3) UPDATE c SET id = 40 WHERE p = 3;
    WITH parent AS (DELETE FROM p WHERE id = 4) SELECT 1;
    WITH own AS (DELETE FROM d WHERE p = 4) DELETE FROM p WHERE id = 4;
    WITH parent AS (UPDATE p SET id = 12 WHERE id = 11) INSERT INTO c VALUES (8, 10);
    WITH child AS (INSERT INTO c VALUES (7, 99)) SELECT 1;
    SELECT * FROM p ORDER BY id;
    SELECT * FROM c ORDER BY id
"""
REFUSED = """
    CREATE TABLE t (k int PRIMARY KEY, v text);
    CREATE TABLE s (k int);
    INSERT INTO t VALUES (1, 'one');
    WITH d AS (DELETE FROM t) SELECT * FROM d;
    WITH RECURSIVE d AS (DELETE FROM t WHERE k IN (SELECT k FROM d) RETURNING k) SELECT * FROM d;
    WITH d AS (DELETE FROM t RETURNING k), d AS (SELECT 1) SELECT * FROM d;
    WITH d (a, b, c) AS (DELETE FROM t RETURNING k, v) SELECT * FROM d;
    SELECT * FROM (WITH d AS (DELETE FROM t RETURNING k) SELECT * FROM d) AS x;
    WITH x AS (WITH d AS (DELETE FROM t RETURNING k) SELECT * FROM d) SELECT * FROM x;
    INSERT INTO s WITH d AS (DELETE FROM t RETURNING k) SELECT * FROM d;
    INSERT INTO s SELECT k FROM (WITH x AS (SELECT 1 AS k) DELETE FROM t RETURNING k) AS y;
    DELETE FROM t WHERE k IN (WITH d AS (DELETE FROM t RETURNING k) SELECT * FROM d);
    CREATE VIEW v AS WITH d AS (DELETE FROM t RETURNING k) SELECT * FROM d;
    CREATE MATERIALIZED VIEW v AS WITH d AS (DELETE FROM t RETURNING k) SELECT * FROM d;
    BEGIN;
    DECLARE c CURSOR FOR WITH d AS (DELETE FROM t RETURNING k) SELECT * FROM d;
    ROLLBACK;
    WITH d AS (SELECT 1) TRUNCATE t;
    WITH d AS (TRUNCATE t) SELECT 1;
    WITH d AS (SELECT 1), DELETE FROM t;
    WITH d AS (DELETE FROM nothing RETURNING *) SELECT 1;
    WITH d AS (DELETE FROM t RETURNING k) DELETE FROM d;
    WITH d AS (INSERT INTO t VALUES (2) RETURNING k) INSERT INTO t SELECT k FROM d;
    WITH d AS (INSERT INTO t VALUES (2, 'two'), (1, 'one') RETURNING k) SELECT 1;
    WITH later AS (SELECT k FROM d), d AS (DELETE FROM t RETURNING k) SELECT 1;
    WITH d AS (DELETE FROM t RETURNING k) SELECT v FROM d;
    SELECT * FROM t
"""
TAKE = """
    WITH job AS (SELECT id FROM jobs ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED),
        taken AS (DELETE FROM jobs USING job WHERE jobs.id = job.id RETURNING jobs.id) SELECT id FROM taken
"""
TWICE = """
    CREATE TABLE bag (k int, v int);
    INSERT INTO bag VALUES (1, 1), (1, 1), (2, 2);
    WITH u AS (UPDATE bag SET v = 5 WHERE k = 1) DELETE FROM bag WHERE v = 1;
    WITH u AS (UPDATE bag SET v = 5 WHERE k = 1) UPDATE bag SET v = 6 WHERE k = 1;
    WITH u AS (DELETE FROM bag WHERE k = 1) MERGE INTO bag USING (VALUES (1)) AS s (k) ON s.k = bag.k WHEN
        MATCHED THEN DELETE
"""
ONCE = """
    CREATE TABLE bag (k int, v int);
    INSERT INTO bag VALUES (1, 1), (1, 1), (2, 2);
    WITH u AS (INSERT INTO bag VALUES (1, 1), (2, 3)) DELETE FROM bag WHERE k = 1;
    WITH u AS (UPDATE bag SET v = 5 WHERE k = 1) UPDATE bag SET v = 6 WHERE k = 2;
    SELECT * FROM bag ORDER BY k, v
"""
COMPARED = ("21000", "23502", "23503", "23505", "23514")
"""SQLSTATEs whose messages are PostgreSQL's."""


@pytest.mark.parametrize("script", [MOVES, TARGETS, QUEUE, REFERRING, REFUSED, ONCE])
def test_statements_of_with_are_postgresqls(
    ours: psycopg.Connection, theirs: psycopg.Connection, script: str
) -> None:
    assert_same_answers(ours, theirs, script, messages=COMPARED, is_ordered=False)


def test_a_row_is_changed_by_one_statement_of_a_with(ours: psycopg.Connection) -> None:
    """PostgreSQL carries out one of the changes, and does not say which."""
    *definitions, update_delete, update_update, delete_merge = TWICE.split(";")
    for statement in definitions:
        ours.execute(statement)
    for statement in (update_delete, update_update, delete_merge):
        with pytest.raises(psycopg.errors.CardinalityViolation, match='same row of table "bag"'):
            ours.execute(statement)
    assert ours.execute("SELECT * FROM bag ORDER BY k").fetchall() == [(1, 1), (1, 1), (2, 2)]


def test_two_sessions_take_different_jobs(ours: psycopg.Connection, sql_server: SqlServer) -> None:
    """FOR UPDATE locks nothing: of two statements that take one job, the second runs again."""
    ours.execute("CREATE TABLE jobs (id int PRIMARY KEY)")
    ours.execute("INSERT INTO jobs SELECT g FROM generate_series(1, 40) AS s (g)")

    def take(jobs: int) -> list[int]:
        with sql_server.connect() as connection:
            connection.execute(f"SET search_path TO {SCHEMA}")
            jobs_taken = [connection.execute(TAKE, (1,)).fetchall() for _ in range(jobs)]
        return [id for rows in jobs_taken for (id,) in rows]

    with ThreadPoolExecutor(4) as threads:
        jobs_taken = list(threads.map(take, [10] * 4))
    assert sorted(id for ids in jobs_taken for id in ids) == list(range(1, 41))
    assert ours.execute("SELECT count(*) FROM jobs").fetchall() == [(0,)]
