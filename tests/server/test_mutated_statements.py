# ruff: noqa: PT017 (what an error holds is checked where it is caught)
"""Statements that were changed at random, then executed: an error or a result, never a hang, a
crash, another session's data."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from fixtures.mutation import mutated, words_of
from fixtures.server import SqlServer

SECRET = "only for its own session"
DEFINITIONS = """
CREATE TABLE accounts (id int NOT NULL, owner text, balance numeric(12, 2) DEFAULT 0, opened timestamp)
INSERT INTO accounts VALUES (1, 'ada', 10.5, '2020-01-01'), (2, 'bob', NULL, NULL), (3, NULL, -7, '2021-06-30 12:00:00')
CREATE TABLE tags (id int NOT NULL, tag text NOT NULL)
INSERT INTO tags VALUES (1, 'new'), (1, 'old'), (2, 'new')
CREATE VIEW tagged AS SELECT a.id, a.owner, t.tag FROM accounts a JOIN tags t ON a.id = t.id
""".strip().splitlines()
SEEDS = """
SELECT owner, count(*), sum(balance) FROM accounts GROUP BY owner HAVING count(*) > 0 ORDER BY 2 DESC, 1 NULLS LAST LIMIT 3 OFFSET 1
SELECT a.id, t.tag FROM accounts a LEFT JOIN tags t ON a.id = t.id AND t.tag LIKE 'n%' WHERE a.balance > 1.5 OR a.owner IS NULL
SELECT DISTINCT ON (id) id, tag FROM tagged ORDER BY id, tag DESC
WITH x (n) AS (SELECT id FROM tags) SELECT n FROM x UNION ALL SELECT id FROM accounts EXCEPT VALUES (7)
SELECT CASE WHEN balance BETWEEN 1 AND 50 THEN 'a' ELSE NULL END, balance::int, coalesce(owner, 'x') || '!', 7 / id FROM accounts
SELECT owner FROM accounts a WHERE id NOT IN (SELECT id FROM tags) AND EXISTS (SELECT 1 FROM tags t WHERE t.id = a.id)
SELECT extract(year FROM opened), opened + interval '1 day', date '2013-01-01', upper(owner), substring(owner, 1, 2) FROM accounts
INSERT INTO tags (id, tag) SELECT id, owner FROM accounts WHERE owner IS NOT NULL RETURNING tag
INSERT INTO accounts VALUES (4, 'eve', 1e3, NULL), (5, 'joe', 0.01, '2022-02-02')
UPDATE accounts SET balance = balance * 2, owner = lower(owner) WHERE id = 1 RETURNING id, balance
UPDATE tags SET tag = (SELECT max(owner) FROM accounts) WHERE id IN (1, 2)
DELETE FROM tags WHERE tag = 'old' OR id > 3
MERGE INTO tags t USING accounts a ON t.id = a.id WHEN MATCHED AND tag > '' THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (1, 'x')
WITH d AS (DELETE FROM tags WHERE id = 2 RETURNING *), x (n) AS (SELECT id FROM d) INSERT INTO tags SELECT n, 'x' FROM x
TRUNCATE tags
BEGIN
COMMIT
ROLLBACK
PREPARE p (int) AS SELECT owner FROM accounts WHERE id = $1
EXECUTE p (1)
DEALLOCATE p
DECLARE c CURSOR FOR SELECT id FROM accounts
FETCH 2 FROM c
CLOSE c
CREATE TABLE more (a int NOT NULL, b text DEFAULT 'x')
DROP TABLE IF EXISTS more CASCADE
CREATE VIEW rich AS SELECT owner FROM accounts WHERE balance > 100
DROP VIEW rich
EXPLAIN SELECT count(*) FROM tagged
EXPLAIN TIMESTAMP FOR SELECT * FROM accounts
SHOW TABLES
SHOW CREATE TABLE accounts
SHOW transaction_isolation
SET transaction_isolation = 'serializable'
SET LOCAL statement_timeout = '5s'
RESET ALL
DISCARD ALL
GRANT SELECT ON accounts TO PUBLIC
REVOKE ALL ON tags FROM PUBLIC
SELECT name, type FROM mz_objects WHERE name LIKE 'a%'
""".strip().splitlines()
WORDS = words_of(SEEDS)


@pytest.fixture
def server(new_server: Callable[..., SqlServer], tmp_path: Path) -> SqlServer:
    """One of its own, for statements may drop what it has."""
    return new_server(tmp_path / "home", RECLOCK_STATEMENT_TIMEOUT_MS="10000")


@pytest.fixture
def bystander(server: SqlServer) -> Iterator[psycopg.Connection]:
    """A session that keeps something of its own."""
    with server.connect() as connection:
        connection.execute(f"PREPARE mine AS SELECT '{SECRET}'")
        connection.execute(f"SET application_name = '{SECRET}'")
        yield connection


def test_mutated_statements(
    server: SqlServer, bystander: psycopg.Connection, request: pytest.FixtureRequest
) -> None:
    draw = random.Random(7)
    executed = 0
    with server.connect() as connection:
        # what the driver prepares of itself, a statement may deallocate
        connection.prepare_threshold = None
        _define(connection)
        for number in range(request.config.getoption("--statements")):
            text = mutated(draw, SEEDS, WORDS)
            executed += _survives(connection, text)
            if number % 50 == 49:
                _define(connection)
        _define(connection)
        assert connection.execute("SELECT count(*) FROM accounts").fetchone() == (3,)
    assert executed > 0
    assert bystander.execute("EXECUTE mine").fetchone() == (SECRET,)
    assert server.process.is_alive()
    assert "Traceback" not in server.log()


def _survives(connection: psycopg.Connection, text: str) -> bool:
    """Whether the statement had a result. Anything but a result or an error that a user can make
    gets out."""
    try:
        cursor = connection.execute(text.encode())
        rows = cursor.fetchall() if cursor.description else []
    except psycopg.Error as error:
        sqlstate = error.sqlstate
        assert sqlstate is not None, (text, error)
        assert not sqlstate.startswith("XX"), (text, error)
        assert sqlstate != "57014", (text, error)
        assert SECRET not in str(error), text
        return False
    assert SECRET not in str(rows), text
    return True


def _define(connection: psycopg.Connection) -> None:
    """The relations as they were at first, whatever statements have made of them."""
    for statement in (
        "ROLLBACK",
        "DISCARD ALL",
        "DROP TABLE IF EXISTS accounts, tags, more CASCADE",
        *DEFINITIONS,
    ):
        connection.execute(statement.encode())
