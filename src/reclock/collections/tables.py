"""Tables: written to the log, read from Delta and the log together; the log is applied to Delta in
the background."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import structlog

from reclock.algebra.ids import TABLES, CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, RelationDesc
from reclock.algebra.timestamps import MAXIMUM, MINIMUM, Timestamp
from reclock.collections.collection import Collection
from reclock.collections.consolidate import consolidate_rows
from reclock.collections.files import write_file
from reclock.collections.folder import staging_path
from reclock.collections.follower import Follower
from reclock.collections.group_commit import GroupCommit
from reclock.collections.key_index import KeyIndexes
from reclock.collections.lake import Lake
from reclock.collections.schema import arrow_schema
from reclock.collections.table_commits import (
    Commit,
    CommittedBatch,
    Dependencies,
    LogTail,
    Payload,
    PendingWrite,
)
from reclock.collections.table_wal import TableWal
from reclock.collections.version import Version
from reclock.collections.wal_rows import write_rows
from reclock.errors import InternalError, NotReadable, UnknownCollection, UpperMismatch
from reclock.failpoints import failpoint

STAGED_FROM_BYTES = 1 << 20
"""The bytes from which on a write is staged as a Parquet file; the record then holds the file's
name."""

STAGING_LEASE_MS = 3_600_000

APPLIED_BYTES = 64 << 20
"""About how many bytes of rows go into one commit of a Delta table."""

_RECENT_S = 1.0
"""How long a version is read without a look whether compaction has made another one."""

_NO_TAIL = LogTail(trimmed=MAXIMUM, writes=())
"""Of a table that the log does not know."""

_ATTEMPTS = 100
_logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class TableVersion:
    """A table up to some time: a version of its Delta table, and the writes in the log that it
    lacks."""

    version: Version
    tail: pa.Table
    """Updates, with their times and diffs."""
    through: Timestamp
    """The two are complete up to and including this time."""
    seen_at: float
    """When the version was the newest, by the process's monotonic clock."""

    @property
    def is_recent(self) -> bool:
        """Whether its files are certainly not replaced for long, and so not deleted."""
        return time.monotonic() - self.seen_at < _RECENT_S

    def tail_from(self, upper: Timestamp) -> pa.Table:
        """The updates of the tail at times from ``upper`` on."""
        if upper == self.version.upper:
            return self.tail
        return self.tail.filter(pc.greater_equal(self.tail[TIME_COLUMN], upper))


def table_id(id: GlobalId) -> StorageCollectionId:
    return StorageCollectionId(id, CollectionType.TABLE)


def rows_schema(desc: RelationDesc) -> pa.Schema:
    """The columns of a table and the diff, without a time."""
    schema = arrow_schema(desc, with_updates=True)
    return schema.remove(schema.get_field_index(TIME_COLUMN))


