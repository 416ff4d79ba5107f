"""Whose clock decides about time: the consensus database's, never that of one process."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from reclock.adapter.session.session import Session
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.consensus.database.clock import DatabaseClock
from reclock.consensus.database.store import Consensus
from reclock.errors import ClockImplausible
from reclock.runtime.environment import Environment

TEN_YEARS_MS = 10 * 365 * 86_400_000


@pytest.fixture
def home(tmp_path: Path, consensus_url: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment with a table ``t``, on each kind of consensus."""
    monkeypatch.setenv("RECLOCK_CONSENSUS_URL", consensus_url)
    with Environment.initialise(tmp_path / "home") as environment:
        _execute(environment, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
    return tmp_path / "home"


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> int:
    """This process's wall clock is ten years ahead; answers the right time."""
    right = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: right() + TEN_YEARS_MS * 1_000_000)
    return right() // 1_000_000


def test_a_process_with_a_clock_years_ahead_does_not_move_time(
    home: Path, ahead: int, consensus_url: str
) -> None:
    if consensus_url.startswith("sqlite"):  # an embedded database has no other clock
        with (
            pytest.raises(ClockImplausible, match="days beyond the newest timestamp"),
            Environment.open(home),
        ):
            pass
        return
    with Environment.open(home) as environment:
        _execute(environment, "INSERT INTO t VALUES (2)")
        assert environment.stores.clock() < ahead + TEN_YEARS_MS // 2
        assert environment.stores.oracle.write_ts(EPOCH_MS) < ahead + TEN_YEARS_MS // 2
        frontiers = environment.stores.frontiers.get_all().values()
        assert max(frontier.upper for frontier in frontiers) < ahead + TEN_YEARS_MS // 2


def test_a_clock_that_jumps_while_the_process_runs_is_refused_and_moves_nothing(
    tmp_path: Path,
) -> None:
    now = [Timestamp(1_700_000_000_000)]
    with Environment.initialise(tmp_path / "home", clock=lambda: now[0]) as environment:
        _execute(environment, "CREATE TABLE t (a int); INSERT INTO t VALUES (0)")
        before = environment.stores.frontiers.get_all()
        now[0] = Timestamp(now[0] + TEN_YEARS_MS)
        for statement in ("INSERT INTO t VALUES (1)", "CREATE TABLE u (a int)"):
            with pytest.raises(ClockImplausible) as refused:
                _execute(environment, statement)
            assert "RECLOCK_MAX_CLOCK_JUMP_MS" in str(refused.value.hint)
        assert environment.stores.frontiers.get_all() == before
        now[0] = Timestamp(now[0] - TEN_YEARS_MS + 5)
        _execute(environment, "INSERT INTO t VALUES (1)")


def test_a_clock_that_is_right_after_all_is_believed_by_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = Timestamp(1_700_000_000_000)
    with Environment.initialise(tmp_path / "home", clock=lambda: start):
        pass
    later = Timestamp(start + TEN_YEARS_MS)
    with pytest.raises(ClockImplausible), Environment.open(tmp_path / "home", clock=lambda: later):
        pass
    monkeypatch.setenv("RECLOCK_MAX_CLOCK_JUMP_MS", str(TEN_YEARS_MS + 1))
    with Environment.open(tmp_path / "home", clock=lambda: later) as environment:
        assert environment.stores.oracle.write_ts(EPOCH_MS) == later


def test_between_observations_the_monotonic_clock_counts() -> None:
    elapsed, database = [50.0], [Timestamp(1_000)]
    clock = DatabaseClock(lambda: database[0], lambda: elapsed[0])
    assert clock() == 1_000
    elapsed[0], database[0] = 53.0, Timestamp(7_000)
    assert clock() == 1_003
    assert clock.observe(lambda: database[0]) == 7_000
    elapsed[0] = 60.0
    assert clock() == 7_007


def test_what_a_transaction_reads_is_an_observation(consensus_url: str, ahead: int) -> None:
    consensus = Consensus.connect(consensus_url)
    try:
        now = consensus.read(consensus.now)
        assert abs(consensus.clock() - now) < TEN_YEARS_MS // 2
    finally:
        consensus.close()


def _execute(environment: Environment, text: str) -> None:
    for result in Session(environment).execute(text):
        list(result.rows())  # type: ignore[union-attr]
