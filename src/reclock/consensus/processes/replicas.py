"""The replicas of clusters: the current incarnation of each, its address, and until when it counts
as alive.

An incarnation begins before its process starts, so that two leaders never start one each. The later
incarnation wins: a superseded process learns it at its next heartbeat, and ends. Leases are
measured on the database's clock.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any, NewType

import sqlalchemy as sa

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.database.store import Consensus, metadata
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import ReplicaSuperseded

Incarnation = NewType("Incarnation", int)

_replicas = sa.Table(
    "reclock_replica",
    metadata,
    sa.Column("replica_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("cluster_id", sa.BigInteger, nullable=False),
    sa.Column("incarnation", sa.BigInteger, nullable=False),
    sa.Column("address", sa.Text),  # NULL: it is being started
    sa.Column("token", sa.Text, nullable=False),
    sa.Column("lease_until", sa.BigInteger, nullable=False),
    sa.Column("trouble", sa.Text),
)


@dataclass(frozen=True, slots=True)
class Registration:
    """One incarnation of a replica. ``is_alive`` was true when it was read. ``token`` authenticates
    its callers, and is never shown."""

    replica_id: int
    cluster_id: int
    incarnation: Incarnation
    address: str | None
    token: str = field(repr=False)
    is_alive: bool = True
    trouble: str | None = None
    """Why the previous incarnation ended, if known."""

    @property
    def is_ready(self) -> bool:
        """Whether it accepts requests."""
        return self.is_alive and self.address is not None


class Replicas:
    """The registrations, as an actor of one epoch reads and writes them."""

    def __init__(self, consensus: Consensus, leadership: Leadership) -> None:
        self._consensus, self._leadership = consensus, leadership

    def of_cluster(self, cluster_id: int) -> list[Registration]:
        """The registrations of one cluster, by id."""
        return self._read(_replicas.c.cluster_id == cluster_id)

    def look(
        self, connection: sa.Connection, now: Timestamp, cluster_id: int
    ) -> list[Registration]:
        """As ``of_cluster``, in a transaction."""
        return _select(connection, now, _replicas.c.cluster_id == cluster_id)

    def all(self) -> list[Registration]:
        """The registrations of all clusters, by id."""
        return self._read(sa.true())

    def is_alive(self, replica_id: int, incarnation: Incarnation) -> bool:
        """Whether this incarnation is the current one, and its lease has not expired."""
        return any(
            registration.is_alive
            for registration in self._read(_is_incarnation(replica_id, incarnation))
        )

    def begin(
        self, replica_id: int, cluster_id: int, *, lease_ms: int, supersede: bool = False
    ) -> Incarnation | None:
        """Begin a new incarnation, which must be announced within the lease. None if there is one
        that is alive or starting; with ``supersede``, the new one replaces it."""

        def work(connection: sa.Connection) -> Incarnation | None:
            now = self._consensus.now(connection)
            mine = _replicas.c.replica_id == replica_id
            row = connection.execute(
                sa.select(_replicas.c.incarnation, _replicas.c.lease_until).where(mine)
            ).one_or_none()
            if row is not None and now < row.lease_until and not supersede:
                return None
            incarnation = Incarnation(row.incarnation + 1 if row is not None else 1)
            values: dict[str, Any] = {
                "cluster_id": cluster_id,
                "incarnation": incarnation,
                "lease_until": now + lease_ms,
            }
            values |= {"address": None, "token": secrets.token_urlsafe(32)}
            if row is not None:
                connection.execute(sa.update(_replicas).where(mine).values(values))
            else:
                connection.execute(sa.insert(_replicas).values(replica_id=replica_id, **values))
            return incarnation

        return self._consensus.transact(fence.guard(self._leadership, work))

    def token(self, replica_id: int, incarnation: Incarnation) -> str:
        """The token that callers of this incarnation need. Raises ``ReplicaSuperseded``."""
        row = self._read(_is_incarnation(replica_id, incarnation))
        if not row:
            raise ReplicaSuperseded(replica_id, incarnation)
        return row[0].token

    def announce(
        self, replica_id: int, incarnation: Incarnation, address: str, *, lease_ms: int
    ) -> None:
        """Publish the address of the incarnation. Raises ``ReplicaSuperseded``, ``Fenced``."""
        self._renew(replica_id, incarnation, lease_ms, address=address)

    def beat(self, replica_id: int, incarnation: Incarnation, *, lease_ms: int) -> None:
        """Renew the lease: a heartbeat. Raises ``ReplicaSuperseded``, ``Fenced``."""
        self._renew(replica_id, incarnation, lease_ms)

    def lost(self, replica_id: int, incarnation: Incarnation, why: str) -> None:
        """Record that the incarnation has ended, so that the next may begin at once."""
        self._write(
            sa.update(_replicas)
            .where(_is_incarnation(replica_id, incarnation))
            .values(lease_until=0, trouble=why)
        )

    def forget(self, replica_id: int) -> None:
        """Delete the registration: the replica's process ends."""
        self._write(sa.delete(_replicas).where(_replicas.c.replica_id == replica_id))

    def _renew(
        self, replica_id: int, incarnation: Incarnation, lease_ms: int, **values: str
    ) -> None:
        def work(connection: sa.Connection) -> None:
            lease_until = self._consensus.now(connection) + lease_ms
            renewed = (
                sa.update(_replicas)
                .where(_is_incarnation(replica_id, incarnation))
                .values(lease_until=lease_until, **values)
            )
            if connection.execute(renewed).rowcount == 0:
                raise ReplicaSuperseded(replica_id, incarnation)

        self._consensus.transact(fence.guard(self._leadership, work))

    def _write(self, statement: sa.Update | sa.Delete) -> None:
        def work(connection: sa.Connection) -> None:
            connection.execute(statement)

        self._consensus.transact(fence.guard(self._leadership, work))

    def _read(self, condition: sa.ColumnElement[bool]) -> list[Registration]:
        return self._consensus.read(
            lambda connection: _select(connection, self._consensus.now(connection), condition)
        )


def _is_incarnation(replica_id: int, incarnation: Incarnation) -> sa.ColumnElement[bool]:
    return sa.and_(_replicas.c.replica_id == replica_id, _replicas.c.incarnation == incarnation)


def _select(
    connection: sa.Connection, now: Timestamp, condition: sa.ColumnElement[bool]
) -> list[Registration]:
    query = sa.select(_replicas).where(condition).order_by(_replicas.c.replica_id)
    return [_as_registration(row, now) for row in connection.execute(query)]


def _as_registration(row: sa.Row[Any], now: int) -> Registration:
    incarnation = Incarnation(row.incarnation)
    return Registration(
        row.replica_id,
        row.cluster_id,
        incarnation,
        row.address,
        row.token,
        now < row.lease_until,
        row.trouble,
    )
