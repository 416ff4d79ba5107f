"""The law of maintained results for each operator's rules."""

from __future__ import annotations

import pytest
from fixtures.maintaining import Bench
from hypothesis import settings
from laws.operator_laws import LAWS, operator_law, tried


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench.on_duckdb(tmp_path_factory.mktemp("rules"))


@pytest.mark.parametrize("name", LAWS)
def test_what_an_operator_maintains_is_what_it_computes(name: str, bench: Bench) -> None:
    settings(max_examples=tried(name))(operator_law(bench, name))()
