"""Functions that users define: PostgreSQL's answers, planned as a part of the query that calls
them, durable, and never changed in silence under what calls them."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.postgres import PostgresServer
from fixtures.sessions import run
from fixtures.side_by_side import assert_same_rows

from reclock.adapter.session.session import Session
from reclock.errors import ReclockError, SqlSyntaxError
from reclock.runtime.environment import Environment

TABLE = """
CREATE TABLE t (a int, b text, c numeric(10, 2));
INSERT INTO t VALUES (1, 'one', 1.5), (2, 'two', 2.25), (3, NULL, NULL), (NULL, 'none', 0)
"""
SCRIPT = """
CREATE FUNCTION plus(a integer, b integer DEFAULT 10) RETURNS integer LANGUAGE SQL IMMUTABLE
    AS $$ SELECT a + $2; $$;
SELECT plus(1, 2), plus(5), plus(b => 3, a => 4), plus(7, b => 1), public.plus(7, 8), plus(NULL);
SELECT plus(1, 2, 3);
SELECT plus('x'::text, 1);
SELECT plus(c => 1);
SELECT plus(b => 3, 4);
SELECT plus(3, b => 4, b => 5);
SELECT a, plus(a, a) AS s FROM t WHERE plus(a) > 11 ORDER BY plus(a, 1) DESC;
SELECT plus(a, 1), count(*) FROM t GROUP BY plus(a, 1) ORDER BY 1;
SELECT sum(plus(a)), plus(sum(a)::int), plus((SELECT max(a) FROM t)) FROM t;
CREATE FUNCTION named(x int) RETURNS text LANGUAGE SQL STABLE RETURN (SELECT b FROM t WHERE t.a = x);
SELECT named(1), named(2), named(9), named(NULL);
SELECT a, named(a), named(a + 1), named((SELECT min(u.a) FROM t AS u WHERE u.a > t.a)) FROM t ORDER BY a;
SELECT named(t.a) FROM t WHERE named(t.a) IS NOT NULL ORDER BY 1;
CREATE FUNCTION above(low int) RETURNS TABLE (n int, s text) LANGUAGE SQL
    AS 'SELECT a, b FROM t WHERE a >= low';
SELECT * FROM above(2) ORDER BY n;
SELECT n, upper(s) FROM above(low => 1) AS x WHERE x.n < 3 ORDER BY 1;
SELECT t.a, z.* FROM t, above(t.a) AS z (q, w) ORDER BY 1, 2;
SELECT t.a, z.* FROM t LEFT JOIN LATERAL above(t.a + 1) AS z ON true ORDER BY 1, 2;
SELECT t.a FROM t WHERE EXISTS (SELECT 1 FROM above(t.a) AS x WHERE x.n > t.a + 1) ORDER BY 1;
SELECT (SELECT count(*) FROM above(t.a)) FROM t ORDER BY 1;
SELECT public.nope(1);
SELECT * FROM above('x');
CREATE FUNCTION numbers(n int) RETURNS SETOF int LANGUAGE SQL
    AS $$ SELECT g FROM generate_series(1, n) AS g $$;
SELECT numbers(3);
SELECT numbers, numbers.numbers FROM numbers(2) ORDER BY 1;
SELECT q, q.q, q.* FROM numbers(2) AS q ORDER BY 1;
SELECT a, numbers(a) FROM t ORDER BY 1, 2;
CREATE FUNCTION pair(x int) RETURNS SETOF int LANGUAGE SQL AS $$ SELECT x UNION ALL SELECT x + 1 $$;
SELECT a, p FROM t, pair(t.a) AS p ORDER BY 1, 2;
CREATE FUNCTION known() RETURNS SETOF t LANGUAGE SQL AS $$ SELECT * FROM t WHERE a IS NOT NULL $$;
SELECT * FROM known() ORDER BY a;
CREATE FUNCTION counted(low int) RETURNS bigint LANGUAGE SQL
    AS $$ SELECT count(*) FROM t WHERE a >= low $$;
SELECT a, counted(a) FROM t ORDER BY a;
SELECT a, k FROM t, counted(t.a) AS k ORDER BY a;
CREATE FUNCTION below(x int) RETURNS bigint LANGUAGE SQL
    AS $$ WITH q AS (SELECT a FROM t WHERE a < x) SELECT sum(a) FROM q $$;
SELECT a, below(a), below(9) FROM t ORDER BY a;
CREATE FUNCTION first_above(low int) RETURNS text LANGUAGE SQL
    AS $$ SELECT b FROM t WHERE a > low ORDER BY a $$;
