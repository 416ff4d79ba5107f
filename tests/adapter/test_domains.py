"""Domains: PostgreSQL's answers, checked wherever a value comes from, durable, and never taken away
from what uses them."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.postgres import PostgresServer
from fixtures.sessions import run
from fixtures.side_by_side import assert_same_rows

from reclock.adapter.session.session import Session
from reclock.errors import DependentObjects, DomainViolation, ReclockError, UnsupportedSql
from reclock.runtime.environment import Environment

SCRIPT = """
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE DOMAIN positive AS text;
CREATE DOMAIN small positive DEFAULT 5 NOT NULL CONSTRAINT below CHECK (VALUE < 100);
CREATE DOMAIN code varchar(3) CHECK (VALUE ~ '^[a-z]+$') CHECK (VALUE <> 'no');
CREATE DOMAIN price AS numeric(6, 2) DEFAULT 1.5 CHECK (VALUE >= 0);
CREATE DOMAIN pair AS int[] CHECK (cardinality(VALUE) < 3);
CREATE DOMAIN "Odd One" AS text;
CREATE DOMAIN "Name" AS varchar(2);
CREATE DOMAIN "Date" AS int;
CREATE TABLE quoted (a "Name", b "Date", c "name", d "int4range", e "date", f "varchar"(2));
INSERT INTO quoted VALUES ('ab', 7, 'abc', '[1,3)', '2024-01-02', 'xy');
INSERT INTO quoted (a) VALUES ('abc');
SELECT a, b, c, d::text, e::text, f, 'abc'::"Name", pg_typeof(a)::text, pg_typeof(b)::text FROM quoted;
CREATE SCHEMA "Other";
CREATE DOMAIN "Other"."Name" AS text;
CREATE TABLE others (a "Other"."Name", b text);
INSERT INTO others VALUES ('abcd', 'efgh');
SELECT a, b::"Other"."Name", pg_typeof(a)::text, to_regtype('"Other"."Name"')::text, to_regtype('Other.Name')::text FROM others;
SELECT '1'::"int";
SELECT '1'::"Int4";
CREATE DOMAIN wrong AS nope;
CREATE DOMAIN wrong AS int CHECK (n > 1);
CREATE DOMAIN wrong AS int CHECK (VALUE);
CREATE DOMAIN wrong AS int CHECK (sum(VALUE) > 1);
CREATE DOMAIN wrong AS int CHECK (VALUE > (SELECT 1));
CREATE DOMAIN wrong AS int DEFAULT 'x'::text;
CREATE DOMAIN wrong AS int NULL NOT NULL;
CREATE DOMAIN wrong AS int DEFAULT 1 DEFAULT 2;
CREATE DOMAIN wrong AS int UNIQUE;
CREATE DOMAIN wrong AS int CONSTRAINT a CHECK (VALUE > 1) CONSTRAINT a CHECK (VALUE > 2);
CREATE TABLE p (n int, a positive, s small, c code, q price, l pair, o "Odd One", CHECK (a <> 13));
INSERT INTO p (n) VALUES (1);
INSERT INTO p VALUES (2, 3, 4, 'abc', 2.345, '{1,2}', 'x'), (3, NULL, 99, NULL, NULL, NULL, NULL);
INSERT INTO p (n, a) VALUES (4, 0);
INSERT INTO p (n, a) VALUES (4, 13);
INSERT INTO p (n, a) VALUES (4, 'x');
INSERT INTO p (n, s) VALUES (4, NULL);
INSERT INTO p (n, s) VALUES (4, 100);
INSERT INTO p (n, s) VALUES (4, -1);
INSERT INTO p (n, c) VALUES (4, 'abcd');
INSERT INTO p (n, c) VALUES (4, 'A');
INSERT INTO p (n, c) VALUES (4, 'no');
INSERT INTO p (n, q) VALUES (4, -0.001);
INSERT INTO p (n, q) VALUES (4, -0.01);
INSERT INTO p (n, q) VALUES (4, 12345);
INSERT INTO p (n, l) VALUES (4, '{1,2,3}');
INSERT INTO p (n, a) SELECT n, n - 2 FROM p;
INSERT INTO p (n, a) SELECT n + 10, n FROM p WHERE n < 3 RETURNING n, a, s;
SELECT * FROM p ORDER BY n;
UPDATE p SET a = a - 1 WHERE n = 11;
UPDATE p SET a = a + 1, s = DEFAULT WHERE n = 11 RETURNING a, s;
UPDATE p SET s = NULL;
SELECT a + 1, a * q, c || 'x', l[1], upper(o), length(c) FROM p WHERE a > 2 ORDER BY 1;
SELECT n::positive, n::small FROM p ORDER BY n;
SELECT (n - 2)::positive FROM p;
SELECT NULL::small;
SELECT NULL::positive;
SELECT 500::small;
SELECT -1::small;
SELECT (-1)::small;
SELECT 'abcd'::code, 'ab'::code;
SELECT 'No'::code;
SELECT 2.567::price;
SELECT '{1,2,3}'::pair;
SELECT n FROM p WHERE a = '2';
SELECT n FROM p WHERE s = 5 AND a IS NULL ORDER BY n;
SELECT pg_typeof(a), pg_typeof(s), pg_typeof(c), pg_typeof(l), pg_typeof(o), pg_typeof(a + 1), pg_typeof(1::price) FROM p LIMIT 1;
SELECT pg_typeof(min(a)), pg_typeof(CASE WHEN true THEN a ELSE 1 END) FROM p WHERE n = 1 GROUP BY c, a;
PREPARE cast_it (int) AS SELECT $1::positive;
EXECUTE cast_it(5);
EXECUTE cast_it(0);
CREATE VIEW shown AS SELECT n, a, c, n::small AS t FROM p WHERE n < 20;
SELECT * FROM shown ORDER BY n;
CREATE TABLE copied AS SELECT a, s FROM p WHERE n < 3;
INSERT INTO copied VALUES (0, 1);
ALTER TABLE copied ADD COLUMN z small;
SELECT z FROM copied;
ALTER TABLE copied ADD COLUMN y code NOT NULL DEFAULT 'NO';
ALTER TABLE copied ADD COLUMN y positive;
ALTER TABLE copied ALTER COLUMN y TYPE code USING 'x';
INSERT INTO copied (y) VALUES ('Y');
ALTER TABLE copied ALTER COLUMN s TYPE int;
INSERT INTO copied (s, y) VALUES (-5, 'y') RETURNING s, z, y;
ALTER TABLE copied ALTER COLUMN s TYPE small;
SELECT column_name, data_type, domain_name, udt_name, character_maximum_length, numeric_precision, numeric_scale
    FROM information_schema.columns WHERE table_name = 'p' ORDER BY ordinal_position;
