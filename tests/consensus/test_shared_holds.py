"""Shared read holds: what is read stays readable, and what nobody reads is not kept."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.frontiers.groups import Frontiers
from reclock.consensus.frontiers.holds import ReadHolds
from reclock.consensus.frontiers.shared_holds import SharedHolds
from reclock.errors import NotReadable, SinceHeld, UnknownCollection

T = Timestamp
LEASE_MS = 60_000


@pytest.fixture(autouse=True)
def groups(frontiers: Frontiers) -> None:
    frontiers.create("u1", since=T(3), upper=T(100))
    frontiers.create("u2", since=T(5), upper=T(100))


@pytest.fixture
def shared(holds: ReadHolds, clock) -> Iterator[SharedHolds]:
    opened = SharedHolds(lambda: holds, "reader", LEASE_MS, elapsed_ms=clock)
    yield opened
    opened.close()


def hold_times(holds: ReadHolds) -> list[int]:
    return [hold.at for hold in holds.owned_by("reader")]


def test_reads_at_the_hold_or_later_take_no_other(
    shared: SharedHolds, holds: ReadHolds, statements: list[str]
) -> None:
    with shared.held(["u1"], T(10)), shared.held(["u1"], T(12)):
        assert hold_times(holds) == [10]
    statements.clear()
    with shared.held(["u1"], T(11)):
        assert statements == []
    assert hold_times(holds) == [10]


def test_a_read_before_the_hold_has_its_own_and_gives_it_back(
    shared: SharedHolds, holds: ReadHolds
) -> None:
    with shared.held(["u1"], T(10)):
        with shared.held(["u1"], T(7)):
            assert hold_times(holds) == [7, 10]
        assert hold_times(holds) == [10]
    with shared.held(["u1", "u2"], T(20)):
        assert hold_times(holds) == [10, 20]


def test_what_cannot_be_read_is_refused(shared: SharedHolds, holds: ReadHolds) -> None:
    with pytest.raises(NotReadable), shared.held(["u1", "u2"], T(4)):
        pass
    with pytest.raises(UnknownCollection), shared.held(["u9"], T(9)):
        pass
    assert hold_times(holds) == []


def test_a_hold_is_renewed_while_it_is_leaned_on(
    shared: SharedHolds, frontiers: Frontiers, clock
) -> None:
    with shared.held(["u1"], T(10)):
        for _ in range(10):
            clock.advance(LEASE_MS * 3 // 4)
            shared.renew()
        with pytest.raises(SinceHeld):
            frontiers.allow_compaction("u1", T(11))
    shared.renew()
    frontiers.allow_compaction("u1", T(11))


def test_readers_without_a_break_do_not_keep_since_for_ever(
    shared: SharedHolds, frontiers: Frontiers, clock
) -> None:
    reading = shared.held(["u1"], T(10))
    reading.__enter__()
    for at in range(11, 20):
        clock.advance(LEASE_MS // 3)
        shared.renew()
        following = shared.held(["u1"], T(at))
        following.__enter__()
        reading.__exit__(None, None, None)
        reading = following
    frontiers.allow_compaction("u1", T(17))
    with pytest.raises(SinceHeld):
        frontiers.allow_compaction("u1", T(20))
    reading.__exit__(None, None, None)


def test_what_nobody_leans_on_can_be_release(
    shared: SharedHolds, holds: ReadHolds, frontiers: Frontiers
) -> None:
    with shared.held(["u1"], T(10)):
        with shared.held(["u2"], T(10)):
            pass
        shared.release_idle(["u1", "u2"])
        assert [hold.groups for hold in holds.owned_by("reader")] == [{"u1"}]
    shared.release_idle(["u1"])
    frontiers.allow_compaction("u1", T(90))
    with shared.held(["u1"], T(95)):
        assert hold_times(holds) == [95]


def test_a_hold_that_was_lost_serves_nobody_else(
    shared: SharedHolds, frontiers: Frontiers, clock
) -> None:
    with shared.held(["u1"], T(10)):
        clock.advance(LEASE_MS)
        frontiers.allow_compaction("u1", T(50))
        shared.renew()
        with pytest.raises(NotReadable), shared.held(["u1"], T(10)):
            pass


def test_many_threads_share(shared: SharedHolds, holds: ReadHolds) -> None:
    def read(number: int) -> None:
        for at in range(10, 60):
            with shared.held(["u1"], T(at + number)):
                assert min(hold_times(holds)) <= at + number

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(read, range(4))) == [None] * 4
    assert len(hold_times(holds)) == 1
    shared.close()
    assert hold_times(holds) == []
