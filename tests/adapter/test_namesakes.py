"""Relations of one name in several schemas, in one FROM."""

from __future__ import annotations

from fixtures.postgres import PostgresServer
from fixtures.side_by_side import assert_same_rows

from reclock.adapter.session.session import Session
from reclock.runtime.environment import Environment

GROUPED = """
CREATE SCHEMA s;
CREATE SCHEMA r;
CREATE TABLE s.t (a int, b int);
CREATE TABLE r.t (k int PRIMARY KEY, v int);
INSERT INTO s.t VALUES (1, 1), (2, 2);
INSERT INTO r.t VALUES (7, 70), (8, 80);
SELECT r.t.v, count(*) FROM s.t, r.t GROUP BY r.t.k ORDER BY r.t.k;
SELECT s.t.a, count(*) FROM s.t, r.t GROUP BY r.t.k;
SELECT a, count(*) FROM s.t, r.t GROUP BY k;
SELECT v, (SELECT sum(s.t.a) FROM s.t, r.t WHERE k = 7) FROM r.t GROUP BY k ORDER BY k;
SELECT t.a FROM s.t, r.t;
SELECT t.* FROM s.t, r.t;
SELECT (SELECT t.a FROM s.t, r.t) FROM s.t;
"""


def test_a_primary_key_determines_the_columns_of_its_relation_alone(
    environment: Environment, postgres_server: PostgresServer
) -> None:
    assert_same_rows(Session(environment), postgres_server, GROUPED)
