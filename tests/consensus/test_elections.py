"""One process leads a controller at a time, by terms and leases; what its term wrote is fenced by
the next."""

from __future__ import annotations

import pytest

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.frontiers.groups import Frontiers
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.elections import LeadershipRecord, Seat, Term, elect
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import Fenced, TermOver

LEADERSHIP = Leadership(epoch=1, deploy_generation=0)
LEASE_MS = 3_000


@pytest.fixture
def seat(consensus):
    def made(owner: str, leadership: Leadership = LEADERSHIP) -> Seat:
        return Seat(consensus, leadership, "storage", owner=owner, lease_ms=LEASE_MS)

    return made


def test_the_first_leads_until_it_leaves(seat) -> None:
    first, second = seat("a"), seat("b")
    assert first.take() == 1
    assert second.take() is None
    assert first.take() == 1
    first.leave()
    assert second.take() == 2
    assert first.take() is None


def test_a_lease_that_is_over_is_anothers_and_its_term_writes_nothing(
    consensus, clock, seat
) -> None:
    first, second = seat("a"), seat("b")
    term = first.take()
    frontiers = Frontiers(first.within(term), LEADERSHIP)
    frontiers.create("u1", since=Timestamp(0), upper=Timestamp(1))
    clock.advance(LEASE_MS)
    assert second.take() == 2
    with pytest.raises(TermOver):
        frontiers.create("u2", since=Timestamp(0), upper=Timestamp(1))
    with pytest.raises(TermOver):
        first.publish(term, Timestamp(9), leaves=False)
    assert frontiers.get_all().keys() == {"u1"}
    assert second.look().catalog_frontier == 0


def test_taking_renews_the_lease_before_it_is_over(clock, seat) -> None:
    first, second = seat("a"), seat("b")
    for _ in range(10):
        assert first.take() == 1
        assert second.take() is None
        clock.advance(LEASE_MS // 2)


def test_a_leader_that_slept_over_its_lease_goes_on_if_nobody_led_meanwhile(clock, seat) -> None:
    first, second = seat("a"), seat("b")
    term = first.take()
    clock.advance(LEASE_MS)
    assert first.take() == term
    clock.advance(LEASE_MS)
    second.publish(second.take(), Timestamp(9), leaves=True)
    assert first.take() == 3
    with pytest.raises(TermOver):
        first.publish(term, Timestamp(9), leaves=False)


def test_the_catalog_frontier_is_everyones_and_never_goes_back(seat) -> None:
    first, second = seat("a"), seat("b")
    first.publish(first.take(), Timestamp(9), leaves=True)
    assert second.look() == LeadershipRecord(
        Term(1), None, 1, second.look().lease_until, Timestamp(9)
    )
    second.publish(second.take(), Timestamp(5), leaves=True)
    assert first.look().catalog_frontier == 9


def test_a_newer_epoch_need_not_wait_for_the_lease_of_an_older_one(consensus, seat) -> None:
    first, newer = seat("a"), Leadership(epoch=2, deploy_generation=0)
    first.take()
    consensus.transact(lambda connection: fence.advance(connection, newer))
    assert seat("b", newer).take() == 2
    with pytest.raises(Fenced):
        first.leave()


@pytest.mark.parametrize("left_ms", [1, LEASE_MS * 2 // 3, LEASE_MS])
def test_standing_again_writes_only_when_much_of_the_lease_is_gone(left_ms: int) -> None:
    now = Timestamp(10_000)
    found = LeadershipRecord(Term(4), "a", 1, Timestamp(now + left_ms), Timestamp(7))
    after = elect(found, LeadershipRecord(leader="a", epoch=1), now, lease_ms=LEASE_MS)
    assert after.term == 4
    assert (after == found) == (left_ms > LEASE_MS * 2 // 3)
