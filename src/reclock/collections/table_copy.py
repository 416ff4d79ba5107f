"""Copying the Delta table of a folder up to one version, while others write to it."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from reclock.algebra.timestamps import Timestamp
from reclock.collections.delta_log import DeltaLog, log_entry
from reclock.collections.folder import LOG, WRITE_BUFFER_BYTES, Folder, fsync
from reclock.errors import BackupFailed

_LOG_FILE = re.compile(rf"{LOG}/(\d{{20}})\.")


@dataclass(frozen=True, slots=True)
class TableState:
    """A table at one version, and its upper there."""

    version: int
    upper: Timestamp


def newest_state(folder: Folder, upper_name: str) -> TableState | None:
    """The newest version of the table, or None. The application transaction ``upper_name`` records
    its upper."""
    try:
        log = DeltaLog.open(folder)
    except TableNotFoundError:
        return None
    return TableState(log.version, Timestamp(log.transaction(upper_name) or 0))


def version_below(
    folder: Folder, upper_name: str, first: TableState, last: TableState, limit: Timestamp
) -> int:
    """The newest version from ``first`` to ``last`` whose upper is at most ``limit``; at least
    ``first``.

    Raises ``BackupFailed`` if the log no longer has an entry.
    """
    best = first.version
    for version in range(first.version + 1, last.version + 1):
        try:
            with folder.filesystem.open_input_stream(log_entry(version)) as entry:
                actions = [json.loads(line) for line in entry.read().splitlines()]
        except FileNotFoundError:
            raise BackupFailed(
                f'the log entry {version} of "{folder.uri}" went before it was read'
            ) from None
        uppers = [
            action["txn"]["version"]
            for action in actions
            if action.get("txn", {}).get("appId") == upper_name
        ]
        if uppers and max(uppers) > limit:
            break
        best = version
    return best


def copy_table(source: Folder, version: int, target: Folder, extras: tuple[str, ...] = ()) -> int:
    """Copy the table at ``version``, and every file in the folders ``extras``. Returns the bytes.
    Durable when it returns.

    Raises ``BackupFailed`` if files of that version were deleted meanwhile.
    """
    try:
        table = DeltaTable(source.uri, version=version, storage_options=source.storage_options)
        paths = set(DeltaLog(source, table).paths())
        paths |= {info.path for info in source.walk(LOG) if _is_up_to(info.path, version)}
        _make(target)
        copied = {path: _copy(source, path, target) for path in sorted(paths)}
    except (FileNotFoundError, DeltaError) as gone:
        raise BackupFailed(
            f'files of version {version} of "{source.uri}" went while they were copied'
        ) from gone
    for extra in extras:
        for info in source.walk(extra):
            if info.path not in paths:
                with suppress(FileNotFoundError):  # files that come and go, of no version
                    copied[info.path] = _copy(source, info.path, target)
    target.sync(copied)
    return sum(copied.values())


def copy_folder(source: Folder, target: Folder) -> None:
    """Copy every file. Durable when it returns."""
    _make(target)
    paths = [info.path for info in source.walk("")]
    for path in paths:
        _copy(source, path, target)
    target.sync(paths)


def _is_up_to(path: str, version: int) -> bool:
    match = _LOG_FILE.match(path)
    return match is not None and int(match[1]) <= version


def _make(folder: Folder) -> None:
    for path in folder.make():
        fsync(path)


def _copy(source: Folder, path: str, target: Folder) -> int:
    """Copy a file and return its bytes. It may not survive a loss of power yet."""
    with source.filesystem.open_input_stream(path) as read:
        target.make_parent(path)
        with target.open_to_write(path) as written:
            size = 0
            while piece := read.read(WRITE_BUFFER_BYTES // 4):
                written.write(piece)
                size += len(piece)
    return size
