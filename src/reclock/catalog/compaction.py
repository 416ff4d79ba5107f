"""The updates of a changelog that compaction can delete once nobody may read below a time: those
that cancel below it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN
from reclock.algebra.timestamps import Timestamp
from reclock.catalog import update_files
from reclock.catalog.encoding import CatalogUpdate
from reclock.catalog.update_files import SCHEMA
from reclock.collections.files import DataFile
from reclock.collections.folder import Folder

_ROW = ["kind", "key", "value"]

_diff, _ts = pc.field(DIFF_COLUMN), pc.field(TIME_COLUMN)


def cancelling(updates: Iterable[CatalogUpdate]) -> list[CatalogUpdate]:
    """Of one row's updates in order of time, the oldest additions and as many of the oldest
    retractions."""
    additions: list[CatalogUpdate] = []
    retractions: list[CatalogUpdate] = []
    for update in updates:
        # no release writes other diffs; mending must see those of another program
        if update.diff in (1, -1):
            (additions if update.diff > 0 else retractions).append(update)
    pairs = min(len(additions), len(retractions))
    return additions[:pairs] + retractions[:pairs]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Files to replace, and the updates to put in their place, in order of time."""

    removed: tuple[DataFile, ...]
    table: pa.Table

    @property
    def deleted_updates(self) -> int:
        removed_updates = sum(file.rows for file in self.removed)
        return removed_updates - int(self.table.num_rows)


def plan_rewrite(folder: Folder, files: Sequence[DataFile], below: Timestamp) -> Rewrite | None:
    """The rewrite that deletes the updates before ``below`` that cancel; None if none do. It
    replaces only files that have some.

    Raises as ``update_files.read``.
    """
    early = [file for file in files if file.min_time < below]
    with_retractions = [file.path for file in early if file.min_diff is None or file.min_diff < 0]
    retractions = update_files.read(folder, with_retractions, (_ts < below) & (_diff < 0))
    rows = retractions.group_by(_ROW).aggregate([])
    kinds = set(rows["kind"].to_pylist())
    removed, candidates, unchanged = [], [SCHEMA.empty_table()], [SCHEMA.empty_table()]
    for file in early:
        if not update_files.may_hold(file.path, kinds):
            continue
        table = update_files.read(folder, [file.path], pc.scalar(True))
        is_early = table.filter(_ts < below)
        of_rows = is_early.join(rows, _ROW, join_type="left semi")
        if of_rows.num_rows:
            removed.append(file)
            candidates.append(_like_schema(of_rows))
            unchanged += [
                _like_schema(is_early.join(rows, _ROW, join_type="left anti")),
                table.filter(_ts >= below),
            ]
    rewritten = pa.concat_tables([_consolidated(pa.concat_tables(candidates)), *unchanged])
    rewrite = Rewrite(tuple(removed), rewritten.sort_by(TIME_COLUMN))
    return rewrite if rewrite.deleted_updates else None


def _consolidated(updates: pa.Table) -> pa.Table:
    """One update of each row whose diffs do not add up to zero: their sum, at its newest time."""
    summed = updates.group_by(_ROW).aggregate([(TIME_COLUMN, "max"), (DIFF_COLUMN, "sum")])
    named = summed.select([*_ROW, f"{TIME_COLUMN}_max", f"{DIFF_COLUMN}_sum"]).rename_columns(
        SCHEMA.names
    )
    return named.filter(_diff != 0).cast(SCHEMA)


def _like_schema(joined: pa.Table) -> pa.Table:
    return joined.select(SCHEMA.names).cast(SCHEMA)
