"""What sources and sinks have moved since they were created: counters that only grow, and count
each step once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.database.store import metadata
from reclock.consensus.leadership.fence import FencedWriter

_statistics = sa.Table(
    "reclock_statistics",
    metadata,
    sa.Column("object_id", sa.Text, primary_key=True),
    # the time of the work that was counted last
    sa.Column("last_at", sa.BigInteger, nullable=False),
    sa.Column("steps", sa.BigInteger, nullable=False),
    sa.Column("offsets", sa.BigInteger, nullable=False),
    sa.Column("updates", sa.BigInteger, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Moved:
    """A step of a source or sink at ``at``: upstream offsets read, updates committed, and their
    bytes."""

    at: Timestamp
    offsets: int
    updates: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of all steps up to ``last_at``."""

    object_id: str
    last_at: Timestamp
    steps: int
    offsets: int
    updates: int
    bytes: int


class Statistics(FencedWriter):
    """The counters, as an actor of one epoch updates them."""

    def add(self, moved: Mapping[str, Moved]) -> None:
        """Count steps, by object. A step at or before the object's last counted one was counted
        already. Raises ``Fenced``."""

        def work(connection: sa.Connection) -> None:
            for object_id, step in moved.items():
                new = {
                    "steps": 1,
                    "offsets": step.offsets,
                    "updates": step.updates,
                    "bytes": step.bytes,
                }
                mine = _statistics.c.object_id == object_id
                last_at = connection.scalar(sa.select(_statistics.c.last_at).where(mine))
                if last_at is None:
                    connection.execute(
                        sa.insert(_statistics).values(object_id=object_id, last_at=step.at, **new)
                    )
                elif last_at < step.at:
                    sums = {name: _statistics.c[name] + value for name, value in new.items()}
                    connection.execute(
                        sa.update(_statistics).where(mine).values(last_at=step.at, **sums)
                    )

        if moved:
            self._write(work)

    def get_all(self) -> list[Total]:
        def work(connection: sa.Connection) -> list[Total]:
            rows = connection.execute(sa.select(_statistics).order_by(_statistics.c.object_id))
            return [
                Total(row.object_id, row.last_at, row.steps, row.offsets, row.updates, row.bytes)
                for row in rows
            ]

        return self._consensus.read(work)