class Tables:
    """All tables of an environment. Safe for several threads and several processes."""

    def __init__(self, lake: Lake, log: TableWal, *, apply_delay_ms: int | None = None) -> None:
        """With a delay, this process applies its own commits that long after them."""
        self._lake = lake
        self.log = log
        self._pinned: dict[GlobalId, TableVersion] = {}
        self.key_indexes = KeyIndexes(lake, log)
        log.on_batch = self.key_indexes.note
        self._group_commit = GroupCommit(log)
        self._follower = (
            Follower(self.apply, apply_delay_ms) if apply_delay_ms is not None else None
        )

    # --- writing ---

    def commit(
        self,
        writes: Mapping[GlobalId, pa.Table],
        *,
        catalog_ts: Timestamp,
        **dependencies: Unpack[Dependencies],
    ) -> Timestamp:
        """Commit rows with their diffs (``rows_schema``) to all the tables at one time, and return
        it. Durable when it returns.

        Commits of several threads that do not conflict share one transaction and one time. Raises
        ``WriteConflict`` if one of ``reads`` was written since ``read_at`` (a table in ``keys``:
        only if rows with these values were), or if how often a table has a key of ``key_reads`` has
        changed, ``CatalogMoved`` if the catalog changed since ``catalog_ts``, and the errors of
        opening a table.
        """
        at = self._group_commit.commit(self.prepare(writes, catalog_ts=catalog_ts, **dependencies))
        self._wake_follower()
        return at

    def prepare(
        self,
        writes: Mapping[GlobalId, pa.Table],
        *,
        catalog_ts: Timestamp,
        **dependencies: Unpack[Dependencies],
    ) -> Commit:
        """The commit of rows with their diffs, large ones staged. Raises the errors of opening a
        table."""
        for table in writes:
            self._check_writable(table)
        payloads = {table: self._payload(table, rows) for table, rows in writes.items()}
        return Commit(payloads, catalog_ts, **dependencies)

    def confirm(self, batch: CommittedBatch) -> None:
        """Note what was committed as a part of a larger transaction, once that is durable."""
        self.log.on_batch(batch)
        self._wake_follower()

    def note_refusal(self, commit: Commit) -> None:
        """Note that a part of a larger transaction was refused because of a ``WriteConflict``."""
        self.key_indexes.note_conflict([commit])

    def _wake_follower(self) -> None:
        if self._follower is not None:
            self._follower.wake()

    def _check_writable(self, table: GlobalId) -> None:
        """Raises the errors of opening the table, so that a damaged table gets no rows that could
        never be applied."""
        try:
            self._lake.open(table_id(table))
        except UnknownCollection:
            if table in self.log.table_ids():
                raise  # else the log refuses the commit

    def close(self) -> None:
        """Apply the commits of this process that are not applied yet, and stop the background
        work."""
        if self._follower is not None:
            self._follower.close()

    def _payload(self, table: GlobalId, rows: pa.Table) -> Payload:
        if rows.nbytes < STAGED_FROM_BYTES:
            return Payload(rows)
        collection = self._lake.open(table_id(table))
        name = f"table-{uuid.uuid4().hex}"
        self.log.reserve(name, lease_ms=STAGING_LEASE_MS)
        failpoint("tables.stage.reserved")
        timed = updates_at(rows, Timestamp(0), collection.desc)
        write_file(collection.folder, f"{staging_path(name)}/rows.parquet", [timed], timed.schema)
        failpoint("tables.stage.written")
        return Payload(staged=name)

    # --- reading ---

    def pin(self, tables: Iterable[GlobalId], as_of: Timestamp) -> dict[GlobalId, TableVersion]:
        """The tables as of ``as_of``, which lies below the group's upper. Waits for no commit."""
        versions = {
            table: pinned
            for table in set(tables)
            if (pinned := self._pinned.get(table)) and as_of <= pinned.through
        }
        missing = sorted(set(tables) - versions.keys())
        while missing:
            try:
                earlier = {table: self._pinned.get(table) for table in missing}
                read_through = min(
                    pinned.through if pinned is not None else MINIMUM for pinned in earlier.values()
                )
                # The log first: a write that is trimmed after this is in the versions pinned below.
                tails = self.log.tails(missing, after=read_through, through=as_of)
                pinned_now = {
                    table: self._pin(table, as_of, tails.get(table, _NO_TAIL), earlier[table])
                    for table in missing
                }
                self._pinned |= pinned_now
                versions |= pinned_now
                break
            except FileNotFoundError:  # staged rows were applied and deleted meanwhile
                for table in missing:
                    self.forget(table)
        for pinned in versions.values():
            if as_of < pinned.version.since:
                raise NotReadable(
                    TABLES, at=as_of, since=pinned.version.since, upper=pinned.version.upper
                )
        return versions

    def forget(self, table: GlobalId) -> None:
        """Make the next read of the table read its newest version."""
        self._pinned.pop(table, None)

    def _pin(
        self,
        table: GlobalId,
        through: Timestamp,
        log_tail: LogTail,
        earlier: TableVersion | None = None,
    ) -> TableVersion:
        """A version of the table with the writes that it lacks, from ``log_tail``, which may begin
        after ``earlier``: records of the log never change, so none is read twice.

        The version is that of ``earlier`` as long as the log has all later writes, and otherwise
        the newest.
        """
        collection = self._lake.open(table_id(table))
        if earlier is not None and earlier.is_recent and log_tail.trimmed <= earlier.version.upper:
            version, seen_at = earlier.version, earlier.seen_at
        else:
            seen_at = time.monotonic()
            version = collection.pin()
        upper = version.upper
        if earlier is not None and upper < earlier.version.upper:
            # the lake was put back to an earlier state
            self.forget(table)
            return self.pin([table], through)[table]
        if earlier is None:
            newer = [write for write in log_tail.writes if write.at >= upper]
            tail = self._updates(collection, newer)
        else:
            read_through = max(earlier.through, Timestamp(upper - 1))
            newer = [write for write in log_tail.writes if write.at > read_through]
            tail = pa.concat_tables([earlier.tail_from(upper), self._updates(collection, newer)])
        return TableVersion(version, tail.combine_chunks(), through, seen_at)

    # --- applying ---

    def apply(self, through: Timestamp = MAXIMUM) -> int:
        """Append the writes in the log, up to ``through``, to the Delta tables, and trim the log.
        Returns how many writes.

        Any process may call it at any time: each table's physical upper says which writes it has.
        If a table's append fails, its writes stay in the log, and the other tables go on.
        """
        by_table: dict[GlobalId, list[PendingWrite]] = {}
        for write in self.log.pending(through=through):
            by_table.setdefault(write.table, []).append(write)
        uppers = {}
        for table, writes in by_table.items():
            try:
                uppers[table] = self._apply(self._lake.open(table_id(table)), writes)
            except Exception as failure:  # the edge of the loop over tables
                if self._lake.exists(table_id(table)):
                    _logger.warning(
                        "cannot apply writes to a table; they stay in the log",
                        table=table,
                        error=str(failure),
                    )
                # else it was dropped, and the drop clears the log
        failpoint("tables.apply.before_trim")
        if uppers:
            self.log.trim(uppers)
        failpoint("tables.apply.after_trim")
        return sum(len(by_table[table]) for table in uppers)

    def _apply(self, collection: Collection, writes: Sequence[PendingWrite]) -> Timestamp:
        """Append ``writes``, the log's writes to the table up to the last of them. Returns the
        table's physical upper."""
        for _ in range(_ATTEMPTS):
            upper = collection.upper()
            missing = _take_batch([write for write in writes if write.at >= upper])
            if not missing:
                return upper
            try:
                failpoint("tables.apply.before_append")
                updates = self._updates(collection, missing)
                collection.append(
                    updates, expected_upper=upper, new_upper=Timestamp(missing[-1].at + 1)
                )
                failpoint("tables.apply.after_append")
            except (UpperMismatch, FileNotFoundError):
                continue  # another process was faster, and may have deleted the staged files
        return collection.upper()

    def _updates(self, collection: Collection, writes: Sequence[PendingWrite]) -> pa.Table:
        schema = arrow_schema(collection.desc, with_updates=True)
        parts = [
            updates_at(write_rows(collection.folder, write.payload), write.at, collection.desc)
            for write in writes
        ]
        return pa.concat_tables([schema.empty_table(), *parts])

    # --- definitions ---

    def create(
        self, id: GlobalId, desc: RelationDesc, *, at: Timestamp, incarnation: str = ""
    ) -> None:
        """Create the table, empty at ``at``, unless it exists. The caller creates the frontier
        group of all tables."""
        self._lake.create(table_id(id), desc, incarnation=incarnation)
        failpoint("tables.create.before_register")
        self.log.register(id, at)

    def fill(
        self,
        id: GlobalId,
        desc: RelationDesc,
        rows: pa.Table,
        *,
        at: Timestamp,
        incarnation: str = "",
        is_empty_before: bool = True,
    ) -> None:
        """Write the first rows (``rows_schema``) of a table, at ``at``, before the table is
        created. Its ``id`` is reserved. Reads before ``at`` find it empty, or are refused.

        The table must be created within the lease; afterwards it counts as ``abandoned``.
        """
        self.log.reserve(_filled(id), lease_ms=STAGING_LEASE_MS)
        failpoint("tables.fill.reserved")
        collection = self._lake.create(table_id(id), desc, incarnation=incarnation)
        collection.append(
            updates_at(rows, at, desc), expected_upper=MINIMUM, new_upper=Timestamp(at + 1)
        )
        if not is_empty_before and not collection.replace(
            collection.pin(), (), (), since=at, at=at
        ):
            raise InternalError(f'table "{id}", which nobody knows yet, was written by another')
        failpoint("tables.fill.written")

    def abandoned(self, ids: Iterable[GlobalId]) -> set[GlobalId]:
        """The tables among ``ids``, none of which the catalog has, that exist only in the lake and
        will not be created."""
        known, needed = self.log.table_ids(), self.log.staged_names()
        return {id for id in ids if id not in known and _filled(id) not in needed}

    def drop(self, id: GlobalId) -> None:
        """Delete the table, with all writes to it."""
        self.forget(id)
        self.key_indexes.forget(id)
        self._lake.drop(table_id(id))
        failpoint("tables.drop.before_forget")
        self.log.forget([id])


