"""Rounds: each group of a round is decided as it would be alone, in one transaction for all."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest

from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.consensus.database.store import Consensus
from reclock.consensus.frontiers.claims import Claim, GroupFrontier
from reclock.consensus.frontiers.groups import Frontiers
from reclock.consensus.frontiers.holds import ReadHolds
from reclock.consensus.frontiers.rounds import ClaimRequest, Publication, RefreshRounds
from reclock.errors import ClaimConflict, InternalError, SinceHeld, UnknownCollection, UpperMismatch

T = Timestamp


@pytest.fixture
def rounds(frontiers: Frontiers) -> RefreshRounds:
    """Five groups, complete below 10."""
    for group in ("u1", "u2", "u3", "u4", "u5"):
        frontiers.create(group, since=T(3), upper=T(10))
    return frontiers.rounds


def claimed(rounds: RefreshRounds, *groups: str, at: int = 12, upper: int = 10) -> dict[str, Any]:
    requests = [ClaimRequest(group, T(at), T(upper), {"of": group}) for group in groups]
    return dict(rounds.claim(requests, owner="a", lease_ms=1000))


def test_a_round_claims_what_it_can(rounds: RefreshRounds, frontiers: Frontiers, clock) -> None:
    standing = frontiers.claim("u2", at=T(11), payload={}, owner="b", lease_ms=1)
    frontiers.advance_idle(["u3"], T(11))
    answers = claimed(rounds, "u1", "u2", "u3", "u9", "u4")
    assert {group: type(answer) for group, answer in answers.items()} == {
        "u1": Claim,
        "u2": ClaimConflict,
        "u3": UpperMismatch,  # somebody else has brought it further since the state was read
        "u9": UnknownCollection,
        "u4": Claim,
    }
    state = rounds.look(["u1", "u2", "u3", "u4", "u9"], [])
    assert {group: frontier.claim for group, frontier in state.groups.items()} == {
        "u1": answers["u1"],
        "u2": standing,
        "u3": None,
        "u4": answers["u4"],
    }
    assert state.groups["u1"].claim == Claim(
        answers["u1"].id, T(12), "a", T(clock.at + 1000), {"of": "u1"}
    )


def test_a_round_publishes_what_it_still_may(
    rounds: RefreshRounds, frontiers: Frontiers, holds: ReadHolds
) -> None:
    claims = claimed(rounds, "u1", "u2", "u3", "u4")
    frontiers.decide("u2", dict)  # now the claim has another id
    hold = holds.acquire(["u3"], T(5), owner="reader", lease_ms=1000)
    answers = rounds.publish(
        [
            Publication("u1", T(20), claims["u1"]),
            Publication("u2", T(20), claims["u2"]),
            Publication("u3", T(20), claims["u3"], since=T(12)),
            Publication("u4", T(13), claims["u4"], since=T(12)),
            Publication("u5", T(20)),
            Publication("u9", T(20)),
        ]
    )
    assert {group: type(error) for group, error in answers.items() if error is not None} == {
        "u2": ClaimConflict,
        "u3": SinceHeld,
        "u9": UnknownCollection,
    }
    frontiers_now = frontiers.get_all()
    assert frontiers_now["u1"] == GroupFrontier("u1", T(3), T(20), None)
    assert frontiers_now["u4"] == GroupFrontier("u4", T(12), T(13), None)
    assert frontiers_now["u5"] == GroupFrontier("u5", T(3), T(20), None)
    assert (frontiers_now["u2"].upper, frontiers_now["u3"].upper, frontiers_now["u3"].claim) == (
        10,
        10,
        claims["u3"],
    )
    holds.release(hold)
    assert rounds.publish([Publication("u3", T(20), claims["u3"], since=T(12))]) == {"u3": None}


def test_a_publication_may_be_repeated_and_never_goes_back(
    rounds: RefreshRounds, frontiers: Frontiers
) -> None:
    claims = claimed(rounds, "u1")
    published = Publication("u1", T(20), claims["u1"])
    assert rounds.publish([published]) == rounds.publish([published]) == {"u1": None}
    assert rounds.publish([Publication("u1", T(15))]) == {"u1": None}
    assert frontiers.get("u1").upper == 20
    claimed(rounds, "u1", at=30, upper=20)
    assert isinstance(rounds.publish([Publication("u1", T(40))])["u1"], ClaimConflict)
    assert frontiers.get("u1").upper == 20
    with pytest.raises(InternalError):
        rounds.publish([Publication("u1", T(30), frontiers.get("u1").claim)])


def test_lasting_holds_follow_what_is_published(rounds: RefreshRounds, holds: ReadHolds) -> None:
    for owner, lease_ms in (("u1", None), ("u2", None), ("u4", 1000)):
        holds.acquire(["u5"], T(9), owner=owner, lease_ms=lease_ms)
    assert rounds.look(["u1"], ["u1", "u2", "u3", "u4"]).holders == {"u1", "u2", "u4"}
    rounds.publish([Publication("u1", T(20)), Publication("u4", T(20))])
    found = {owner: [hold.at for hold in holds.owned_by(owner)] for owner in ("u1", "u2", "u4")}
    assert found == {"u1": [19], "u2": [9], "u4": [9]}  # what a reader holds is not the index's


def test_a_round_is_as_many_transactions_for_many_groups(
    rounds: RefreshRounds, consensus: Consensus
) -> None:
    with patch.object(
        Consensus, "transact", autospec=True, side_effect=Consensus.transact
    ) as transact:
        claims = claimed(rounds, "u1", "u2", "u3", "u4", "u5")
        rounds.publish(
            [Publication(group, T(13), claim, MINIMUM) for group, claim in claims.items()]
        )
        assert transact.call_count == 2
        assert (rounds.claim([], owner="a", lease_ms=1), rounds.publish([])) == ({}, {})
        assert transact.call_count == 2
