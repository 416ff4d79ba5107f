"""The choice of files to rewrite, so that reads find few files, deleted rows disappear soon, and no
byte is rewritten often."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from reclock.algebra.timestamps import Timestamp
from reclock.collections.files import DataFile

LARGE_FILE_BYTES = 16 << 20
"""A file of this size is not merged only to be larger."""

SMALL_FILES = 8
"""The number of small files, whose times must stay apart, from which on they are merged into
one."""

GROWTH = 4
"""A merged file is merged again once the other files have grown to a fourth of it, so each byte is
rewritten only a few times."""


def select_files_to_rewrite(
    files: Sequence[DataFile],
    since: Timestamp,
    *,
    is_monotonic: bool,
    is_ordered: Callable[[DataFile], bool] = lambda file: True,
) -> list[DataFile]:
    """The files to rewrite as one, with times below ``since`` moved up to it. Empty if a rewrite
    would gain nothing.

    A large file waits until all of its times are below ``since``, and where nothing is ever deleted
    it stays as it is. One whose rows are not in the order that a rewrite gives them is rewritten
    once.
    """
    past = [
        file
        for file in files
        if file.min_time < since and (not _is_large(file) or file.max_time <= since)
    ]
    merged = [
        file
        for file in past
        if _is_large(file) and is_ordered(file) and (is_monotonic or file.min_time == file.max_time)
    ]
    selected = [file for file in past if file not in merged]
    if not is_monotonic and _bytes(merged) <= GROWTH * _bytes(selected):
        selected = past
    if len(selected) == 1:
        [file] = selected
        if file.min_time == file.max_time and (is_ordered(file) or not _is_large(file)):
            selected = []
    small = [file for file in files if file.min_time >= since and not _is_large(file)]
    return selected + small if len(small) >= SMALL_FILES else selected


def _is_large(file: DataFile) -> bool:
    return file.size_bytes >= LARGE_FILE_BYTES


def _bytes(files: Iterable[DataFile]) -> int:
    return sum(file.size_bytes for file in files)
