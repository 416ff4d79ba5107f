"""Plans as EXPLAIN prints them, kept in ``plans.txt``: ``--rewrite`` writes what comes out now."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.planning import new_york

from reclock.plan.explain import explain
from reclock.sql.queries.views import expand

FILE = Path(__file__).with_name("plans.txt")
MARK = "----\n"
BLOCKS = FILE.read_text().split("\n\n")
WORLD = new_york()


def answered(query: str) -> str:
    """The query's plan over collections, views expanded."""
    select = WORLD.select(query)
    return explain(expand(select.plan, WORLD.catalog), select.finishing)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("\n")[0][:60])
def test_a_query_has_this_plan(block: str, request: pytest.FixtureRequest) -> None:
    query, _, expected = block.rstrip("\n").partition(f"\n{MARK}")
    assert answered(query) == expected or request.config.getoption("--rewrite")


def test_every_plan_is_written(request: pytest.FixtureRequest) -> None:
    queries = [block.split(f"\n{MARK}")[0].rstrip("\n") for block in BLOCKS]
    assert len(set(queries)) == len(queries) >= 30
    if request.config.getoption("--rewrite"):
        FILE.write_text(
            "\n\n".join(f"{query}\n{MARK}{answered(query)}" for query in queries) + "\n"
        )
