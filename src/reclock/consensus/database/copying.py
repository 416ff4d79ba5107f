"""Copying every table of consensus from one database to another, whichever databases these are."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

from reclock.consensus.database.databases import WRITER_LOCK
from reclock.consensus.database.store import Consensus, metadata

_ROWS_AT_ONCE = 200


def copy_all(source: Consensus, target: Consensus, *, but: Iterable[str] = ()) -> None:
    """``target`` holds what ``source`` held at one moment, and nothing else; of the tables ``but``, nothing at all.

    One transaction of each: a reader of ``target`` sees all of it or nothing.
    """
    left_out = {WRITER_LOCK, *but}

    def copy(read: sa.Connection) -> None:
        def write(connection: sa.Connection) -> None:
            _delete_all(connection)
            for table in metadata.sorted_tables:
                if table.name not in left_out:
                    rows = read.execution_options(yield_per=_ROWS_AT_ONCE).execute(sa.select(table))
                    for some in rows.mappings().partitions(_ROWS_AT_ONCE):
                        connection.execute(sa.insert(table), [dict(row) for row in some])

        target.transact(write)

    source.read(copy)


def clear(consensus: Consensus) -> None:
    """Consensus holds nothing: whoever writes is fenced, and nobody joins."""
    consensus.transact(_delete_all)


def _delete_all(connection: sa.Connection) -> None:
    for table in reversed(metadata.sorted_tables):
        connection.execute(sa.delete(table))
