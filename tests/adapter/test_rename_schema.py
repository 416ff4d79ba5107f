"""ALTER SCHEMA … RENAME TO: what names an object of the schema follows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.postgres import PostgresServer
from fixtures.sessions import run
from fixtures.side_by_side import assert_same_rows

from reclock.adapter.session.session import Session
from reclock.errors import DuplicateObject, ReservedName, SystemObjectProtected
from reclock.runtime.environment import Environment

SCRIPT = """
CREATE SCHEMA s;
CREATE SCHEMA other;
CREATE TABLE s.t (a serial PRIMARY KEY, b int CHECK (b > 0));
CREATE TABLE child (n int REFERENCES s.t, s int);
INSERT INTO s.t (b) VALUES (10), (20);
INSERT INTO child VALUES (1, 7);
CREATE VIEW s.v AS SELECT s.t.a, t.b, (SELECT count(*) FROM child WHERE n = s.t.a) AS n FROM s.t;
CREATE TABLE s.outer (a int);
CREATE VIEW s.values (x) AS SELECT s.outer.a + 1 FROM s.outer;
INSERT INTO s.outer VALUES (1);
CREATE VIEW w AS SELECT v.b, child.s FROM s.v JOIN child ON child.n = v.a;
ALTER SCHEMA s RENAME TO other;
ALTER SCHEMA s RENAME TO "New";
SELECT * FROM s.t;
INSERT INTO "New".t (b) VALUES (30) RETURNING *;
INSERT INTO "New".t (b) VALUES (0);
INSERT INTO child VALUES (9, 1);
SELECT * FROM "New".v ORDER BY a;
SELECT * FROM w;
SELECT o.a, x FROM "New".outer AS o, "New".values;
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'child_n_fkey';
SELECT nspname FROM pg_namespace WHERE nspname IN ('s', 'New') ORDER BY 1;
BEGIN;
ALTER SCHEMA "New" RENAME TO s;
CREATE TABLE s.later (a int);
INSERT INTO s.later VALUES (1);
ALTER SCHEMA s RENAME TO last;
SELECT * FROM last.later;
ROLLBACK;
SELECT count(*) FROM "New".t;
BEGIN;
ALTER SCHEMA other RENAME TO third;
ALTER SCHEMA "New" RENAME TO other;
COMMIT;
SELECT * FROM w;
SELECT a FROM other.t ORDER BY a;
DROP SCHEMA third;
DROP VIEW w;
DROP TABLE child;
DROP VIEW other.values;
DROP TABLE other.outer;
DROP VIEW other.v;
DROP TABLE other.t;
DROP SCHEMA other
"""


def test_answers_are_those_of_postgresql(tmp_path: Path, postgres_server: PostgresServer) -> None:
    with Environment.initialise(tmp_path) as environment:
        assert_same_rows(Session(environment), postgres_server, SCRIPT)


DEFINED = """
CREATE SCHEMA s;
CREATE TABLE s.t (a int, b int);
CREATE MATERIALIZED VIEW s.totals AS SELECT t.b, count(*) AS n FROM s.t GROUP BY s.t.b;
CREATE VIEW doubled AS SELECT reclock.s.totals.n * 2 AS n FROM s.totals;
CREATE INDEX by_b ON s.t (b);
CREATE SEQUENCE s.numbers;
CREATE SECRET s.word AS 'x';
CREATE CONNECTION s.away TO KAFKA (BROKER 'localhost:9092', PASSWORD SECRET s.word)
    WITH (VALIDATE = FALSE);
CREATE SINK s.outlet FROM s.t INTO DELTA 'out';
CREATE ROLE reader;
GRANT SELECT ON s.t TO reader;
COMMENT ON TABLE s.t IS 'the table';
INSERT INTO s.t VALUES (1, 1), (2, 1)
"""


def test_what_is_maintained_goes_on_and_outlives_the_process(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        run(session, DEFINED)
        ids = run(session, "SELECT id, name FROM mz_objects WHERE id LIKE 'u%' ORDER BY id")
        run(session, "ALTER SCHEMA s RENAME TO r; INSERT INTO r.t VALUES (3, nextval('r.numbers'))")
        assert run(session, "SELECT * FROM r.totals") == [(1, 3)]
        assert run(session, "SELECT id, name FROM mz_objects WHERE id LIKE 'u%' ORDER BY id") == ids
    with Environment.open(tmp_path) as environment:
        session = Session(environment)
        run(session, "INSERT INTO r.t VALUES (4, 1)")
        assert run(session, "SELECT n FROM doubled") == [(8,)]
        assert run(session, "SELECT count(*) FROM mz_internal.mz_broken_objects") == [(0,)]
        assert run(session, "SELECT obj_description('r.t'::regclass, 'pg_class')") == [
            ("the table",)
        ]
        assert run(session, "SELECT has_table_privilege('reader', 'r.t', 'SELECT')") == [(True,)]
        for kind, name in (
            ("VIEW", "doubled"),
            ("MATERIALIZED VIEW", "r.totals"),
            ("TABLE", "r.t"),
            ("INDEX", "r.by_b"),
            ("SINK", "r.outlet"),
            ("CONNECTION", "r.away"),
        ):
            [(_, text)] = run(session, f"SHOW CREATE {kind} {name}")
            assert "reclock.r." in text
            assert "s." not in text.replace("totals.", "")
        run(session, "DROP SCHEMA r CASCADE")


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("ALTER SCHEMA public RENAME TO public", DuplicateObject),
        ("ALTER SCHEMA public RENAME TO mz_own", ReservedName),
        ("ALTER SCHEMA pg_catalog RENAME TO mine", SystemObjectProtected),
    ],
)
def test_names_that_a_schema_cannot_have(
    tmp_path: Path, statement: str, error: type[Exception]
) -> None:
    with Environment.initialise(tmp_path) as environment, pytest.raises(error):
        run(Session(environment), statement)
