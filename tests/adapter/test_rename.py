"""ALTER … RENAME TO: what names the object follows it."""

from __future__ import annotations

from fixtures.postgres import PostgresServer
from fixtures.sessions import run
from fixtures.side_by_side import assert_same_rows

from reclock.adapter.session.session import Session
from reclock.runtime.environment import Environment

NAMESAKES = """
CREATE SCHEMA s;
CREATE SCHEMA r;
CREATE TABLE s.t (a int);
CREATE TABLE r.t (b int);
INSERT INTO s.t VALUES (1);
INSERT INTO r.t VALUES (2);
CREATE VIEW v AS SELECT * FROM s.t, r.t;
CREATE VIEW qualified AS SELECT s.t.a, r.t.b, (SELECT r.t.b + s.t.a) AS c FROM s.t JOIN r.t ON s.t.a < r.t.b;
CREATE VIEW nested AS SELECT r.t.b, (SELECT max(r.t.b) FROM s.t, r.t) AS m FROM r.t ORDER BY r.t.b;
ALTER TABLE r.t RENAME TO u;
SELECT * FROM v;
SELECT * FROM qualified;
SELECT * FROM nested;
ALTER TABLE s.t RENAME TO u;
ALTER TABLE s.u RENAME TO w;
ALTER TABLE r.u RENAME TO w;
INSERT INTO r.w VALUES (3);
SELECT * FROM v ORDER BY b;
SELECT * FROM qualified ORDER BY b;
SELECT * FROM nested;
"""


def test_views_over_relations_of_one_name_follow_as_in_postgresql(
    environment: Environment, postgres_server: PostgresServer
) -> None:
    session = Session(environment)
    assert_same_rows(session, postgres_server, NAMESAKES)
    assert run(session, "SELECT count(*) FROM mz_internal.mz_broken_objects") == [(0,)]
