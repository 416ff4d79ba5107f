"""Frontier groups: claim, take over, publish, idle advances, compaction."""

import pytest

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.frontiers import tables
from reclock.consensus.frontiers.claims import Claim, GroupFrontier
from reclock.consensus.frontiers.groups import Frontiers
from reclock.consensus.frontiers.holds import ReadHolds
from reclock.errors import (
    ClaimConflict,
    InternalError,
    NothingClaimed,
    SinceHeld,
    UnknownCollection,
    UpperMismatch,
)

T = Timestamp


def claimed(
    frontiers: Frontiers, group: str = "u1", at: int = 10, owner: str = "a", **payload: object
) -> Claim:
    return frontiers.claim(group, at=T(at), payload=payload, owner=owner, lease_ms=1000)


@pytest.fixture
def u1(frontiers: Frontiers) -> Frontiers:
    frontiers.create("u1", since=T(3), upper=T(10))
    return frontiers


def test_a_group_is_created_once(u1: Frontiers) -> None:
    u1.create("u1", since=T(0), upper=T(99))
    assert u1.get("u1") == GroupFrontier("u1", T(3), T(10), None)


def test_readable_means_from_since_to_below_upper(u1: Frontiers) -> None:
    frontier = u1.get("u1")
    assert [t for t in range(12) if frontier.is_readable_at(T(t))] == list(range(3, 10))


def test_unknown_groups(u1: Frontiers) -> None:
    claim = claimed(u1)
    for attempt in (
        lambda: u1.get("u9"),
        lambda: claimed(u1, "u9"),
        lambda: u1.take_over("u9", owner="a", lease_ms=1),
        lambda: u1.amend("u9", claim, {}, lease_ms=1),
        lambda: u1.publish({"u9": claim}, T(11)),
        lambda: u1.abandon("u9", claim),
        lambda: u1.decide("u9", dict),
        lambda: u1.allow_compaction("u9", T(1)),
    ):
        with pytest.raises(UnknownCollection, match="u9"):
            attempt()
    assert u1.get_all(["u1", "u9"]).keys() == {"u1"}
    assert u1.advance_idle(["u9"], T(20)) == frozenset()
    assert u1.get_all().keys() == {"u1"}


def test_a_claim_is_read_back_as_it_was_given(u1: Frontiers, clock) -> None:
    claim = claimed(u1, bindings=[["o", 5]], staging="f", text="ž'\"; DROP TABLE x")
    assert (claim.at, claim.owner, claim.lease_until) == (10, "a", clock.at + 1000)
    assert u1.get("u1") == GroupFrontier("u1", T(3), T(10), claim)
    assert u1.get("u1").claim.payload == {
        "bindings": [["o", 5]],
        "staging": "f",
        "text": "ž'\"; DROP TABLE x",
    }


def test_a_claim_below_the_upper_needs_a_newer_time(u1: Frontiers) -> None:
    with pytest.raises(UpperMismatch) as refused:
        claimed(u1, at=9)
    assert refused.value.found == 10
    assert u1.get("u1").claim is None


def test_a_claimed_group_cannot_be_claimed_even_when_the_lease_has_run_out(
    u1: Frontiers, clock
) -> None:
    claimed(u1)
    for _ in range(2):
        for owner in ("a", "b"):
            with pytest.raises(ClaimConflict, match="u1"):
                claimed(u1, at=20, owner=owner)
        clock.advance(5000)


def test_taking_over(u1: Frontiers, clock) -> None:
    assert u1.take_over("u1", owner="b", lease_ms=500) is None
    first = claimed(u1, phase="bound")
    with pytest.raises(ClaimConflict) as refused:
        u1.take_over("u1", owner="b", lease_ms=500)
    assert '"a"' in (refused.value.detail or "")
    resumed = u1.take_over("u1", owner="a", lease_ms=500)  # a restarted writer finds its own
    assert resumed is not None
    assert (resumed.at, resumed.payload, resumed.owner, resumed.lease_until) == (
        10,
        {"phase": "bound"},
        "a",
        clock.at + 500,
    )
    clock.advance(499)
    with pytest.raises(ClaimConflict):
        u1.take_over("u1", owner="b", lease_ms=500)
    clock.advance(1)
    other = u1.take_over("u1", owner="b", lease_ms=500)
    assert other is not None
    assert (other.at, other.payload, other.owner) == (10, {"phase": "bound"}, "b")
    assert len({first.id, resumed.id, other.id}) == 3
    assert u1.get("u1").claim == other


