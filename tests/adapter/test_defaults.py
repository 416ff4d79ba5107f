"""Defaults that are no constants: evaluated once a statement or once a row, as PostgreSQL does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fixtures.sessions import run

from reclock.adapter.copy.transfer import CopyIn
from reclock.adapter.session.session import Session
from reclock.runtime.environment import Environment

Run = Callable[[str], list[tuple[Any, ...]]]

STATEMENTS = (
    """CREATE TABLE volatile_defaults (
        a int, id uuid DEFAULT gen_random_uuid(), at timestamptz NOT NULL DEFAULT now(),
        day date DEFAULT current_date, who text DEFAULT current_user)""",
    "INSERT INTO volatile_defaults (a) VALUES (1), (2)",
    "INSERT INTO volatile_defaults (a) SELECT g FROM generate_series(3, 4) AS g",
    "INSERT INTO volatile_defaults VALUES (5, DEFAULT, DEFAULT, DEFAULT, DEFAULT)",
    "UPDATE volatile_defaults SET at = DEFAULT WHERE a IN (1, 3)",
)
QUESTIONS = (
    "SELECT count(DISTINCT id), count(DISTINCT at) FROM volatile_defaults",
    "SELECT count(*) FROM volatile_defaults WHERE at > now() - interval '1 day' AND at <= now()",
    "SELECT count(*) FROM volatile_defaults WHERE who = current_user AND day IS NOT NULL",
    "SELECT a FROM volatile_defaults WHERE at = (SELECT at FROM volatile_defaults WHERE a = 1)",
    """SELECT column_name FROM information_schema.columns
       WHERE table_name = 'volatile_defaults' AND column_default = 'now()'""",
)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Environment.initialise(tmp_path / "home") as environment:
        yield Session(environment)


def test_each_row_or_statement_has_a_default_of_its_own_as_in_postgresql(
    session: Session, postgres_server: Any
) -> None:
    def answers(ask: Run) -> list[list[tuple[Any, ...]]]:
        for statement in STATEMENTS:
            ask(statement)
        return [sorted(ask(question)) for question in QUESTIONS]

    with psycopg.connect(postgres_server.dsn(), autocommit=True) as connection:

        def ask(text: str) -> list[tuple[Any, ...]]:
            cursor = connection.execute(text.encode())
            return cursor.fetchall() if cursor.description else []

        try:
            assert answers(lambda text: run(session, text)) == answers(ask)
        finally:
            connection.execute("DROP TABLE IF EXISTS volatile_defaults")


def test_copied_rows_have_defaults_of_their_own(session: Session) -> None:
    run(
        session,
        "CREATE TABLE t (a int, id uuid DEFAULT gen_random_uuid(), at timestamptz DEFAULT now())",
    )
    [copy] = session.execute("COPY t (a) FROM STDIN")
    assert isinstance(copy, CopyIn)
    copy.write(b"1\n2\n3\n")
    copy.finish()
    distinct = "SELECT count(*), count(DISTINCT id), count(DISTINCT at) FROM t"
    assert run(session, distinct) == [(3, 3, 1)]


def test_a_block_has_one_present(session: Session) -> None:
    run(session, "CREATE TABLE t (a int, at timestamptz DEFAULT now())")
    run(session, "BEGIN; INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); COMMIT")
    assert run(session, "SELECT count(DISTINCT at) FROM t") == [(1,)]