SELECT column_name, domain_name FROM information_schema.columns WHERE table_name = 'shown' ORDER BY ordinal_position;
SELECT format_type(atttypid, atttypmod), atttypid::regtype FROM pg_attribute
    WHERE attrelid = 'p'::regclass AND attnum > 0 ORDER BY attnum;
SELECT typname, typtype, typcategory, typlen, typbasetype::regtype, typtypmod, typnotnull, typdefault
    FROM pg_type WHERE typname IN ('positive', 'small', 'code', 'price', 'pair', 'Odd One') ORDER BY 1;
SELECT domain_name, data_type, character_maximum_length, numeric_precision, numeric_scale, domain_default, udt_name
    FROM information_schema.domains WHERE domain_schema = 'public' ORDER BY 1;
SELECT constraint_name, domain_name, is_deferrable FROM information_schema.domain_constraints
    WHERE domain_schema = 'public' AND domain_name <> 'small' ORDER BY 1;
SELECT domain_name, table_name, column_name FROM information_schema.column_domain_usage
    WHERE table_schema = 'public' ORDER BY 1, 2, 3;
SELECT conname, contype, contypid::regtype, conrelid, convalidated FROM pg_constraint
    WHERE contypid <> 0 AND contype = 'c' AND connamespace = 'public'::regnamespace ORDER BY 1;