def test_a_writer_that_slept_while_its_claim_was_taken_over_can_do_nothing(
    u1: Frontiers, clock
) -> None:
    asleep = claimed(u1)
    clock.advance(1000)
    awake = u1.take_over("u1", owner="b", lease_ms=1000)
    assert awake is not None
    for _ in range(2):  # while the other works, and when it is done
        before = u1.get("u1")
        for attempt in (
            lambda: u1.amend("u1", asleep, {"late": True}, lease_ms=1000),
            lambda: u1.publish({"u1": asleep}, T(11)),
            lambda: u1.abandon("u1", asleep),
        ):
            with pytest.raises(ClaimConflict):
                attempt()
        assert u1.get("u1") == before
        u1.publish({"u1": awake}, T(11))
    assert u1.get("u1") == GroupFrontier("u1", T(3), T(11), None, probed_at=T(10))


def test_only_who_asked_the_upstream_moves_the_time_of_the_probe(u1: Frontiers) -> None:
    u1.advance_idle(["u1"], T(20))
    assert u1.get("u1").probed_at is None
    u1.advance_idle(["u1"], T(31), probed=["u1"], probed_at=T(30))
    assert (u1.get("u1").upper, u1.get("u1").probed_at) == (31, 30)
    u1.advance_idle(["u1"], T(40), probed=["u1"], probed_at=T(25))
    u1.advance_idle(["u1"], T(50))
    assert (u1.get("u1").upper, u1.get("u1").probed_at) == (50, 30)
    claim = u1.claim("u1", at=T(60), payload={}, owner="a", lease_ms=1000)
    u1.advance_idle(["u1"], T(71), probed=["u1"], probed_at=T(70))
    assert (u1.get("u1").upper, u1.get("u1").probed_at) == (50, 30)
    u1.publish({"u1": claim}, T(80))
    assert (u1.get("u1").upper, u1.get("u1").probed_at) == (80, 60)


def test_amending_replaces_the_payload_and_renews_the_lease(u1: Frontiers, clock) -> None:
    claim = claimed(u1, phase="claimed")
    clock.advance(5000)  # a lease that ran out does no harm while nobody uses that
    amended = u1.amend("u1", claim, {"phase": "bound"}, lease_ms=700)
    assert (amended.id, amended.at, amended.owner) == (claim.id, claim.at, claim.owner)
    assert (amended.payload, amended.lease_until) == ({"phase": "bound"}, clock.at + 700)
    assert u1.get("u1").claim == amended
    u1.publish({"u1": claim}, T(11))  # the id is what counts
    assert u1.get("u1").claim is None


def test_publishing_is_for_all_groups_or_none(u1: Frontiers) -> None:
    for group in ("u2", "u3"):
        u1.create(group, since=T(0), upper=T(0))
    claims = {group: claimed(u1, group) for group in ("u1", "u2", "u3")}
    u1.abandon("u2", claims["u2"])
    before = u1.get_all()
    with pytest.raises(ClaimConflict, match="u2"):
        u1.publish(claims, T(11))
    u1.drop(["u2"])
    with pytest.raises(UnknownCollection, match="u2"):
        u1.publish(claims, T(11))
    assert u1.get_all() == {group: before[group] for group in ("u1", "u3")}
    del claims["u2"]
    u1.publish(claims, T(11))
    assert {(f.upper, f.claim) for f in u1.get_all().values()} == {(11, None)}


def test_a_claim_of_one_group_does_not_publish_another(u1: Frontiers) -> None:
    u1.create("u2", since=T(0), upper=T(10))
    mine, theirs = claimed(u1, "u1"), claimed(u1, "u2", owner="b")
    with pytest.raises(ClaimConflict):
        u1.publish({"u1": theirs, "u2": mine}, T(11))
    assert {f.upper for f in u1.get_all().values()} == {10}


def test_publishing_again_changes_nothing(u1: Frontiers) -> None:
    claim = claimed(u1)
    u1.publish({"u1": claim}, T(11))
    u1.publish({"u1": claim}, T(11))
    u1.advance_idle(["u1"], T(15))
    u1.publish({"u1": claim}, T(11))
    assert u1.get("u1").upper == 15
    next_claim = claimed(u1, at=20)
    u1.publish({"u1": claim}, T(11))
    assert u1.get("u1").claim == next_claim
    u1.publish({"u1": next_claim}, T(21))
    with pytest.raises(ClaimConflict):
        u1.publish({"u1": claim}, T(11))


def test_an_upper_at_or_below_the_claim_cannot_be_published(u1: Frontiers) -> None:
    claim = claimed(u1, at=12)
    with pytest.raises(InternalError):
        u1.publish({"u1": claim}, T(12))
    assert u1.get("u1").claim == claim


def test_abandoning_leaves_the_upper(u1: Frontiers) -> None:
    claim = claimed(u1)
    u1.abandon("u1", claim)
    assert u1.get("u1") == GroupFrontier("u1", T(3), T(10), None)
    with pytest.raises(ClaimConflict):
        u1.publish({"u1": claim}, T(11))


