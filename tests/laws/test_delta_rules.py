"""The law of maintained results for each operator's rules."""

from __future__ import annotations

import pytest
from fixtures.maintaining import Bench
from fixtures.plans import call
from hypothesis import settings
from laws.operator_laws import (
    DESC,
    LAWS,
    LEFT,
    NUMBER,
    ONE,
    OTHER,
    RIGHT,
    TWICE,
    operator_law,
    tried,
)

from reclock.algebra.relations import BIGINT
from reclock.algebra.timestamps import Timestamp
from reclock.algebra.updates import Update
from reclock.compute.maintenance import MaintenanceMode, maintainer, refresh_each
from reclock.plan.relational import Join, JoinKind
from reclock.plan.scalars import ColumnRef


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench.on_duckdb(tmp_path_factory.mktemp("rules"))


@pytest.mark.parametrize("name", LAWS)
def test_what_an_operator_maintains_is_what_it_computes(name: str, bench: Bench) -> None:
    settings(max_examples=tried(name))(operator_law(bench, name))()


@pytest.mark.parametrize("keys", [((0, 0),), ()])
def test_a_join_evaluates_a_condition_that_fails_on_no_pair_that_never_was(
    keys: tuple[tuple[int, int], ...], bench: Bench
) -> None:
    """A left row goes as a right row comes, and both would divide by zero."""
    sum_of_both = call("+", NUMBER, ColumnRef(3, BIGINT))
    condition = call(">", call("/", 2, sum_of_both), 1)
    plan = Join(ONE, OTHER, JoinKind.INNER, keys, (condition,), TWICE)
    changes = {LEFT: [(0, 1, 1), (0, 2, -1), (1, 2, 1)], RIGHT: [(1, 1, 1), (0, 2, 1)]}
    inputs, _ = bench.inputs(
        {
            side: (DESC, [Update(("a", number), Timestamp(at), diff) for number, at, diff in rows])
            for side, rows in changes.items()
        }
    )
    maintained = maintainer(plan, plan.desc, None)
    times = [Timestamp(1), Timestamp(2)]
    refreshed = refresh_each(maintained, bench.engine, inputs, None, None, times)
    assert maintained.mode is MaintenanceMode.FROM_CHANGES
    assert not refreshed.errors
    assert not refreshed.failed_changes
