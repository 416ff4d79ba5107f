"""Read holds: leases that keep ``since`` from passing a time that is still read."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import sqlalchemy as sa

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.database.batches import batches
from reclock.consensus.frontiers.tables import earliest_holds, get_groups, held_groups, read_holds
from reclock.consensus.leadership.fence import FencedWriter
from reclock.errors import InternalError, NotReadable, ReadHoldLost, UnknownCollection

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReadHold:
    """While it lasts, its groups are not compacted beyond ``at``. ``lease_until`` is None if it
    lasts until it is released."""

    id: str
    groups: frozenset[str]
    at: Timestamp
    owner: str
    lease_until: Timestamp | None


class ReadHolds(FencedWriter):
    """Read holds of an actor of one epoch. Leases are measured on the database's clock. Expired
    holds are deleted."""

    def acquire(
        self, groups: Iterable[str], at: Timestamp, *, owner: str, lease_ms: int | None
    ) -> ReadHold:
        """Keep all the groups exact at ``at`` and later. The transaction that creates the hold also
        checks ``since``.

        Raises ``NotReadable`` if ``at`` is below the since of a group, ``UnknownCollection``.
        ``at`` may be beyond an upper.
        """
        group_ids = frozenset(groups)
        id = uuid.uuid4().hex

        def work(connection: sa.Connection) -> ReadHold:
            groups = get_groups(connection, sorted(group_ids))
            for group in sorted(group_ids):
                if group not in groups:
                    raise UnknownCollection(group)
                if at < groups[group].since:
                    raise NotReadable(
                        group, at=at, since=groups[group].since, upper=groups[group].upper
                    )
            self._sweep(connection)
            hold = ReadHold(id, group_ids, at, owner, self._lease(connection, lease_ms))
            row = {
                "id": hold.id,
                "owner": hold.owner,
                "at": hold.at,
                "lease_until": hold.lease_until,
            }
            connection.execute(sa.insert(read_holds), row)
            if group_ids:
                connection.execute(
                    sa.insert(held_groups),
                    [{"hold_id": id, "group_id": group} for group in sorted(group_ids)],
                )
            return hold

        return self._write(work)

    def renew(self, hold: ReadHold, *, lease_ms: int | None) -> ReadHold:
        """The same hold with a new lease. Raises ``ReadHoldLost`` if it had expired, and so has
        protected nothing since then."""

        def work(connection: sa.Connection) -> ReadHold:
            lease_until = self._lease(connection, lease_ms)
            self._change(connection, hold, {"lease_until": lease_until})
            return replace(hold, lease_until=lease_until)

        return self._write(work)

    def downgrade(self, hold: ReadHold, at: Timestamp) -> ReadHold:
        """The same hold at a later time. Earlier times may be compacted. Raises
        ``ReadHoldLost``."""
        if at < hold.at:
            raise InternalError(f'read hold of "{hold.owner}" at {hold.at} cannot go back to {at}')

        def work(connection: sa.Connection) -> ReadHold:
            self._change(connection, hold, {"at": at}, read_holds.c.at <= at)
            return replace(hold, at=at)

        return self._write(work)

    def release(self, hold: ReadHold) -> None:
        """Delete the hold, if it still exists."""
        self._write(lambda connection: _remove(connection, [hold.id]))

    def owned_by(self, owner: str) -> list[ReadHold]:
        """The active holds of an owner, earliest first. After a restart, an index finds its hold by
        its owner."""

        def work(connection: sa.Connection) -> list[ReadHold]:
            lasting = _lasting(self._consensus.now(connection))
            rows = connection.execute(
                sa.select(read_holds)
                .where(read_holds.c.owner == owner, lasting)
                .order_by(read_holds.c.at)
            )
            return [_as_hold(connection, row) for row in rows.all()]

        return self._consensus.read(work)

    def earliest(self, groups: Iterable[str] | None = None) -> dict[str, Timestamp]:
        """For each held group the highest since that its active holds allow. A group without holds
        is absent."""
        sorted_groups = None if groups is None else sorted(set(groups))
        return self._consensus.read(
            lambda connection: earliest_holds(
                connection, self._consensus.now(connection), sorted_groups
            )
        )

    def earliest_read(self, group: str) -> Timestamp | None:
        """As ``earliest``, considering only the holds of readers, which have a lease."""

        def work(connection: sa.Connection) -> Timestamp | None:
            return earliest_holds(
                connection, self._consensus.now(connection), [group], leased_only=True
            ).get(group)

        return self._consensus.read(work)

    def lasting_owners(self) -> frozenset[str]:
        """The owners of holds without a lease."""
        query = sa.select(read_holds.c.owner).where(read_holds.c.lease_until.is_(None)).distinct()
        return self._consensus.read(lambda connection: frozenset(connection.scalars(query)))

    def sweep(self) -> int:
        """Delete the expired holds. Returns their number."""
        return self._write(self._sweep)

    def _change(
        self,
        connection: sa.Connection,
        hold: ReadHold,
        values: dict[str, Any],
        *conditions: sa.ColumnElement[bool],
    ) -> None:
        lasting = _lasting(self._consensus.now(connection))
        change = (
            sa.update(read_holds)
            .where(read_holds.c.id == hold.id, lasting, *conditions)
            .values(values)
        )
        if connection.execute(change).rowcount != 1:
            raise ReadHoldLost(hold.owner, at=hold.at)

    def _sweep(self, connection: sa.Connection) -> int:
        expired = read_holds.c.lease_until <= self._consensus.now(connection)
        ids = connection.scalars(sa.select(read_holds.c.id).where(expired)).all()
        _remove(connection, ids)
        return len(ids)

    def _lease(self, connection: sa.Connection, lease_ms: int | None) -> Timestamp | None:
        return None if lease_ms is None else Timestamp(self._consensus.now(connection) + lease_ms)


def _lasting(now: Timestamp) -> sa.ColumnElement[bool]:
    return sa.or_(read_holds.c.lease_until.is_(None), read_holds.c.lease_until > now)


def forget_readers(connection: sa.Connection) -> None:
    """Delete all holds with a lease, when no process reads. Those of indexes and sinks stay."""
    _remove(
        connection,
        connection.scalars(
            sa.select(read_holds.c.id).where(read_holds.c.lease_until.is_not(None))
        ).all(),
    )


def _remove(connection: sa.Connection, ids: Iterable[str]) -> None:
    for some in batches(ids):
        connection.execute(sa.delete(held_groups).where(held_groups.c.hold_id.in_(some)))
        connection.execute(sa.delete(read_holds).where(read_holds.c.id.in_(some)))


def _as_hold(connection: sa.Connection, row: sa.Row[Any]) -> ReadHold:
    groups = connection.scalars(
        sa.select(held_groups.c.group_id).where(held_groups.c.hold_id == row.id)
    )
    return ReadHold(row.id, frozenset(groups), row.at, row.owner, row.lease_until)
