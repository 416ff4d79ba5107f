"""A client as a connection of the DB-API, in this process and over the wire."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from fixtures.server import SqlServer

import reclock
from reclock.airflow.dbapi import DbApiConnection, numbered
from reclock.errors import InvalidOption, ReclockError


@pytest.fixture(params=["embedded", "wire"])
def target(request: pytest.FixtureRequest, sql_server: SqlServer) -> Iterator[str]:
    url = f"postgresql://reclock@127.0.0.1:{sql_server.port}/reclock"
    target = str(sql_server.home) if request.param == "embedded" else url
    with reclock.connect(target) as client:
        client.sql("CREATE TABLE items (id integer, name text, price numeric(10, 2), day date)")
        yield target
        client.sql("DROP TABLE items")


@pytest.fixture
def connection(target: str) -> Iterator[DbApiConnection]:
    connection = DbApiConnection(reclock.connect(target))
    yield connection
    connection.close()


def rows(target: str) -> list[tuple[Any, ...]]:
    with reclock.connect(target) as client:
        return client.sql("SELECT * FROM items ORDER BY id").rows()


def test_values_are_bound_and_rows_are_typed(connection: DbApiConnection) -> None:
    cursor = connection.cursor()
    cursor.executemany(
        "INSERT INTO items VALUES (%s, %s, %s, %s)",
        [
            (1, "it's 50% off", Decimal("2.50"), date(2026, 11, 21)),
            (2, None, Decimal("3.00"), None),
        ],
    )
    assert (cursor.rowcount, cursor.description) == (1, None)
    cursor.execute(
        "SELECT * FROM items WHERE name LIKE %(pattern)s OR id = %(id)s ORDER BY id",
        {"id": 2, "pattern": "%50%"},
    )
    assert [column[0] for column in cursor.description or ()] == ["id", "name", "price", "day"]
    assert cursor.rowcount == 2
    assert cursor.fetchone() == (1, "it's 50% off", Decimal("2.50"), date(2026, 11, 21))
    assert cursor.fetchmany(5) == [(2, None, Decimal("3.00"), None)]
    assert cursor.fetchone() is None
    query = "SELECT name LIKE '%50%%' FROM items WHERE id = 1"
    assert cursor.execute(query).fetchall() == [(True,)]


def test_statements_are_one_transaction_until_it_ends(
    target: str, connection: DbApiConnection
) -> None:
    connection.cursor().execute("INSERT INTO items VALUES (1)")
    connection.cursor().execute("INSERT INTO items VALUES (2)")
    assert rows(target) == []
    connection.commit()
    assert [row[0] for row in rows(target)] == [1, 2]
    connection.cursor().execute("DELETE FROM items")
    connection.rollback()
    assert len(rows(target)) == 2
    connection.cursor().execute("DELETE FROM items")
    connection.close()
    assert len(rows(target)) == 2


def test_with_autocommit_each_statement_is_durable(
    target: str, connection: DbApiConnection
) -> None:
    connection.autocommit = True
    connection.cursor().execute("INSERT INTO items VALUES (1); INSERT INTO items VALUES (2)")
    assert len(rows(target)) == 2
    with pytest.raises(ReclockError):
        connection.cursor().execute("INSERT INTO nowhere VALUES (1)")
    connection.rollback()  # there is no transaction: nothing happens
    assert connection.cursor().execute("SELECT count(*) FROM items").fetchall() == [(2,)]


@pytest.mark.parametrize(
    ("sql", "parameters", "expected"),
    [
        ("SELECT %s, '100%%', %s", (1, "a"), ("SELECT $1, '100%', $2", [1, "a"])),
        ("SELECT %(a)s, %(b)s, %(a)s", {"a": 1, "b": 2, "c": 3}, ("SELECT $1, $2, $3", [1, 2, 1])),
        ("SELECT 1", [], ("SELECT 1", [])),
        ("SELECT %%s", [], ("SELECT %s", [])),
    ],
)
def test_placeholders_are_numbered(
    sql: str, parameters: Any, expected: tuple[str, list[Any]]
) -> None:
    assert numbered(sql, parameters) == expected


@pytest.mark.parametrize(
    ("sql", "parameters", "message"),
    [
        ("SELECT %s, %s", (1,), "the statement has 2 placeholders, but 1 parameters were supplied"),
        ("SELECT $1", (1,), "the statement has 0 placeholders, but 1 parameters were supplied"),
        ("SELECT %(a)s", {"b": 1}, 'there is no parameter "a"'),
        ("SELECT %s", {"b": 1}, '"%s" is not a placeholder'),
        ("SELECT %(a)s", (1,), '"%(a)s" is not a placeholder'),
        ("SELECT 10 % 3, %s", (1,), '"% " is not a placeholder'),
        ("SELECT 10 %", (), '"%" is not a placeholder'),
    ],
)
def test_wrong_placeholders_are_refused(sql: str, parameters: Any, message: str) -> None:
    with pytest.raises(InvalidOption) as error:
        numbered(sql, parameters)
    assert error.value.message == message
