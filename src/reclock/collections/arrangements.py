"""Data files in memory, in order of a column: a row is found by its value there without a scan.

A file never changes, so its arrangement is right for as long as some version has the file. A version is arranged file by file,
as it was appended; nothing is merged here that a query's time would tell apart.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left, bisect_right
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reclock.algebra.ids import StorageCollectionId
from reclock.collections.files import DataFile
from reclock.collections.schema import arrow_schema
from reclock.collections.version import Version

_GROWTH = 4
"""How much larger a file is in memory, at a guess that only admits or refuses it."""

_HOT_S = 60.0
"""What was used so lately is not thrown out for something else."""

_Key: TypeAlias = tuple[str, str]
"""A file's address and a column."""


@dataclass(frozen=True, slots=True)
class _Arranged:
    """The updates of one file that have a value in the column, ascending. Text and bytes stand in order of their bytes."""

    updates: pa.Table
    values: pa.Array

    def having(self, value: Any) -> pa.Table:
        places = range(len(self.values))
        start = bisect_left(places, value, key=self._value)
        return self.updates.slice(start, bisect_right(places, value, lo=start, key=self._value) - start)

    def _value(self, place: int) -> Any:
        return self.values[place].as_py()


@dataclass(slots=True)
class Arrangements:
    """Of what is looked up again and again, in ``limit_bytes`` in all. Safe for threads.

    What is asked for once is better scanned, so a column is arranged when it is asked for the second time.
    """

    limit_bytes: int
    _kept: OrderedDict[_Key, tuple[_Arranged, float]] = field(default_factory=OrderedDict)
    """With the time of the last use, which they are in order of."""
    _bytes: int = 0
    _asked: Counter[tuple[StorageCollectionId, str]] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _building: threading.Lock = field(default_factory=threading.Lock)

    def having(self, version: Version, files: Sequence[DataFile], column: str, values: frozenset[Any]) -> pa.Table | None:
        """The updates in ``files`` whose ``column`` has one of the values (no NULL), with times and diffs, perhaps later ones too.

        The column is of a type whose values are ordered as Python orders them. None where a scan is the better way.
        """
        schema = arrow_schema(version.desc, with_updates=True)
        found = [schema.empty_table()]
        if files and not self._is_wanted(version, files, column):
            return None
        for file in files:
            arranged = self._find(file, column) or self._arrange(version, file, column)
            if arranged is None:
                return None
            found += [arranged.having(value) for value in values]
        return pa.concat_tables(found)

    def _is_wanted(self, version: Version, files: Sequence[DataFile], column: str) -> bool:
        if sum(file.size_bytes for file in files) * _GROWTH > self.limit_bytes:
            return False
        with self._lock:
            self._asked[version.id, column] += 1
            return self._asked[version.id, column] > 1

    def _find(self, file: DataFile, column: str) -> _Arranged | None:
        key = (file.uri, column)
        with self._lock:
            if key not in self._kept:
                return None
            arranged, _ = self._kept[key]
            self._kept[key] = (arranged, time.monotonic())
            self._kept.move_to_end(key)
            return arranged

    def _arrange(self, version: Version, file: DataFile, column: str) -> _Arranged | None:
        """None if there is no place for it beside what is in use."""
        with self._building:  # one at a time: those who wait for the same find it
            if (arranged := self._find(file, column)) is not None:
                return arranged
            if not self._make_room(file.size_bytes * _GROWTH):
                return None
            with pq.ParquetFile(file.path, filesystem=version.folder.filesystem) as parquet:
                updates = parquet.read().select(arrow_schema(version.desc, with_updates=True).names)
            updates = updates.filter(pc.is_valid(updates[column])).sort_by(column).combine_chunks()
            arranged = _Arranged(updates, updates[column].combine_chunks())
        with self._lock:
            self._kept[file.uri, column] = (arranged, time.monotonic())
            self._bytes += updates.nbytes
        return arranged

    def _make_room(self, wanted_bytes: int) -> bool:
        with self._lock:
            while self._bytes + wanted_bytes > self.limit_bytes and self._kept:
                arranged, used = next(iter(self._kept.values()))
                if time.monotonic() - used < _HOT_S:
                    return False
                self._kept.popitem(last=False)
                self._bytes -= arranged.updates.nbytes
            return self._bytes + wanted_bytes <= self.limit_bytes
