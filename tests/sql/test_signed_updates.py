"""A query of collections whose updates are not summed up answers what it answers of their rows: the
queries that PostgreSQL answers too, over the same rows between others that came and went."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from fixtures.planning import World
from sql.compared import ANSWERED, PRINTED, new_world, printed_answer, queries, table

from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.collections.schema import arrow_schema
from reclock.compute import rendering
from reclock.compute.engines.duckdb import DuckDbEngine
from reclock.compute.engines.engine import TableInput
from reclock.compute.operators.rules import EngineRelation
from reclock.errors import EvaluationError, NegativeMultiplicity, ReclockError
from reclock.plan.relational import collections
from reclock.sql.names import SessionNames
from reclock.sql.statements.query.values import Select


@pytest.fixture(scope="module")
def world() -> World:
    return new_world()


@pytest.fixture(scope="module")
def engine() -> DuckDbEngine:
    return DuckDbEngine(threads=1)


def of_zeros(row: dict[str, Any], desc: RelationDesc) -> dict[str, Any]:
    """A row by whose values nothing can be divided, and that many casts refuse."""
    zeros: dict[str, Any] = {}
    for column in desc.columns:
        value = row[column.name]
        is_number = column.type.is_number and value is not None
        is_text = column.type.name == "text" and value is not None
        zeros[column.name] = type(value)(0) if is_number else "%" if is_text else value
    return zeros


@cache
def updates(name: str, desc: RelationDesc) -> TableInput:
    """The rows of the table, each after one that is taken back: an equal one, and one of zeros."""
    schema = arrow_schema(desc, with_updates=True)
    rows = table(name, desc).table.to_pylist()
    listed = []
    for row in rows:
        zeros = of_zeros(row, desc)
        for values, diff in ((row, 1), (zeros, 1), (row, -1), (row, 1), (zeros, -1)):
            listed.append(values | {TIME_COLUMN: 0, DIFF_COLUMN: diff})
    return TableInput(pa.Table.from_pylist(listed, schema), has_updates=True)


def answered(world: World, engine: DuckDbEngine, select: Select) -> Counter[Any] | str:
    try:
        return Counter(printed_answer(world, engine, select))
    except ReclockError as error:
        return f"{error.sqlstate}: {error.message}"


def may_sign(world: World, select: Select) -> bool:
    """Whether some part of the query is not summed up."""
    relations = {
        str(id): EngineRelation("r", is_counted=True, is_signed=True)
        for id in collections(select.plan)
    }
    try:
        return rendering.render(select.plan, "duckdb", relations, Timestamp(0)).has_signs
    except ReclockError:  # of a plan that always fails
        return False


@pytest.mark.parametrize("name", [*ANSWERED, *PRINTED])
def test_rows_that_came_and_went_change_no_answer(
    name: str, world: World, engine: DuckDbEngine
) -> None:
    selects = [world.select(sql) for sql in queries(name)]
    signed = [select for select in selects if may_sign(world, select)]
    assert len(signed) >= {"same": 40, "subqueries": 5}.get(name, 0)
    for select in signed:
        expected = answered(world, engine, select)
        with mock.patch("sql.compared.table", updates):
            assert answered(world, engine, select) == expected, select


@pytest.mark.parametrize(
    ("sql", "is_signed"),
    [
        ("SELECT b, count(*), sum(d), avg(a) FROM t GROUP BY b", True),
        ("SELECT DISTINCT a, b FROM t WHERE d > 0", True),
        ("SELECT sum(100 / a) FROM t", True),
        ("SELECT max(d) FROM t", False),
        ("SELECT sum(c) FROM t", False),
        ("SELECT sum(d) FROM t JOIN (SELECT DISTINCT a FROM u) AS u USING (a)", True),
        ("SELECT sum(d) FROM t WHERE a IN (SELECT a FROM u)", True),
        ("SELECT sum(d) FROM t LEFT JOIN (SELECT DISTINCT a FROM u) AS u USING (a)", True),
        # a row that changes often would meet all its partners with each of its updates
        ("SELECT sum(d) FROM t JOIN w USING (a)", False),
        ("SELECT count(*) FROM nothing RIGHT JOIN (SELECT a FROM t LIMIT 3) AS t USING (a)", False),
        # the union may have returned rows before an error of the other branch
        ("SELECT count(*) FROM t UNION ALL SELECT a FROM w", True),
        ("SELECT sum(100 / a) FROM t UNION ALL SELECT a FROM w", False),
    ],
)
def test_only_counts_and_exact_sums_add_up_updates(
    sql: str, is_signed: bool, world: World, engine: DuckDbEngine
) -> None:
    select = world.select(sql)
    assert may_sign(world, select) is is_signed
    expected = answered(world, engine, select)
    with mock.patch("sql.compared.table", updates):
        assert answered(world, engine, select) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM t WHERE random() < d",
        "SELECT count(*) FILTER (WHERE random() < d) FROM t",
        "SELECT count(u) FROM (SELECT gen_random_uuid() AS u FROM t) AS t",
        "SELECT count(*) FROM t TABLESAMPLE BERNOULLI (50)",
    ],
)
def test_random_values_are_computed_for_rows(sql: str, world: World) -> None:
    """The update that takes a row back would have another value than the one that brought it."""
    assert not may_sign(world, world.select(sql))


def test_an_error_is_raised_for_a_row_that_is_there_and_for_no_other(
    world: World, engine: DuckDbEngine
) -> None:
    select = world.select("SELECT sum(100 / a) FROM w")
    [get] = collections(select.plan)
    desc = world.catalog.relation(get.source_id).desc
    rows = [(5, 1), (0, 1), (0, -1)]
    assert of_updates(engine, select, desc, rows) == [(20,)]
    with pytest.raises(EvaluationError, match="division by zero"):
        of_updates(engine, select, desc, [*rows, (0, 1)])
    with pytest.raises(NegativeMultiplicity):
        of_updates(engine, world.select("SELECT count(*) FROM w"), desc, [*rows, (5, -1), (5, -1)])


def of_updates(
    engine: DuckDbEngine, select: Select, desc: RelationDesc, rows: list[tuple[int, int]]
) -> list[tuple[Any, ...]]:
    listed = [{"a": a, "y": "", TIME_COLUMN: 0, DIFF_COLUMN: diff} for a, diff in rows]
    schema = arrow_schema(desc, with_updates=True)
    input = TableInput(pa.Table.from_pylist(listed, schema), has_updates=True)
    inputs = dict.fromkeys(collections(select.plan), input)
    result = engine.run(select.plan, select.finishing, inputs, Timestamp(0))
    return [tuple(row.values()) for batch in result.batches for row in batch.to_pylist()]


def test_a_primary_key_lets_a_join_be_signed_and_is_no_key_of_a_view() -> None:
    """A view's collection was created with the key that it had, and rows of earlier times may have
    had no key."""
    world = World()
    world.execute("CREATE TABLE customers (id int PRIMARY KEY, name text)")
    world.execute("CREATE TABLE orders (id int, customer int, price numeric(10, 2))")
    world.execute("CREATE VIEW names AS SELECT id, name FROM customers")
    joined = "SELECT sum(price) FROM orders JOIN customers ON customer = customers.id"
    assert may_sign(world, world.select(joined))
    assert not may_sign(world, world.select(joined.replace("customers.id", "length(name)")))
    assert world.catalog.resolve(("names",), SessionNames()).desc.key is None