SELECT a, first_above(a) FROM t ORDER BY a;
CREATE FUNCTION highest() RETURNS int LANGUAGE SQL
    AS $$ SELECT a FROM t WHERE a > 0 UNION SELECT 7 ORDER BY 1 DESC $$;
SELECT highest();
CREATE FUNCTION sum_or_one(a int, b int) RETURNS int LANGUAGE SQL
    AS $$ SELECT coalesce(a, 1) + coalesce(b, 1) $$;
SELECT sum_or_one(1, NULL), sum_or_one(1, 2);
CREATE OR REPLACE FUNCTION sum_or_one(a int, b int) RETURNS int LANGUAGE SQL STRICT
    AS $$ SELECT coalesce(a, 1) + coalesce(b, 1) $$;
SELECT sum_or_one(1, NULL), sum_or_one(1, 2);
CREATE FUNCTION strict_rows(a int) RETURNS SETOF int LANGUAGE SQL RETURNS NULL ON NULL INPUT
    AS $$ SELECT 1 $$;
SELECT * FROM strict_rows(NULL);
SELECT t.a, s FROM t, strict_rows(t.a) AS s ORDER BY 1;
CREATE FUNCTION half(n int) RETURNS int LANGUAGE SQL AS $$ SELECT n / 2.0 $$;
SELECT half(5), half(4), half(-5);
CREATE FUNCTION halves() RETURNS SETOF int LANGUAGE SQL AS $$ SELECT a / 2.0 FROM t $$;
SELECT * FROM halves() ORDER BY 1;
CREATE FUNCTION a_of_t(a int) RETURNS SETOF int LANGUAGE SQL AS $$ SELECT t.a FROM t WHERE a = a_of_t.a $$;
SELECT * FROM a_of_t(2);
CREATE FUNCTION kind(integer) RETURNS text LANGUAGE SQL AS $$ SELECT 'int' || $1 $$;
CREATE FUNCTION kind(text) RETURNS text LANGUAGE SQL AS $$ SELECT 'text' || $1 $$;
CREATE FUNCTION kind(bigint, numeric DEFAULT 1) RETURNS text LANGUAGE SQL AS $$ SELECT 'more' || $1 $$;
SELECT kind(1), kind('x'::text);
SELECT kind('x');
SELECT kind(1, 2);
SELECT kind(1::smallint, 2.5);
SELECT kind(1::smallint);
CREATE FUNCTION kind(x integer) RETURNS text LANGUAGE SQL AS $$ SELECT 'again' $$;
DROP FUNCTION kind;
DROP FUNCTION kind(double precision);
DROP FUNCTION kind(text);
DROP FUNCTION IF EXISTS kind(text);
DROP FUNCTION kind(int), kind(bigint, numeric(3, 1));
SELECT kind(1);
CREATE FUNCTION outer_one(x int) RETURNS int LANGUAGE SQL AS $$ SELECT plus(x, 1) * 2 $$;
SELECT outer_one(plus(a)) FROM t ORDER BY 1;
CREATE FUNCTION bad(a int) RETURNS int LANGUAGE SQL AS $$ SELECT nope FROM t $$;
CREATE FUNCTION bad(a int) RETURNS int LANGUAGE SQL AS $$ SELECT 1 FROM missing $$;
CREATE FUNCTION bad(a int) RETURNS int LANGUAGE SQL AS $$ SELEC 1 $$;
CREATE FUNCTION bad(a int) RETURNS int LANGUAGE SQL AS $$ SELECT 'x'::text $$;
CREATE FUNCTION bad(a int) RETURNS int LANGUAGE SQL AS $$ SELECT 1, 2 $$;
CREATE FUNCTION bad(a int) RETURNS TABLE (x int, y int) LANGUAGE SQL AS $$ SELECT 1 $$;
CREATE FUNCTION bad(a int) RETURNS int LANGUAGE SQL AS $$ SELECT $2 $$;
CREATE FUNCTION bad(a int, a int) RETURNS int LANGUAGE SQL AS $$ SELECT 1 $$;
CREATE FUNCTION bad(a int DEFAULT 1, b int) RETURNS int LANGUAGE SQL AS $$ SELECT 1 $$;
CREATE FUNCTION bad(a int) RETURNS int LANGUAGE SQL IMMUTABLE;
CREATE FUNCTION bad(a int) RETURNS int LANGUAGE SQL STABLE IMMUTABLE AS $$ SELECT 1 $$;
CREATE OR REPLACE FUNCTION plus(a int, b int DEFAULT 10) RETURNS bigint LANGUAGE SQL AS $$ SELECT 1::bigint $$;
CREATE OR REPLACE FUNCTION plus(x int, b int DEFAULT 10) RETURNS int LANGUAGE SQL AS $$ SELECT 1 $$;
CREATE OR REPLACE FUNCTION plus(a int, b int) RETURNS int LANGUAGE SQL AS $$ SELECT 1 $$;
CREATE VIEW shown AS SELECT a, plus(a) AS more, named(a) AS name FROM t;
SELECT * FROM shown ORDER BY a;
DROP FUNCTION plus(int, int);
CREATE OR REPLACE FUNCTION plus(a int, b int DEFAULT 10) RETURNS int LANGUAGE SQL AS $$ SELECT a * b $$;
SELECT * FROM shown ORDER BY a;
COMMENT ON FUNCTION plus(int, int) IS 'a product';
SELECT obj_description(oid, 'pg_proc'), pronargs, proargnames, provolatile, proisstrict, proretset
    FROM pg_proc WHERE proname = 'plus';
