"""Cursors, warnings and a table called ``values``, as clients of PostgreSQL see them."""

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
SCROLLS = """
    BEGIN;
    DECLARE c SCROLL CURSOR FOR SELECT n, n::text FROM generate_series(1, 10) AS n;
    SELECT name, is_scrollable FROM pg_cursors;
    FETCH PRIOR FROM c;
    FETCH 3 FROM c;
    FETCH 0 FROM c;
    FETCH BACKWARD 1 FROM c;
    FETCH PRIOR FROM c;
    FETCH PRIOR FROM c;
    FETCH NEXT FROM c;
    FETCH LAST FROM c;
    FETCH NEXT FROM c;
    FETCH RELATIVE 0 FROM c;
    FETCH BACKWARD 3 FROM c;
    FETCH -2 FROM c;
    FETCH FORWARD -2 FROM c;
    FETCH BACKWARD -2 FROM c;
    FETCH ABSOLUTE 4 FROM c;
    FETCH RELATIVE 2 FROM c;
    FETCH RELATIVE -3 FROM c;
    FETCH ABSOLUTE -2 FROM c;
    FETCH ABSOLUTE 0 FROM c;
    FETCH NEXT FROM c;
    FETCH ABSOLUTE 11 FROM c;
    FETCH PRIOR FROM c;
    FETCH ABSOLUTE -11 FROM c;
    FETCH FIRST FROM c;
    MOVE 4 IN c;
    MOVE 0 IN c;
    MOVE BACKWARD 2 IN c;
    FETCH c;
    FETCH BACKWARD 20 FROM c;
    FETCH FORWARD 20 FROM c;
    FETCH BACKWARD ALL FROM c;
    FETCH ALL FROM c;
    MOVE BACKWARD ALL IN c;
    MOVE LAST IN c;
    MOVE ABSOLUTE 20 IN c;
    FETCH ALL FROM c;
    FETCH PRIOR c;
    CLOSE c;
    DECLARE c INSENSITIVE SCROLL CURSOR WITH HOLD FOR SELECT 1 WHERE FALSE;
    FETCH LAST FROM c;
    FETCH BACKWARD ALL FROM c;
    FETCH ABSOLUTE ALL FROM c;
    ROLLBACK
"""
VALUES = """
    CREATE TABLE values (id integer, value integer);
    INSERT INTO values VALUES (1, 2);
    INSERT INTO values SELECT id + 1, value FROM values;
    SELECT values.value FROM values;
    SELECT a.id FROM values AS a JOIN values b ON a.id = b.id, values WHERE values.id = 1 ORDER BY a.id;
    SELECT array_agg(values.id ORDER BY values.id) FROM values;
    SELECT v.n, (SELECT count(*) FROM values) FROM (VALUES (1), (2)) AS v (n) ORDER BY v.n;
    UPDATE values SET value = 3 FROM values AS other WHERE values.id = other.id AND other.id = 2;
    WITH v AS (VALUES (7)) SELECT * FROM v;
    SELECT * FROM values LIMIT 0;
    SELECT FROM VALUES (1);
    DELETE FROM values USING values AS other WHERE values.id = other.id;
    DROP TABLE values
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


def test_scroll_cursors_go_in_all_directions(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    assert_same_answers(ours, theirs, SCROLLS, messages=())


def test_other_cursors_go_forwards(ours: psycopg.Connection, theirs: psycopg.Connection) -> None:
    for connection in (ours, theirs):
        connection.execute("DECLARE first NO SCROLL CURSOR WITH HOLD FOR SELECT 1")
        assert connection.execute("FETCH first").fetchall() == [(1,)]
    for statement in (
        "FETCH BACKWARD 1 FROM first",
        "FETCH PRIOR FROM first",
        "MOVE ABSOLUTE 1 IN first",
        "MOVE -1 IN first",
    ):
        assert_same_answers(ours, theirs, statement, messages=())
    for connection in (ours, theirs):
        connection.execute("CLOSE first")
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        ours.execute("DECLARE c SCROLL CURSOR WITH HOLD FOR SUBSCRIBE numbers")


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


def test_a_table_may_be_called_values(ours: psycopg.Connection, theirs: psycopg.Connection) -> None:
    assert_same_answers(ours, theirs, VALUES, messages=())
