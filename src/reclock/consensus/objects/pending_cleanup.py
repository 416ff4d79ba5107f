"""What is still to be deleted upstream for dropped sources, such as a replication slot.

A row is written before its source is dropped, so that other processes do the work if this one is
killed in between. The row of a source that still exists has no effect. The row is deleted once the
upstream has deleted its part.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import sqlalchemy as sa

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.consensus.database.store import metadata
from reclock.consensus.leadership.fence import FencedWriter

_pending = sa.Table(
    "reclock_leftovers",
    metadata,
    sa.Column("source_id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("what", sa.Text, nullable=False),
    sa.Column("upstream", sa.Text, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("error", sa.Text),
    sa.Column("detail", sa.Text),
)


@dataclass(frozen=True, slots=True)
class PendingCleanup:
    """``what`` the upstream keeps for the source. ``upstream`` is its connector as JSON, without
    secrets. ``at`` is the time of the last attempt, or of the entry before the first one; ``error``
    and ``detail`` are of the last attempt, if it failed."""

    source_id: GlobalId
    name: str
    what: str
    upstream: str
    at: Timestamp
    error: str | None = None
    detail: str | None = None

    def failed(self, error: str, detail: str | None, at: Timestamp) -> PendingCleanup:
        return replace(self, error=error, detail=detail, at=at)


class PendingCleanups(FencedWriter):
    """The pending cleanup of an environment. Writes need the current epoch."""

    def get_all(self) -> list[PendingCleanup]:
        """All entries, oldest attempt first."""
        rows = self._consensus.look(
            sa.select(_pending).order_by(_pending.c.at, _pending.c.source_id)
        )
        return [
            PendingCleanup(
                GlobalId(row.source_id),
                row.name,
                row.what,
                row.upstream,
                Timestamp(row.at),
                row.error,
                row.detail,
            )
            for row in rows
        ]

    def put(self, cleanups: Iterable[PendingCleanup]) -> None:
        """Store these entries, which replace earlier entries of their sources."""
        cleanups = list(cleanups)

        def write(connection: sa.Connection) -> None:
            sources = [cleanup.source_id for cleanup in cleanups]
            connection.execute(sa.delete(_pending).where(_pending.c.source_id.in_(sources)))
            for cleanup in cleanups:
                row = {column.name: getattr(cleanup, column.name) for column in _pending.columns}
                connection.execute(sa.insert(_pending).values(**row))

        if cleanups:
            self._write(write)

    def failed(self, cleanup: PendingCleanup) -> None:
        """Record a failed attempt, unless another actor has deleted the entry meanwhile."""
        attempt = {"at": cleanup.at, "error": cleanup.error, "detail": cleanup.detail}

        def write(connection: sa.Connection) -> None:
            connection.execute(
                sa.update(_pending)
                .where(_pending.c.source_id == cleanup.source_id)
                .values(**attempt)
            )

        self._write(write)

    def forget(self, source_id: GlobalId) -> None:
        """Delete the entry, because the upstream has nothing left for the source."""

        def write(connection: sa.Connection) -> None:
            connection.execute(sa.delete(_pending).where(_pending.c.source_id == source_id))

        self._write(write)
