"""How often a table has each key, from memory: what decides whether a new row would repeat a unique
key.

An index holds the hashes of the keys of each data file, sorted, and of the writes in the log that
no file has yet. It is complete up to a time that may be in the past: the commit detects what was
written since (`table_commits.KeyRead`). Nothing of it is durable; it is built when a process first
checks a key of the table, and follows the log from then on.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.relations import DIFF_COLUMN
from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.collections.files import DataFile
from reclock.collections.key_counts import KeyCounts, SortedKeys
from reclock.collections.key_hashes import Counts, Hashes, KeyColumns
from reclock.collections.lake import Lake
from reclock.collections.schema import arrow_schema
from reclock.collections.table_commits import Commit, CommittedBatch, PendingWrite
from reclock.collections.table_wal import TableWal
from reclock.collections.version import Version
from reclock.collections.wal_rows import write_rows
from reclock.errors import InternalError, WriteConflict

_TAIL_KEYS = 50_000
"""From so many keys of the log on, they are looked for in the data files again."""

_TAIL_WRITES = 20
"""So many large writes, too."""

_ATTEMPTS = 20


@dataclass(slots=True)
class KeyIndex:
    """The keys of one table. Safe for threads."""

    table: GlobalId
    key: KeyColumns
    lake: Lake
    log: TableWal
    through: Timestamp = MINIMUM
    """It holds all writes up to this time, and none after it."""
    _version: Version | None = None
    _files: dict[str, SortedKeys] = field(default_factory=dict)
    _tail: KeyCounts = field(default_factory=KeyCounts)
    """Of the writes in the log that the version lacks."""
    _is_behind: bool = True
    """Whether there are writes after ``through`` that others made."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def counts(self, hashes: Hashes) -> tuple[Counts, Timestamp]:
        """How many rows have a key of each hash, and the time at which that is so.

        That time is before writes of other processes that this one has not learned of.
        """
        with self._lock:
            if self._is_behind:
                self._advance()
                self._is_behind = False
            return self._counts(hashes), self.through

    def note(self, commits: Sequence[Commit], at: Timestamp, last_write: Timestamp) -> None:
        """Follow commits of this process at ``at``, before which the table was last written at
        ``last_write``."""
        with self._lock:
            changes = [
                commit.key_changes.get((self.table, self.key))
                for commit in commits
                if self.table in commit.writes
            ]
            if self._version is None or last_write > self.through or None in changes:
                self._is_behind = True
                return
            for change in changes:
                assert change is not None
                self._tail.add_all(change)
            self.through = at
            self._is_behind = self._is_behind or self._has_long_tail()

    def mark_behind(self) -> None:
        """Others have written to the table: the next count reads the log first."""
        with self._lock:
            self._is_behind = True

    def changes_with(self, hashes: Hashes) -> pa.Table:
        """Rows with diffs, of all those whose key has one of the hashes: what ``counts`` last
        counted, perhaps more."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return pa.concat_tables(
                    [self.key.having(hashes, rows) for rows in self._rows(hashes)]
                )
            except FileNotFoundError:
                if attempt == _ATTEMPTS:
                    raise
        raise InternalError("rows were neither read nor missing")

    # --- internals ---

    def _counts(self, hashes: Hashes) -> Counts:
        totals = self._tail.counts(hashes)
        for keys in self._files.values():
            totals += keys.counts(hashes)
        return totals

    def _advance(self) -> None:
        if self._version is None or self._has_long_tail():
            self._rebuild()
            return
        writes = self.log.writes_since(self.table, self.through)
        if writes is None:
            self._rebuild()
            return
        try:
            self._follow(writes)
        except FileNotFoundError:
            self._rebuild()

    def _has_long_tail(self) -> bool:
        return len(self._tail.few) > _TAIL_KEYS or len(self._tail.many) > _TAIL_WRITES

    def _rebuild(self) -> None:
        """Read what is not in memory yet of the table's newest version, and the log."""
        collection = self.lake.open(StorageCollectionId(self.table, CollectionType.TABLE))
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                # The log first: a write that is trimmed after this is in the version pinned below.
                pending = self.log.pending([self.table])
                version = collection.pin()
                files = {
                    file.uri: self._files.get(file.uri) or self._read(version, file)
                    for file in version.all_files
                }
                self._version, self._files, self._tail = version, files, KeyCounts()
                self.through = Timestamp(version.upper - 1)
                self._follow([write for write in pending if write.at >= version.upper])
                return
            except FileNotFoundError:
                if attempt == _ATTEMPTS:
                    raise

    def _follow(self, writes: Sequence[PendingWrite]) -> None:
        assert self._version is not None
        for write in writes:
            self._tail.add(*self.key.net_counts(write_rows(self._version.folder, write.payload)))
        self.through = max([self.through, *(write.at for write in writes)])

    def _read(self, version: Version, file: DataFile) -> SortedKeys:
        return SortedKeys.of(*self.key.net_counts(self._columns_of(version, file)))

    def _columns_of(self, version: Version, file: DataFile) -> pa.Table:
        with pq.ParquetFile(file.path, filesystem=version.folder.filesystem) as parquet:
            return parquet.read(columns=[*self.key.inputs, DIFF_COLUMN])

    def _rows(self, hashes: Hashes) -> Iterator[pa.Table]:
        """The rows of the table now, without those of files that are known to change the number of
        no such key."""
        pending = self.log.pending([self.table])
        version = self.lake.open(StorageCollectionId(self.table, CollectionType.TABLE)).pin()
        yield arrow_schema(version.desc, with_updates=True).empty_table()
        for write in pending:
            if write.at >= version.upper:
                yield write_rows(version.folder, write.payload)
        for file in version.all_files:
            if (keys := self._files.get(file.uri)) is None or keys.counts(hashes).any():
                yield self._columns_of(version, file)


