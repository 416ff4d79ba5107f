"""The fence: leadership only grows, and who is behind can write nothing."""

import itertools
from pathlib import Path

import pytest
import sqlalchemy as sa

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.consensus.database.store import Consensus
from reclock.consensus.frontiers.groups import Frontiers
from reclock.consensus.frontiers.holds import ReadHolds
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.consensus.objects.statuses import Statuses
from reclock.errors import Fenced, LeadershipUnknown
from reclock.runtime.environment import Environment

T = Timestamp


def lead(consensus: Consensus, epoch: int, deploy_generation: int) -> None:
    consensus.transact(
        lambda connection: fence.advance(connection, Leadership(epoch, deploy_generation))
    )


def test_leadership_grows_by_generation_first_and_then_by_epoch(consensus: Consensus) -> None:
    lead(consensus, 5, 0)
    lead(consensus, 5, 0)  # again, by an actor that joined
    lead(consensus, 2, 1)
    for epoch, generation in [(1, 1), (9, 0)]:
        with pytest.raises(Fenced) as fenced:
            lead(consensus, epoch, generation)
        assert (fenced.value.writer, fenced.value.in_force) == ((epoch, generation), (2, 1))
    assert consensus.read(fence.current) == Leadership(2, 1)


def test_only_the_current_leadership_passes(consensus: Consensus, leadership: Leadership) -> None:
    consensus.read(lambda connection: fence.check(connection, leadership))
    for other in [Leadership(2, 0), Leadership(0, 0), Leadership(1, 1)]:
        with pytest.raises(Fenced):
            consensus.read(lambda connection, other=other: fence.check(connection, other))


def test_a_consensus_that_knows_no_epoch_lets_nobody_pass(consensus_url: str) -> None:
    consensus = Consensus.connect(consensus_url)
    assert consensus.read(fence.current) is None
    with pytest.raises(LeadershipUnknown):
        Frontiers(consensus, Leadership(1, 0)).create("u1", since=T(0), upper=T(0))
    assert Frontiers(consensus, Leadership(1, 0)).get_all() == {}
    consensus.close()


def test_a_fenced_process_can_write_nothing(consensus: Consensus, leadership: Leadership) -> None:
    old = Frontiers(consensus, leadership)
    old_holds = ReadHolds(consensus, leadership)
    old_statuses = Statuses(consensus, leadership)
    for group in ("u1", "u2"):
        old.create(group, since=T(0), upper=T(10))
    claim = old.claim("u1", at=T(10), payload={}, owner="old", lease_ms=1000)
    hold = old_holds.acquire(["u1"], T(5), owner="old", lease_ms=None)
    lead(consensus, 2, 0)
    before = old.get_all(), old_holds.earliest(), old_statuses.current()

    attempts = [
        lambda: old.create("u3", since=T(0), upper=T(0)),
        lambda: old.drop(["u1"]),
        lambda: old.claim("u2", at=T(10), payload={}, owner="old", lease_ms=1000),
        lambda: old.take_over("u1", owner="old", lease_ms=1000),
        lambda: old.amend("u1", claim, {"a": 1}, lease_ms=1000),
        lambda: old.publish({"u1": claim}, T(11)),
        lambda: old.abandon("u1", claim),
        lambda: old.decide("u1", lambda payload: payload),
        lambda: old.advance_idle(["u2"], T(20)),
        lambda: old.allow_compaction("u2", T(5)),
        lambda: old_holds.acquire(["u2"], T(5), owner="old", lease_ms=None),
        lambda: old_holds.renew(hold, lease_ms=1000),
        lambda: old_holds.downgrade(hold, T(6)),
        lambda: old_holds.release(hold),
        lambda: old_statuses.record("u1", "running", at=T(1)),
        lambda: old_statuses.forget(["u1"]),
    ]
    for attempt in attempts:
        with pytest.raises(Fenced):
            attempt()
    assert (old.get_all(), old_holds.earliest(), old_statuses.current()) == before


def test_what_a_fenced_process_claimed_is_finished_by_its_successor(
    consensus: Consensus, leadership: Leadership
) -> None:
    old = Frontiers(consensus, leadership)
    old.create("u1", since=T(0), upper=T(10))
    old.claim("u1", at=T(10), payload={"staged": "f"}, owner="old", lease_ms=0)
    lead(consensus, 2, 0)
    new = Frontiers(consensus, Leadership(2, 0))
    claim = new.take_over("u1", owner="new", lease_ms=1000)
    assert claim is not None
    assert claim.payload == {"staged": "f"}
    new.publish({"u1": claim}, T(11))
    assert new.get("u1").upper == 11


def test_rank_orders_all_leaderships() -> None:
    ladder = [Leadership(1, 0), Leadership(7, 0), Leadership(2, 1), Leadership(3, 1)]
    assert all(low.rank < high.rank for low, high in itertools.pairwise(ladder))


def test_a_leadership_row_that_was_lost_is_put_back_by_the_next_process(
    tmp_path: Path, consensus_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECLOCK_CONSENSUS_URL", consensus_url)
    with Environment.initialise(tmp_path / "home") as environment:
        epoch = environment.stores.leadership.epoch
        environment.stores.consensus.transact(
            lambda connection: connection.execute(sa.text("DELETE FROM reclock_leadership"))
        )
        with pytest.raises(LeadershipUnknown):
            environment.stores.statuses.record(GlobalId("u1"), "running", at=T(1))
    with Environment.open(tmp_path / "home") as again:
        assert again.stores.leadership.epoch == epoch
        again.stores.statuses.record(GlobalId("u1"), "running", at=T(1))
