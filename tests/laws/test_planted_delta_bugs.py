"""Each operator's rule has a planted bug, which its law finds, some of them only with a few times as
many examples as it tries. ``--planted`` plants them all."""

from __future__ import annotations

import pytest
from fixtures.examples import plant_some
from fixtures.maintaining import Bench
from hypothesis import Phase, settings
from hypothesis import strategies as st
from laws.operator_laws import operator_law
from laws.planted_in_groups import GROUPS_IN_SUITE, PLANTED_IN_GROUPS
from laws.planted_in_rules import IN_SUITE, PLANTED, PLANTED_DELTA_RULES

from reclock.compute.operators import rules

SEARCH = settings(
    max_examples=160,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    report_multiple_bugs=False,
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench.on_duckdb(tmp_path_factory.mktemp("rules"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    plant_some(metafunc, "planted", PLANTED, IN_SUITE)
    plant_some(metafunc, "planted_in_groups", PLANTED_IN_GROUPS, GROUPS_IN_SUITE)


def test_each_delta_rule_has_a_planted_bug() -> None:
    assert set(rules.delta.registry) - {object} == PLANTED_DELTA_RULES


def test_a_planted_bug_is_found(
    planted: str, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    law, plant = PLANTED[planted]
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        SEARCH(operator_law(bench, law, st.just(False)))()


def test_a_bug_planted_in_groups_is_found(
    planted_in_groups: str, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    law, plant = PLANTED_IN_GROUPS[planted_in_groups]
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        SEARCH(operator_law(bench, law, st.just(True)))()