COMMENT ON DOMAIN positive IS 'more than nothing';
SELECT obj_description('positive'::regtype, 'pg_type');
COMMENT ON DOMAIN nope IS 'x';
ALTER DOMAIN positive ADD CHECK (VALUE < 3);
ALTER DOMAIN positive ADD CHECK (VALUE < 1000);
ALTER DOMAIN positive ADD CONSTRAINT odd CHECK (VALUE <> 7) NOT VALID;
INSERT INTO p (n, a) VALUES (5, 1000);
INSERT INTO p (n, a) VALUES (5, 7);
INSERT INTO p (n, s) VALUES (5, 7);
SELECT 7::small;
ALTER DOMAIN positive VALIDATE CONSTRAINT odd;
ALTER DOMAIN positive VALIDATE CONSTRAINT nope;
ALTER DOMAIN positive ADD CONSTRAINT odd CHECK (VALUE <> 8);
ALTER DOMAIN positive RENAME CONSTRAINT odd TO no_seven;
ALTER DOMAIN positive RENAME CONSTRAINT odd TO other;
ALTER DOMAIN positive RENAME CONSTRAINT no_seven TO positive_check;
SELECT 7::positive;
ALTER DOMAIN positive DROP CONSTRAINT no_seven;
ALTER DOMAIN positive DROP CONSTRAINT no_seven;
ALTER DOMAIN positive DROP CONSTRAINT IF EXISTS no_seven;
SELECT 7::positive;
ALTER DOMAIN positive SET NOT NULL;
ALTER DOMAIN code SET NOT NULL;
UPDATE p SET c = 'x' WHERE c IS NULL;
UPDATE copied SET y = 'x' WHERE y IS NULL;
ALTER DOMAIN code SET NOT NULL;
INSERT INTO p (n) VALUES (6);
ALTER DOMAIN code SET DEFAULT 'd';
INSERT INTO p (n) VALUES (6) RETURNING n, c;
ALTER DOMAIN code SET DEFAULT 1;
ALTER DOMAIN code SET DEFAULT now();
ALTER DOMAIN code DROP DEFAULT;
ALTER DOMAIN code DROP NOT NULL;
INSERT INTO p (n) VALUES (7) RETURNING n, c;
ALTER DOMAIN nope SET NOT NULL;
ALTER DOMAIN positive RENAME TO natural_number;
SELECT pg_typeof(a) FROM p LIMIT 1;
SELECT 0::natural_number;
SELECT 0::small;
SELECT 1::positive;
CREATE SCHEMA lab;
CREATE DOMAIN lab.code AS int CHECK (VALUE > 5);
CREATE TABLE lab.t (a lab.code, b code);
INSERT INTO lab.t VALUES (6, 'b');
INSERT INTO lab.t VALUES (5, 'b');
SELECT 3::lab.code;
SET search_path = lab, public;
SELECT 3::code;
SET search_path = public;
DROP SCHEMA lab CASCADE;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN fine AS mood CHECK (VALUE <> 'sad');
SELECT 'ok'::fine, 'ok'::mood::fine::text;
SELECT 'sad'::fine;
SELECT 'mad'::fine;
CREATE TABLE felt (m fine);
INSERT INTO felt VALUES ('happy'), ('ok');
INSERT INTO felt VALUES ('sad');
SELECT m FROM felt ORDER BY m;
ALTER DOMAIN mood SET NOT NULL;
ALTER TYPE fine ADD VALUE 'x';
DROP DOMAIN mood;
DROP TYPE mood;
DROP TABLE felt;
DROP TYPE fine;
DROP DOMAIN natural_number;
DROP DOMAIN nope;
DROP DOMAIN IF EXISTS nope;
DROP VIEW shown;
DROP TABLE copied;
DROP TABLE p;
DROP DOMAIN natural_number CASCADE;
SELECT 1::small;
DROP DOMAIN code, price, pair, "Odd One";
BEGIN;
CREATE DOMAIN brief AS int CHECK (VALUE < 5);
CREATE TABLE briefly (b brief);
INSERT INTO briefly VALUES (4);
ALTER DOMAIN brief SET DEFAULT 2;
INSERT INTO briefly VALUES (DEFAULT);
SELECT * FROM briefly ORDER BY b;
INSERT INTO briefly VALUES (5);
ROLLBACK;
SELECT 1::brief;
"""


@pytest.fixture
def session(environment: Environment) -> Session:
    return Session(environment)


@pytest.fixture
def positive(session: Session) -> Session:
    run(
        session,
        "CREATE DOMAIN positive AS int CHECK (VALUE > 0);"
        "CREATE TABLE p (n positive, k int); INSERT INTO p VALUES (1), (2), (NULL)",
    )
    return session


def test_domains_answer_as_in_postgres(session: Session, postgres_server: PostgresServer) -> None:
    assert_same_rows(session, postgres_server, SCRIPT)


def test_every_way_into_a_table_is_checked(positive: Session) -> None:
    run(positive, "CREATE TABLE q (n int); INSERT INTO q VALUES (0)")
    for statement in (
        "INSERT INTO p SELECT n FROM q",
        "MERGE INTO p USING q ON p.n = q.n WHEN NOT MATCHED THEN INSERT VALUES (q.n)",
        "UPDATE p SET n = -n",
        "WITH x AS (DELETE FROM q RETURNING n) INSERT INTO p SELECT n FROM x",
        "CREATE TABLE c AS SELECT n::positive FROM q",
    ):
        with pytest.raises(ReclockError) as refused:
            run(positive, statement)
        assert refused.value.sqlstate == "23514"
        assert refused.value.message == (
            'value for domain positive violates check constraint "positive_check"'
        )
    assert run(positive, "SELECT count(*) FROM p WHERE n > 0") == [(2,)]


def test_a_constraint_that_stored_values_break_is_taken_back(positive: Session) -> None:
    with pytest.raises(DomainViolation) as refused:
        run(positive, "ALTER DOMAIN positive ADD CONSTRAINT one CHECK (VALUE < 2)")
    assert refused.value.message == (
        'column "n" of table "p" contains values that violate the new constraint'
    )
    with pytest.raises(DomainViolation) as refused:
        run(positive, "ALTER DOMAIN positive SET NOT NULL")
    assert refused.value.message == 'column "n" of table "p" contains null values'
    assert run(positive, "INSERT INTO p VALUES (3), (NULL); SELECT count(*) FROM p") == [(5,)]


def test_a_maintained_view_follows_the_constraints(positive: Session) -> None:
    run(positive, "CREATE TABLE q (n int); INSERT INTO q VALUES (5)")
    run(positive, "CREATE MATERIALIZED VIEW v AS SELECT n::positive AS n FROM q")
    assert run(positive, "SELECT n FROM v") == [(5,)]
    run(positive, "ALTER DOMAIN positive ADD CONSTRAINT few CHECK (VALUE < 10)")
    run(positive, "INSERT INTO q VALUES (10)")
    with pytest.raises(ReclockError) as refused:
        run(positive, "SELECT n FROM v")
    assert refused.value.sqlstate == "23514"
    run(positive, "DELETE FROM q WHERE n = 10")
    assert run(positive, "SELECT n FROM v") == [(5,)]


def test_a_domain_and_its_dependents_are_there_after_a_restart(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path / "home") as environment:
        run(
            Session(environment),
            "CREATE SCHEMA lab; CREATE DOMAIN lab.n AS int DEFAULT 3 CHECK (VALUE > 0);"
            "CREATE DOMAIN lab.m AS lab.n NOT NULL; CREATE TABLE t (a lab.m, k int);"
            "ALTER DOMAIN lab.n ADD CONSTRAINT few CHECK (VALUE < 10);"
            "ALTER SCHEMA lab RENAME TO hall; ALTER DOMAIN hall.n RENAME TO size",
        )
    with Environment.open(tmp_path / "home") as environment:
        session = Session(environment)
        assert run(session, "INSERT INTO t (k) VALUES (1); SELECT a FROM t") == [(3,)]
        for value in ("0", "10", "NULL"):
            with pytest.raises(DomainViolation):
                run(session, f"INSERT INTO t VALUES ({value})")
        assert run(session, "SHOW CREATE TYPE hall.size") == [
            (
                "reclock.hall.size",
                "CREATE DOMAIN reclock.hall.size AS INT DEFAULT 3 CONSTRAINT n_check "
                "CHECK (VALUE > 0) CONSTRAINT few CHECK (VALUE < 10)",
            )
        ]
        assert run(session, "SHOW TYPES FROM hall") == [("m",), ("size",)]


def test_a_domain_that_something_uses_is_not_dropped(positive: Session) -> None:
    run(positive, "CREATE DOMAIN other AS positive; CREATE VIEW v AS SELECT 1::other AS m")
    with pytest.raises(DependentObjects) as refused:
        run(positive, "DROP DOMAIN positive")
    assert refused.value.message.startswith("cannot drop type positive because")
    with pytest.raises(UnsupportedSql):
        run(positive, "DROP DOMAIN positive CASCADE")
    run(positive, "ALTER TABLE p DROP COLUMN n; DROP DOMAIN positive CASCADE")
    for statement in ("SELECT 1::other", "SELECT * FROM v"):
        with pytest.raises(ReclockError):
            run(positive, statement)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT '{1}'::positive[]",
        "CREATE TABLE n (a positive[])",
        "CREATE FUNCTION f(a positive) RETURNS int LANGUAGE SQL AS $$ SELECT 1 $$",
        "CREATE FUNCTION f() RETURNS positive LANGUAGE SQL AS $$ SELECT 1 $$",
        "SELECT * FROM jsonb_to_record('{}') AS x (a positive)",
        "CREATE SOURCE s (a positive) FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'b' FORMAT CSV",
    ],
)
def test_a_domain_is_refused_where_no_value_would_be_checked(
    positive: Session, statement: str
) -> None:
    with pytest.raises(UnsupportedSql) as refused:
        run(positive, statement)
    assert refused.value.message.startswith("the domain positive is not supported in ")
