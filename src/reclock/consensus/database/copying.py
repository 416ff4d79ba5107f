"""Copying every table of consensus from one database to another, of either kind."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

from reclock.consensus.database.databases import WRITER_LOCK
from reclock.consensus.database.store import Consensus, metadata

_ROWS_AT_ONCE = 200


def copy_all(source: Consensus, target: Consensus, *, but: Iterable[str] = ()) -> None:
    """Replace the content of ``target`` by one consistent state of ``source``, without the rows of
    the tables ``but``. Each database has one transaction, so that a reader of ``target`` sees
    everything or nothing."""
    skipped_tables = {WRITER_LOCK, *but}

    def copy(read: sa.Connection) -> None:
        def write(connection: sa.Connection) -> None:
            _delete_all(connection)
            for table in metadata.sorted_tables:
                if table.name not in skipped_tables:
                    rows = read.execution_options(yield_per=_ROWS_AT_ONCE).execute(sa.select(table))
                    for batch in rows.mappings().partitions(_ROWS_AT_ONCE):
                        connection.execute(sa.insert(table), [dict(row) for row in batch])

        target.transact(write)

    source.read(copy)


def clear(consensus: Consensus) -> None:
    """Delete all rows. This fences every writer, and no process can join."""
    consensus.transact(_delete_all)


def _delete_all(connection: sa.Connection) -> None:
    for table in reversed(metadata.sorted_tables):
        connection.execute(sa.delete(table))
