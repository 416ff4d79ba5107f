"""What upstreams may keep for sources that are no more, such as a replication slot, until they are told.

It is written before a source is dropped, so that whoever is killed in between leaves it to others; what is written of a source that
is still there means nothing. The row goes once the upstream was told.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import sqlalchemy as sa

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.consensus.database.store import Consensus, metadata
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership

_leftovers = sa.Table(
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
class Leftover:
    """``what`` an upstream keeps for the source; ``upstream`` is how it is reached, as JSON, without secrets. ``at`` is when it was
    last tried to tell it, or was going to be; ``error`` and ``detail`` say why that failed.
    """

    source_id: GlobalId
    name: str
    what: str
    upstream: str
    at: Timestamp
    error: str | None = None
    detail: str | None = None

    def failed(self, error: str, detail: str | None, at: Timestamp) -> Leftover:
        return replace(self, error=error, detail=detail, at=at)


class Leftovers:
    """Those of an environment, as an actor of one epoch writes them."""

    def __init__(self, consensus: Consensus, leadership: Leadership) -> None:
        self._consensus = consensus
        self._leadership = leadership

    def get_all(self) -> list[Leftover]:
        """In the order of their moments."""
        rows = self._consensus.look(sa.select(_leftovers).order_by(_leftovers.c.at, _leftovers.c.source_id))
        return [
            Leftover(GlobalId(row.source_id), row.name, row.what, row.upstream, Timestamp(row.at), row.error, row.detail)
            for row in rows
        ]

    def put(self, leftovers: Iterable[Leftover]) -> None:
        """In place of what was written of their sources."""
        found = list(leftovers)

        def write(connection: sa.Connection) -> None:
            fence.check(connection, self._leadership)
            connection.execute(sa.delete(_leftovers).where(_leftovers.c.source_id.in_([own.source_id for own in found])))
            for own in found:
                row = {column.name: getattr(own, column.name) for column in _leftovers.columns}
                connection.execute(sa.insert(_leftovers).values(**row))

        if found:
            self._consensus.transact(write)

    def failed(self, leftover: Leftover) -> None:
        """Why it is still there; unless another actor was there meanwhile, and it is gone."""
        new = {"at": leftover.at, "error": leftover.error, "detail": leftover.detail}

        def write(connection: sa.Connection) -> None:
            fence.check(connection, self._leadership)
            connection.execute(sa.update(_leftovers).where(_leftovers.c.source_id == leftover.source_id).values(**new))

        self._consensus.transact(write)

    def forget(self, source_id: GlobalId) -> None:
        """The upstream was told."""

        def write(connection: sa.Connection) -> None:
            fence.check(connection, self._leadership)
            connection.execute(sa.delete(_leftovers).where(_leftovers.c.source_id == source_id))

        self._consensus.transact(write)
