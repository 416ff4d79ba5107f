"""What one of several processes does that use the same frontier groups at once."""

import os
import signal
from collections.abc import Callable

import sqlalchemy as sa

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.database.store import Consensus
from reclock.consensus.frontiers.groups import Frontiers
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import ClaimConflict, UpperMismatch

LEADERSHIP = Leadership(1, 0)


def connect(url: str) -> Consensus:
    """Everything is created by all workers at once."""
    consensus = Consensus.connect(url)
    consensus.transact(lambda connection: fence.advance(connection, LEADERSHIP))
    return consensus


def claim_each(begin_together: Callable[[], None], url: str, name: str, groups: int) -> list[str]:
    """Claims whatever it can of the groups; answers which."""
    begin_together()
    frontiers = Frontiers(connect(url), LEADERSHIP)
    won = []
    for n in range(groups):
        frontiers.create(f"u{n}", since=Timestamp(0), upper=Timestamp(0))
        try:
            frontiers.claim(
                f"u{n}", at=Timestamp(5), payload={"by": name}, owner=name, lease_ms=60_000
            )
            won.append(f"u{n}")
        except ClaimConflict:
            pass
    return won


def publish_often(begin_together: Callable[[], None], url: str, name: str, times: int) -> list[int]:
    """Claims two groups at a time and publishes them together, while idle advances go on; answers
    the times it published."""
    begin_together()
    frontiers = Frontiers(connect(url), LEADERSHIP)
    for group in ("a", "b"):
        frontiers.create(group, since=Timestamp(0), upper=Timestamp(0))
    published: list[int] = []
    while len(published) < times:
        both = frontiers.get_all(["a", "b"])
        assert both["a"].upper == both["b"].upper, (
            "groups published together have one upper at every moment"
        )
        at = both["a"].upper
        try:
            claims = {"a": frontiers.claim("a", at=at, payload={}, owner=name, lease_ms=60_000)}
        except (ClaimConflict, UpperMismatch):
            continue
        claims["b"] = frontiers.claim("b", at=at, payload={}, owner=name, lease_ms=60_000)
        frontiers.publish(claims, Timestamp(at + 1))
        published.append(at)
    return published


def die_inside(begin_together: Callable[[], None], url: str, name: str) -> None:
    """Is killed between a write and its commit."""
    begin_together()
    consensus = connect(url)
    frontiers = Frontiers(consensus, LEADERSHIP)
    frontiers.create("u1", since=Timestamp(0), upper=Timestamp(0))

    frontiers.claim("u1", at=Timestamp(5), payload={"by": name}, owner=name, lease_ms=0)

    def work(connection: sa.Connection) -> None:
        connection.execute(sa.text("UPDATE reclock_frontier SET upper = 5, claim_id = 'broken'"))
        os.kill(os.getpid(), signal.SIGKILL)

    consensus.transact(work)
