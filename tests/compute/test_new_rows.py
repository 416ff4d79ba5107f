"""Semi-naive iteration has the rows of naive iteration, also at a limit, and computes only what
follows from new rows. A linear recursion is one statement of DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from fixtures.sessions import sql

from reclock.compute.engines import fixpoints
from reclock.compute.steps import linear_recursion
from reclock.runtime.environment import Environment

EDGES = "(1, 2), (2, 3), (3, 1), (3, 4), (4, NULL), (NULL, 1), (5, 5), (2, 3), (6, 1)"
CLOSURE = "r (a int, b int) AS (SELECT a, b FROM edges UNION SELECT {step}) SELECT a, b FROM r"
LINEAR = ("linear", "linear in two places", "read by a subquery")
QUERIES = {
    "linear": "WITH MUTUALLY RECURSIVE "
    + CLOSURE.format(step="r.a, e.b FROM r JOIN edges AS e ON e.a = r.b"),
    "linear in two places": (
        "WITH MUTUALLY RECURSIVE r (a int, b int) AS (SELECT a, b FROM edges UNION (SELECT r.a, e.b "
        "FROM r JOIN edges AS e ON e.a = r.b UNION ALL SELECT b, a FROM r WHERE a < 3)) "
        "SELECT r.a, s.b FROM r JOIN r AS s ON s.a = r.b"
    ),
    "not linear": "WITH MUTUALLY RECURSIVE "
    + CLOSURE.format(step="r.a, s.b FROM r JOIN r AS s ON s.a = r.b"),
    "at a limit": "WITH MUTUALLY RECURSIVE (RETURN AT RECURSION LIMIT 2) "
    + CLOSURE.format(step="r.a, s.b FROM r JOIN r AS s ON s.a = r.b"),
    "mutual": (
        "WITH MUTUALLY RECURSIVE even (n int) AS (SELECT 0 UNION SELECT n + 1 FROM odd WHERE n < 9), "
        "odd (n int) AS (SELECT n + 1 FROM even UNION SELECT a FROM edges) SELECT n FROM even"
    ),
    "read by a subquery": (
        "WITH MUTUALLY RECURSIVE r (a int) AS (SELECT 1 UNION SELECT b FROM edges WHERE a IN "
        "(SELECT a FROM r)) SELECT a FROM r"
    ),
    "of which one loses rows": (
        "WITH MUTUALLY RECURSIVE r (a int) AS (SELECT a FROM least UNION SELECT b FROM r JOIN edges "
        "USING (a)), least (a int) AS (SELECT min(a) FROM r HAVING count(*) > 0 UNION ALL SELECT 2) "
        "SELECT a FROM r"
    ),
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    home: Path = tmp_path_factory.mktemp("home")
    with Environment.initialise(home) as environment:
        sql(environment, f"CREATE TABLE edges (a int, b int); INSERT INTO edges VALUES {EDGES}")
        yield environment


@pytest.mark.parametrize("name", QUERIES)
def test_iterations_over_new_rows_have_the_rows_of_iterations_over_all(
    environment: Environment, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = sorted(sql(environment, QUERIES[name]), key=repr)
    for module in (linear_recursion, fixpoints):
        monkeypatch.setattr(module, "growing_bindings", lambda block: frozenset())
        assert rows == sorted(sql(environment, QUERIES[name]), key=repr)
    assert rows


@pytest.mark.parametrize("name", QUERIES)
def test_a_linear_recursion_is_one_statement(
    environment: Environment, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Mock(wraps=fixpoints.FixpointWork)
    monkeypatch.setattr(fixpoints, "FixpointWork", work)
    sql(environment, QUERIES[name])
    assert work.called == (name not in LINEAR)