def _filled(id: GlobalId) -> str:
    return f"filled-{id}"


def _take_batch(writes: Sequence[PendingWrite]) -> Sequence[PendingWrite]:
    """The first of ``writes``, in whole records of about ``APPLIED_BYTES``, for one Delta
    commit."""
    size = 0
    for index, write in enumerate(writes):
        if size > APPLIED_BYTES and write.at != writes[index - 1].at:
            return writes[:index]
        size += write.payload.rows.nbytes if write.payload.rows is not None else APPLIED_BYTES
    return writes


def updates_at(rows: pa.Table, at: Timestamp, desc: RelationDesc) -> pa.Table:
    """The rows as updates at ``at``."""
    times = pa.repeat(pa.scalar(at, pa.int64()), rows.num_rows)
    columns = [*(rows.column(index) for index in range(len(desc))), times, rows.column(DIFF_COLUMN)]
    return pa.table(columns, schema=arrow_schema(desc, with_updates=True))


def rows_of(changes: Sequence[pa.Table], desc: RelationDesc) -> pa.Table:
    """The rows that the diffs of ``changes`` add up to, each repeated by its count."""
    columns = arrow_schema(desc, with_updates=False)
    updates = [updates_at(rows, MINIMUM, desc) for rows in changes]
    updates_of_all = pa.concat_tables(
        [arrow_schema(desc, with_updates=True).empty_table(), *updates]
    )
    if pc.all(pc.equal(updates_of_all.column(DIFF_COLUMN), 1)).as_py() is not False:
        return updates_of_all.select(columns.names)
    consolidated = consolidate_rows(updates_of_all, columns, MINIMUM)
    copies = consolidated.column(DIFF_COLUMN).to_numpy()
    return consolidated.drop_columns([DIFF_COLUMN]).take(np.repeat(np.arange(len(copies)), copies))
