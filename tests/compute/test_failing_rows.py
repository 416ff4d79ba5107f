"""The error of a maintained view names the row that its query fails for, if that is certain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.maintained import World

from reclock.compute.reads import failing_rows
from reclock.pipeline import cluster_steps

ON_BOTH = pytest.mark.parametrize(
    "world", ["duckdb", pytest.param("spark", marks=pytest.mark.spark)], indirect=True
)


@pytest.fixture
def world(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    """With a table of rows that no view fails for."""
    spark = None
    if getattr(request, "param", "duckdb") == "spark":
        spark = request.getfixturevalue("spark")
        monkeypatch.setenv("RECLOCK_SPARK_THRESHOLD_BYTES", "0")
    world = World(tmp_path, spark=spark)
    world.sql("CREATE TABLE t (id int, word text, v numeric, d int)")
    world.sql("CREATE TABLE s (id int, d int)")
    world.sql("INSERT INTO t SELECT g, g::text, 1, g FROM generate_series(1, 300) g")
    world.sql("INSERT INTO s SELECT g, 1 FROM generate_series(1, 300) g")
    yield world
    world.close()


BIG = "50000000000000000000000000000"
NAMED = {
    "an expression": (
        "SELECT id / d AS x FROM t",
        "INSERT INTO t VALUES (301, 'one', NULL, 0)",
        "the row of t with id = 301, word = 'one', v = NULL, d = 0",
    ),
    "a condition": (
        "SELECT id FROM t WHERE 10 / d > 1",
        "INSERT INTO t VALUES (301, 'it''s', 1.5, 0)",
        "the row of t with id = 301, word = 'it''s', v = 1.5",
    ),
    "a row that a view's condition leaves out is not named": (
        "SELECT number FROM (SELECT id, word::integer AS number FROM t) AS x WHERE id <> 301",
        "INSERT INTO t VALUES (301, 'left out', 1, 1), (302, 'read', 1, 1)",
        "the row of t with id = 302, word = 'read'",
    ),
    "an argument of an aggregate": (
        "SELECT id % 2 AS half, sum(id / d) AS x FROM t GROUP BY id % 2",
        "INSERT INTO t VALUES (301, 'one', 1, 0)",
        "the row of t with id = 301",
    ),
    "a row of a join": (
        "SELECT t.id / s.d AS x FROM t JOIN s ON t.id = s.id",
        "INSERT INTO t VALUES (301, 'one', 1, 1); INSERT INTO s VALUES (301, 0)",
        "a row of a subquery with id = 301",
    ),
    "a group": (
        "SELECT id, sum(v) AS total FROM t GROUP BY id",
        f"INSERT INTO t VALUES (7, 'one', {BIG}, 1), (7, 'two', {BIG}, 1)",
        "the group with id = 7",
    ),
    "one of several": (
        "SELECT word::integer AS number FROM t",
        "INSERT INTO t VALUES (302, 'second', 1, 1), (301, 'first', 1, 1)",
        "the row of t with id = 301, word = 'first'",
    ),
    "long values": (
        "SELECT word::integer AS number FROM t",
        f"INSERT INTO t VALUES (301, '{'x' * 1000}', 1, 1)",
        f"the row of t with id = 301, word = '{'x' * 40}…', v = 1",
    ),
}
NOT_NAMED = {
    "a sum of everything": (
        "SELECT sum(v) AS total FROM t",
        f"INSERT INTO t VALUES (7, 'a', {BIG}, 1), (8, 'b', {BIG}, 1)",
    ),
    "two parts that fail by themselves": (
        "SELECT 1 / d AS x FROM t UNION ALL SELECT 2 / d AS x FROM s",
        "INSERT INTO t VALUES (301, 'a', 1, 0); INSERT INTO s VALUES (301, 0)",
    ),
}


@ON_BOTH
@pytest.mark.parametrize("case", NAMED)
def test_the_row_is_named_in_the_status_and_to_readers(case: str, world: World) -> None:
    query, statements, row = NAMED[case]
    detail = fail(world, query, statements)
    assert f"t fails for {row}" in detail
    assert len(detail) < 700


@ON_BOTH
@pytest.mark.parametrize("case", NOT_NAMED)
def test_nothing_is_said_where_no_row_is_certain(case: str, world: World) -> None:
    assert "fails for" not in fail(world, *NOT_NAMED[case])


def test_among_many_rows_the_work_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    many = (
        "INSERT INTO t SELECT g, g::text, 1, CASE WHEN g = 150000 THEN 0 ELSE 1 END FROM "
        "generate_series(1000, 200000) g"
    )
    assert "the row of t with id = 150000" in fail(world, "SELECT id / d AS x FROM t", many)
    monkeypatch.setattr(failing_rows, "_MOST_BATCHES", 1)
    assert "fails for" not in fail(
        world, "SELECT id / d AS x FROM t WHERE id > 0", "INSERT INTO s VALUES (0, 0)", name="n"
    )


def test_large_inputs_are_not_searched(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failing_rows, "_MOST_BYTES", 100)
    query, statements, _ = NAMED["an expression"]
    assert "fails for" not in fail(world, query, statements)


def test_a_row_that_is_known_is_not_searched_again_until_it_may_be_gone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches: list[failing_rows.FailingRow | None] = []
    search = failing_rows._Search.result

    def counted(self: failing_rows._Search) -> failing_rows.FailingRow | None:
        searches.append(search(self))
        return searches[-1]

    monkeypatch.setattr(failing_rows._Search, "result", counted)
    query = "SELECT t.id / t.d AS x FROM t WHERE NOT EXISTS (SELECT FROM s WHERE s.d = -t.id)"
    first = fail(world, query, "INSERT INTO t VALUES (301, 'one', 1, 0)")
    assert "id = 301" in first
    assert fail(world, query, "INSERT INTO t VALUES (302, 'two', 1, 0)", is_new=False) == first
    assert fail(world, query, "INSERT INTO s VALUES (301, 5)", is_new=False) == first
    assert len(searches) == 1
    # the row is there, and the query fails for another one only
    statements = "INSERT INTO s VALUES (301, -301)"
    assert "id = 302" in fail(world, query, statements, is_new=False)
    # it is gone
    statements = "DELETE FROM t WHERE id = 302; INSERT INTO t VALUES (303, 'three', 1, 0)"
    assert "id = 303" in fail(world, query, statements, is_new=False)
    assert len(searches) == 3


def fail(world: World, query: str, statements: str, *, name: str = "m", is_new: bool = True) -> str:
    """The detail of the status of a view that fails after the statements, which is what a reader of
    it is told."""
    if is_new:
        world.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    world.sql(statements)
    world.now += 1_000
    report = cluster_steps.refresh(world.environment, "default", world.now, owner="test")
    [failure] = [failure for failure in report.failed if f".{name}_" in failure.name]
    assert failure.sqlstate.startswith("22")
    [(detail,)] = world.sql(
        f"SELECT detail FROM mz_internal.mz_index_statuses WHERE name = '{name}_primary_idx'"
    )
    assert detail == failure.detail
    return str(detail)
