"""A step from changes that is too deep for the engine: the view is computed anew."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from fixtures.lakes import updates_of
from fixtures.maintaining import Bench
from fixtures.plans import row_text
from fixtures.sql_files import SqlFile

from reclock.algebra.timestamps import Timestamp
from reclock.compute.maintenance import maintainer, refresh_each
from reclock.compute.steps import delta
from reclock.errors import NestedTooDeeply
from reclock.plan.relational import Plan

QUERY = "SELECT a, sum(b) AS total FROM t GROUP BY a"


def test_a_view_whose_changes_are_too_deep_is_computed_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench.on_duckdb(tmp_path)
    file = SqlFile(bench.engine)
    file.create_table("t", "a int, b int", [(1, 2), (2, 3), (1, 5)])
    plan = file.view(QUERY)
    assert isinstance(plan, Plan)
    deep = ", ".join(f"x{n + 1} AS (SELECT c0 + 1 AS c0 FROM x{n})" for n in range(1200))
    refused: list[str] = []

    def rendered(*arguments: object) -> str:
        refused.append(f"WITH x0 AS (SELECT 1 AS c0), {deep} SELECT * FROM x1200")
        return refused[-1]

    monkeypatch.setattr(delta, "render", rendered)
    inputs, last = bench.inputs(file.sides(QUERY, plan))
    times = [Timestamp(time) for time in range(last + 1)]
    maintained = maintainer(plan, plan.desc, None)
    refreshed = refresh_each(maintained, bench.engine, inputs, None, None, times)
    assert refused
    assert refreshed.errors == {}
    assert {type(error) for error in refreshed.failed_changes.values()} == {NestedTooDeeply}
    held = Counter[str]()
    for update in updates_of(refreshed.updates):
        held[row_text(update.row)] += update.diff
    assert +held == bench.answer(plan, inputs, times[-1])
