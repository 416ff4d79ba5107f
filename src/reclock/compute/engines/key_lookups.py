"""Lookups by key for refreshes: the updates of a collection whose key columns have given values,
without a scan.

Files of a collection never change. A file is arranged by some of its columns as an order of its
rows by the hash of these columns: 12 bytes for each row. All orders share the file's rows in
memory. The cost of a lookup follows the number of rows that it finds.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, ScalarType
from reclock.collections.files import DataFile
from reclock.collections.schema import arrow_schema
from reclock.collections.version import Version
from reclock.compute.engines.database import NAME
from reclock.compute.operators.get import stored
from reclock.plan.functions.sql_names import type_sql

_GROWTH = 6
"""The estimated ratio of a file's size in memory to that on disk; it only decides on admission."""

_RECENT_S = 60.0
"""Files used within this time are not evicted for others."""

_SHARE = 0.1
"""If a lookup finds a larger share of a collection, a scan is better."""

_FEW_ROWS = 1_000
"""This many rows are few, whatever the size of the collection."""

Hashes = np.ndarray[tuple[int], np.dtype[np.uint64]]
Places = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class _Order:
    """The rows of a file in the order of their hashes: ``hashes`` ascending, and the places of
    their rows."""

    hashes: Hashes
    places: np.ndarray[tuple[int], np.dtype[np.int32]]

    def find(self, keys: Hashes) -> tuple[Places, Places]:
        """For each key, the range of places that may have it."""
        return np.searchsorted(self.hashes, keys, "left"), np.searchsorted(
            self.hashes, keys, "right"
        )


@dataclass(slots=True)
class _ArrangedFile:
    updates: pa.Table
    orders: dict[tuple[int, ...], _Order] = field(default_factory=dict)
    used: float = field(default_factory=time.monotonic)

    @property
    def size_bytes(self) -> int:
        updates_bytes: int = self.updates.nbytes
        return updates_bytes + 12 * len(self.updates) * len(self.orders)


@dataclass(slots=True)
class KeyHashes:
    """The hashes of the rows of the session's relation ``keys``, whose columns are ``c0`` and so
    on."""

    session: duckdb.DuckDBPyConnection
    keys: str
    _hashes: dict[tuple[ScalarType, ...], Hashes] = field(default_factory=dict)

    def of(self, types: Sequence[ScalarType]) -> Hashes:
        """The different hashes of the rows as values of ``types``, ascending."""
        key = tuple(types)
        if key not in self._hashes:
            listed = ", ".join(
                f"CAST(c{place} AS {type_sql(NAME, type)})" for place, type in enumerate(types)
            )
            self._hashes[key] = np.unique(
                self.session.sql(f"SELECT hash({listed}) AS h FROM {self.keys}").fetchnumpy()["h"]
            )
        return self._hashes[key]


@dataclass(slots=True)
class KeyLookups:
    """The files with repeated lookups, in ``limit_bytes`` of memory. Thread-safe.

    A collection is arranged at its second lookup by the same columns, so that a process that
    refreshes once does not pay for orders that it would not use again.
    """

    limit_bytes: int
    from_request: int = 2
    """The request, counted from 1, that creates an order."""
    _files: OrderedDict[str, _ArrangedFile] = field(default_factory=OrderedDict)
    """The files by address, least recently used first."""
    _requests: Counter[tuple[str, tuple[int, ...]]] = field(default_factory=Counter)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def matching(
        self,
        keys: KeyHashes,
        version: Version,
        files: Sequence[DataFile],
        columns: tuple[int, ...],
        names: Sequence[str],
    ) -> pa.Table | None:
        """The updates in ``files`` whose ``columns`` have a value of the session's relation
        ``keys``, with times and diffs.

        Hashes are compared, so updates with other values may be among them. NULL counts as a value.
        None if a scan is better.
        """
        session = keys.session
        types = [version.desc.columns[index].type for index in columns]
        if not columns or any(type.is_float or type.element is not None for type in types):
            return None
        rows = sum(file.rows for file in files)
        with self._lock:
            self._requests[str(version.id), columns] += 1
            if self._requests[str(version.id), columns] < self.from_request or not self._make_room(
                files
            ):
                return None
            hashes = keys.of(types)
            if len(hashes) > max(_FEW_ROWS, rows * _SHARE):
                return None
            found = [self._find(session, version, file, columns, hashes) for file in files]
            if sum(len(places) for _, places in found) > max(_FEW_ROWS, rows * _SHARE):
                return None
            read = [*names, TIME_COLUMN, DIFF_COLUMN]
            empty = arrow_schema(version.desc, with_updates=True).empty_table().select(read)
            return pa.concat_tables(
                [
                    empty,
                    *(
                        file.updates.select(read).take(places)
                        for file, places in found
                        if len(places)
                    ),
                ]
            )

    def _find(
        self,
        session: duckdb.DuckDBPyConnection,
        version: Version,
        file: DataFile,
        columns: tuple[int, ...],
        hashes: Hashes,
    ) -> tuple[_ArrangedFile, Places]:
        arranged = self._files.get(file.uri)
        if arranged is None:
            with pq.ParquetFile(file.path, filesystem=version.folder.filesystem) as parquet:
                updates = (
                    parquet.read()
                    .select(arrow_schema(version.desc, with_updates=True).names)
                    .combine_chunks()
                )
            arranged = self._files[file.uri] = _ArrangedFile(updates)
        arranged.used = time.monotonic()
        self._files.move_to_end(file.uri)
        if columns not in arranged.orders:
            arranged.orders[columns] = _order(session, version, arranged.updates, columns)
        order = arranged.orders[columns]
        lower, upper = order.find(hashes)
        counts = upper - lower
        starts = np.repeat(lower - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        return arranged, order.places[starts + np.arange(counts.sum())]

    def _make_room(self, files: Sequence[DataFile]) -> bool:
        """Whether there is room for all ``files`` beside those in use."""
        wanted = sum(file.size_bytes * _GROWTH for file in files if file.uri not in self._files)
        used = sum(arranged.size_bytes for arranged in self._files.values())
        needed = {file.uri for file in files}
        for uri in list(self._files):
            if used + wanted <= self.limit_bytes:
                break
            arranged = self._files[uri]
            if uri not in needed and time.monotonic() - arranged.used > _RECENT_S:
                used -= arranged.size_bytes
                del self._files[uri]
        return used + wanted <= self.limit_bytes


def _order(
    session: duckdb.DuckDBPyConnection,
    version: Version,
    updates: pa.Table,
    columns: tuple[int, ...],
) -> _Order:
    values = [stored(NAME, version.desc.columns[index]) for index in columns]
    types = [type_sql(NAME, version.desc.columns[index].type) for index in columns]
    listed = ", ".join(
        f"CAST({value} AS {type})" for value, type in zip(values, types, strict=True)
    )
    session.register("arranged_file", updates)
    try:
        hashes = session.sql(f"SELECT hash({listed}) AS h FROM arranged_file").fetchnumpy()["h"]
    finally:
        session.unregister("arranged_file")
    places = np.argsort(hashes, kind="stable").astype(np.int32)
    return _Order(hashes[places], places)
