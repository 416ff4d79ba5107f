"""Types that users define: PostgreSQL's answers, durable, maintained by the order of their labels,
and never taken away from what uses them."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.postgres import PostgresServer
from fixtures.sessions import last_answer, run
from fixtures.side_by_side import assert_same_rows

from reclock.adapter.session.session import Session
from reclock.errors import (
    DependentObjects,
    InvalidEnumDefinition,
    ReclockError,
    UnsupportedSql,
)
from reclock.runtime.environment import Environment

SCRIPT = """
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE mood AS ENUM ('other');
CREATE TYPE "Odd One" AS ENUM ('it''s', '', 'sad');
CREATE TABLE p (n int, m mood DEFAULT 'ok', l mood[], o "Odd One", CHECK (m <> 'sad' OR n > 1));
INSERT INTO p (n) VALUES (1);
INSERT INTO p VALUES (2, 'happy', '{ok,sad}', 'it''s'), (3, NULL, NULL, ''), (4, 'sad', '{NULL}', 'sad');
INSERT INTO p VALUES (5, 'mad', NULL, NULL);
INSERT INTO p VALUES (5, 'OK', NULL, NULL);
INSERT INTO p VALUES (5, NULL, '{ok,mad}', NULL);
INSERT INTO p VALUES (1, 'sad', NULL, NULL);
INSERT INTO p (n, m) SELECT 9, 'ok'::text;
INSERT INTO p (n, m) SELECT 9, x::mood FROM (VALUES ('ok'), ('sad')) AS v (x);
SELECT n, m, l::text, o FROM p ORDER BY m, n;
SELECT n FROM p WHERE m > 'ok' ORDER BY 1;
SELECT n FROM p WHERE m = 'mad';
SELECT n FROM p WHERE m = 'ok'::text;
SELECT n FROM p WHERE m = o;
SELECT n, m::text = o::text FROM p ORDER BY n, m;
SELECT m::"Odd One" FROM p;
SELECT m::int FROM p;
SELECT 1::mood;
SELECT sum(m) FROM p;
SELECT m LIKE 'o%' FROM p;
SELECT upper(m) FROM p;
SELECT pg_typeof(m), pg_typeof(l), pg_typeof(o), pg_typeof(max(m)) FROM p GROUP BY m, l, o LIMIT 1;
SELECT enum_first(m), enum_last(o), enum_range(NULL::mood)::text FROM p LIMIT 1;
SELECT enum_first(1);
UPDATE p SET m = 'happy' WHERE m < 'happy' AND n > 1 RETURNING n, m;
UPDATE p SET m = 'x';
DELETE FROM p WHERE n = 9 RETURNING m;
SELECT count(*) FROM p WHERE m IN ('happy', 'ok');
PREPARE of_mood (mood) AS SELECT n FROM p WHERE m >= $1 ORDER BY n;
EXECUTE of_mood('happy');
EXECUTE of_mood('mad');
CREATE VIEW shown AS SELECT n, m, 'happy'::mood AS best FROM p WHERE m <> 'sad';
SELECT * FROM shown ORDER BY n;
CREATE FUNCTION better(a mood, b mood) RETURNS mood LANGUAGE SQL AS $$ SELECT greatest(a, b) $$;
SELECT better('sad', 'ok'), better(NULL, 'sad');
SELECT better('sad', 'it''s'::"Odd One");
CREATE TABLE copied AS SELECT m, l FROM p;
SELECT m FROM copied WHERE m > 'ok' ORDER BY m;
ALTER TABLE copied ADD COLUMN also mood NOT NULL DEFAULT 'sad';
SELECT DISTINCT also FROM copied;
ALTER TABLE copied ALTER COLUMN also TYPE text;
ALTER TABLE copied ALTER COLUMN also TYPE mood;
ALTER TABLE copied ALTER COLUMN also TYPE mood USING also::mood;
SELECT DISTINCT also > 'sad' FROM copied;
ALTER TYPE mood ADD VALUE 'fine' AFTER 'ok';
ALTER TYPE mood ADD VALUE 'great';
ALTER TYPE mood ADD VALUE 'awful' BEFORE 'sad';
ALTER TYPE mood ADD VALUE 'ok';
ALTER TYPE mood ADD VALUE IF NOT EXISTS 'ok';
ALTER TYPE mood ADD VALUE 'x' BEFORE 'nope';
ALTER TYPE nope ADD VALUE 'x';
SELECT enum_range(NULL::mood)::text;
INSERT INTO p VALUES (7, 'awful', NULL, NULL), (8, 'great', NULL, NULL), (9, 'fine', NULL, NULL);
SELECT n, m FROM p ORDER BY m DESC, n;
SELECT max(m), min(m) FROM p WHERE m < 'great';
SELECT typname, typtype, typcategory, typlen FROM pg_type WHERE typname IN ('mood', '_mood', 'Odd One') ORDER BY 1;
SELECT t.typname, e.enumlabel FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid
    WHERE t.typname = 'mood' ORDER BY e.enumsortorder;
