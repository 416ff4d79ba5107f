"""Arrangements: data files in memory, sorted by a column, so that a lookup by value needs no scan.
A file never changes, so its arrangement is valid as long as a version has the file. Each file of a
version is arranged by itself, with the updates at its times for reads within them, and with their
sums for later reads: a row that was updated a thousand times is one row then."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left, bisect_right
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.timestamps import Timestamp
from reclock.collections.consolidate import advance_updates
from reclock.collections.file_groups import may_delete
from reclock.collections.files import DataFile
from reclock.collections.schema import arrow_schema
from reclock.collections.version import Version

_GROWTH = 4
"""The estimated ratio of a file's size in memory to that on disk; it only decides on admission."""

_HOT_S = 60.0
"""An arrangement used within this time is not evicted for another one."""

_Key: TypeAlias = tuple[str, str]
"""A file's URI and a column."""

Having: TypeAlias = Callable[
    [Version, Sequence[DataFile], str, frozenset[Any], Timestamp], list[pa.Table] | None
]
"""As ``Arrangements.having``."""


@dataclass(frozen=True, slots=True)
class _SortedUpdates:
    """Updates with a value in the column, in its order. Text is ordered by its bytes."""

    updates: pa.Table
    values: pa.Array
    numbers: npt.NDArray[np.integer[Any]] | None
    """The values, if they are whole numbers."""

    @classmethod
    def of(cls, updates: pa.Table, column: str) -> _SortedUpdates:
        """Updates that may have NULL in the column, in any order."""
        valid = updates.filter(pc.is_valid(updates[column]))
        arranged = valid.sort_by(column).combine_chunks()
        values = arranged[column].combine_chunks()
        is_whole = pa.types.is_integer(values.type)
        return cls(arranged, values, values.to_numpy() if is_whole else None)

    def having(self, value: Any) -> pa.Table:
        if self.numbers is not None:
            limits = np.iinfo(self.numbers.dtype)
            if not limits.min <= value <= limits.max:
                return self.updates.slice(0, 0)
            # a number of another type makes numpy convert the whole array
            number = self.numbers.dtype.type(value)
            first = int(self.numbers.searchsorted(number, "left"))
            last = int(self.numbers.searchsorted(number, "right"))
            return self.updates.slice(first, last - first)
        indexes = range(len(self.values))
        start = bisect_left(indexes, value, key=self._value)
        return self.updates.slice(
            start, bisect_right(indexes, value, lo=start, key=self._value) - start
        )

    def _value(self, index: int) -> object:
        return self.values[index].as_py()


@dataclass(frozen=True, slots=True)
class _ArrangedFile:
    """One file, by a column."""

    max_time: Timestamp
    updates: _SortedUpdates
    sums: _SortedUpdates
    """What the updates add up to, at ``max_time``."""

    @classmethod
    def of(cls, file: DataFile, updates: pa.Table, column: str) -> _ArrangedFile:
        ordered = _SortedUpdates.of(updates, column)
        if not may_delete(file):
            return cls(file.max_time, ordered, ordered)
        summed = advance_updates(ordered.updates, ordered.updates.schema, file.max_time).read_all()
        return cls(file.max_time, ordered, _SortedUpdates.of(summed, column))

    def having(self, value: Any, as_of: Timestamp) -> pa.Table:
        """What is needed of the rows with this value to know them at ``as_of``."""
        return (self.updates if as_of < self.max_time else self.sums).having(value)

    @property
    def size_bytes(self) -> int:
        tables = [self.updates.updates]
        if self.sums is not self.updates:
            tables.append(self.sums.updates)
        return sum(table.nbytes for table in tables)


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
        self,
        version: Version,
        files: Sequence[DataFile],
        column: str,
        values: frozenset[Any],
        as_of: Timestamp,
    ) -> list[pa.Table] | None:
        """Tables of the updates in ``files`` whose ``column`` has one of ``values`` (no NULL), with
        times and diffs; later updates may be among them, and those that cancel each other by
        ``as_of`` may not. The column's type orders values as Python does. None if the caller should
        scan instead."""
        if files and not self._is_wanted(version, files, column):
            return None
        return _matches(
            (self._find(file, column) or self._arrange(version, file, column) for file in files),
            values,
            as_of,
        )

    def resident(
        self,
        version: Version,
        files: Sequence[DataFile],
        column: str,
        values: frozenset[Any],
        as_of: Timestamp,
    ) -> list[pa.Table] | None:
        """As ``having``, but None where a file is not arranged yet: reads no file."""
        return _matches((self._find(file, column) for file in files), values, as_of)

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
            arranged = _ArrangedFile.of(file, updates, column)
            with self._lock:
                self._arranged[file.uri, column] = (arranged, time.monotonic())
                self._bytes += arranged.size_bytes
            return arranged

    def _make_room(self, needed_bytes: int) -> bool:
        with self._lock:
            while self._bytes + needed_bytes > self.limit_bytes and self._arranged:
                arranged, used = next(iter(self._arranged.values()))
                if time.monotonic() - used < _HOT_S:
                    return False
                self._arranged.popitem(last=False)
                self._bytes -= arranged.size_bytes
            return self._bytes + needed_bytes <= self.limit_bytes


def _matches(
    files: Iterable[_ArrangedFile | None], values: frozenset[Any], as_of: Timestamp
) -> list[pa.Table] | None:
    """What the files have of these values; None at the first that is None."""
    matches: list[pa.Table] = []
    for file in files:
        if file is None:
            return None
        matches += (file.having(value, as_of) for value in values)
    return [match for match in matches if match.num_rows]
