"""What one statement, or one with others in its WITH, changes in tables.

Every part of it reads the tables as they were before all of them. What foreign keys do to the rows
that refer to changed rows follows after the last part, on the tables as they are then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reclock.adapter.context.results import Result
from reclock.adapter.query.queries import QueryExecution
from reclock.adapter.statement_context import StatementContext
from reclock.adapter.statements.tables.referential_actions import ReferentialActions
from reclock.adapter.transaction.table_reads import add_read
from reclock.adapter.transaction.transaction import StatementStart, Transaction
from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import DIFF_COLUMN
from reclock.collections.key_hashes import KeyColumns
from reclock.collections.keys import Keys
from reclock.collections.table_queues import Turn
from reclock.errors import RowAffectedTwice, RowChangedTwice
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.statements.query.values import Select


def change_tables(
    context: StatementContext, work: Callable[[StatementChanges], Result], turn: Callable[[], Turn]
) -> Result:
    """The result of ``work``, the parts of one statement, in the session's transaction; ``turn``
    says what they read and write."""

    def in_transaction(transaction: Transaction) -> Result:
        changes = StatementChanges(context, transaction, transaction.statement_start())
        result = work(changes)
        changes.follow_all()
        return result

    context.await_storage()
    return context.transactions.run(in_transaction, turn)


Reads = dict[GlobalId, Keys | None]
"""The tables that a part of a statement reads, and by which keys; None stands for all rows."""


def turn_of(reads_of_parts: Iterable[Reads], writes: Iterable[GlobalId]) -> Turn:
    """What all parts of a statement read and write, for the queues of tables."""
    reads: Reads = {}
    for reads_of_part in reads_of_parts:
        for table, keys in reads_of_part.items():
            add_read(reads, table, keys)
    return Turn(reads, frozenset(writes))


@dataclass(slots=True)
class StatementChanges:
    """The changes of one statement in its transaction."""

    context: StatementContext
    transaction: Transaction
    _start: StatementStart
    returned: dict[StorageCollectionId, pa.Table] = field(default_factory=dict)
    """What earlier parts of the statement returned."""
    _written: dict[GlobalId, list[pa.Table]] = field(default_factory=dict)
    """The rows of each table with their diffs, by part."""
    _changed: list[tuple[RelationEntry, pa.Table, pa.Table | None]] = field(default_factory=list)

    def query(
        self,
        select: Select,
        provided: Mapping[StorageCollectionId, pa.Table] | None = None,
        *,
        reads_present: bool = False,
    ) -> Result:
        """The rows of a query over the tables as they were before the statement, or, if it
        ``reads_present``, as they are now; over the rows ``provided`` too."""
        return QueryExecution(
            self.context,
            select,
            self.transaction,
            provided={**self.returned, **(provided or {})},
            start=None if reads_present else self._start,
        ).run()

    def write(
        self, table: RelationEntry, rows: pa.Table, *, has_read_present: bool = False
    ) -> None:
        """Write the rows of a part, with their diffs. Removed rows were in the table before the
        statement. If the part ``has_read_present``, an earlier part may have added them.

        If an earlier part wrote a removed row, raises ``RowAffectedTwice`` if the part
        ``has_read_present``, otherwise ``RowChangedTwice``. Raises what every write raises.
        """
        written = self._written.setdefault(table.id, [])
        if written and (removed := _of_sign(rows, -1)).num_rows:
            row = KeyColumns(table.desc.names, are_nulls_equal=True)
            for earlier in written:
                changed = earlier if has_read_present else _of_sign(earlier, -1)
                if len(np.intersect1d(row.hashes(removed)[0], row.hashes(changed)[0])):
                    raise RowAffectedTwice if has_read_present else RowChangedTwice(table.name.item)
        written.append(rows)
        self.transaction.write(table, rows, self.context.catalog)

    def follow(self, table: RelationEntry, removed: pa.Table, added: pa.Table | None) -> None:
        """Register rows that were removed from the table, and in an update the rows that replace
        them, for the actions of foreign keys."""
        self._changed.append((table, removed, added))

    def follow_all(self) -> None:
        """Carry out the actions of foreign keys. Call it after the last part."""
        if not self._changed:
            return
        names = self.context.planner.names_at(self.context.catalog)
        run = partial(self.query, reads_present=True)
        actions = ReferentialActions(self.transaction, self.context.catalog, names, run)
        for table, removed, added in self._changed:
            actions.follow(table, removed, added)


def _of_sign(rows: pa.Table, sign: int) -> pa.Table:
    return rows.filter(pc.equal(pc.sign(rows[DIFF_COLUMN]), sign))