SELECT format_type(atttypid, atttypmod), atttypid::regtype FROM pg_attribute
    WHERE attrelid = 'p'::regclass AND attnum > 0 ORDER BY attnum;
SELECT column_name, data_type, udt_name FROM information_schema.columns WHERE table_name = 'p' ORDER BY ordinal_position;
SELECT 'mood'::regtype, to_regtype('"Odd One"'), to_regtype('public.mood[]'), to_regtype('nope');
COMMENT ON TYPE mood IS 'how it goes';
SELECT obj_description('mood'::regtype, 'pg_type');
COMMENT ON TYPE nope IS 'x';
CREATE SCHEMA lab;
CREATE TYPE lab.mood AS ENUM ('blue', 'red');
CREATE TABLE lab.t (m lab.mood, other mood);
INSERT INTO lab.t VALUES ('red', 'sad'), ('blue', 'ok');
SELECT m::text, other FROM lab.t ORDER BY m;
SELECT 'red'::mood;
SELECT 'red'::lab.mood > 'blue';
SELECT m = other FROM lab.t;
SET search_path = lab, public;
SELECT 'red'::mood;
SELECT better('sad', 'ok');
SELECT * FROM shown ORDER BY n LIMIT 1;
SET search_path = public;
DROP SCHEMA lab;
DROP SCHEMA lab CASCADE;
ALTER TYPE "Odd One" RENAME TO odd;
SELECT o, 'sad'::odd > o FROM p WHERE o IS NOT NULL ORDER BY o;
SELECT 'sad'::"Odd One";
ALTER TYPE mood RENAME TO odd;
ALTER TYPE nope RENAME TO other;
DROP TYPE mood;
DROP TYPE nope;
DROP TYPE IF EXISTS nope;
DROP FUNCTION better;
DROP VIEW shown;
DROP TABLE copied;
DROP TABLE p;
DROP TYPE mood, odd;
SELECT 'ok'::mood;
CREATE TYPE empty AS ENUM ();
SELECT 'x'::empty;
CREATE TYPE unused AS ENUM ('a', 'b');
ALTER TYPE unused RENAME VALUE 'a' TO 'c';
ALTER TYPE unused RENAME VALUE 'a' TO 'd';
ALTER TYPE unused RENAME VALUE 'c' TO 'b';
SELECT 'c'::unused < 'b';
BEGIN;
CREATE TYPE brief AS ENUM ('x', 'y');
CREATE TABLE briefly (m brief);
INSERT INTO briefly VALUES ('y'), ('x');
SELECT * FROM briefly ORDER BY m DESC;
ROLLBACK;
SELECT 'x'::brief;
"""


@pytest.fixture
def session(environment: Environment) -> Session:
    return Session(environment)


@pytest.fixture
def moods(session: Session) -> Session:
    run(
        session,
        "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy'); CREATE TABLE p (n int, m mood, s text);"
        "INSERT INTO p VALUES (1, 'happy', 'ok'), (2, 'sad', 'sad'), (3, 'ok', 'ok')",
    )
    return session


def test_enums_answer_as_in_postgres(session: Session, postgres_server: PostgresServer) -> None:
    assert_same_rows(session, postgres_server, SCRIPT)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT s, max(m) AS most, min(m) AS least FROM p GROUP BY s",
        "SELECT n FROM p WHERE m > 'sad'",
        "SELECT DISTINCT ON (s) s, n, m FROM p ORDER BY s, m DESC, n",
        "SELECT n, rank() OVER (PARTITION BY s ORDER BY m) AS r FROM p",
        "SELECT a.n, b.n AS k FROM p AS a JOIN p AS b ON a.m < b.m",
        "SELECT n, s::mood AS m, m::text AS t FROM p",
        "SELECT m, count(*) AS c, array_agg(n ORDER BY n) AS l FROM p GROUP BY m",
    ],
)
def test_a_view_is_maintained_by_the_order_of_labels(moods: Session, query: str) -> None:
    run(moods, f"CREATE MATERIALIZED VIEW v AS {query}")
    for change in (
        "INSERT INTO p VALUES (4, 'sad', 'ok'), (5, 'ok', 'sad')",
        "ALTER TYPE mood ADD VALUE 'fine' BEFORE 'happy'",
        "ALTER TYPE mood ADD VALUE 'awful' BEFORE 'sad'",
        "INSERT INTO p VALUES (6, 'fine', 'awful'), (7, 'awful', 'fine')",
        "UPDATE p SET m = 'happy' WHERE n = 2",
        "DELETE FROM p WHERE m > 'ok'",
    ):
        run(moods, change)
        maintained = sorted(map(repr, run(moods, "SELECT * FROM v")))
        assert maintained == sorted(map(repr, run(moods, query))), change
        assert maintained


def test_a_type_and_its_dependents_are_there_after_a_restart(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path / "home") as environment:
        session = Session(environment)
        run(
            session,
            "CREATE SCHEMA lab; CREATE TYPE lab.mood AS ENUM ('sad', 'ok');"
            "CREATE TABLE t (m lab.mood DEFAULT 'ok', l lab.mood[]); INSERT INTO t VALUES ('sad', '{ok}');"
            "INSERT INTO t (l) VALUES ('{}'); ALTER TYPE lab.mood ADD VALUE 'mad' BEFORE 'ok';"
            "ALTER SCHEMA lab RENAME TO hall; ALTER TYPE hall.mood RENAME TO state;"
            "CREATE VIEW v AS SELECT max(m) AS m FROM t WHERE m < 'ok'::hall.state",
        )
    with Environment.open(tmp_path / "home") as environment:
        session = Session(environment)
        assert run(session, "SELECT m, l FROM t ORDER BY m DESC") == [("ok", []), ("sad", ["ok"])]
        assert run(session, "INSERT INTO t VALUES ('mad', NULL); SELECT * FROM v") == [("mad",)]
        assert run(session, "SHOW CREATE TYPE hall.state") == [
            (
                "reclock.hall.state",
                "CREATE TYPE reclock.hall.state AS ENUM ('sad', 'mad', 'ok')",
            )
        ]
        assert "m reclock.hall.state" in run(session, "SHOW CREATE TABLE t")[0][1]
        assert run(session, "SHOW TYPES FROM hall") == [("state",)]


def test_a_type_that_something_uses_is_not_dropped(moods: Session) -> None:
    run(moods, "CREATE VIEW v AS SELECT 'ok'::mood AS m")
    with pytest.raises(DependentObjects) as refused:
        run(moods, "DROP TYPE mood")
    assert refused.value.sqlstate == "2BP01"
    run(moods, "CREATE ROLE r; ALTER TYPE mood OWNER TO r")
    for drop in ("DROP TYPE mood CASCADE", "DROP OWNED BY r CASCADE"):
        with pytest.raises(UnsupportedSql) as refusal:
            run(moods, drop)
        assert refusal.value.hint == "ALTER TABLE reclock.public.p DROP COLUMN … first"
    run(moods, "ALTER TABLE p DROP COLUMN m; DROP TYPE mood CASCADE")
    with pytest.raises(ReclockError) as failure:
        run(moods, "SELECT * FROM v")
    assert failure.value.sqlstate == "42P01"


def test_a_value_in_use_is_not_renamed(moods: Session) -> None:
    with pytest.raises(UnsupportedSql) as refused:
        run(moods, "ALTER TYPE mood RENAME VALUE 'ok' TO 'fine'")
    assert "reclock.public.p" in refused.value.message


@pytest.mark.parametrize(
    ("labels", "sqlstate"), [("'a', 'b', 'a'", "42710"), (f"'{'é' * 32}'", "42602")]
)
def test_labels_are_short_and_different(session: Session, labels: str, sqlstate: str) -> None:
    with pytest.raises(InvalidEnumDefinition) as refused:
        run(session, f"CREATE TYPE mood AS ENUM ({labels})")
    assert refused.value.sqlstate == sqlstate


def test_a_message_says_the_enum_and_the_text(moods: Session) -> None:
    for statement in (
        "SELECT 'mad'::mood",
        "INSERT INTO p VALUES (1, 'mad', 'x')",
        "SELECT ('m' || 'ad')::mood",
    ):
        with pytest.raises(ReclockError) as refused:
            run(moods, statement)
        assert refused.value.sqlstate == "22P02"
        assert refused.value.message == 'invalid input value for enum mood: "mad"'


def test_a_sink_takes_a_column_of_an_enum(moods: Session) -> None:
    assert last_answer(moods, "CREATE SINK k FROM p INTO DELTA 'o'") == "CREATE SINK"
