"""How far each sequence has counted.

A sequence is known by the incarnation of its catalog item. Values are reserved before they are
used, in a transaction of their own: no two statements of any process get the same, also if one is
killed, and a statement that fails leaves a gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import sqlalchemy as sa

from reclock.algebra.sequences import SequencePosition
from reclock.consensus.database.store import metadata
from reclock.consensus.leadership.fence import FencedWriter

_T = TypeVar("_T")

sequences = sa.Table(
    "reclock_sequence",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("last_value", sa.BigInteger, nullable=False),
    sa.Column("is_called", sa.Boolean, nullable=False),
)


class Sequences(FencedWriter):
    """The positions of an environment, as an actor of one epoch writes them."""

    def update(
        self, id: str, change: Callable[[SequencePosition | None], tuple[SequencePosition, _T]]
    ) -> _T:
        """Move the sequence to where ``change`` says, durably, and return what else it says.

        ``change`` gets None for a sequence that was never used, and may be called again. Raises
        what it raises, and ``Fenced``.
        """

        def write(connection: sa.Connection) -> _T:
            query = sa.select(sequences).where(sequences.c.id == id).with_for_update()
            row = connection.execute(query).first()
            position, result = change(
                SequencePosition(row.last_value, row.is_called) if row is not None else None
            )
            values = {"last_value": position.last_value, "is_called": position.is_called}
            if row is None:
                connection.execute(sa.insert(sequences).values(id=id, **values))
            else:
                connection.execute(
                    sa.update(sequences).where(sequences.c.id == id).values(**values)
                )
            return result

        return self._write(write)

    def positions(self) -> Mapping[str, SequencePosition]:
        """Of all sequences that were used."""
        return {
            row.id: SequencePosition(row.last_value, row.is_called)
            for row in self._consensus.look(sa.select(sequences))
        }

    def forget(self, ids: Iterable[str]) -> None:
        """Delete the positions of sequences whose drop is committed. This needs no epoch: no other
        sequence ever gets their ids, and the drop must not fail after its commit."""
        is_dropped = sequences.c.id.in_(list(ids))
        self._consensus.transact(
            lambda connection: connection.execute(sa.delete(sequences).where(is_dropped))
        )
