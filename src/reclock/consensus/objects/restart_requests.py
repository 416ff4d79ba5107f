"""Requests to read partitions of sources again from their beginning.

A request names the reading that is to begin. Once that reading has begun, the request has no
effect. It is deleted with its source.
"""

from __future__ import annotations

import sqlalchemy as sa

from reclock.consensus.frontiers.tables import restarts
from reclock.consensus.leadership.fence import FencedWriter


class RestartRequests(FencedWriter):
    """The requests of an environment, as an actor of one epoch writes them."""

    def of(self, group: str) -> dict[str, int]:
        """The number of the newest requested reading, by the name of the partition."""
        query = sa.select(restarts).where(restarts.c.group_id == group)
        return {row.partition: row.reading for row in self._consensus.look(query)}

    def request(self, group: str, partition: str, reading: int) -> None:
        """Store a request durably. It replaces one for an earlier reading. Raises ``Fenced``."""

        def write(connection: sa.Connection) -> None:
            same = (restarts.c.group_id == group) & (restarts.c.partition == partition)
            connection.execute(sa.delete(restarts).where(same))
            connection.execute(
                sa.insert(restarts).values(group_id=group, partition=partition, reading=reading)
            )

        self._write(write)
