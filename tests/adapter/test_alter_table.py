"""ALTER TABLE: defaults, lengths and constraints, with PostgreSQL's answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.postgres import PostgresServer
from fixtures.sessions import run
from fixtures.side_by_side import assert_same_rows

from reclock import failpoints
from reclock.adapter.session.session import Session
from reclock.errors import (
    NotReadable,
    ReclockError,
    RelationChanged,
    UnsupportedSql,
    WriteConflict,
)
from reclock.runtime.environment import Environment

SCRIPT = """
CREATE TABLE t (a int NOT NULL, b varchar(3), c text DEFAULT 'old', d int);
INSERT INTO t VALUES (1, 'x', 'x', 1), (2, 'y', 'y', 1);
ALTER TABLE t ALTER COLUMN c SET DEFAULT 'new', ALTER d SET DEFAULT 7;
INSERT INTO t (a) VALUES (3) RETURNING *;
ALTER TABLE t ALTER COLUMN c DROP DEFAULT;
INSERT INTO t (a) VALUES (4) RETURNING *;
ALTER TABLE t ALTER COLUMN nothing DROP DEFAULT;
ALTER TABLE t ALTER COLUMN d SET DEFAULT 'text';
ALTER TABLE IF EXISTS nothing ALTER COLUMN d SET DEFAULT 1;
INSERT INTO t (a, b) VALUES (5, 'long');
ALTER TABLE t ALTER COLUMN b TYPE varchar(4);
INSERT INTO t (a, b) VALUES (5, 'long');
ALTER TABLE t ALTER COLUMN b SET DATA TYPE text;
INSERT INTO t (a, b) VALUES (6, 'much longer');
ALTER TABLE t ADD CONSTRAINT positive CHECK (a > 1);
ALTER TABLE t ADD CONSTRAINT positive CHECK (a > 0);
INSERT INTO t (a) VALUES (0);
ALTER TABLE t ADD CONSTRAINT positive CHECK (a > 0);
ALTER TABLE t ADD UNIQUE (d);
INSERT INTO t (a, d) VALUES (7, 7);
ALTER TABLE t ADD PRIMARY KEY (a);
ALTER TABLE t ADD PRIMARY KEY (a);
INSERT INTO t (a) VALUES (1);
INSERT INTO t (a, c) VALUES (1, 'again') ON CONFLICT (a) DO UPDATE SET c = excluded.c RETURNING a, c;
ALTER TABLE t ADD CONSTRAINT later CHECK (d > 1) NOT VALID;
INSERT INTO t (a, d) VALUES (8, 0);
ALTER TABLE t VALIDATE CONSTRAINT later;
SELECT conname, convalidated, contype::text FROM pg_constraint
    WHERE conrelid = 't'::regclass AND contype IN ('p', 'u', 'c') ORDER BY conname;
UPDATE t SET d = 9 WHERE a IN (1, 2);
ALTER TABLE t VALIDATE CONSTRAINT later;
SELECT conname, convalidated FROM pg_constraint WHERE conname = 'later';
ALTER TABLE t RENAME CONSTRAINT later TO sooner;
ALTER TABLE t RENAME CONSTRAINT later TO sooner;
ALTER TABLE t DROP CONSTRAINT sooner, DROP CONSTRAINT IF EXISTS later;
ALTER TABLE t DROP CONSTRAINT later;
INSERT INTO t (a, d) VALUES (9, 0);
BEGIN;
CREATE TABLE made (a int NOT NULL, b int);
INSERT INTO made VALUES (1, 1), (2, 1);
ALTER TABLE made ADD CONSTRAINT made_key UNIQUE (a, b);
ALTER TABLE made ALTER COLUMN b SET DEFAULT 5;
INSERT INTO made (a) VALUES (3) RETURNING *;
COMMIT;
INSERT INTO made VALUES (1, 1);
ALTER TABLE made DROP CONSTRAINT made_key;
INSERT INTO made VALUES (1, 1);
ALTER TABLE made ADD UNIQUE (a, b);
SELECT column_name, column_default, character_maximum_length FROM information_schema.columns
    WHERE table_name IN ('t', 'made') ORDER BY table_name, ordinal_position;
