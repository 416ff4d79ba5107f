"""ALTER … SET SCHEMA: what names the object follows it, and its parts move with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.postgres import PostgresServer
from fixtures.sessions import run
from fixtures.side_by_side import assert_same_rows

from reclock.adapter.session.session import Session
from reclock.errors import ReclockError
from reclock.runtime.environment import Environment

SCRIPT = """
CREATE SCHEMA s;
CREATE SCHEMA "R";
CREATE TABLE t (a serial PRIMARY KEY, b int CHECK (b > 0));
CREATE TABLE "R".other (a int, t int);
CREATE TABLE child (n int REFERENCES t);
CREATE INDEX by_b ON t (b);
INSERT INTO t (b) VALUES (10), (20);
INSERT INTO "R".other VALUES (1, 2);
INSERT INTO child VALUES (1);
CREATE VIEW v AS SELECT public.t.a, t.b, other.t, (SELECT count(*) FROM child WHERE n = t.a) AS n
    FROM t LEFT JOIN "R".other ON "R".other.a = public.t.a;
CREATE VIEW w AS SELECT v.n, v.a FROM v;
ALTER TABLE t SET SCHEMA s;
SELECT * FROM t;
SELECT * FROM s.t ORDER BY a;
SELECT * FROM v ORDER BY a;
INSERT INTO s.t (b) VALUES (30) RETURNING *;
INSERT INTO s.t (b) VALUES (-1);
INSERT INTO child VALUES (9);
SELECT nextval('s.t_a_seq');
ALTER SEQUENCE s.t_a_seq SET SCHEMA public;
SELECT schemaname, tablename, indexname FROM pg_indexes WHERE indexname = 'by_b';
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'child_n_fkey';
CREATE TABLE t (a int);
ALTER TABLE s.t SET SCHEMA public;
ALTER TABLE s.t SET SCHEMA s;
ALTER TABLE s.t SET SCHEMA "R";
CREATE TABLE "R".by_b (a int);
ALTER TABLE "R".t SET SCHEMA s;
SELECT a FROM "R".t ORDER BY a;
DROP TABLE "R".by_b;
DROP INDEX "R".by_b;
ALTER TABLE v SET SCHEMA "R";
ALTER VIEW w SET SCHEMA s;
SELECT * FROM s.w ORDER BY a;
ALTER VIEW IF EXISTS nothing SET SCHEMA s;
ALTER VIEW nothing SET SCHEMA s;
ALTER VIEW s.w SET SCHEMA nothing;
ALTER TABLE t SET SCHEMA pg_temp;
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE DOMAIN size AS int CHECK (VALUE > 0);
CREATE TABLE moods (m mood, n size);
INSERT INTO moods VALUES ('ok', 1);
ALTER TYPE mood SET SCHEMA s;
ALTER DOMAIN size SET SCHEMA s;
INSERT INTO moods VALUES ('sad', 0);
INSERT INTO moods VALUES ('sad', 2);
SELECT * FROM moods WHERE m = 'sad'::s.mood;
SELECT 'sad'::mood;
CREATE SEQUENCE numbers;
CREATE TABLE numbered (a int DEFAULT nextval('numbers'), b int);
ALTER TABLE numbers SET SCHEMA s;
INSERT INTO numbered (b) VALUES (1) RETURNING *;
CREATE FUNCTION doubled(a int) RETURNS int RETURN a * 2;
ALTER FUNCTION doubled(int) SET SCHEMA s;
SELECT s.doubled(2);
SELECT doubled(2);
BEGIN;
ALTER TABLE "R".t SET SCHEMA s;
INSERT INTO s.t (b) VALUES (40);
CREATE VIEW later AS SELECT count(*) FROM s.t;
SELECT * FROM later;
ROLLBACK;
SELECT count(*) FROM "R".t;
BEGIN;
ALTER TABLE "R".t SET SCHEMA s;
ALTER SCHEMA s RENAME TO last;
COMMIT;
SELECT a FROM last.t ORDER BY a;
SELECT n, a FROM last.w ORDER BY a
"""


def test_answers_are_those_of_postgresql(tmp_path: Path, postgres_server: PostgresServer) -> None:
    with Environment.initialise(tmp_path) as environment:
        assert_same_rows(Session(environment), postgres_server, SCRIPT)


DEFINED = """
CREATE SCHEMA s;
CREATE TABLE t (a int, b int);
CREATE MATERIALIZED VIEW totals AS SELECT b, count(*) AS n FROM t GROUP BY t.b;
CREATE VIEW doubled AS SELECT reclock.public.totals.n * 2 AS n FROM totals;
CREATE SINK outlet FROM t INTO DELTA 'out';
CREATE FUNCTION t(a int) RETURNS int RETURN a;
CREATE VIEW called AS SELECT t(1) AS a;
CREATE ROLE reader;
GRANT SELECT ON t TO reader;
COMMENT ON TABLE t IS 'the table';
INSERT INTO t VALUES (1, 1), (2, 1);
ALTER TABLE t SET SCHEMA s;
ALTER MATERIALIZED VIEW totals SET SCHEMA s;
INSERT INTO s.t VALUES (3, 1)
"""


def test_what_is_maintained_goes_on_and_outlives_the_process(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        run(Session(environment), DEFINED)
    with Environment.open(tmp_path) as environment:
        session = Session(environment)
        run(session, "INSERT INTO s.t VALUES (4, 1)")
        assert run(session, "SELECT * FROM s.totals") == [(1, 4)]
        assert run(session, "SELECT n FROM doubled") == [(8,)]
        assert run(session, "SELECT a FROM called") == [(1,)]
        assert run(session, "SELECT count(*) FROM mz_internal.mz_broken_objects") == [(0,)]
        assert run(session, "SELECT obj_description('s.t'::regclass, 'pg_class')") == [
            ("the table",)
        ]
        assert run(session, "SELECT has_table_privilege('reader', 's.t', 'SELECT')") == [(True,)]
        [(_, text)] = run(session, "SHOW CREATE SINK outlet")
        assert "reclock.s.t" in text


@pytest.mark.parametrize(
    ("statement", "sqlstate"),
    [
        ("ALTER TABLE t SET SCHEMA pg_catalog", "42501"),
        ("ALTER TABLE pg_class SET SCHEMA public", "42501"),
        ("ALTER VIEW t SET SCHEMA s", "42809"),
        ("ALTER TABLE mz_temp.kept SET SCHEMA s", "0A000"),
        ("ALTER FUNCTION doubled SET SCHEMA s", "0A000"),  # a view calls it
        ("ALTER SINK outlet SET SCHEMA s", "0A000"),
    ],
)
def test_what_does_not_move(tmp_path: Path, statement: str, sqlstate: str) -> None:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        run(session, "CREATE SCHEMA s; CREATE TABLE t (a int); CREATE TEMPORARY TABLE kept (a int)")
        run(session, "CREATE FUNCTION doubled(a int) RETURNS int RETURN a * 2")
        run(session, "CREATE VIEW v AS SELECT doubled(a) AS a FROM t")
        run(session, "CREATE SINK outlet FROM t INTO DELTA 'out'")
        with pytest.raises(ReclockError) as refusal:
            run(session, statement)
        assert refusal.value.sqlstate == sqlstate
