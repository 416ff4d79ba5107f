"""The law of reads: a collection has each row as often as its diffs sum to, also where only the rows
that some update takes away are summed up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fixtures.maintaining import Bench, possible
from fixtures.plans import call, desc_of, get, row_text, rows
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import BIGINT, DOUBLE, TEXT
from reclock.algebra.timestamps import Timestamp
from reclock.algebra.updates import Update
from reclock.compute.engines import engine
from reclock.compute.operators import get as get_operator
from reclock.plan.build import filter_rows, project
from reclock.plan.relational import Finishing
from reclock.plan.scalars import ColumnRef

ID = StorageCollectionId(GlobalId("u1"))
DESC = desc_of(TEXT, BIGINT, DOUBLE)
KEYED = replace(DESC, key=DESC.names[:1])
LAST = 4

rows_drawn = st.tuples(
    st.sampled_from(["a", "b", None]),
    st.sampled_from([0, 1, None]),
    st.sampled_from([0.0, -0.0, 1.5, float("nan"), None]),
)
updates_drawn = st.lists(
    st.tuples(rows_drawn, st.integers(1, LAST), st.sampled_from([-2, -1, 1, 1, 1, 2])), max_size=10
).map(possible)
columns_drawn = st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench.on_duckdb(tmp_path_factory.mktemp("reads"))


def _law(bench: Bench) -> Callable[[], None]:
    @given(
        updates=updates_drawn,
        columns=columns_drawn,
        is_keyed=st.booleans(),
        is_filtered=st.booleans(),
        at=st.integers(1, LAST),
    )
    def law(
        updates: list[Update], columns: list[int], is_keyed: bool, is_filtered: bool, at: int
    ) -> None:
        desc = KEYED if is_keyed else DESC
        inputs, _ = bench.inputs({ID: (desc, updates)})
        conditions = [call("=", ColumnRef(1, BIGINT), 1)] if is_filtered else []
        plan = project(filter_rows(get(ID, desc), conditions), columns)
        expected: Counter[str] = Counter()
        for update in updates:
            if update.time <= at and (not is_filtered or update.row[1] == 1):
                values: list[Any] = [update.row[column] for column in columns]
                expected[
                    row_text(
                        [
                            0.0 if value == 0.0 and isinstance(value, float) else value
                            for value in values
                        ]
                    )
                ] += update.diff
        answer = bench.engine.run(plan, Finishing(), inputs, Timestamp(at))
        assert Counter(map(row_text, rows(answer))) == +expected

    return law


@pytest.fixture
def all_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the share of other diffs than one is, it counts as small."""
    monkeypatch.setattr(engine, "_FEW", 1.0)


def test_a_read_has_each_row_as_often_as_its_diffs_sum_to(bench: Bench) -> None:
    settings(max_examples=100)(_law(bench))()


def test_a_read_of_few_retractions_has_the_same_rows(bench: Bench, all_few: None) -> None:
    settings(max_examples=300)(_law(bench))()


@pytest.mark.parametrize(
    ("right", "planted"),
    [
        ("IS NOT DISTINCT FROM", "="),  # NULL is not found among the rows to sum up
        ("<> 1", "< 0"),  # a row that comes twice is there once
        ("ANTI JOIN", "SEMI JOIN"),
        ("SEMI JOIN", "ANTI JOIN"),
    ],
)
def test_a_planted_bug_is_found(
    right: str, planted: str, bench: Bench, all_few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = get_operator._mostly_single
    monkeypatch.setattr(
        get_operator, "_mostly_single", lambda *arguments: rule(*arguments).replace(right, planted)
    )
    search = settings(
        max_examples=300,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
    )
    with pytest.raises(Exception):  # noqa: B017  (a wrong answer, or a negative multiplicity)
        search(_law(bench))()
