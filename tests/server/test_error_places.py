"""Clients show where a statement is wrong: at the place that PostgreSQL names."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

DEFINITIONS = (
    "CREATE TABLE orders (id int, customer text, amount numeric)",
    "CREATE TABLE customers (name text, id int)",
    "CREATE FUNCTION twice(x int) RETURNS int LANGUAGE SQL AS 'SELECT x * 2'",
    "CREATE TABLE things (id int PRIMARY KEY, name text NOT NULL,"
    " price numeric(6,2) CHECK (price > 0), code varchar(3) UNIQUE, made date, tags text[],"
    " doc jsonb, active boolean, at timestamp)",
    "CREATE TABLE parts (thing int REFERENCES things (id), n smallint, b bigint,"
    " d double precision)",
    "CREATE VIEW v1 AS SELECT id, name FROM things",
    "CREATE MATERIALIZED VIEW mv1 AS SELECT id FROM things",
    "CREATE INDEX ix ON things (made)",
    "CREATE SEQUENCE seq1",
    "CREATE TYPE mood AS ENUM ('sad', 'happy')",
    "CREATE TYPE pair AS (a int, b text)",
    "CREATE TABLE gen (a int, b int GENERATED ALWAYS AS (a * 2) STORED,"
    " c int GENERATED ALWAYS AS IDENTITY)",
    "INSERT INTO things VALUES (1, 'x', 1, 'a')",
    "INSERT INTO parts VALUES (1, 1, 1, 1)",
    "CREATE FUNCTION two(x int) RETURNS int LANGUAGE SQL AS 'SELECT x'",
    "CREATE FUNCTION two(x text) RETURNS text LANGUAGE SQL AS 'SELECT x'",
)
MISTAKES = [
    "SELECT 1 FROM orders\nJOIN public.nothing n ON true",
    *Path(__file__).with_name("mistakes.sql").read_text().splitlines()[1:],
]


def failure(connection: psycopg.Connection, statement: str) -> tuple[str | None, ...] | None:
    """The code, the message and the place; None if it is no mistake."""
    try:
        connection.execute(statement.encode())
    except psycopg.Error as error:
        fields = error.diag
        return fields.sqlstate, fields.message_primary, fields.statement_position
    return None


def test_mistakes_are_where_postgresql_finds_them(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    for definition in DEFINITIONS:
        ours.execute(definition)
        theirs.execute(definition)
    different = [
        (mistake, answer, expected)
        for mistake in MISTAKES
        if (answer := failure(ours, mistake)) != (expected := failure(theirs, mistake))
    ]
    assert different == []


def test_a_prepared_statement_is_wrong_where_its_text_is(ours: psycopg.Connection) -> None:
    ours.execute("CREATE TABLE orders (id int)")
    with pytest.raises(psycopg.Error) as error:
        ours.execute("SELECT id, nothing FROM orders WHERE id = %s", [1])
    assert error.value.diag.statement_position == "12"