CREATE TABLE indexed (a int, b int, c text);
INSERT INTO indexed VALUES (1, 1, 'x'), (2, 1, 'y'), (NULL, 1, 'z');
CREATE UNIQUE INDEX by_b ON indexed (b);
CREATE UNIQUE INDEX by_a ON indexed (a DESC NULLS LAST);
CREATE UNIQUE INDEX IF NOT EXISTS by_a ON indexed (a);
INSERT INTO indexed VALUES (1, 2, 'w');
INSERT INTO indexed VALUES (1, 2, 'w') ON CONFLICT (a) DO UPDATE SET c = 'v' RETURNING *;
INSERT INTO indexed VALUES (NULL, 2, 'w');
CREATE INDEX by_c ON indexed (c text_pattern_ops, b DESC);
SELECT b FROM indexed WHERE c = 'y';
DROP INDEX by_a;
INSERT INTO indexed VALUES (1, 2, 'w');
CREATE UNIQUE INDEX ON indexed (c);
SELECT indisunique FROM pg_index WHERE indexrelid = 'indexed_c_idx'::regclass;
DROP INDEX by_a;
DROP TABLE indexed;
CREATE SEQUENCE s;
ALTER TABLE made ALTER COLUMN b SET DEFAULT nextval('s');
INSERT INTO made (a) VALUES (10) RETURNING b;
DROP SEQUENCE s;
ALTER TABLE made ALTER COLUMN b DROP DEFAULT;
DROP SEQUENCE s;
DROP TABLE made;
DROP TABLE t
"""

MOMENTS = """
CREATE TABLE visits (guest text);
INSERT INTO visits VALUES ('ada'), ('bob');
ALTER TABLE visits ADD COLUMN at timestamptz DEFAULT now(), ADD day date DEFAULT current_date;
SELECT guest, now() - at < interval '1 hour', day >= current_date - 1 FROM visits ORDER BY guest;
ALTER TABLE visits ADD local timestamp DEFAULT localtimestamp;
SELECT guest, now()::timestamp - local < interval '1 hour' FROM visits ORDER BY guest;
ALTER TABLE visits ADD COLUMN by text DEFAULT current_setting('DateStyle');
SELECT DISTINCT by FROM visits;
DROP TABLE visits
"""
COLUMNS = """
CREATE TABLE t (a int PRIMARY KEY, b varchar(3), c int CHECK (c > 0));
INSERT INTO t VALUES (1, 'x', 1), (2, NULL, 2);
ALTER TABLE t ADD COLUMN d int;
ALTER TABLE t ADD d int;
ALTER TABLE t ADD COLUMN IF NOT EXISTS d int;
ALTER TABLE t ADD e text NOT NULL;
ALTER TABLE t ADD e text NOT NULL DEFAULT 'old', ADD COLUMN f int DEFAULT 1 + 2 UNIQUE;
ALTER TABLE t ADD e text NOT NULL DEFAULT 'old', ADD COLUMN f numeric(5, 2) DEFAULT 1 + 2 CHECK (f > 1);
SELECT * FROM t ORDER BY a;
ALTER TABLE t ADD g int DEFAULT 0 CHECK (g > 0);
ALTER TABLE t ADD COLUMN g bigserial, ADD h int GENERATED ALWAYS AS IDENTITY;
SELECT a, count(*) FROM t GROUP BY a, g, h HAVING g IN (1, 2) AND h IN (1, 2) ORDER BY a;
INSERT INTO t (a) VALUES (3) RETURNING e, f, g, h;
ALTER TABLE t ALTER g DROP NOT NULL, ALTER COLUMN b SET NOT NULL;
UPDATE t SET b = 'y' WHERE b IS NULL;
ALTER TABLE t ALTER COLUMN b SET NOT NULL, ALTER g DROP NOT NULL;
INSERT INTO t (a, b, g) VALUES (4, NULL, NULL);
INSERT INTO t (a, b, g) VALUES (4, 'z', NULL);
ALTER TABLE t ALTER a DROP NOT NULL;
ALTER TABLE t ALTER h DROP NOT NULL;
ALTER TABLE t ALTER nothing SET NOT NULL;
ALTER TABLE t RENAME COLUMN nothing TO something;
ALTER TABLE t RENAME COLUMN b TO c;
ALTER TABLE t RENAME c TO cc;
ALTER TABLE t RENAME COLUMN a TO key;
INSERT INTO t (key, b, cc) VALUES (5, 'w', 0);
INSERT INTO t (key, b, cc) VALUES (1, 'w', 1);
INSERT INTO t (key, b, cc) VALUES (1, 'v', 8) ON CONFLICT (key) DO UPDATE SET b = excluded.b RETURNING key, b;
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 't_c_check';
SELECT column_name, is_nullable FROM information_schema.columns WHERE table_name = 't' ORDER BY ordinal_position;
ALTER TABLE t ALTER cc TYPE text, ALTER b TYPE varchar(10);
ALTER TABLE t DROP CONSTRAINT t_c_check, ALTER cc TYPE text, ALTER b TYPE varchar(10);
SELECT cc || '!' FROM t ORDER BY key;
ALTER TABLE t ALTER cc TYPE int;
ALTER TABLE t ALTER cc TYPE int USING length(cc) + key;
ALTER TABLE t ALTER b TYPE int USING b::int;
SELECT key, cc FROM t ORDER BY key;
ALTER TABLE t DROP nothing;
ALTER TABLE t DROP COLUMN IF EXISTS nothing, DROP COLUMN g;
SELECT count(*) FROM pg_class WHERE relname LIKE 't_%seq';
CREATE TABLE numbered (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, n smallint GENERATED ALWAYS AS IDENTITY (MAXVALUE 9));
INSERT INTO numbered DEFAULT VALUES;
ALTER TABLE numbered ALTER id TYPE text;
ALTER TABLE numbered ALTER id TYPE bigint USING id::bigint, ALTER n TYPE int;
INSERT INTO numbered DEFAULT VALUES;
SELECT setval('numbered_id_seq', 3000000000);
INSERT INTO numbered DEFAULT VALUES;
SELECT * FROM numbered ORDER BY n;
SELECT setval('numbered_id_seq', 3);
ALTER TABLE numbered ALTER id TYPE int;
DELETE FROM numbered WHERE n = 3;
ALTER TABLE numbered ALTER n TYPE smallint;
SELECT data_type, is_identity FROM information_schema.columns WHERE table_name = 'numbered' ORDER BY ordinal_position;
DROP TABLE numbered;
ALTER TABLE t DROP COLUMN f, ADD COLUMN f int DEFAULT 9;
SELECT f, e FROM t WHERE key = 1;
CREATE VIEW every AS SELECT * FROM t;
CREATE VIEW partly AS SELECT x.key, x.cc FROM t AS x JOIN t AS y USING (key) WHERE x.cc > 0;
CREATE VIEW above AS SELECT key + 1 AS n FROM partly;
ALTER TABLE t ADD COLUMN i int DEFAULT 5;
SELECT e, h FROM every WHERE key = 1;
SELECT count(*) FROM information_schema.columns WHERE table_name = 'every';
ALTER TABLE t RENAME COLUMN cc TO ccc;
ALTER TABLE t RENAME COLUMN key TO k;
SELECT * FROM partly ORDER BY key;
SELECT * FROM above ORDER BY n;
ALTER TABLE t DROP COLUMN i;
ALTER TABLE t DROP COLUMN ccc;
ALTER TABLE t ALTER COLUMN ccc TYPE bigint;
DROP VIEW every;
ALTER TABLE t DROP COLUMN e;
ALTER TABLE t DROP COLUMN ccc RESTRICT;
ALTER TABLE t DROP COLUMN ccc CASCADE;
SELECT * FROM above;
SELECT * FROM t WHERE k = 1;
CREATE TABLE child (id int, parent int REFERENCES t (k));
ALTER TABLE t DROP COLUMN k;
ALTER TABLE t RENAME COLUMN k TO id;
SELECT pg_get_constraintdef(oid) LIKE '%REFERENCES t(id)%' FROM pg_constraint WHERE conrelid = 'child'::regclass;
ALTER TABLE t DROP COLUMN id CASCADE;
SELECT count(*) FROM pg_constraint WHERE conrelid = 'child'::regclass;
BEGIN;
ALTER TABLE child ADD PRIMARY KEY (id), ADD COLUMN n int DEFAULT 1;
INSERT INTO child (id) VALUES (1), (2);
SAVEPOINT s;
ALTER TABLE child RENAME COLUMN n TO m;
UPDATE child SET m = 2;
ROLLBACK TO s;
UPDATE child SET n = n + 10 WHERE id = 1;
ALTER TABLE child ADD CONSTRAINT positive CHECK (n > 0), ALTER n SET NOT NULL;
COMMIT;
SELECT id, n FROM child ORDER BY id;
INSERT INTO child (id, n) VALUES (3, 0);
INSERT INTO child (id) VALUES (1);
BEGIN;
CREATE TABLE made AS SELECT id FROM child;
ALTER TABLE made ADD COLUMN x text DEFAULT 'x', ALTER id TYPE text, RENAME TO other;
ROLLBACK;
BEGIN;
CREATE TABLE made AS SELECT id FROM child;
ALTER TABLE made ADD COLUMN x text DEFAULT 'x', ALTER id TYPE text;
INSERT INTO made VALUES ('4', 'y');
COMMIT;
SELECT * FROM made ORDER BY id;
SET CONSTRAINTS ALL DEFERRED;
SET CONSTRAINTS positive IMMEDIATE;
SET CONSTRAINTS nothing IMMEDIATE;
DROP TABLE made;
DROP TABLE child;
DROP TABLE t
"""

KEYS = """
CREATE TABLE p (id int PRIMARY KEY, name text, boss int);
CREATE TABLE c (id int, part int, p int, n int, PRIMARY KEY (id, part));
INSERT INTO p VALUES (1, 'a', NULL), (2, 'a', 1), (3, NULL, 1);
INSERT INTO c VALUES (1, 1, 1, 10), (1, 2, 1, 20), (2, 1, 2, 30);
SELECT p.id, p.name, count(c.id), sum(n) FROM p LEFT JOIN c ON c.p = p.id GROUP BY p.id ORDER BY 1;
SELECT upper(p.name), p.*, sum(n) FROM p JOIN c ON c.p = p.id GROUP BY p.id ORDER BY p.boss, p.name;
SELECT a.name, b.name FROM p a LEFT JOIN p b ON a.boss = b.id GROUP BY a.id, b.id HAVING max(b.id) > 0 ORDER BY a.id;
SELECT p.name, count(*) FROM c LEFT JOIN p ON p.id = c.n / 10 AND p.id > 1 GROUP BY p.id ORDER BY p.id;
SELECT n, count(*) FROM c GROUP BY id, part ORDER BY id, part;
SELECT name, (SELECT sum(n) FROM c WHERE c.p = p.id AND p.name = 'a') FROM p GROUP BY id ORDER BY id;
SELECT n FROM c GROUP BY id;
SELECT name FROM (SELECT * FROM p) AS x GROUP BY id;
SELECT name FROM p GROUP BY ROLLUP (id);
SELECT name FROM p GROUP BY id + 0;
CREATE VIEW starred AS SELECT p.*, q.name AS other, count(c.n) FROM p JOIN p q ON q.id = p.id
    LEFT JOIN c ON c.p = p.id GROUP BY p.id, q.id;