class KeyIndexes:
    """The key indexes of a process. Safe for threads."""

    def __init__(self, lake: Lake, log: TableWal) -> None:
        self._lake, self._log = lake, log
        self._indexes: dict[tuple[GlobalId, KeyColumns], KeyIndex] = {}
        self._lock = threading.Lock()

    def of(self, table: GlobalId, key: KeyColumns) -> KeyIndex:
        """The index, which is built when it is first asked."""
        with self._lock:
            return self._indexes.setdefault(
                (table, key), KeyIndex(table, key, self._lake, self._log)
            )

    def note(self, batch: CommittedBatch) -> None:
        """Bring the indexes up to the commits of a batch, without reading the log."""
        accepted = [
            commit
            for commit, outcome in zip(batch.commits, batch.outcomes, strict=True)
            if isinstance(outcome, int)
        ]
        if any(isinstance(outcome, WriteConflict) for outcome in batch.outcomes):
            self.note_conflict(batch.commits)
        at = next(
            (outcome for outcome in batch.outcomes if isinstance(outcome, int)), Timestamp(-1)
        )
        written = {table for commit in accepted for table in commit.writes}
        with self._lock:
            indexes = list(self._indexes.values())
        for index in indexes:
            last_write = batch.last_writes.get(index.table, MINIMUM)
            if index.table in written:
                index.note(accepted, at, last_write)
            # a table that was only read, too: else each commit compares with more of the log
            elif last_write > index.through:
                index.mark_behind()

    def note_conflict(self, commits: Iterable[Commit]) -> None:
        """Others may have changed the counts that the commits, one of which was refused, rest on:
        the next count reads the log first."""
        tables = {read.table for commit in commits for read in commit.key_reads}
        with self._lock:
            indexes = [index for index in self._indexes.values() if index.table in tables]
        for index in indexes:
            index.mark_behind()

    def forget(self, table: GlobalId) -> None:
        """Free the indexes of a table that was dropped."""
        with self._lock:
            for id, key in list(self._indexes):
                if id == table:
                    del self._indexes[id, key]
