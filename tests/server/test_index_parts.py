"""pg_get_indexdef answers each part of an index; names that are computed may be quoted."""

from __future__ import annotations

import psycopg
import pytest
from fixtures.side_by_side import assert_same_answers

PARTS = """
    CREATE TABLE t (a int PRIMARY KEY, "B" text, UNIQUE (a, "B"));
    CREATE INDEX parts ON t (lower("B"), (a + 1), "B");
    CREATE UNIQUE INDEX keys ON t ((a + 1), lower("B")) WHERE a > 0;
    SELECT relname::text, n, pg_get_indexdef(i.oid, n, false), pg_get_indexdef(i.oid, n, true)
        FROM pg_class AS i, generate_series(1, 4) AS n
        WHERE relkind = 'i' AND relnamespace = 'side_by_side'::regnamespace ORDER BY 1, 2;
    SELECT pg_get_indexdef(1, 1, true), pg_get_indexdef(NULL, 1, true)
"""
NAMES = """
    CREATE TABLE "(2) x" ("A b" int GENERATED ALWAYS AS IDENTITY);
    CREATE TABLE "Up" (id int GENERATED ALWAYS AS IDENTITY);
    CREATE TABLE "user" (id serial);
    CREATE SCHEMA "S x";
    CREATE TABLE "S x"."T y" (id serial);
    SELECT pg_get_serial_sequence(a.attrelid::regclass::text, a.attname),
        pg_get_serial_sequence(a.attrelid::regclass::text, a.attname)::regclass::text
        FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
        WHERE attnum > 0 AND relname IN ('(2) x', 'Up', 'user', 'T y') ORDER BY 1;
    SELECT count(x::regclass) FROM (VALUES ('side_by_side.user'), ('SIDE_BY_SIDE.User'),
        ('"user"'), ('side_by_side."Up"'), ('"(2) x"')) AS v (x);
    DROP SCHEMA "S x" CASCADE
"""


def test_parts_are_those_of_postgresql(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    assert_same_answers(ours, theirs, PARTS, messages=())


def test_computed_names_of_relations_may_be_quoted(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    assert_same_answers(ours, theirs, NAMES, messages=())


def test_an_interval_of_some_fields_is_refused(ours: psycopg.Connection) -> None:
    for type in ("year to month", "second", "year", "(3)"):
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="interval"):
            ours.execute(f"CREATE TABLE t (a interval {type})")


def test_an_interval_of_six_digits_is_an_interval(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    statements = """
        CREATE TABLE t (a interval(6));
        INSERT INTO t VALUES ('1.123456 sec') RETURNING a;
        DROP TABLE t
    """
    assert_same_answers(ours, theirs, statements, messages=())