SELECT pg_get_function_arguments(oid), pg_get_function_identity_arguments(oid), pg_get_function_result(oid)
    FROM pg_proc WHERE proname IN ('above', 'plus', 'numbers') ORDER BY proname;
SELECT routine_name, data_type FROM information_schema.routines
    WHERE routine_schema = 'public' AND routine_name IN ('named', 'counted') ORDER BY 1;
ALTER FUNCTION half(int) RENAME TO halved;
SELECT halved(4);
SELECT half(4);
ALTER FUNCTION nope RENAME TO halved;
CREATE SCHEMA lab;
CREATE FUNCTION lab.answer() RETURNS int RETURN 42;
SELECT answer();
SELECT lab.answer();
SELECT * FROM lab.answer();
SELECT * FROM lab.answer() AS x (y) WHERE y > 1;
DROP SCHEMA lab;
DROP SCHEMA lab CASCADE;
DROP FUNCTION plus CASCADE;
SELECT * FROM shown;
"""


def test_functions_answer_as_in_postgres(
    environment: Environment, postgres_server: PostgresServer
) -> None:
    session = Session(environment)
    assert_same_rows(session, postgres_server, f"{TABLE.strip()};\n{SCRIPT.strip()}")


def test_a_view_of_functions_is_maintained_like_its_query(environment: Environment) -> None:
    session = Session(environment)
    run(session, "CREATE TABLE o (k int, v int); CREATE TABLE r (k int PRIMARY KEY, n text)")
    run(
        session,
        "CREATE FUNCTION named(x int) RETURNS text RETURN (SELECT n FROM r WHERE k = x);"
        "CREATE FUNCTION top(x int) RETURNS int BEGIN ATOMIC "
        "SELECT v FROM o WHERE k = x ORDER BY v DESC; END;"
        "CREATE FUNCTION of_key(x int, low int DEFAULT 0) RETURNS TABLE (v int, n text) "
        "LANGUAGE SQL AS $$ SELECT o.v, named(o.k) FROM o WHERE o.k = x AND o.v > low $$;"
        "CREATE FUNCTION total(x int) RETURNS bigint RETURN (SELECT sum(v) FROM o WHERE k = x)",
    )
    query = (
        "SELECT r.k, named(r.k + 1), top(r.k), total(r.k), f.v AS fv, f.n AS fn FROM r "
        "LEFT JOIN LATERAL of_key(r.k, 1) AS f ON true"
    )
    run(session, f"CREATE MATERIALIZED VIEW m AS {query}")
    for change in (
        "INSERT INTO r VALUES (1, 'one'), (2, 'two'), (3, 'three')",
        "INSERT INTO o VALUES (1, 1), (1, 5), (2, 2), (2, 2), (4, 9)",
        "UPDATE r SET n = 'zwei' WHERE k = 2",
        "DELETE FROM o WHERE v = 5",
        "INSERT INTO o VALUES (3, 7)",
        "UPDATE o SET k = k + 1",
        "DELETE FROM r WHERE k = 1",
        "DELETE FROM o",
    ):
        run(session, change)
        maintained = sorted(map(repr, run(session, "SELECT * FROM m")))
        assert maintained == sorted(map(repr, run(session, query))), change
        assert maintained or change.startswith("DELETE")


def test_a_replaced_function_changes_what_is_maintained_with_it(environment: Environment) -> None:
    session = Session(environment)
    run(session, "CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)")
    run(session, "CREATE FUNCTION f(a int) RETURNS int RETURN a + 1")
    run(session, "CREATE FUNCTION g(a int) RETURNS int RETURN f(a) * 10")
    run(session, "CREATE MATERIALIZED VIEW m AS SELECT g(a) AS v FROM t")
    assert run(session, "SELECT v FROM m ORDER BY v") == [(20,), (30,)]
    with pytest.raises(ReclockError, match="would call itself") as error:
        run(session, "CREATE OR REPLACE FUNCTION f(a int) RETURNS int RETURN g(a)")
    assert error.value.sqlstate == "0A000"
    run(session, "CREATE OR REPLACE FUNCTION f(a int) RETURNS int RETURN a + 2")
    assert run(session, "SELECT v FROM m ORDER BY v") == [(30,), (40,)]
    run(session, "INSERT INTO t VALUES (3)")
    assert run(session, "SELECT v FROM m ORDER BY v") == [(30,), (40,), (50,)]


def test_a_definition_keeps_the_overload_that_it_was_created_with(
    environment: Environment,
) -> None:
    session = Session(environment)
    run(session, "CREATE FUNCTION f(a bigint, b int DEFAULT 1) RETURNS text RETURN 'first'")
    run(session, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
    run(session, "CREATE VIEW below AS SELECT a FROM t; CREATE VIEW v AS SELECT f(a) FROM below")
    run(session, "CREATE FUNCTION f(a int) RETURNS text RETURN 'second'")
    run(session, "CREATE OR REPLACE VIEW below AS SELECT a + 0 AS a FROM t")  # v is planned again
    assert run(session, "SELECT * FROM v") == [("first",)]
    assert run(session, "SELECT f(a) FROM t") == [("second",)]


def test_functions_are_there_after_a_restart_and_in_other_processes(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Environment.initialise(home) as environment, Environment.open(home) as other:
        session, elsewhere = Session(environment), Session(other)
        run(session, "CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)")
        run(session, "SET search_path = lab; CREATE SCHEMA lab")
        run(
            session,
            'CREATE FUNCTION "F"(int, "X" int DEFAULT 5) RETURNS SETOF int LANGUAGE SQL '
            'AS $x$ SELECT CASE WHEN a > $1 THEN a END + "X" FROM public.t; $x$',
        )
        run(session, 'CREATE VIEW v AS SELECT * FROM "F"(1)')
        answer = [(7,), (None,)]
        assert run(elsewhere, 'SELECT * FROM lab."F"(1) ORDER BY 1') == answer
    with Environment.open(home) as again:
        assert run(Session(again), 'SELECT * FROM lab."F"(1) ORDER BY 1') == answer
        assert run(Session(again), "SELECT * FROM lab.v ORDER BY 1") == answer


def test_a_block_creates_functions_and_what_calls_them(environment: Environment) -> None:
    session, other = Session(environment), Session(environment)
    run(session, "CREATE TABLE t (a int); INSERT INTO t VALUES (3)")
    run(session, "BEGIN; CREATE FUNCTION f(a int) RETURNS int RETURN a * a")
    run(session, "CREATE VIEW v AS SELECT f(a) FROM t")
    with pytest.raises(ReclockError, match="does not exist"):
        run(other, "SELECT f(1)")
    run(session, "COMMIT")
    assert run(other, "SELECT * FROM v, f(2)") == [(9, 4)]
    run(session, "BEGIN; DROP FUNCTION f CASCADE; ROLLBACK")
    assert run(other, "SELECT * FROM v") == [(9,)]


def test_a_caller_needs_execute_and_what_the_function_reads(environment: Environment) -> None:
    session = Session(environment)
    run(session, "CREATE ROLE ada WITH LOGIN; CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
    run(session, "CREATE FUNCTION f() RETURNS bigint RETURN (SELECT count(*) FROM t)")
    run(session, "CREATE VIEW v AS SELECT f() AS n; GRANT SELECT ON v TO ada")
    ada = Session(environment, user="ada")
    assert run(ada, "SELECT * FROM v") == [(1,)]
    with pytest.raises(ReclockError, match="permission denied for TABLE"):
        run(ada, "SELECT f()")
    run(session, "GRANT SELECT ON t TO ada")
    assert run(ada, "SELECT f()") == [(1,)]
    run(session, "REVOKE EXECUTE ON FUNCTION f FROM PUBLIC")
    with pytest.raises(ReclockError, match="permission denied for FUNCTION"):
        run(ada, "SELECT f()")
    run(session, "GRANT EXECUTE ON FUNCTION f() TO ada")
    assert run(ada, "SELECT f()") == [(1,)]
    with pytest.raises(ReclockError, match="must be owner"):
        run(ada, "DROP FUNCTION f CASCADE")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS 'BEGIN; END'", 'language "plpgsql"'),
        ("CREATE FUNCTION f() RETURNS int AS 'import os' LANGUAGE plpython3u", "plpython3u"),
        ("CREATE FUNCTION f() RETURNS void LANGUAGE SQL AS 'SELECT 1'", "return void"),
        ("CREATE FUNCTION f(OUT a int) RETURNS int RETURN 1", "OUT parameters"),
        ("CREATE FUNCTION f() RETURNS int LANGUAGE SQL AS 'DELETE FROM t'", "no single query"),
        ("CREATE FUNCTION f() RETURNS int LANGUAGE SQL AS 'SELECT 1; SELECT 2'", "no single query"),
        ("CREATE FUNCTION f() RETURNS int SECURITY DEFINER RETURN 1", "SECURITY DEFINER"),
        ("CREATE FUNCTION pg_temp.f() RETURNS int RETURN 1", "temporary functions"),
        ("CREATE FUNCTION f(a int) RETURNS int RETURN f(a - 1)", "would call itself"),
        ("SELECT twice(random())", "volatile argument of twice"),
        ("SELECT twice(x) FROM (SELECT 1.5 AS x) AS y, records()", None),
        ("SELECT records()", "which returns records"),
        ("SELECT * FROM records() WITH ORDINALITY", "WITH ORDINALITY of function records"),
        ("CREATE MATERIALIZED VIEW v AS SELECT who()", "current_user is not supported where"),
        ("SELECT who()", None),
        ("ALTER FUNCTION called RENAME TO g", 'because "reclock.public.caller" calls it'),
    ],
)
def test_what_is_not_supported_says_so(
    environment: Environment, statement: str, message: str | None
) -> None:
    session = Session(environment)
    run(
        session,
        "CREATE TABLE t (a int);"
        "CREATE FUNCTION twice(a double precision) RETURNS double precision RETURN a + a;"
        "CREATE FUNCTION records() RETURNS TABLE (a int, b int) BEGIN ATOMIC SELECT 1, 2; END;"
        "CREATE FUNCTION who() RETURNS text RETURN current_user;"
        "CREATE FUNCTION called() RETURNS int RETURN 1; CREATE VIEW caller AS SELECT called()",
    )
    if message is None:
        assert run(session, statement)
        return
    with pytest.raises(ReclockError, match=message) as error:
        run(session, statement)
    assert error.value.sqlstate == "0A000"


def test_a_mistake_in_a_body_is_found_at_its_place(environment: Environment) -> None:
    session = Session(environment)
    text = "SELECT 1; CREATE FUNCTION f() RETURNS int LANGUAGE SQL AS $body$ SELECT 1 FRM t $body$"
    with pytest.raises(SqlSyntaxError) as error:
        run(session, text)
    assert error.value.position == text.index("t $body$") + 1
    with pytest.raises(
        ReclockError, match='function "lower" already exists with same argument types'
    ):
        run(session, "CREATE FUNCTION lower(a int) RETURNS int RETURN a")


def test_a_definition_has_full_names_everywhere(environment: Environment) -> None:
    session = Session(environment)
    run(session, "CREATE SCHEMA lab; SET search_path = lab; CREATE TABLE t (a int)")
    run(session, "INSERT INTO t VALUES (1); CREATE FUNCTION f(a int) RETURNS int RETURN a + 1")
    run(session, "CREATE VIEW v AS SELECT ARRAY(SELECT f(f(a)) FROM t), (SELECT x FROM f(2) AS x)")
    [(_, text)] = run(session, "SHOW CREATE VIEW v")
    assert "reclock.lab.f(reclock.lab.f(a)) FROM reclock.lab.t" in text
    assert "FROM reclock.lab.f(2)" in text
    run(session, "SET search_path = public; ALTER SCHEMA lab RENAME TO attic")
    assert run(session, "SELECT * FROM attic.v, attic.f(5)") == [([3], 3, 6)]
