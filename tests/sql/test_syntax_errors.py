"""Text that is no statement, or none that is supported, is refused where it goes wrong."""

from __future__ import annotations

import pytest

from reclock.errors import SqlSyntaxError, UnsupportedSql
from reclock.sql.syntax.parse import parse

SYNTAX_ERRORS = {
    "SELEC 1": 1,
    "SELECT a, FROM t": 11,
    "SELECT (1": 10,
    "SELECT 1 1": 10,
    "SELECT 1; SELEC 2": 11,
    "FROM t": 1,
    "VALUES ()": 9,
    "INSERT INTO t VALUES (1), ()": 28,
    "SELECT a FROM t WHERE": 22,
    "SELECT a BETWEEN 1": 19,
    "CREATE SOURCE s FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'b' FORMAT JSON": 17,
    (
        "CREATE SOURCE s FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'b', BUCKET SCAN 'c' "
        "FORMAT TEXT"
    ): 72,
    "CREATE SOURCE s FROM S3 DISCOVER OBJECTS USING SQS NOTIFICATIONS 'q' FORMAT TEXT": 70,
    "CREATE SOURCE s (a int) FROM S3 DISCOVER OBJECTS USING BUCKET SCAN b FORMAT JSON": 68,
    (
        "CREATE SOURCE s (a int) FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'b' FORMAT CSV "
        "WITH 1.5 COLUMNS"
    ): 88,
    "CREATE VIEW v AS SELECT 1 AS OF 5": 27,
    "CREATE OR REPLACE VIEW IF NOT EXISTS v AS SELECT 1": 31,
    "CREATE VIEW v AS DROP VIEW w": 18,
    "CREATE INDEX ON v": 18,
    "WITH x AS (SELECT 1) DROP VIEW v": 22,
    "DROP VIEW": 10,
    "ALTER SOURCE s": 15,
    "ALTER SOURCE s SKIP 'p' FROM 1": 31,
    "ALTER SOURCE s SKIP 'p', FROM 1 TO 2": 26,
    "ALTER SOURCE s SKIP 'p' FROM 1 TO 2,": 37,
    "ALTER SOURCE IF EXISTS s RETRY": 26,
    "SHOW": 5,
    "CREATE ROLE": 12,
    "CREATE ROLE r FLYING": 15,
    "CREATE ROLE r LOGIN NOLOGIN": 21,
    "ALTER ROLE r": 13,
    "GRANT SELECT ON s": 18,
    "GRANT SELECT ON s FROM r": 19,
    "GRANT ALL TO r": 11,
    "REASSIGN OWNED BY a": 20,
    "ALTER DEFAULT PRIVILEGES GRANT SELECT ON SOURCES TO r": 42,
    "SET x": 6,
    "EXPLAIN PLAN FOR DROP VIEW v": 18,
    "EXPLAIN ANALYZE DELETE FROM t": 17,
    "EXPLAIN (FORMAT YAML) SELECT 1": 17,
    "BEGIN ISOLATION LEVEL CHAOS": 23,
    "START SELECT": 7,
}


@pytest.mark.parametrize("clause", ["WHERE a > 1", "GROUP BY a", "ORDER BY a", "LIMIT 1"])
def test_what_follows_as_of_is_told_to_precede_it(clause: str) -> None:
    with pytest.raises(SqlSyntaxError, match="at or near") as raised:
        parse(f"SELECT a FROM t AS OF 5 {clause}")
    assert raised.value.position == 25
    assert raised.value.hint is not None
    assert raised.value.hint.startswith("AS OF comes last")


@pytest.mark.parametrize("text", SYNTAX_ERRORS)
def test_a_syntax_error_tells_its_place(text: str) -> None:
    with pytest.raises(SqlSyntaxError) as error:
        parse(text)
    assert error.value.sqlstate == "42601"
    assert error.value.position == SYNTAX_ERRORS[text], error.value


@pytest.mark.parametrize(
    "text", ["SELECT 'abc", 'SELECT "abc', "SELECT /* abc", "SELECT $$abc", "SELECT \x00"]
)
def test_an_open_quote_is_a_syntax_error(text: str) -> None:
    with pytest.raises(SqlSyntaxError):
        parse(text)


def test_nesting_beyond_all_measure_is_an_error_of_the_statement() -> None:
    with pytest.raises((SqlSyntaxError, UnsupportedSql)):
        parse("SELECT " + "(" * 20_000 + "1" + ")" * 20_000)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE SINK s FROM v INTO POSTGRES 'x'",
        "CREATE ROLE r VALID UNTIL 'x'",
        "GRANT SELECT (a) ON t TO r",
        "GRANT SELECT ON t TO r WITH GRANT OPTION",
        "REVOKE ADMIN OPTION FOR a FROM b",
        "GRANT CONNECT ON DATABASE reclock TO r",
        "GRANT SELECT, REFERENCES ON t TO r",
        "ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO r",
        "ALTER DEFAULT PRIVILEGES REVOKE USAGE ON TYPES FROM PUBLIC",
        "CREATE DATABASE d TEMPLATE template0",
        "CREATE SOURCE s (a int) FROM RABBITMQ HOST 'x' FORMAT JSON",
        "CREATE SOURCE s (a int) FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'b' FORMAT REGEX",
    ],
)
def test_what_is_not_done_says_so(text: str) -> None:
    with pytest.raises(UnsupportedSql) as error:
        parse(text)
    assert error.value.sqlstate == "0A000"
    assert "not supported" in error.value.message
