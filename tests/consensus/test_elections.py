"""One process leads a controller at a time, by terms and leases; what its term wrote is fenced by the next."""

from __future__ import annotations

import pytest

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.frontiers.groups import Frontiers
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.elections import LeaderElection, LeadershipRecord, elect
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import Fenced, TermOver

LEADERSHIP = Leadership(epoch=1, deploy_generation=0)
LEASE_MS = 3_000


@pytest.fixture
def election(consensus):
    def made(owner: str, leadership: Leadership = LEADERSHIP) -> LeaderElection:
        return LeaderElection(consensus, leadership, "storage", owner=owner, lease_ms=LEASE_MS)

    return made


def test_the_first_leads_until_it_leaves(election) -> None:
    first, second = election("a"), election("b")
    assert first.acquire_or_renew() == 1
    assert second.acquire_or_renew() is None
    assert first.acquire_or_renew() == 1
    first.resign()
    assert second.acquire_or_renew() == 2
    assert first.acquire_or_renew() is None


def test_a_lease_that_is_over_is_anothers_and_its_term_writes_nothing(consensus, clock, election) -> None:
    first, second = election("a"), election("b")
    term = first.acquire_or_renew()
    frontiers = Frontiers(first.within(term), LEADERSHIP)
    frontiers.create("u1", since=Timestamp(0), upper=Timestamp(1))
    clock.advance(LEASE_MS)
    assert second.acquire_or_renew() == 2
    with pytest.raises(TermOver):
        frontiers.create("u2", since=Timestamp(0), upper=Timestamp(1))
    with pytest.raises(TermOver):
        first.publish(term, Timestamp(9), leaves=False)
    assert frontiers.get_all().keys() == {"u1"}
    assert second.record().catalog_frontier == 0


def test_taking_renews_the_lease_before_it_is_over(clock, election) -> None:
    first, second = election("a"), election("b")
    for _ in range(10):
        assert first.acquire_or_renew() == 1
        assert second.acquire_or_renew() is None
        clock.advance(LEASE_MS // 2)


def test_who_slept_over_its_lease_goes_on_if_nobody_led_meanwhile(clock, election) -> None:
    first, second = election("a"), election("b")
    term = first.acquire_or_renew()
    clock.advance(LEASE_MS)
    assert first.acquire_or_renew() == term
    clock.advance(LEASE_MS)
    second.publish(second.acquire_or_renew(), Timestamp(9), leaves=True)
    assert first.acquire_or_renew() == 3
    with pytest.raises(TermOver):
        first.publish(term, Timestamp(9), leaves=False)


def test_the_catalog_frontier_is_everyones_and_never_goes_back(election) -> None:
    first, second = election("a"), election("b")
    first.publish(first.acquire_or_renew(), Timestamp(9), leaves=True)
    assert second.record() == LeadershipRecord(1, None, 1, second.record().lease_until, Timestamp(9))
    second.publish(second.acquire_or_renew(), Timestamp(5), leaves=True)
    assert first.record().catalog_frontier == 9


def test_a_newer_epoch_need_not_wait_for_the_lease_of_an_older_one(consensus, election) -> None:
    first, newer = election("a"), Leadership(epoch=2, deploy_generation=0)
    first.acquire_or_renew()
    consensus.transact(lambda connection: fence.advance(connection, newer))
    assert election("b", newer).acquire_or_renew() == 2
    with pytest.raises(Fenced):
        first.resign()


@pytest.mark.parametrize("left_ms", [1, LEASE_MS * 2 // 3, LEASE_MS])
def test_standing_again_writes_only_when_much_of_the_lease_is_gone(left_ms: int) -> None:
    now = Timestamp(10_000)
    found = LeadershipRecord(4, "a", 1, Timestamp(now + left_ms), Timestamp(7))
    after = elect(found, LeadershipRecord(leader="a", epoch=1), now, lease_ms=LEASE_MS)
    assert after.term == 4
    assert (after == found) == (left_ms > LEASE_MS * 2 // 3)
