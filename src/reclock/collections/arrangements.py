"""Arrangements: data files in memory, sorted by a column, so that a lookup by value needs no scan.
A file never changes, so its arrangement is valid as long as a version has the file. Each file of a
version is arranged by itself: no updates are merged, so a lookup works at any query time."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left, bisect_right
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reclock.algebra.ids import StorageCollectionId
from reclock.collections.files import DataFile
from reclock.collections.schema import arrow_schema
from reclock.collections.version import Version

_GROWTH = 4
"""The estimated ratio of a file's size in memory to that on disk; it only decides on admission."""

_HOT_S = 60.0
"""An arrangement used within this time is not evicted for another one."""

_Key: TypeAlias = tuple[str, str]
"""A file's URI and a column."""

Having: TypeAlias = Callable[[Version, Sequence[DataFile], str, frozenset[Any]], pa.Table | None]
"""As ``Arrangements.having``."""


@dataclass(frozen=True, slots=True)
class _ArrangedFile:
    """One file's updates with a value in the column, in its order. Text is ordered by its bytes."""

    updates: pa.Table
    values: pa.Array
    numbers: npt.NDArray[np.integer[Any]] | None
    """The values, if they are whole numbers."""

    @classmethod
    def of(cls, updates: pa.Table, column: str) -> _ArrangedFile:
        """Updates that may have NULL in the column, in any order."""
        valid = updates.filter(pc.is_valid(updates[column]))
        arranged = valid.sort_by(column).combine_chunks()
        values = arranged[column].combine_chunks()
        is_whole = pa.types.is_integer(values.type)
        return cls(arranged, values, values.to_numpy() if is_whole else None)

    def having(self, value: Any) -> pa.Table:
        if self.numbers is not None:
            first = int(self.numbers.searchsorted(value, "left"))
            return self.updates.slice(first, int(self.numbers.searchsorted(value, "right")) - first)
        indexes = range(len(self.values))
        start = bisect_left(indexes, value, key=self._value)
        return self.updates.slice(
            start, bisect_right(indexes, value, lo=start, key=self._value) - start
        )

    def _value(self, index: int) -> object:
        return self.values[index].as_py()


@dataclass(slots=True)
class Arrangements:
    """The arrangements of columns with repeated lookups, within ``limit_bytes``. Safe for threads.
    For a single lookup a scan is cheaper, so a column is arranged at its second lookup."""

    limit_bytes: int
    _arranged: OrderedDict[_Key, tuple[_ArrangedFile, float]] = field(default_factory=OrderedDict)
    """With the time of the last use; least recently used first."""
    _bytes: int = 0
    _lookups: Counter[tuple[StorageCollectionId, str]] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _building: threading.Lock = field(default_factory=threading.Lock)

    def having(
        self, version: Version, files: Sequence[DataFile], column: str, values: frozenset[Any]
    ) -> pa.Table | None:
        """The updates in ``files`` whose ``column`` has one of ``values`` (no NULL).
        They have times and diffs; later ones may be among them. The column's type orders values as
        Python does. None if the caller should scan instead."""
        if files and not self._is_wanted(version, files, column):
            return None
        matches: list[pa.Table] = []
        for file in files:
            arranged = self._find(file, column) or self._arrange(version, file, column)
            if arranged is None:
                return None
            matches += [arranged.having(value) for value in values]
        return _combined(matches, version)

    def resident(
        self, version: Version, files: Sequence[DataFile], column: str, values: frozenset[Any]
    ) -> pa.Table | None:
        """As ``having``, but None where a file is not arranged yet: reads no file."""
        matches: list[pa.Table] = []
        for file in files:
            arranged = self._find(file, column)
            if arranged is None:
                return None
            matches += [arranged.having(value) for value in values]
        return _combined(matches, version)

    def _is_wanted(self, version: Version, files: Sequence[DataFile], column: str) -> bool:
        if sum(file.size_bytes for file in files) * _GROWTH > self.limit_bytes:
            return False
        with self._lock:
            self._lookups[version.id, column] += 1
            return self._lookups[version.id, column] > 1

    def _find(self, file: DataFile, column: str) -> _ArrangedFile | None:
        key = (file.uri, column)
        with self._lock:
            if key not in self._arranged:
                return None
            arranged, _ = self._arranged[key]
            self._arranged[key] = (arranged, time.monotonic())
            self._arranged.move_to_end(key)
            return arranged

    def _arrange(self, version: Version, file: DataFile, column: str) -> _ArrangedFile | None:
        """None if the arrangements in use leave no room for it."""
        with self._building:  # one at a time: a thread that waits for the same file finds it built
            if (arranged := self._find(file, column)) is not None:
                return arranged
            if not self._make_room(file.size_bytes * _GROWTH):
                return None
            with pq.ParquetFile(file.path, filesystem=version.folder.filesystem) as parquet:
                updates = parquet.read().select(arrow_schema(version.desc, with_updates=True).names)
            arranged = _ArrangedFile.of(updates, column)
            with self._lock:
                self._arranged[file.uri, column] = (arranged, time.monotonic())
                self._bytes += arranged.updates.nbytes
            return arranged

    def _make_room(self, needed_bytes: int) -> bool:
        with self._lock:
            while self._bytes + needed_bytes > self.limit_bytes and self._arranged:
                arranged, used = next(iter(self._arranged.values()))
                if time.monotonic() - used < _HOT_S:
                    return False
                self._arranged.popitem(last=False)
                self._bytes -= arranged.updates.nbytes
            return self._bytes + needed_bytes <= self.limit_bytes


def _combined(matches: Sequence[pa.Table], version: Version) -> pa.Table:
    matches = [match for match in matches if match.num_rows]
    if not matches:
        return arrow_schema(version.desc, with_updates=True).empty_table()
    return matches[0] if len(matches) == 1 else pa.concat_tables(matches)
