"""Maintenance of a collection's files: compact times below since, delete garbage, checkpoint the
log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.fs as pafs

from reclock.algebra.timestamps import Clock, Timestamp, system_clock
from reclock.collections.collection import Collection
from reclock.collections.consolidate import advance_updates, settle_updates
from reclock.collections.files import DataFile, StagedFile, write_file
from reclock.collections.folder import (
    DATA,
    ERRORS,
    STAGING,
    errors_upper,
    rewrite_name,
    rewrite_number,
)
from reclock.collections.schema import arrow_schema
from reclock.collections.selection import select_files_to_rewrite
from reclock.collections.version import Version
from reclock.errors import VersionGone
from reclock.failpoints import failpoint

TARGET_FILE_BYTES = 256 << 20
"""Arrow bytes that go into one rewritten file; Parquet takes less."""

CLUSTERED_ROWS = 1 << 16
"""Rows of a row group of a clustered file: what a reader of one key decodes."""

_ATTEMPTS = 5
"""How often compaction is tried again after another rewrite came first."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """The files and rows that one compaction replaced, and their replacements."""

    files_removed: int
    files_added: int
    rows_before: int
    rows_after: int


def compact(
    collection: Collection,
    since: Timestamp,
    *,
    keeps_last_times: bool = False,
    cluster_by: Sequence[str] = (),
    clock: Clock = system_clock,
) -> Compaction | None:
    """Rewrite files so that updates up to ``since`` are summed at one time. None if no rewrite was
    worth it.

    That time is ``since``, or that of the collection's last change if this is earlier: so a reader
    can tell whether it has changed since some time also after compaction.

    Every snapshot and change at ``since`` or later stays as it was, the upper stays, and a version
    that was pinned before can be read until vacuum. Appends and other compactions may run
    meanwhile. The caller has moved the collection's since already.

    With ``keeps_last_times`` the sum of a row's updates below ``since`` is at the last of their
    times, not at ``since``. A later ``since`` counts as the last time below the physical upper, so
    that times never pass the upper.

    With ``cluster_by`` the rewritten rows of each time are in the order of these columns, in small
    row groups, so that the statistics of most of these exclude a given value. A large file that was
    appended is rewritten for that once. It has no effect with ``keeps_last_times``.
    """
    for _ in range(_ATTEMPTS):
        version = collection.pin()
        target = Timestamp(min(since, version.upper - 1))
        removed = select_files_to_rewrite(
            version.all_files,
            target,
            is_monotonic=version.is_monotonic,
            is_ordered=_was_rewritten if cluster_by else lambda file: True,
        )
        if not removed:
            return None
        try:
            added = _rewrite(
                version, removed, target, keeps_last_times=keeps_last_times, cluster_by=cluster_by
            )
        except VersionGone:
            if collection.pin().rewrites == version.rewrites:
                raise
            continue  # another maintainer has replaced the files, and vacuumed
        rows_before = sum(file.rows for file in removed)
        rows_after = sum(file.rows for file in added)
        if keeps_last_times and len(removed) == 1 and rows_after == rows_before:
            collection.folder.delete(file.path for file in added)
            return None  # each row has one time already, though not the same one
        failpoint("collections.compact.before_commit")
        if collection.replace(version, removed, added, since=target, at=clock()):
            failpoint("collections.compact.after_commit")
            return Compaction(len(removed), len(added), rows_before, rows_after)
        collection.folder.delete(file.path for file in added)
    return None


def _was_rewritten(file: DataFile) -> bool:
    return rewrite_number(file.path) is not None


def _rewrite(
    version: Version,
    removed: list[DataFile],
    target: Timestamp,
    *,
    keeps_last_times: bool,
    cluster_by: Sequence[str],
) -> list[StagedFile]:
    """Write the updates of these files, summed up to ``target``, to durable files that no version
    has yet. Raises ``VersionGone`` if one of the files was vacuumed."""
    schema = arrow_schema(version.desc, with_updates=True)
    with version.reading():
        updates = version.dataset(removed)
        if keeps_last_times:
            rewritten = settle_updates(updates, schema, target)
        else:
            summed_at = min(target, max(file.max_time for file in version.all_files))
            rewritten = advance_updates(updates, schema, summed_at, then_by=cluster_by)
        group_rows = CLUSTERED_ROWS if cluster_by else None
        return list(_write(version, rewritten, group_rows))


def _write(
    version: Version, updates: pa.RecordBatchReader, group_rows: int | None
) -> Iterator[StagedFile]:
    """Write the updates to durable files of about ``TARGET_FILE_BYTES`` each, named after the
    rewrite that they are for, with at most ``group_rows`` in each row group."""
    batches = (batch for batch in updates if batch.num_rows)
    for first in batches:
        path = f"{DATA}/{rewrite_name(version.rewrites + 1)}.parquet"
        yield write_file(
            version.folder,
            path,
            _up_to(TARGET_FILE_BYTES, first, batches),
            updates.schema,
            group_rows=group_rows,
        )


def _up_to(
    limit_bytes: int, first: pa.RecordBatch, later_batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    yield first
    size_bytes = first.nbytes
    while size_bytes < limit_bytes and (batch := next(later_batches, None)) is not None:
        yield batch
        size_bytes += batch.nbytes


@dataclass(frozen=True, slots=True)
class Vacuum:
    """The files that one vacuum deleted."""

    files: int
    size_bytes: int


def vacuum(
    collection: Collection,
    *,
    before: Timestamp,
    claimed_staging: frozenset[str],
    clock: Clock = system_clock,
) -> Vacuum:
    """Delete every file that no version needs and no writer may still commit.

    ``before`` is a wall-clock time; every active read began after it. Files that were dropped since
    then stay. ``claimed_staging`` names the staging folders of claims, read after ``before``; files
    that were staged since then stay too.

    A file can only be committed by the append that it was written for, while the upper has not
    passed the append's, or by the rewrite whose number it has. A rewrite that seems abandoned is
    fenced by taking its number before its files are deleted.
    """
    listed = [info for folder in (DATA, STAGING, ERRORS) for info in collection.folder.walk(folder)]
    version = collection.pin()
    dropped = collection.dropped_since(before)
    needed = (
        {file.path for file in version.all_files} | dropped | _needed_lists(listed, version, before)
    )
    unneeded = [info for info in listed if _parquet_of(info.path) not in needed]
    abandoned = [
        i
        for i in unneeded
        if rewrite_number(i.path) == version.rewrites + 1 and _modified_ms(i) < before
    ]
    is_fenced = bool(abandoned) and collection.replace(version, [], [], at=clock())
    fences = _Fences(version.upper, version.rewrites + is_fenced, before, claimed_staging)
    garbage = [info for info in unneeded if fences.exclude(info)]
    failpoint("collections.vacuum.before_delete")
    collection.folder.delete(info.path for info in garbage)
    for name in {_staging_of(info.path) for info in garbage} - {None}:
        collection.folder.prune(f"{STAGING}/{name}")
    return Vacuum(len(garbage), sum(info.size for info in garbage))


@dataclass(frozen=True, slots=True)
class _Fences:
    """What a writer may still commit: appends that expect ``upper`` or a later one, rewrites after
    the first ``rewrites``, and lists of errors and staged files that are newer than ``before`` or
    claimed."""

    upper: Timestamp
    rewrites: int
    before: Timestamp
    claimed_staging: frozenset[str]

    def exclude(self, info: pafs.FileInfo) -> bool:
        """Whether no writer can commit the file any more."""
        if (rewrite := rewrite_number(info.path)) is not None:
            return rewrite <= self.rewrites
        is_old = _modified_ms(info) < self.before
        if (staging := _staging_of(info.path)) is not None:
            return is_old and staging not in self.claimed_staging
        if (errors_of := errors_upper(info.path)) is not None:
            return is_old and errors_of <= self.upper
        append = _upper_of_append(info.path)
        return append is not None and append < self.upper


def _staging_of(path: str) -> str | None:
    """The name of the staging folder that the file is in."""
    return path.split("/")[1] if path.startswith(f"{STAGING}/") else None


def _needed_lists(listed: list[pafs.FileInfo], version: Version, before: Timestamp) -> set[str]:
    """The version's list of errors; all lists while a read that began before this one was written
    may be active."""
    current = version.errors_path
    is_settled = current is None or any(
        info.path == current and _modified_ms(info) < before for info in listed
    )
    return {
        info.path
        for info in listed
        if errors_upper(info.path) is not None and (info.path == current or not is_settled)
    }


def _parquet_of(path: str) -> str:
    """The data file at ``path``, or the one whose Hadoop checksum is at ``path``."""
    folder, _, name = path.rpartition("/")
    if name.startswith(".") and name.endswith(".crc"):
        return f"{folder}/{name[1:-4]}"
    return path


def _upper_of_append(path: str) -> int | None:
    """The upper that an append's file expects."""
    match = re.fullmatch(rf"{DATA}/append-(\d+)-[0-9a-f]+\.parquet", path)
    return int(match[1]) if match else None


def _modified_ms(info: pafs.FileInfo) -> int:
    return int(info.mtime_ns) // 1_000_000


def checkpoint(collection: Collection) -> None:
    """Write the log's state to one file and delete log entries past Delta's retention, so that
    opening stays fast."""
    collection.checkpoint()
