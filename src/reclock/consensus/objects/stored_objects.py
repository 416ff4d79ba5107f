"""The objects for which storage has collections: the incarnation of each, and why it could not be
created.

An id alone does not identify an object for ever: a restored catalog may assign it again. So the
first object with an id stores its incarnation here, and another object cannot take over its
frontier group, its table WAL or its claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from reclock.algebra.ids import GlobalId
from reclock.consensus.database.batches import batches
from reclock.consensus.database.store import Consensus, metadata
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import ForeignCollection

_objects = sa.Table(
    "reclock_stored_object",
    metadata,
    sa.Column("object_id", sa.Text, primary_key=True),
    sa.Column("incarnation", sa.Text, nullable=False),
)

_unready = sa.Table(
    "reclock_unready_object",
    metadata,
    sa.Column("object_id", sa.Text, primary_key=True),
    sa.Column("error", sa.Text, nullable=False),
    sa.Column("hint", sa.Text),
)


@dataclass(frozen=True, slots=True)
class Unready:
    """Why the collection of an object could not be created."""

    error: str
    hint: str | None


class StoredObjects:
    """The records of an environment. Writes need the current epoch."""

    def __init__(self, consensus: Consensus, leadership: Leadership) -> None:
        self._consensus = consensus
        self._leadership = leadership

    def incarnations(self) -> dict[GlobalId, str]:
        """The incarnation of each object. Objects of releases before incarnations are absent."""
        query = sa.select(_objects)
        return {row.object_id: row.incarnation for row in self._consensus.look(query)}

    def adopt(self, id: GlobalId, incarnation: str, *, is_made: bool) -> None:
        """Assign the id to this incarnation. ``is_made`` says whether something was created under
        it before. Raises ``ForeignCollection`` if it belongs to another incarnation."""

        def work(connection: sa.Connection) -> None:
            fence.check(connection, self._leadership)
            stored = connection.scalar(
                sa.select(_objects.c.incarnation).where(_objects.c.object_id == id)
            )
            if stored is None and is_made:
                stored = ""  # from before there were incarnations
            if stored is not None and stored != incarnation:
                raise ForeignCollection(id, store="consensus", expected=incarnation, found=stored)
            if stored is None:
                connection.execute(
                    sa.insert(_objects).values(object_id=id, incarnation=incarnation)
                )

        self._consensus.transact(work)

    def forget(self, ids: Iterable[GlobalId]) -> None:
        """Delete the records of these ids."""

        def work(connection: sa.Connection) -> None:
            fence.check(connection, self._leadership)
            for some in batches(ids):
                connection.execute(sa.delete(_objects).where(_objects.c.object_id.in_(some)))

        self._consensus.transact(work)

    # --- objects that could not be created ---

    def unready(self) -> dict[GlobalId, Unready]:
        return {
            row.object_id: Unready(row.error, row.hint)
            for row in self._consensus.look(sa.select(_unready))
        }

    def set_unready(self, failures: Mapping[GlobalId, Unready]) -> None:
        """Record that exactly these objects could not be created."""
        if failures == self.unready():
            return

        def work(connection: sa.Connection) -> None:
            fence.check(connection, self._leadership)
            connection.execute(sa.delete(_unready))
            for id, failure in failures.items():
                connection.execute(
                    sa.insert(_unready).values(object_id=id, error=failure.error, hint=failure.hint)
                )

        self._consensus.transact(work)
