"""Which process leads a controller, and the controller's catalog frontier: one row for each controller.

A leader has a *term*, a number that only grows, and a lease on the database's clock. Every write of a term is checked against the
row in its own transaction: a leader that slept over its lease, while another took the lead, changes nothing any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NewType

import sqlalchemy as sa

from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.consensus.database.changes import CatalogChanges
from reclock.consensus.database.store import Consensus, metadata
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import TermOver

Term = NewType("Term", int)

_controllers = sa.Table(
    "reclock_controller",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("term", sa.BigInteger, nullable=False),
    sa.Column("leader", sa.Text),  # NULL: nobody
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Column("lease_until", sa.BigInteger, nullable=False),
    sa.Column("catalog_frontier", sa.BigInteger, nullable=False),
)


@dataclass(frozen=True, slots=True)
class LeadershipRecord:
    """The row of a controller; the defaults stand for a controller that was never led."""

    term: Term = Term(0)
    leader: str | None = None
    epoch: int = 0
    lease_until: Timestamp = MINIMUM
    catalog_frontier: Timestamp = MINIMUM


def elect(current: LeadershipRecord, candidate: LeadershipRecord, now: Timestamp, *, lease_ms: int) -> LeadershipRecord | None:
    """The row after ``candidate`` (its leader and epoch) stood for election; None if another leads.

    A leader is deposed when its lease or its epoch is over; after its epoch it cannot write anyway. Otherwise its term goes on,
    and its lease is renewed once a third of it has passed.
    """
    leads = current.leader == candidate.leader and current.epoch == candidate.epoch
    if leads and current.lease_until - now > lease_ms * 2 // 3:
        return current
    if not leads and current.leader is not None and current.epoch >= candidate.epoch and now < current.lease_until:
        return None
    term = current.term if leads else Term(current.term + 1)
    return LeadershipRecord(term, candidate.leader, candidate.epoch, Timestamp(now + lease_ms), current.catalog_frontier)


class LeaderElection:
    """The election of one controller's leader, in which one process is the candidate."""

    def __init__(self, consensus: Consensus, leadership: Leadership, controller: str, *, owner: str, lease_ms: int) -> None:
        """``owner`` names one running actor."""
        self.controller = controller
        self.lease_ms = lease_ms
        self._consensus = consensus
        self._leadership = leadership
        self._candidate = LeadershipRecord(leader=owner, epoch=leadership.epoch)

    @property
    def catalog_changes(self) -> CatalogChanges:
        """Wakes up the leader."""
        return self._consensus.catalog_changes

    def record(self) -> LeadershipRecord:
        """The current row. One read."""
        return self._consensus.read(self._find)

    def has_leader(self) -> bool:
        """Whether some process leads now."""

        def work(connection: sa.Connection) -> bool:
            current = self._find(connection)
            return current.leader is not None and self._consensus.now(connection) < current.lease_until

        return self._consensus.read(work)

    def acquire_or_renew(self) -> Term | None:
        """Lead, or renew the lease. Returns the term in which this process leads; None if another leads. Raises ``Fenced``.

        One read if nothing must change.
        """

        def decide(connection: sa.Connection) -> tuple[LeadershipRecord, LeadershipRecord | None]:
            # a process that does not lead writes nothing, and must learn that it is fenced too
            fence.check(connection, self._leadership)
            current = self._find(connection)
            return current, elect(current, self._candidate, self._consensus.now(connection), lease_ms=self.lease_ms)

        def work(connection: sa.Connection) -> LeadershipRecord | None:
            current, after = decide(connection)
            if after is not None and after != current:
                self._put(connection, after)
            return after

        current, after = self._consensus.read(decide)
        if after is not None and after != current:
            after = self._consensus.transact(fence.guard(self._leadership, work))
        return after.term if after is not None else None

    def within(self, term: Term) -> Consensus:
        """Consensus for the leader of ``term``: each write transaction raises ``TermOver`` if another process has the lead."""
        return self._consensus.guarded(lambda connection: self._require(connection, term))

    def publish(self, term: Term, catalog_frontier: Timestamp, *, leaves: bool) -> None:
        """Publish the catalog frontier. If the leader ``leaves``, another process may lead at once.

        Raises ``TermOver``.
        """

        def work(connection: sa.Connection) -> None:
            current = self._require(connection, term)
            leader, frontier = None if leaves else current.leader, max(current.catalog_frontier, catalog_frontier)
            self._put(connection, LeadershipRecord(term, leader, current.epoch, current.lease_until, frontier))

        self._consensus.transact(fence.guard(self._leadership, work))

    def resign(self) -> None:
        """Give up the lead, if this process has it."""

        def work(connection: sa.Connection) -> None:
            is_own_row = (_controllers.c.name == self.controller, _controllers.c.leader == self._candidate.leader)
            connection.execute(sa.update(_controllers).where(*is_own_row).values(leader=None))

        self._consensus.transact(fence.guard(self._leadership, work))

    def _find(self, connection: sa.Connection) -> LeadershipRecord:
        row = connection.execute(sa.select(_controllers).where(_controllers.c.name == self.controller)).one_or_none()
        if row is None:
            return LeadershipRecord()
        return LeadershipRecord(row.term, row.leader, row.epoch, row.lease_until, row.catalog_frontier)

    def _require(self, connection: sa.Connection, term: Term) -> LeadershipRecord:
        current = self._find(connection)
        if current.term != term or current.leader != self._candidate.leader:
            raise TermOver(self.controller, own=term)
        return current

    def _put(self, connection: sa.Connection, after: LeadershipRecord) -> None:
        values: dict[str, Any] = {
            "term": after.term,
            "leader": after.leader,
            "epoch": after.epoch,
            "lease_until": after.lease_until,
            "catalog_frontier": after.catalog_frontier,
        }
        is_own_row = _controllers.c.name == self.controller
        if connection.execute(sa.update(_controllers).where(is_own_row).values(values)).rowcount == 0:
            connection.execute(sa.insert(_controllers).values(name=self.controller, **values))
