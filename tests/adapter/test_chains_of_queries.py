"""Queries in a chain, each of which reads the one before twice: the cost grows with their number,
not with the number of copies that their readers would make of them."""

from __future__ import annotations

import pytest
from fixtures.sessions import last_answer

from reclock.adapter.session.session import Session
from reclock.runtime.environment import Environment

LENGTH = 30

QUERIES = {
    "joins": "SELECT a.k, (a.v + b.v) % 1000 AS v FROM {0} AS a JOIN {0} AS b USING (k)",
    "aggregates": "SELECT k, v + 1 AS v FROM {0} WHERE v < (SELECT max(v) + 1 FROM {0})",
    "unions": "SELECT k, v FROM {0} UNION SELECT k, v + 0 FROM {0} WHERE k > 1",
    "differences": "SELECT k, v FROM {0} EXCEPT SELECT k, v + k FROM {0} WHERE k < 0",
}


@pytest.fixture
def session(environment: Environment) -> Session:
    session = Session(environment)
    last_answer(session, "CREATE TABLE t (k int, v int); INSERT INTO t VALUES (1, 1), (2, 5)")
    return session


def expected(kind: str, rows: dict[int, int]) -> list[tuple[int, int]]:
    match kind:
        case "joins":
            return sorted((k, v * 2**LENGTH % 1000) for k, v in rows.items())
        case "aggregates":
            return sorted((k, v + LENGTH) for k, v in rows.items())
        case _:
            return sorted(rows.items())


def rows(session: Session, query: str) -> list[tuple[int, int]]:
    return sorted(last_answer(session, query))


@pytest.mark.parametrize("kind", QUERIES)
def test_of_common_table_expressions(session: Session, kind: str) -> None:
    steps = ["q0 AS (SELECT k, v FROM t)"]
    for i in range(1, LENGTH + 1):
        steps.append(f"q{i} AS ({QUERIES[kind].format(f'q{i - 1}')})")
    query = f"WITH {', '.join(steps)} SELECT k, v FROM q{LENGTH}"
    assert rows(session, query) == expected(kind, {1: 1, 2: 5})
    last_answer(session, f"CREATE MATERIALIZED VIEW v AS {query}")
    last_answer(session, "INSERT INTO t VALUES (3, 7)")
    last_answer(session, "UPDATE t SET v = 6 WHERE k = 2")
    last_answer(session, "DELETE FROM t WHERE k = 1")
    assert rows(session, "SELECT k, v FROM v") == expected(kind, {2: 6, 3: 7})


def test_of_views(session: Session) -> None:
    last_answer(session, "CREATE VIEW q0 AS SELECT k, v FROM t")
    for i in range(1, LENGTH + 1):
        last_answer(session, f"CREATE VIEW q{i} AS {QUERIES['joins'].format(f'q{i - 1}')}")
    query = f"SELECT k, v FROM q{LENGTH}"
    assert rows(session, query) == expected("joins", {1: 1, 2: 5})
    plan = [line for (line,) in last_answer(session, f"EXPLAIN {query}")]
    assert any("as above" in line for line in plan)
    assert sum(len(line) for line in plan) < 100_000
