"""The foreign keys of the tables that a transaction writes: the target has every added key, and no
row refers to a removed key.

Both are questions about the counts of keys, as those of unique keys are (decision 62). The commit
names the counts that it rests on. So if one transaction inserts a row while another one deletes the
row that it refers to, only one of them commits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reclock.adapter.context.texts import text_of
from reclock.adapter.transaction.constraint_checks import ConstraintChecks
from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import DIFF_COLUMN
from reclock.algebra.timestamps import Timestamp
from reclock.collections.key_hashes import Counts, Hashes, KeyColumns
from reclock.errors import ForeignKeyViolation, WriteConflict
from reclock.sql.catalog.foreign_keys import ForeignKey

MIXED_NULLS = "MATCH FULL does not allow mixing of null and nonnull key values."


@dataclass(frozen=True, slots=True)
class ReferenceChecks:
    """Checks against the committed rows and all ``writes`` of the transaction. The tables that it
    ``created`` have no committed rows. It reads other tables at ``read_at``."""

    checks: ConstraintChecks
    writes: Mapping[GlobalId, Sequence[pa.Table]]
    created: Set[GlobalId]
    read_at: Timestamp | None

    def check_referring(self, key: ForeignKey, rows: pa.Table) -> None:
        """Check the changes of ``key.table``. Raises ``ForeignKeyViolation``."""
        columns = KeyColumns(key.columns)
        if key.constraint.match == "FULL":
            _refuse_partial_nulls(key, rows)
        changed, changes = columns.net_counts(rows)
        added = changed[changes > 0]
        if not len(added):
            return
        counts, _ = self.counts(key.target.id, KeyColumns(key.target_columns), added)
        missing = added[counts <= 0]
        for values in _added_keys(key.constraint.columns, columns.having(missing, rows)):
            raise ForeignKeyViolation.of_referring(
                key.constraint.name,
                key.table.name.item,
                detail=(
                    f"Key {_written(key.constraint.columns, values)} is not present in table "
                    f'"{key.target.name.item}".'
                ),
            )

    def check_target(self, key: ForeignKey, rows: pa.Table) -> None:
        """Check the changes of ``key.target``.

        Raises ``ForeignKeyViolation``; ``WriteConflict`` if rows that came after the transaction's
        read time refer to a removed key: the referential action did not change them.
        """
        target_columns, columns = KeyColumns(key.target_columns), KeyColumns(key.columns)
        changed, changes = target_columns.net_counts(rows)
        removed = changed[changes < 0]
        if not len(removed):
            return
        counts, counted_at = self.counts(key.table.id, columns, removed)
        referred = removed[counts > 0]
        if not len(referred):
            return
        referring = self._referring_keys(key, referred)
        removed_rows = target_columns.having(referred, rows)
        removed_rows = removed_rows.filter(pc.less(removed_rows[DIFF_COLUMN], 0))
        for values in zip(
            *(removed_rows[name].to_pylist() for name in key.target_columns), strict=True
        ):
            if values not in referring:  # another key with the same hash
                continue
            acts = {key.constraint.on_delete, key.constraint.on_update} - {"NO ACTION", "RESTRICT"}
            if acts and self.read_at is not None and counted_at > self.read_at:
                raise WriteConflict(key.table.id, read_at=self.read_at)
            named = dict(zip(key.target_columns, values, strict=True))
            in_order = [named[column] for column in key.constraint.target_columns]
            written = _written(key.constraint.target_columns, in_order)
            raise ForeignKeyViolation.of_target(
                key.constraint.name,
                key.table.name.item,
                key.target.name.item,
                detail=f'Key {written} is still referenced from table "{key.table.name.item}".',
            )

    def counts(self, table: GlobalId, key: KeyColumns, hashes: Hashes) -> tuple[Counts, Timestamp]:
        """See ``ConstraintChecks.counts``."""
        written = self.writes.get(table, ())
        return self.checks.counts(table, key, hashes, written, is_new=table in self.created)

    def _referring_keys(self, key: ForeignKey, hashes: Hashes) -> set[tuple[Any, ...]]:
        keys = self.checks.keys_among(
            key.table.id,
            KeyColumns(key.columns),
            hashes,
            self.writes.get(key.table.id, ()),
            is_new=key.table.id in self.created,
        )
        present = keys.filter(pc.greater(keys[f"{DIFF_COLUMN}_sum"], 0))
        return set(zip(*(present[name].to_pylist() for name in key.columns), strict=True))


def _refuse_partial_nulls(key: ForeignKey, rows: pa.Table) -> None:
    """MATCH FULL: all columns are NULL, or none is."""
    are_null = [rows[name].is_null().to_numpy() for name in key.columns]
    mixed = np.logical_or.reduce(are_null) & ~np.logical_and.reduce(are_null)
    if (mixed & (rows[DIFF_COLUMN].to_numpy() > 0)).any():
        raise ForeignKeyViolation.of_referring(
            key.constraint.name,
            key.table.name.item,
            detail=MIXED_NULLS,
        )


def _added_keys(names: Sequence[str], rows: pa.Table) -> Iterator[tuple[Any, ...]]:
    """The keys of the rows that are added, in their order."""
    added = rows.filter(pc.greater(rows[DIFF_COLUMN], 0))
    return zip(*(added[name].to_pylist() for name in names), strict=True)


def _written(columns: Sequence[str], values: Sequence[Any]) -> str:
    return f"({', '.join(columns)})=({', '.join(map(text_of, values))})"
