"""Advisory locks: sessions of any process exclude each other by numbers that only they understand.

A session that holds locks has a lease on the database's clock, which its process renews. The next
session that wants any lock deletes those of holders whose lease has expired. A holder notices in
time that it may have lost its locks.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass

import sqlalchemy as sa

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.database.store import Consensus, metadata
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import AdvisoryLocksLost

_holders = sa.Table(
    "reclock_lock_holder",
    metadata,
    sa.Column("session", sa.Text, primary_key=True),
    sa.Column("lease_until", sa.BigInteger, nullable=False),
)
_locks = sa.Table(
    "reclock_advisory_lock",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("session", sa.Text, primary_key=True),
    sa.Column("is_shared", sa.Boolean, primary_key=True),
)


@dataclass(frozen=True, slots=True)
class AdvisoryLock:
    """A lock as a session holds it. ``key`` spells one number, or two."""

    key: str
    is_shared: bool


class LockHolder:
    """One session, from its first lock until it has none. A `Lease`: it must be renewed.

    Every write raises ``Fenced`` once the epoch is over.
    """

    def __init__(self, consensus: Consensus, leadership: Leadership, *, lease_ms: int) -> None:
        self.lease_ms = lease_ms
        self._consensus, self._leadership = consensus, leadership
        self._session = uuid.uuid4().hex
        self._valid_until_s: float | None = None

    @property
    def is_lost(self) -> bool:
        """Whether another session may have taken a lock that this one holds."""
        return self._valid_until_s is not None and time.monotonic() > self._valid_until_s

    def is_free(self, lock: AdvisoryLock) -> bool:
        """Whether ``acquire`` would succeed. One read."""
        return self._consensus.read(
            lambda connection: not self._is_taken(connection, lock, self._consensus.now(connection))
        )

    def acquire(self, lock: AdvisoryLock) -> bool:
        """Hold the lock, unless another session has it. Raises ``AdvisoryLocksLost``."""

        def work(connection: sa.Connection) -> Callable[[], None] | None:
            now = self._consensus.now(connection)
            if self._is_taken(connection, lock, now):
                return None
            _delete_expired(connection, now)
            if self._valid_until_s is None:
                row = {"session": self._session, "lease_until": now}
                connection.execute(sa.insert(_holders), row)
            extend = self.renew(connection, now)
            request = {"key": lock.key, "session": self._session, "is_shared": lock.is_shared}
            connection.execute(sa.delete(_locks).filter_by(**request))
            connection.execute(sa.insert(_locks), request)
            return extend

        extend = self._consensus.transact(fence.guard(self._leadership, work))
        if extend is None:
            return False
        extend()
        if self.is_lost:
            raise AdvisoryLocksLost
        return True

    def keep_only(self, locks: Collection[AdvisoryLock]) -> None:
        """Release all other locks of the session."""

        def work(connection: sa.Connection) -> None:
            session_locks = sa.select(_locks).where(_locks.c.session == self._session)
            for row in connection.execute(session_locks).all():
                if AdvisoryLock(row.key, row.is_shared) not in locks:
                    connection.execute(sa.delete(_locks).filter_by(**row._mapping))
            if not locks:
                connection.execute(sa.delete(_holders).filter_by(session=self._session))

        self._consensus.transact(fence.guard(self._leadership, work))

    def renew(self, connection: sa.Connection, now: Timestamp) -> Callable[[], None]:
        """See `Lease`."""
        begun_s = time.monotonic()
        renewed = (
            sa.update(_holders)
            .where(_holders.c.session == self._session)
            .values(lease_until=now + self.lease_ms)
        )
        if connection.execute(renewed).rowcount == 0:
            return self.fenced  # expired, and deleted by another session
        # the session stops before others may begin
        until_s = begun_s + self.lease_ms * 2 / 3000
        return lambda: self._set_validity(until_s)

    def fenced(self) -> None:
        """See `Lease`. The locks are lost."""
        self._set_validity(float("-inf"))

    def _set_validity(self, until_s: float) -> None:
        if not self.is_lost:  # once it is lost, it stays so
            self._valid_until_s = until_s

    def _is_taken(self, connection: sa.Connection, lock: AdvisoryLock, now: Timestamp) -> bool:
        conflicting_locks = (
            sa.select(_locks.c.session)
            .join(_holders, _holders.c.session == _locks.c.session)
            .where(
                _locks.c.key == lock.key,
                _locks.c.session != self._session,
                _holders.c.lease_until > now,
            )
        )
        if lock.is_shared:
            conflicting_locks = conflicting_locks.where(sa.not_(_locks.c.is_shared))
        return connection.execute(conflicting_locks.limit(1)).first() is not None


def _delete_expired(connection: sa.Connection, now: Timestamp) -> None:
    connection.execute(sa.delete(_holders).where(_holders.c.lease_until < now))
    lasting = sa.select(_holders.c.session)
    connection.execute(sa.delete(_locks).where(_locks.c.session.not_in(lasting)))
