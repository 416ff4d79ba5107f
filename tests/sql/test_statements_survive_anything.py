# ruff: noqa: E501, PT017 (statements stay on one line; what an error holds is checked where it is
# caught)
"""Whatever a client sends, it gets a plan or an error of Reclock's: nothing else comes out of
parsing and planning."""

from __future__ import annotations

import random

import pytest
from fixtures.mutation import mutated, words_of
from fixtures.planning import new_york
from hypothesis import given, settings
from hypothesis import strategies as st

from reclock.errors import InternalError, ReclockError
from reclock.plan.explain import explain
from reclock.sql.planning.statement import plan_statement
from reclock.sql.queries.views import expand
from reclock.sql.statements.query.values import Select
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.parse import parse, parse_one

SEEDS = """
SELECT carrier, count(*) FROM flights WHERE dep_delay > 10 AND origin = 'JFK' GROUP BY carrier HAVING count(*) > 1 ORDER BY 2 DESC LIMIT 3
SELECT f.carrier, w.temp FROM flights f JOIN weather w ON f.origin = w.origin AND f.time_hour = w.time_hour LEFT JOIN airlines a USING (carrier)
SELECT DISTINCT ON (carrier) carrier, flight FROM flights ORDER BY carrier, dep_delay DESC NULLS LAST
WITH x (c) AS (SELECT carrier FROM flights) SELECT c FROM x UNION ALL SELECT carrier FROM airlines EXCEPT VALUES ('UA')
SELECT CASE WHEN dep_delay BETWEEN 1 AND 5 THEN 'a' ELSE NULL END, dep_delay::int, coalesce(dest, 'x') || '!' FROM flights
SELECT name FROM airlines a WHERE carrier NOT IN (SELECT dest FROM flights) AND EXISTS (SELECT 1 FROM flights f WHERE f.carrier = a.carrier)
SELECT name, (SELECT max(dep_delay) FROM flights f WHERE f.carrier = a.carrier) FROM airlines a AS OF AT LEAST 1700000000000
SELECT extract(hour FROM time_hour), time_hour + interval '1 day', date '2013-01-01' FROM flights WHERE origin LIKE 'J%' OR dest IS NULL
CREATE SOURCE s (a int NOT NULL, b numeric(10, 2)) FROM S3 DISCOVER OBJECTS MATCHING '**' USING BUCKET SCAN 'b' FORMAT CSV WITH HEADER DELIMITED BY ';'
CREATE MATERIALIZED VIEW v IN CLUSTER default AS SELECT carrier, sum(distance) FROM flights GROUP BY carrier
CREATE INDEX i IN CLUSTER other ON delays (carrier)
CREATE INDEX ON delays (flights % 10, (upper(carrier)), delay)
DROP SOURCE IF EXISTS flights, weather CASCADE
ALTER SOURCE flights SKIP 'a.csv' FROM 3 TO 9
ALTER SOURCE flights SKIP 'a.csv' FROM 3 TO 9, FROM 12 TO 20, 'b.csv', 'c.csv' FROM 0 TO 1
ALTER SOURCE flights RENAME TO trips
ALTER SOURCE flights SET (RETAIN HISTORY FOR '2h')
SHOW INDEXES FROM delays IN CLUSTER default WHERE key_name = 'x'
SHOW CREATE MATERIALIZED VIEW delays
SET search_path = public, 'x'
CREATE CLUSTER c WITH (SIZE = '2')
CREATE CLUSTER REPLICA sized.r2 SIZE '1'
ALTER CLUSTER sized SET SIZE '2'
ALTER CLUSTER other RENAME TO c
DROP CLUSTER IF EXISTS default, other CASCADE
DROP CLUSTER REPLICA IF EXISTS sized.r1, c.r2
SHOW CLUSTER REPLICAS WHERE size LIKE 'r%'
GRANT SELECT ON flights, delays TO reclock, PUBLIC
REVOKE ALL ON ALL TABLES IN SCHEMA public FROM reclock
ALTER DEFAULT PRIVILEGES FOR ROLE reclock IN SCHEMA public GRANT SELECT ON TABLES TO PUBLIC
CREATE ROLE r SUPERUSER LOGIN
ALTER ROLE reclock SET cluster = other
REASSIGN OWNED BY reclock TO current_user
EXPLAIN TIMESTAMP FOR SELECT 1
BEGIN ISOLATION LEVEL SERIALIZABLE
""".strip().splitlines()
WORDS = words_of(SEEDS)
WORLD = new_york()


def survives(text: str) -> bool:
    """Parses, plans, expands, explains and prints ``text``; True if it had a meaning. Anything but
    a user's error gets out."""
    try:
        for parsed in parse(text):
            statement = plan_statement(parsed, WORLD.catalog, WORLD.session)
            assert parse_one(to_sql(parsed.node)) == parsed.node, to_sql(parsed.node)
            if isinstance(statement, Select):
                explain(expand(statement.plan, WORLD.catalog), statement.finishing)
    except InternalError:
        raise
    except ReclockError as error:
        assert len(error.sqlstate) == 5
        assert error.message
        return False
    return True


@pytest.mark.parametrize("seed", SEEDS)
def test_the_seeds_mean_something(seed: str) -> None:
    if "SHOW CREATE MATERIALIZED" not in seed:
        assert survives(seed)


@pytest.mark.parametrize("round_", range(20))
def test_statements_with_words_lost_moved_and_added(round_: int) -> None:
    draw = random.Random(round_)
    for _ in range(150):
        text = mutated(draw, SEEDS, WORDS)
        try:
            survives(text)
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}\n{text}") from error


@settings(max_examples=300)
@given(st.text(max_size=60) | st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join))
def test_text_of_any_kind(text: str) -> None:
    survives(text)


@settings(max_examples=200)
@given(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join))
def test_expressions_of_any_kind(text: str) -> None:
    survives(f"SELECT {text} FROM flights")
