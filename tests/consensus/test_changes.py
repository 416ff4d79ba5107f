"""Changes of the catalog wake up those who watch it, in any process; whoever watches asks the
database nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from reclock.algebra.timestamps import CATALOG, EPOCH_MS, Timestamp
from reclock.consensus.database.store import Consensus
from reclock.oracle.oracle import ConsensusOracle

PATIENCE_S = 60


@contextmanager
def watched(consensus: Consensus) -> Iterator[threading.Event]:
    """Inside the block the event is set at every change; it is set when the watch begins."""
    changed = threading.Event()
    with consensus.timeline_changes.calling(changed.set):
        assert changed.wait(PATIENCE_S)
        changed.clear()
        yield changed


def watchers() -> set[threading.Thread]:
    """The watching threads of this process; other tests may have some of their own."""
    return {thread for thread in threading.enumerate() if thread.name == "timeline-changes"}


@pytest.fixture
def other(consensus_url: str, consensus: Consensus) -> Iterator[ConsensusOracle]:
    """The oracle of another process."""
    store = Consensus.connect(consensus_url)
    oracle = ConsensusOracle(store, lambda: Timestamp(1))
    oracle.open_timeline(CATALOG, Timestamp(0))
    oracle.open_timeline(EPOCH_MS, Timestamp(0))
    yield oracle
    store.close()


def test_a_change_by_another_process_wakes_up(consensus: Consensus, other: ConsensusOracle) -> None:
    with watched(consensus) as changed:
        for _ in range(2):
            other.apply_write(CATALOG, other.write_ts(CATALOG))
            assert changed.wait(PATIENCE_S)
            changed.clear()


def test_a_watch_that_lost_its_connection_begins_anew(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reclock.consensus.database.changes._AGAIN_S", 0.01)
    consensus = Consensus.connect(postgres_url)
    oracle = ConsensusOracle(consensus, lambda: Timestamp(1))
    oracle.open_timeline(CATALOG, Timestamp(0))
    with watched(consensus) as changed:
        with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as killer:
            killer.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        assert changed.wait(PATIENCE_S)  # it looks around when it begins anew
        changed.clear()
        oracle.apply_write(CATALOG, oracle.write_ts(CATALOG))
        assert changed.wait(PATIENCE_S)
    consensus.close()


def test_the_watch_ends_with_the_last_who_wants_it_and_begins_again(consensus: Consensus) -> None:
    watchers_before = watchers()
    with watched(consensus):
        (watcher,) = watchers() - watchers_before
    watcher.join(PATIENCE_S)
    assert not watcher.is_alive()
    with watched(consensus):
        assert watchers() - watchers_before


def test_a_commit_of_data_wakes_those_who_wait_for_data_alone(
    consensus: Consensus, other: ConsensusOracle
) -> None:
    with watched(consensus) as catalog_changed:
        data_changed = threading.Event()
        with consensus.timeline_changes.calling(data_changed.set, EPOCH_MS):
            for _ in range(3):
                data_changed.clear()
                other.apply_write(EPOCH_MS, other.write_ts(EPOCH_MS))
                assert data_changed.wait(PATIENCE_S)
        assert not catalog_changed.is_set()
        other.apply_write(CATALOG, other.write_ts(CATALOG))
        assert catalog_changed.wait(PATIENCE_S)
