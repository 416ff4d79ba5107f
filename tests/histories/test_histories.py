"""Histories of tables and of the oracle have an order that explains them; with a bug planted into
the processes they do not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from histories import oracle, tables
from histories.linearizability import UNDECIDED
from histories.planted import ORACLE, PLANTED

PATIENCE = 12
"""Within how many histories a planted bug is found."""

IN_SUITE = {
    "acknowledged_before_it_is_durable",
    "conflicts_are_not_checked",
    "refused_commits_are_acknowledged",
}
"""Of the bugs that only histories of tables find; all of them with ``--planted``."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "planted" in metafunc.fixturenames:
        chosen = PLANTED.keys() - ORACLE if metafunc.config.getoption("--planted") else IN_SUITE
        metafunc.parametrize("planted", sorted(chosen))


def test_tables(
    new_postgres_url: Callable[[], str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    for seed in range(request.config.getoption("--histories")):
        seen = tables.run(tmp_path / str(seed), new_postgres_url(), seed, operations=100)
        assert len(seen.operations) >= 100
        assert tables.violations(seen) == [], seed


def test_the_oracle(consensus_url: str) -> None:
    history = oracle.run(consensus_url, seed=1, operations=200)
    assert len(history) >= 100
    assert oracle.violations(history) == []


@pytest.mark.parametrize("planted_in_oracle", sorted(ORACLE))
def test_bugs_planted_into_the_oracle_are_found(
    planted_in_oracle: str, new_postgres_url: Callable[[], str]
) -> None:
    histories = (
        oracle.run(new_postgres_url(), seed, 60, planted_in_oracle) for seed in range(PATIENCE)
    )
    assert any(is_found(oracle.violations(history)) for history in histories)


def test_bugs_planted_into_servers_are_found(
    planted: str, new_postgres_url: Callable[[], str], tmp_path: Path
) -> None:
    histories = (
        tables.run(tmp_path / str(seed), new_postgres_url(), seed, 60, planted)
        for seed in range(PATIENCE)
    )
    assert any(is_found(tables.violations(seen)) for seen in histories)


def is_found(violations: list[str]) -> bool:
    """Whether something is wrong, and not merely undecided."""
    return any(not violation.startswith(UNDECIDED) for violation in violations)
