"""The optimizer's rules, each by a file of examples: a query, the plan that the rule is given, and
the one that it makes.

``--rewrite`` writes what the rules make now. Both plans are executed too: a rule never changes what
a query answers.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from fixtures.planning import new_york

from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.compute.engines.duckdb import DuckDbEngine
from reclock.compute.engines.engine import Inputs, TableInput, result_schema
from reclock.plan.explain import explain
from reclock.plan.relational import Finishing, Get, Plan, inputs
from reclock.plan.rules import RULES, Rule, optimize
from reclock.sql.queries.views import expand_views
from reclock.sql.statements.query.values import Explain

MARK = "----\n"
WORLD = new_york()
FILES = {rule: Path(__file__).with_name(f"{rule.__name__}.txt") for rule in RULES}
EXAMPLES = [
    pytest.param(rule, block, id=f"{rule.__name__}: {block[:50]}")
    for rule, file in FILES.items()
    for block in file.read_text().split("\n\n")
]


def planned(query: str) -> Plan:
    """The plan of the query over sources, before any rule."""
    statement = WORLD.plan(f"EXPLAIN OPTIMIZER TRACE FOR {query}")
    assert isinstance(statement, Explain)
    return expand_views(statement.planned, WORLD.catalog)


def before(rule: Rule, query: str) -> Plan:
    """What the rule is given: the plan after the rules before it."""
    plan = planned(query)
    for earlier in RULES[: RULES.index(rule)]:
        plan = earlier(plan)
    return plan


def block_of(rule: Rule, query: str) -> str:
    plan = before(rule, query)
    return f"{query}\n{MARK}{explain(plan)}\n{MARK}{explain(rule(plan))}"


@pytest.mark.parametrize(("rule", "block"), EXAMPLES)
def test_a_rule_makes_this_plan(rule: Rule, block: str, request: pytest.FixtureRequest) -> None:
    made = block_of(rule, block.split("\n")[0])
    assert made == block.rstrip("\n") or request.config.getoption("--rewrite")


@pytest.mark.parametrize(("rule", "block"), EXAMPLES)
def test_a_rule_changes_no_answer(rule: Rule, block: str, engine: DuckDbEngine) -> None:
    plan = before(rule, block.split("\n")[0])
    assert answer(engine, plan) == answer(engine, rule(plan)) != Counter()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_an_optimized_plan_stays_as_it_is(rule: Rule) -> None:
    for file in FILES.values():
        for block in file.read_text().split("\n\n"):
            plan = optimize(planned(block.split("\n")[0]))
            assert explain(rule(plan)) == explain(plan)


def test_every_example_changes_its_plan_and_is_written_once(request: pytest.FixtureRequest) -> None:
    for rule, file in FILES.items():
        queries = [block.split("\n")[0] for block in file.read_text().split("\n\n")]
        assert len(set(queries)) == len(queries) >= 3
        unchanged = [
            query
            for query in queries
            if explain(plan := before(rule, query)) == explain(rule(plan))
        ]
        assert unchanged == []
        if request.config.getoption("--rewrite"):
            file.write_text("\n\n".join(block_of(rule, query) for query in queries) + "\n")


# --- execution ---


@pytest.fixture(scope="module")
def engine() -> DuckDbEngine:
    return DuckDbEngine()


def answer(engine: DuckDbEngine, plan: Plan) -> Counter[tuple[Any, ...]]:
    columns = (
        engine.run(plan, Finishing(), inputs_of(plan), Timestamp(1)).batches.read_all().columns
    )
    return Counter(zip(*(column.to_pylist() for column in columns), strict=True))


def inputs_of(plan: Plan) -> Inputs:
    """Rows for each collection, always the same, with few different values so that joins and
    filters find some."""
    reads = {node.collection: node.desc for node in nodes(plan) if isinstance(node, Get)}
    return {id: TableInput(rows(desc, str(id))) for id, desc in reads.items()}


def nodes(plan: Plan) -> list[Plan]:
    return [plan, *(node for part in inputs(plan) for node in nodes(part))]


VALUES: dict[str, list[Any]] = {
    "text": ["UA", "JFK", "EWR", "United"],
    "integer": [0, 1, 2, 3],
    "double precision": [-1.5, 0.0, 4.5, 20.0],
    "numeric(10,2)": [Decimal("0.50"), Decimal("200.00")],
    "timestamp with time zone": [dt.datetime(2013, 1, day, tzinfo=dt.UTC) for day in (1, 2)],
}


def rows(desc: RelationDesc, seed: str) -> pa.Table:
    choice = random.Random(seed)
    columns = []
    for column in desc.columns:
        values = VALUES[str(column.type)] + ([None] if column.is_nullable else [])
        columns.append([choice.choice(values) for _ in range(60)])
    schema = result_schema(desc.columns)
    return pa.table(
        [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)],
        schema=schema,
    )