CREATE VIEW boss_of AS SELECT boss FROM p AS "P" GROUP BY "P".id HAVING boss > 0;
ALTER TABLE p ADD COLUMN since date DEFAULT '2024-01-01', ADD COLUMN note text;
SELECT * FROM starred ORDER BY id;
ALTER TABLE p RENAME COLUMN name TO label;
ALTER TABLE p DROP COLUMN note;
ALTER TABLE p DROP COLUMN boss;
INSERT INTO p VALUES (4, 'd', 3);
SELECT * FROM starred ORDER BY id;
SELECT * FROM boss_of ORDER BY 1;
ALTER TABLE p RENAME COLUMN label TO name;
DROP VIEW starred;
DROP VIEW boss_of;
CREATE VIEW named AS SELECT id, name, count(*) AS c FROM p GROUP BY id;
ALTER TABLE p DROP CONSTRAINT p_pkey;
SELECT * FROM named ORDER BY id;
DROP VIEW named;
ALTER TABLE p DROP CONSTRAINT p_pkey;
SELECT name FROM p GROUP BY id
"""


@pytest.mark.parametrize(
    "script",
    [SCRIPT, COLUMNS, KEYS, MOMENTS],
    ids=["constraints", "columns", "keys", "moments"],
)
def test_answers_are_those_of_postgresql(
    environment: Environment, postgres_server: PostgresServer, script: str
) -> None:
    assert_same_rows(Session(environment), postgres_server, script)


def test_a_key_is_not_dropped_before_the_foreign_keys_that_refer_to_it(
    environment: Environment,
) -> None:
    session = Session(environment)
    run(session, "CREATE TABLE p (a int PRIMARY KEY); CREATE TABLE c (a int, b int)")
    run(session, "ALTER TABLE c ADD CONSTRAINT fk FOREIGN KEY (b) REFERENCES p (a)")
    with pytest.raises(ReclockError) as error:
        run(session, "ALTER TABLE p DROP CONSTRAINT p_pkey")
    assert error.value.sqlstate == "2BP01"
    run(session, "ALTER TABLE c DROP CONSTRAINT fk; ALTER TABLE p DROP CONSTRAINT p_pkey")
    run(session, "INSERT INTO p VALUES (1), (1)")


def test_a_writer_that_began_before_the_constraint_fails(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Environment.initialise(home) as here, Environment.open(home) as there:
        ours, theirs = Session(here), Session(there)
        run(ours, "CREATE TABLE t (a int)")
        run(theirs, "BEGIN; INSERT INTO t VALUES (-1)")
        run(ours, "ALTER TABLE t ADD CHECK (a > 0)")
        with pytest.raises(ReclockError):
            run(theirs, "COMMIT")
        assert run(ours, "SELECT count(*) FROM t") == [(0,)]
        with pytest.raises(ReclockError) as error:
            run(theirs, "INSERT INTO t VALUES (-1)")
        assert error.value.sqlstate == "23514"


def test_what_depends_on_the_table_follows_it(environment: Environment) -> None:
    session = Session(environment)
    run(session, "CREATE TABLE t (a int, b int); INSERT INTO t VALUES (1, 1), (2, 1)")
    run(session, "CREATE MATERIALIZED VIEW m AS SELECT b, count(*) AS n FROM t GROUP BY b")
    run(session, "CREATE INDEX by_b ON t (b); COMMENT ON COLUMN t.b IS 'the second'")
    run(session, "CREATE ROLE reader; GRANT SELECT ON t TO reader; GRANT SELECT ON m TO reader")
    [before] = run(session, "SELECT mz_now()")
    run(session, "INSERT INTO t VALUES (3, 1)")
    run(session, "ALTER TABLE t RENAME COLUMN b TO c")
    run(session, "ALTER TABLE t ADD COLUMN d int DEFAULT 4; INSERT INTO t VALUES (4, 2)")
    assert run(session, "SELECT * FROM m ORDER BY b") == [(1, 3), (2, 1)]
    assert run(session, "SELECT a, d FROM t WHERE c = 2") == [(4, 4)]
    columns = {row[4] for row in run(session, "SHOW INDEXES") if row[1] == "t"}
    assert columns == {"c"}
    assert run(session, "SELECT col_description('t'::regclass, 2)") == [("the second",)]
    for relation in ("t", "m"):
        privilege = f"SELECT has_table_privilege('reader', '{relation}', 'SELECT')"
        assert run(session, privilege) == [(True,)]
    with pytest.raises(NotReadable):
        run(session, f"SELECT * FROM t AS OF {before[0]}")
    run(session, "CREATE TABLE gone (a int); INSERT INTO gone VALUES (1)")
    [before] = run(session, "SELECT mz_now()")
    run(session, "DELETE FROM gone; ALTER TABLE gone ADD COLUMN b int")
    with pytest.raises(NotReadable):
        run(session, f"SELECT * FROM gone AS OF {before[0]}")


def test_a_sink_and_a_catalog_in_the_lake_hinder_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECLOCK_CATALOG", "persist")
    with Environment.initialise(tmp_path / "home") as environment:
        session = Session(environment)
        run(session, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
        with pytest.raises(UnsupportedSql, match="catalog is kept in the lake"):
            run(session, "ALTER TABLE t ADD COLUMN b int")
        run(session, "ALTER TABLE t ADD CHECK (a > 0)")
        run(session, "BEGIN; CREATE TABLE made (a int); INSERT INTO made VALUES (1)")
        run(session, "ALTER TABLE made ADD COLUMN b int DEFAULT 2; COMMIT")
        assert run(session, "SELECT * FROM made") == [(1, 2)]
        run(session, "CREATE SINK s FROM made INTO DELTA 'sink'")
        with pytest.raises(UnsupportedSql, match='sink "reclock'):
            run(session, "ALTER TABLE made DROP COLUMN b")


@pytest.mark.parametrize(
    ("first", "error"),
    [
        ("INSERT INTO t VALUES (2)", RelationChanged),
        ("CREATE TABLE u (a int); INSERT INTO t VALUES (2)", RelationChanged),
        ("ALTER TABLE t ADD COLUMN c int", RelationChanged),
        ("SELECT 1", None),
    ],
)
def test_a_block_from_before_does_not_write_to_the_old_table(
    environment: Environment, first: str, error: type[ReclockError] | None
) -> None:
    ada, bob = Session(environment), Session(environment)
    run(ada, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
    run(ada, f"BEGIN; {first}")
    run(bob, "ALTER TABLE t ADD COLUMN b int DEFAULT 5")
    if error is None:
        run(ada, "UPDATE t SET b = 6; COMMIT")
    else:
        with pytest.raises(error):
            run(ada, "COMMIT")
    assert run(bob, "SELECT * FROM t") == [(1, 6 if error is None else 5)]


def test_rows_that_are_written_meanwhile_are_not_lost(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = Session(environment), Session(environment)
    run(ada, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
    rows = iter((2, 3))

    def write(point: str) -> None:
        if point == "definitions.before_commit" and (row := next(rows, None)) is not None:
            run(bob, f"INSERT INTO t VALUES ({row})")

    monkeypatch.setattr(failpoints, "on_reach", write)
    run(ada, "ALTER TABLE t ADD COLUMN b int DEFAULT 5")
    assert run(bob, "SELECT * FROM t ORDER BY a") == [(1, 5), (2, 5), (3, 5)]
    run(ada, "BEGIN; ALTER TABLE t ADD COLUMN c int")
    run(bob, "INSERT INTO t VALUES (4)")
    with pytest.raises(WriteConflict):
        run(ada, "COMMIT")
    assert run(bob, "SELECT * FROM t WHERE a = 4") == [(4, 5)]
