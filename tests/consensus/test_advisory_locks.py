"""Advisory locks: who has one excludes others, for as long as its lease lasts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from consensus.conftest import LEADERSHIP, HandClock

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.database.store import Consensus
from reclock.consensus.processes.advisory_locks import AdvisoryLock, LockHolder
from reclock.errors import AdvisoryLocksLost

LEASE_MS = 9_000
LOCK, SHARED = AdvisoryLock("1", is_shared=False), AdvisoryLock("1", is_shared=True)


@pytest.fixture
def new_session(consensus: Consensus) -> Callable[[], LockHolder]:
    return lambda: LockHolder(consensus, LEADERSHIP, lease_ms=LEASE_MS)


def renew(session: LockHolder, consensus: Consensus, now: Timestamp) -> None:
    consensus.transact(lambda connection: session.renew(connection, now))()


def test_one_session_has_a_lock_or_several_share_it(new_session: Callable[[], LockHolder]) -> None:
    first, second, third = new_session(), new_session(), new_session()
    assert first.acquire(LOCK)
    assert not second.acquire(LOCK)
    assert not second.acquire(SHARED)
    assert second.acquire(AdvisoryLock("1, 1", is_shared=False))
    first.keep_only([])
    assert second.acquire(SHARED)
    assert third.acquire(SHARED)
    assert not second.acquire(LOCK)
    third.keep_only([])
    assert second.acquire(LOCK)  # beside its own shared one
    second.keep_only([SHARED])
    assert third.is_free(SHARED)
    assert not third.is_free(LOCK)


def test_a_renewed_lock_lasts_and_another_session_takes_an_expired_one(
    new_session: Callable[[], LockHolder], consensus: Consensus, clock: HandClock
) -> None:
    first, second = new_session(), new_session()
    assert first.acquire(LOCK)
    clock.advance(LEASE_MS - 1)
    renew(first, consensus, clock())
    clock.advance(LEASE_MS - 1)
    assert not second.acquire(LOCK)
    clock.advance(2)
    assert second.acquire(LOCK)
    assert not first.is_lost  # its process may not have run since
    renew(first, consensus, clock())
    assert first.is_lost
    with pytest.raises(AdvisoryLocksLost):
        first.acquire(AdvisoryLock("2", is_shared=False))
    first.keep_only([])
    assert not new_session().is_free(LOCK)


def test_a_session_that_cannot_renew_stops_before_others_begin(
    consensus: Consensus, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = LockHolder(consensus, LEADERSHIP, lease_ms=3_000)
    now_s = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now_s)
    assert holder.acquire(LOCK)
    now_s = 101.9
    assert not holder.is_lost
    now_s = 102.1
    assert holder.is_lost
