"""Cursors and warnings, as clients of PostgreSQL see them."""

from __future__ import annotations

import psycopg
import pytest
from fixtures.side_by_side import assert_same_answers

MOVES = """
    BEGIN;
    DECLARE c NO SCROLL CURSOR FOR SELECT n FROM generate_series(1, 10) AS n;
    FETCH 2 FROM c;
    MOVE 3 FROM c;
    FETCH NEXT IN c;
    MOVE c;
    MOVE NEXT IN c;
    MOVE FORWARD 1 FROM c;
    FETCH FORWARD 1 FROM c;
    MOVE FORWARD ALL IN c;
    MOVE 1 FROM c;
    MOVE ALL FROM nowhere;
    ROLLBACK;
    MOVE 1 FROM c
"""
WARNINGS = {
    "ROLLBACK": "25P01",
    "COMMIT": "25P01",
    "SET TRANSACTION ISOLATION LEVEL READ COMMITTED": "25P01",
    "SET LOCAL statement_timeout = 1000": "25P01",
    "SET CONSTRAINTS ALL DEFERRED": "25P01",
    "BEGIN; BEGIN; ROLLBACK": "25001",
    "SELECT pg_advisory_unlock(4712)": "01000",
    "DROP TABLE IF EXISTS nowhere": "00000",
}


def test_move_skips_rows_of_a_cursor(ours: psycopg.Connection, theirs: psycopg.Connection) -> None:
    assert_same_answers(ours, theirs, MOVES, messages={"34000"})


def test_directions_other_than_forwards_are_refused(ours: psycopg.Connection) -> None:
    ours.execute("DECLARE first CURSOR WITH HOLD FOR SELECT 1")
    for statement in (
        "DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT 1",
        "FETCH BACKWARD 1 FROM first",
        "FETCH PRIOR FROM first",
        "MOVE ABSOLUTE 0 IN first",
        "MOVE -1 IN first",
    ):
        with pytest.raises(psycopg.errors.FeatureNotSupported) as refusal:
            ours.execute(statement.encode())
        assert "forward" in (refusal.value.diag.message_hint or ""), statement
    assert ours.execute("FETCH first").fetchall() == [(1,)]
    ours.execute("CLOSE first")


def test_warnings_have_their_severity_and_sqlstate(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    for connection in (ours, theirs):
        notices: list[tuple[str | None, str | None]] = []
        connection.add_notice_handler(
            lambda notice, to=notices: to.append((notice.severity, notice.sqlstate))
        )
        for statement, sqlstate in WARNINGS.items():
            connection.execute(statement.encode())
            severity = "NOTICE" if sqlstate == "00000" else "WARNING"
            assert notices == [(severity, sqlstate)], statement
            notices.clear()
