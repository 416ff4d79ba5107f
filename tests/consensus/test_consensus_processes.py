"""Several processes on one consensus: they create it at once, race for claims, publish together,
and die."""

import signal

import pytest
from consensus.frontier_worker import claim_each, die_inside, publish_often
from fixtures.workers import run_at_once, start

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.database.store import Consensus
from reclock.consensus.frontiers.groups import Frontiers
from reclock.consensus.leadership.fence import Leadership

pytestmark = pytest.mark.servers


def test_every_claim_has_one_winner(consensus_url: str) -> None:
    names = ("p0", "p1", "p2")
    won = run_at_once(claim_each, [(consensus_url, name, 30) for name in names])
    assert sorted(group for groups in won for group in groups) == sorted(f"u{n}" for n in range(30))
    consensus = Consensus.connect(consensus_url)
    owners = {
        group: f.claim.owner
        for group, f in Frontiers(consensus, Leadership(1, 0)).get_all().items()
        if f.claim
    }
    assert owners == {
        group: name for name, groups in zip(names, won, strict=True) for group in groups
    }
    consensus.close()


def test_what_is_published_together_is_seen_together_and_nothing_is_lost(
    consensus_url: str,
) -> None:
    published = run_at_once(publish_often, [(consensus_url, f"p{n}", 15) for n in range(3)])
    assert sorted(at for times in published for at in times) == list(range(45))
    consensus = Consensus.connect(consensus_url)
    assert {
        (f.upper, f.claim) for f in Frontiers(consensus, Leadership(1, 0)).get_all().values()
    } == {(45, None)}
    consensus.close()


def test_a_writer_killed_inside_a_transaction_leaves_nothing_and_blocks_nobody(
    consensus_url: str,
) -> None:
    worker = start(die_inside, consensus_url, "dead")
    worker.await_ready()
    worker.release()
    assert worker.wait() == -signal.SIGKILL
    consensus = Consensus.connect(consensus_url)
    frontiers = Frontiers(consensus, Leadership(1, 0))
    claim = frontiers.take_over("u1", owner="heir", lease_ms=1000)
    assert claim is not None
    assert (claim.at, claim.payload) == (5, {"by": "dead"})
    assert frontiers.get("u1").upper == 0
    frontiers.publish({"u1": claim}, Timestamp(6))
    consensus.close()
