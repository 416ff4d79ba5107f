"""COMMENT ON: durable, shown where clients look, and gone with the object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest
from fixtures.sessions import run

from reclock.adapter.session.session import Session
from reclock.errors import ReclockError
from reclock.runtime.environment import Environment

DEFINITIONS = """
CREATE TABLE t (a int, b text, c text);
CREATE VIEW v AS SELECT a FROM t;
CREATE SEQUENCE s;
COMMENT ON TABLE t IS 'what t is';
COMMENT ON COLUMN t.b IS 'it''s b';
COMMENT ON COLUMN public.t.c IS 'soon gone';
COMMENT ON COLUMN t.c IS NULL;
COMMENT ON COLUMN v.a IS 'of the view';
COMMENT ON VIEW v IS 'first';
COMMENT ON VIEW v IS 'second';
COMMENT ON SEQUENCE s IS '';
COMMENT ON SCHEMA public IS 'ours'
"""
QUESTIONS = (
    "SELECT obj_description('t'::regclass), obj_description('t'::regclass, 'pg_class')",
    "SELECT col_description('t'::regclass, n) FROM generate_series(1, 3) AS n",
    "SELECT col_description('v'::regclass, 1), obj_description('v'::regclass, 'pg_class')",
    "SELECT obj_description('s'::regclass, 'pg_class')",
    "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = 'public'",
    """SELECT c.relname, d.objsubid, d.description FROM pg_description AS d
       JOIN pg_class AS c ON c.oid = d.objoid AND d.classoid = 'pg_class'::regclass
       WHERE c.relname IN ('t', 'v', 's') ORDER BY 1, 2""",
)


def test_clients_read_comments_as_in_postgresql(tmp_path: Path, postgres_server: Any) -> None:
    home = tmp_path / "home"
    with Environment.initialise(home) as environment:
        run(Session(environment), DEFINITIONS)
    with psycopg.connect(postgres_server.dsn()) as connection:  # and rolled back
        for definition in DEFINITIONS.split(";\n"):
            connection.execute(definition.encode())
        expected = [connection.execute(question.encode()).fetchall() for question in QUESTIONS]
        connection.rollback()
    with Environment.open(home) as environment:
        session = Session(environment)
        assert [run(session, question) for question in QUESTIONS] == expected
        run(session, "CREATE OR REPLACE VIEW v AS SELECT a FROM t WHERE a > 1")
        assert run(session, QUESTIONS[2]) == [("of the view", "second")]
        run(session, "DROP TABLE t CASCADE; DROP SEQUENCE s")
        assert run(session, "SELECT object_type, comment FROM mz_internal.mz_comments") == [
            ("schema", "ours")
        ]


def test_comments_on_roles_clusters_and_databases(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path / "home") as environment:
        session = Session(environment)
        run(session, "CREATE ROLE ada WITH LOGIN; CREATE TABLE t (a int)")
        run(session, "COMMENT ON ROLE ada IS 'she'; COMMENT ON CLUSTER default IS 'ours'")
        run(session, "COMMENT ON DATABASE reclock IS 'all'")
        assert run(session, "SELECT shobj_description(oid, 'pg_database') FROM pg_database") == [
            ("all",)
        ]
        found = run(session, "SELECT object_type, comment FROM mz_internal.mz_comments")
        assert sorted(found) == [("cluster", "ours"), ("database", "all"), ("role", "she")]
        ada = Session(environment, user="ada")
        for refused, sqlstate in (
            ("COMMENT ON TABLE t IS 'mine'", "42501"),
            ("COMMENT ON ROLE ada IS 'mine'", "42501"),
            ("COMMENT ON COLUMN t.nothing IS 'x'", "42703"),
            ("COMMENT ON VIEW t IS 'x'", "42809"),
        ):
            with pytest.raises(ReclockError) as error:
                run(ada, refused)
            assert error.value.sqlstate == sqlstate
        run(session, "DROP ROLE ada")
