"""Which process leads a controller, and the controller's catalog frontier: one row each.

A leader has a *term*, a number that only grows, and a lease on the database's clock. Every write of
a leader checks the row in its own transaction. So a leader whose lease expired, and that another
process has replaced, changes nothing any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NewType

import sqlalchemy as sa

from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.consensus.database.changes import TimelineChanges
from reclock.consensus.database.store import Consensus, metadata
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.consensus.leadership.leases import LeaseKeeper
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
    """The row of a controller. The defaults are those of a controller that was never led."""

    term: Term = Term(0)
    leader: str | None = None
    epoch: int = 0
    lease_until: Timestamp = MINIMUM
    catalog_frontier: Timestamp = MINIMUM


def elect(
    record: LeadershipRecord, candidate: LeadershipRecord, now: Timestamp, *, lease_ms: int
) -> LeadershipRecord | None:
    """The row after ``candidate`` (its leader and epoch) stood for election, or None if another
    process leads.

    A leader is replaced when its lease has expired or its epoch is over; it could not write any
    more. Otherwise its term continues, and its lease is renewed once a third of it has passed.
    """
    leads = record.leader == candidate.leader and record.epoch == candidate.epoch
    if leads and record.lease_until - now > lease_ms * 2 // 3:
        return record
    if (
        not leads
        and record.leader is not None
        and record.epoch >= candidate.epoch
        and now < record.lease_until
    ):
        return None
    term = record.term if leads else Term(record.term + 1)
    return LeadershipRecord(
        term, candidate.leader, candidate.epoch, Timestamp(now + lease_ms), record.catalog_frontier
    )


class Seat:
    """The leadership of one controller, as one process observes, acquires and releases it."""

    def __init__(
        self,
        consensus: Consensus,
        leadership: Leadership,
        controller: str,
        *,
        owner: str,
        lease_ms: int,
        leases: LeaseKeeper | None = None,
    ) -> None:
        """``owner`` names one running actor. ``leases`` are those of its process."""
        self.controller = controller
        self.lease_ms = lease_ms
        self.leases = leases or LeaseKeeper(consensus, leadership)
        self._consensus = consensus
        self._leadership = leadership
        self._candidate = LeadershipRecord(leader=owner, epoch=leadership.epoch)

    @property
    def timeline_changes(self) -> TimelineChanges:
        """Wakes up the leader."""
        return self._consensus.timeline_changes

    def look(self) -> LeadershipRecord:
        """The current row. One read."""
        return self._consensus.read(self._find)

    def is_taken(self) -> bool:
        """Whether a process leads now."""

        def work(connection: sa.Connection) -> bool:
            record = self._find(connection)
            return (
                record.leader is not None and self._consensus.now(connection) < record.lease_until
            )

        return self._consensus.read(work)

    def take(self) -> Term | None:
        """The term in which this process leads, with a new lease, or None if another process leads.
        Raises ``Fenced``. Only one read if nothing has to change."""

        def decide(connection: sa.Connection) -> tuple[LeadershipRecord, LeadershipRecord | None]:
            fence.check(
                connection, self._leadership
            )  # a process that does not lead writes nothing, and must learn that it is fenced too
            record = self._find(connection)
            return record, elect(
                record, self._candidate, self._consensus.now(connection), lease_ms=self.lease_ms
            )

        def work(connection: sa.Connection) -> LeadershipRecord | None:
            record, after = decide(connection)
            if after is not None and after != record:
                self._store(connection, after)
            return after

        record, after = self._consensus.read(decide)
        if after is not None and after != record:
            after = self._consensus.transact(fence.guard(self._leadership, work))
        return after.term if after is not None else None

    def renew(self, connection: sa.Connection, now: Timestamp) -> bool:
        """Renew the lease by one conditional write, if this process leads. Whether it does."""
        renewed = sa.update(_controllers).where(*self._mine).values(lease_until=now + self.lease_ms)
        return connection.execute(renewed).rowcount == 1

    def is_free(self, connection: sa.Connection, now: Timestamp) -> bool:
        """Whether this process would win an election."""
        record = self._find(connection)
        return elect(record, self._candidate, now, lease_ms=self.lease_ms) is not None

    def within(self, term: Term) -> Consensus:
        """Consensus for the writes of a term: each write transaction raises ``TermOver`` if another
        process leads."""
        return self._consensus.guarded(lambda connection: self._require(connection, term))

    def publish(self, term: Term, catalog_frontier: Timestamp, *, leaves: bool) -> None:
        """Publish the catalog frontier. With ``leaves``, another process may lead at once. Raises
        ``TermOver``."""

        def work(connection: sa.Connection) -> None:
            record = self._require(connection, term)
            leader = None if leaves else record.leader
            frontier = max(record.catalog_frontier, catalog_frontier)
            self._store(
                connection,
                LeadershipRecord(term, leader, record.epoch, record.lease_until, frontier),
            )

        self._consensus.transact(fence.guard(self._leadership, work))

    def leave(self) -> None:
        """Release the leadership, if this process has it."""

        def work(connection: sa.Connection) -> None:
            connection.execute(sa.update(_controllers).where(*self._mine).values(leader=None))

        self._consensus.transact(fence.guard(self._leadership, work))

    @property
    def _mine(self) -> tuple[sa.ColumnElement[bool], ...]:
        return (
            _controllers.c.name == self.controller,
            _controllers.c.leader == self._candidate.leader,
            _controllers.c.epoch == self._candidate.epoch,
        )

    def _find(self, connection: sa.Connection) -> LeadershipRecord:
        row = connection.execute(
            sa.select(_controllers).where(_controllers.c.name == self.controller)
        ).one_or_none()
        if row is None:
            return LeadershipRecord()
        return LeadershipRecord(
            row.term, row.leader, row.epoch, row.lease_until, row.catalog_frontier
        )

    def _require(self, connection: sa.Connection, term: Term) -> LeadershipRecord:
        record = self._find(connection)
        if record.term != term or record.leader != self._candidate.leader:
            raise TermOver(self.controller, term=term)
        return record

    def _store(self, connection: sa.Connection, after: LeadershipRecord) -> None:
        values: dict[str, Any] = {
            "term": after.term,
            "leader": after.leader,
            "epoch": after.epoch,
            "lease_until": after.lease_until,
            "catalog_frontier": after.catalog_frontier,
        }
        mine = _controllers.c.name == self.controller
        if connection.execute(sa.update(_controllers).where(mine).values(values)).rowcount == 0:
            connection.execute(sa.insert(_controllers).values(name=self.controller, **values))
