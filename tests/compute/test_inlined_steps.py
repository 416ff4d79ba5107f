"""Steps for an engine that computes a common table expression wherever it is read: none grows
beyond its bound, however deep its plan is."""

from __future__ import annotations

import re

import pytest
from fixtures.planning import World

from reclock.algebra.timestamps import Timestamp
from reclock.compute.operators.rules import EngineRelation
from reclock.compute.rendering import EngineStatement
from reclock.compute.steps import delta
from reclock.compute.steps.writer import RESULT, DeltaInputs
from reclock.plan.relational import Get, collections
from reclock.sql.queries.views import expand

JOINED = "SELECT t.k AS k, u.n AS n FROM t LEFT JOIN u ON t.k = u.k AND t.n < u.n"


def statement(query: str) -> EngineStatement:
    world = World()
    world.execute("CREATE TABLE t (k text, n int)")
    world.execute("CREATE TABLE u (k text, n int)")
    world.execute(f"CREATE VIEW v AS {query}")
    view = world.catalog.relation(world.item("v").id)
    plan = expand(Get(view.collection, "v", view.desc), world.catalog)
    relations = {
        str(id): EngineRelation(f"r{number}", is_counted=True)
        for number, id in enumerate([*collections(plan), RESULT])
    }
    inputs = DeltaInputs(relations, relations, Timestamp(1), Timestamp(2))
    return delta.render_for_inlining(plan, view.desc, "spark", inputs, "shared_")


def inlined(sql: str) -> int:
    """How many expressions an engine computes that repeats each wherever it is read."""
    sizes: dict[str, int] = {}
    for name, body in re.findall(r"^(?:WITH )?(n\d+) AS \((.*)\)(?:,|$)", sql, re.MULTILINE):
        sizes[name] = 1 + sum(sizes.get(part, 0) for part in re.findall(r"\bn\d+\b", body))
    last = sql.splitlines()[-1]
    return sum(sizes[name] for name in re.findall(r"\bn\d+\b", last) if name in sizes)


@pytest.mark.parametrize(
    ("query", "shared"),
    [
        ("SELECT k, n FROM t WHERE n > 1", 0),
        ("SELECT t.k, u.n FROM t JOIN u ON t.k = u.k", 0),
        (f"SELECT k, count(n) FROM ({JOINED}) AS j GROUP BY k", 1),
        (
            f"SELECT n, count(*) FROM (SELECT k, max(n) AS n FROM ({JOINED}) AS j GROUP BY k) AS g GROUP BY n",
            2,
        ),
    ],
)
def test_what_is_read_often_is_stored(query: str, shared: int) -> None:
    step = statement(query)
    assert len(step.shared) == shared
    texts = [*(select for _, select in step.shared), step.sql]
    for place, (name, _) in enumerate(step.shared):
        assert name.startswith("shared_")
        assert any(name in later for later in texts[place + 1 :])
    assert all(inlined(sql) < 250 for sql in texts)
