"""The leases of a process: one transaction renews all that are due, and says what became of
each."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import pytest
import sqlalchemy as sa

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.elections import Seat
from reclock.consensus.leadership.fence import Leadership
from reclock.consensus.leadership.leases import LeaseKeeper
from reclock.errors import ConsensusUnavailable, Fenced

LEADERSHIP = Leadership(epoch=1, deploy_generation=0)


@dataclass
class Noted:
    """A lease that notes its renewals. ``failures`` of them fail first."""

    lease_ms: int = 30
    failures: int = 0
    connections: list[sa.Connection] = field(default_factory=list)
    renewals: int = 0
    changed: threading.Event = field(default_factory=threading.Event)
    is_fenced: bool = False

    def renew(self, connection, now):
        if self.failures:
            self.failures -= 1
            raise ConsensusUnavailable(detail="for the test")
        self.connections.append(connection)
        return self.renewed

    def renewed(self) -> None:
        self.renewals += 1
        self.changed.set()

    def fenced(self) -> None:
        self.is_fenced = True
        self.changed.set()


@pytest.fixture
def keeper(consensus) -> LeaseKeeper:
    consensus.transact(lambda connection: fence.advance(connection, LEADERSHIP))
    return LeaseKeeper(consensus, LEADERSHIP)


def test_all_leases_are_renewed_in_one_transaction(keeper: LeaseKeeper) -> None:
    first, second = Noted(), Noted()
    keeper.renew([first, second])
    assert first.connections == second.connections
    assert (first.renewals, second.renewals) == (1, 1)


def test_a_lease_is_renewed_until_it_is_no_longer_kept(keeper: LeaseKeeper) -> None:
    lease = Noted(failures=2)
    with keeper.keeping(lease):
        while lease.renewals < 3:
            assert lease.changed.wait(60)
            lease.changed.clear()
    renewals = lease.renewals
    with keeper.keeping(other := Noted()):
        assert other.changed.wait(60)
    assert lease.renewals <= renewals + 1  # one may have been in progress


def test_a_fenced_process_is_told(consensus, keeper: LeaseKeeper) -> None:
    newer = Leadership(epoch=2, deploy_generation=0)
    consensus.transact(lambda connection: fence.advance(connection, newer))
    with pytest.raises(Fenced):
        keeper.renew([lease := Noted()])
    with keeper.keeping(lease):
        assert lease.changed.wait(60)
    assert (lease.is_fenced, lease.renewals) == (True, 0)


def test_a_renewal_is_conditional_on_the_lead(consensus, clock, keeper: LeaseKeeper) -> None:
    first, second = (
        Seat(consensus, LEADERSHIP, "storage", owner=owner, lease_ms=1_000) for owner in "ab"
    )

    def renew(seat: Seat) -> bool:
        return consensus.transact(lambda connection: seat.renew(connection, clock()))

    def is_free(seat: Seat) -> bool:
        return consensus.read(lambda connection: seat.is_free(connection, clock()))

    assert is_free(second)
    first.take()
    for _ in range(3):
        clock.advance(900)
        assert renew(first)
        assert not renew(second)
        assert not is_free(second)
    clock.advance(1_000)
    assert is_free(second)
    second.take()
    assert not renew(first)
    assert second.look().leader == "b"
    assert second.look().lease_until == Timestamp(clock() + 1_000)
