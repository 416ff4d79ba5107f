"""Read holds: what is held stays readable, for as long as the lease lasts on the database's
clock."""

import pytest

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.frontiers.groups import Frontiers
from reclock.consensus.frontiers.holds import ReadHolds
from reclock.errors import InternalError, NotReadable, ReadHoldLost, SinceHeld, UnknownCollection

T = Timestamp


@pytest.fixture(autouse=True)
def groups(frontiers: Frontiers) -> None:
    frontiers.create("u1", since=T(3), upper=T(100))
    frontiers.create("u2", since=T(5), upper=T(100))


def test_a_hold_below_since_is_refused_and_nothing_is_held(holds: ReadHolds) -> None:
    with pytest.raises(NotReadable) as refused:
        holds.acquire(["u1", "u2"], T(4), owner="q", lease_ms=1000)
    assert (refused.value.name, refused.value.at, refused.value.since) == ("u2", 4, 5)
    with pytest.raises(UnknownCollection, match="u9"):
        holds.acquire(["u1", "u9"], T(9), owner="q", lease_ms=1000)
    assert holds.earliest() == {}


def test_a_hold_keeps_all_its_groups(holds: ReadHolds, frontiers: Frontiers) -> None:
    hold = holds.acquire(["u1", "u2"], T(5), owner="q", lease_ms=1000)
    for group in ("u1", "u2"):
        with pytest.raises(SinceHeld):
            frontiers.allow_compaction(group, T(6))
    later = holds.downgrade(hold, T(50))
    frontiers.allow_compaction("u1", T(50))
    with pytest.raises(SinceHeld):
        frontiers.allow_compaction("u2", T(51))
    holds.release(later)
    holds.release(later)
    frontiers.allow_compaction("u2", T(51))


def test_the_earliest_hold_counts(holds: ReadHolds) -> None:
    holds.acquire(["u1"], T(20), owner="q", lease_ms=None)
    holds.acquire(["u1", "u2"], T(10), owner="r", lease_ms=None)
    assert holds.earliest() == {"u1": 10, "u2": 10}
    assert holds.earliest(["u1", "u7"]) == {"u1": 10}


def test_a_hold_runs_out_on_the_databases_clock(
    holds: ReadHolds, frontiers: Frontiers, clock
) -> None:
    hold = holds.acquire(["u1"], T(5), owner="q", lease_ms=1000)
    clock.advance(999)
    with pytest.raises(SinceHeld):
        frontiers.allow_compaction("u1", T(6))
    hold = holds.renew(hold, lease_ms=1000)
    clock.advance(999)
    with pytest.raises(SinceHeld):
        frontiers.allow_compaction("u1", T(6))
    clock.advance(1)
    frontiers.allow_compaction("u1", T(6))
    for attempt in (lambda: holds.renew(hold, lease_ms=1000), lambda: holds.downgrade(hold, T(7))):
        with pytest.raises(ReadHoldLost):
            attempt()


def test_a_hold_without_lease_lasts(holds: ReadHolds, frontiers: Frontiers, clock) -> None:
    hold = holds.acquire(["u1"], T(5), owner="u7", lease_ms=None)
    clock.advance(10**12)
    with pytest.raises(SinceHeld):
        frontiers.allow_compaction("u1", T(6))
    assert holds.owned_by("u7") == [hold]
    assert holds.owned_by("u8") == []


def test_an_owner_finds_its_holds_that_last(holds: ReadHolds, clock) -> None:
    short = holds.acquire(["u1"], T(9), owner="u7", lease_ms=10)
    long = holds.acquire(["u1", "u2"], T(8), owner="u7", lease_ms=None)
    assert holds.owned_by("u7") == [long, short]
    clock.advance(10)
    assert holds.owned_by("u7") == [long]
    holds.acquire(["u1"], T(9), owner="x", lease_ms=10)  # sweeps
    assert holds.owned_by("u7") == [long]
    assert holds.earliest() == {"u1": 8, "u2": 8}


def test_a_hold_may_lie_beyond_upper_but_never_moves_back(holds: ReadHolds) -> None:
    hold = holds.acquire(["u1"], T(200), owner="u7", lease_ms=None)
    with pytest.raises(InternalError):
        holds.downgrade(hold, T(199))
    assert holds.downgrade(hold, T(200)) == hold


def test_a_repeated_downgrade_is_no_loss(holds: ReadHolds) -> None:
    hold = holds.acquire(["u1"], T(5), owner="u7", lease_ms=None)
    assert holds.downgrade(hold, T(9)) == holds.downgrade(hold, T(9))
    with pytest.raises(ReadHoldLost):
        holds.downgrade(hold, T(8))
    assert holds.earliest() == {"u1": 9}


def test_a_sweep_takes_what_has_run_out_and_nothing_else(holds: ReadHolds, clock) -> None:
    holds.acquire(["u1"], T(5), owner="index", lease_ms=None)
    holds.acquire(["u1"], T(5), owner="reader", lease_ms=2000)
    holds.acquire(["u1", "u2"], T(5), owner="gone", lease_ms=1000)
    clock.advance(1000)
    assert holds.sweep() == 1
    assert holds.sweep() == 0
    assert [len(holds.owned_by(owner)) for owner in ("index", "reader", "gone")] == [1, 1, 0]