def test_a_decision_is_written_into_the_claim_and_its_writer_must_read_it(u1: Frontiers) -> None:
    with pytest.raises(NothingClaimed, match="u1"):
        u1.decide("u1", dict)
    claim = claimed(u1, phase="staged")
    decided = u1.decide("u1", lambda payload: {**payload, "decisions": {"waive": ["c"]}})
    assert (decided.at, decided.owner, decided.lease_until) == (
        claim.at,
        claim.owner,
        claim.lease_until,
    )
    with pytest.raises(ClaimConflict):
        u1.publish({"u1": claim}, T(11))
    again = u1.take_over("u1", owner="a", lease_ms=1000)
    assert again is not None
    assert again.payload == {"phase": "staged", "decisions": {"waive": ["c"]}}
    u1.publish({"u1": again}, T(11))


def test_idle_groups_advance_and_claimed_ones_stand_still(u1: Frontiers) -> None:
    for group, upper in (("u2", 10), ("u3", 30), ("u4", 30)):
        u1.create(group, since=T(0), upper=T(upper))
    claim = claimed(u1, "u2")
    ahead = claimed(u1, "u4", at=30)
    assert u1.advance_idle(["u1", "u2", "u3", "u4"], T(20)) == {"u1", "u3", "u4"}
    assert {group: f.upper for group, f in u1.get_all().items()} == {
        "u1": 20,
        "u2": 10,
        "u3": 30,
        "u4": 30,
    }
    assert (u1.get("u2").claim, u1.get("u4").claim) == (claim, ahead)


def test_a_writer_whose_time_was_overtaken_takes_a_new_one(u1: Frontiers) -> None:
    u1.advance_idle(["u1"], T(20))
    with pytest.raises(UpperMismatch):
        claimed(u1, at=19)
    assert claimed(u1, at=20).at == 20


def test_many_groups_move_in_few_statements(frontiers: Frontiers, statements: list[str]) -> None:
    groups = [f"u{n}" for n in range(100)]
    for group in groups:
        frontiers.create(group, since=T(0), upper=T(0))
    claims = {group: claimed(frontiers, group) for group in groups[:50]}
    statements.clear()
    frontiers.publish(claims, T(11))
    assert frontiers.advance_idle(groups, T(11)) == set(groups)
    assert frontiers.get_all(groups).keys() == set(groups)
    assert 5 < len(statements) < 16, statements
    assert {f.upper for f in frontiers.get_all().values()} == {11}


def test_any_number_of_groups_fits(frontiers: Frontiers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables.batches, "__defaults__", (3,))
    groups = [f"u{n}" for n in range(10)]
    for group in groups:
        frontiers.create(group, since=T(0), upper=T(0))
    claims = {group: claimed(frontiers, group) for group in groups[:7]}
    assert frontiers.advance_idle(groups, T(5)) == set(groups[7:])
    for _ in range(2):
        frontiers.publish(claims, T(11))
        assert {f.upper for f in frontiers.get_all(groups[:7]).values()} == {11}
    frontiers.drop(groups[1:])
    assert frontiers.get_all().keys() == {"u0"}


def test_compaction_moves_since_forward_within_upper(u1: Frontiers) -> None:
    u1.allow_compaction("u1", T(7))
    u1.allow_compaction("u1", T(5))
    assert u1.get("u1").since == 7
    with pytest.raises(UpperMismatch):
        u1.allow_compaction("u1", T(11))
    u1.allow_compaction("u1", T(10))
    assert u1.get("u1").since == 10


def test_compaction_does_not_pass_a_hold(u1: Frontiers, holds: ReadHolds) -> None:
    hold = holds.acquire(["u1"], T(6), owner="q", lease_ms=1000)
    u1.allow_compaction("u1", T(6))
    with pytest.raises(SinceHeld) as refused:
        u1.allow_compaction("u1", T(7))
    assert (refused.value.new_since, refused.value.held_at) == (7, 6)
    assert u1.get("u1").since == 6
    holds.release(hold)
    u1.allow_compaction("u1", T(7))
    assert u1.get("u1").since == 7


def test_a_dropped_group_is_gone_for_its_writer_and_its_holders(
    u1: Frontiers, holds: ReadHolds
) -> None:
    claim = claimed(u1)
    hold = holds.acquire(["u1"], T(5), owner="q", lease_ms=None)
    u1.drop(["u1", "u9"])
    with pytest.raises(UnknownCollection):
        u1.publish({"u1": claim}, T(11))
    assert holds.earliest() == {}
    holds.release(hold)


def test_a_row_that_breaks_the_invariants_cannot_be_written_nor_read() -> None:
    with pytest.raises(InternalError):
        GroupFrontier("u1", T(5), T(4), None)
    with pytest.raises(InternalError):
        GroupFrontier("u1", T(0), T(4), Claim("x", T(3), "a", T(0), {}))
