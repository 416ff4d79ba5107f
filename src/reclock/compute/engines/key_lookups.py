"""Lookups by key for refreshes: the updates of a collection whose key columns have given values,
without a scan.

Files of a collection never change. A file is arranged by some of its columns as an order of its
rows by the hash of these columns: 12 bytes for each row. All orders share the file's columns. The
cost of a lookup follows the number of rows that it finds.
"""

from __future__ import annotations

import errno
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

import duckdb
import numpy as np
import pyarrow as pa

from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, ScalarType
from reclock.collections.files import DataFile
from reclock.collections.schema import arrow_schema
from reclock.collections.version import Version
from reclock.compute.engines.arranged_files import ArrangedFile, Hashes, MappedFiles
from reclock.compute.engines.database import NAME
from reclock.plan.functions.sql_names import type_sql

_GROWTH = 6
"""The estimated ratio of a file's size in memory to that on disk; it only decides on admission."""

_RECENT_S = 60.0
"""Files used within this time are not evicted for others."""

_SHARE = 0.1
"""If a lookup finds a larger share of a collection, a scan is better."""

_LARGE_SHARE = 0.5
"""The share of a collection whose arrangement is a build, which the next refreshes do not repeat.
Arranging what changed since the last refresh is none."""

_FEW_ROWS = 1_000
"""This many rows are few, whatever the size of the collection."""


@dataclass(slots=True)
class KeyHashes:
    """The hashes of the rows of the SELECT ``keys`` in the session, whose columns are ``c0`` and so
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
                self.session.execute(f"SELECT hash({listed}) AS h FROM ({self.keys})").fetchnumpy()[
                    "h"
                ]
            )
        return self._hashes[key]


@dataclass(slots=True)
class KeyLookups:
    """The arranged files, in ``limit_bytes`` together. Thread-safe."""

    limit_bytes: int
    mapped: MappedFiles
    whole_rows: int = 1_000
    """A collection of at most so many rows is not searched: all of them are found."""
    builds: int = 0
    """How often a large part of a collection was arranged."""
    _files: OrderedDict[str, ArrangedFile] = field(default_factory=OrderedDict)
    """The files by address, least recently used first."""
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def matching(
        self,
        keys: KeyHashes,
        version: Version,
        files: Sequence[DataFile],
        columns: tuple[int, ...],
        names: Sequence[str],
    ) -> pa.Table | None:
        """The updates in ``files`` whose ``columns``, which it must be possible to arrange, have a
        value of ``keys``, with times and diffs.

        Hashes are compared, so updates with other values may be among them, and of a small
        collection all are. NULL counts as a value.
        None if a scan is better.
        """
        types = [version.desc.columns[index].type for index in columns]
        schema = arrow_schema(version.desc, with_updates=True)
        read = pa.schema([schema.field(name) for name in (*names, TIME_COLUMN, DIFF_COLUMN)])
        rows = sum(file.rows for file in files)
        few, is_small = max(_FEW_ROWS, int(rows * _SHARE)), rows <= self.whole_rows
        with self._lock:
            if not self._make_room(files, version, read):
                return None
            if not is_small and len(keys.of(types)) > few:
                return None
            try:
                arranged = [self._arranged(version, file) for file in files]
                if is_small:
                    return pa.concat_tables(
                        [read.empty_table(), *(file.rows(None, read) for file in arranged)]
                    )
                hashes = keys.of(types)
                is_new = [not file.has_order(columns) for file in arranged]
                places_by_file = [
                    file.order(keys.session, columns).find(hashes) for file in arranged
                ]
                is_scan = sum(len(places) for places in places_by_file) > few
                built_rows = sum(
                    file.file.rows
                    for file, is_new_order, places in zip(
                        arranged, is_new, places_by_file, strict=True
                    )
                    if is_new_order
                    or (len(places) and not is_scan and not file.has_columns(read.names))
                )
                self.builds += built_rows > max(_FEW_ROWS, _LARGE_SHARE * rows)
                if is_scan:
                    return None
                return pa.concat_tables(
                    [
                        read.empty_table(),
                        *(
                            file.rows(places, read)
                            for file, places in zip(arranged, places_by_file, strict=True)
                            if len(places)
                        ),
                    ]
                )
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                for file in files:  # what they use already gives no space for the rest
                    self._files.pop(file.uri, None)
                return None

    def size_bytes(self) -> int:
        """The size of all orders and columns, most of which are memory-mapped files."""
        with self._lock:
            return sum(arranged.size_bytes for arranged in self._files.values())

    def _arranged(self, version: Version, file: DataFile) -> ArrangedFile:
        arranged = self._files.setdefault(file.uri, ArrangedFile(file, version, self.mapped))
        arranged.used = time.monotonic()
        self._files.move_to_end(file.uri)
        return arranged

    def _make_room(self, files: Sequence[DataFile], version: Version, read: pa.Schema) -> bool:
        """Whether there is room for the columns ``read`` of all ``files`` beside those in use."""
        size_bytes = sum(file.size_bytes for file in files if file.uri not in self._files)
        needed_bytes = size_bytes * _GROWTH * len(read) / (len(version.desc) + 2)
        used = self.size_bytes()
        uris = {file.uri for file in files}
        for uri in list(self._files):
            if used + needed_bytes <= self.limit_bytes:
                break
            arranged = self._files[uri]
            if uri not in uris and time.monotonic() - arranged.used > _RECENT_S:
                used -= arranged.size_bytes
                del self._files[uri]
        return used + needed_bytes <= self.limit_bytes


def can_arrange(types: Sequence[ScalarType]) -> bool:
    """Whether files can be arranged by columns of these types: equal values must have equal
    hashes."""
    return bool(types) and not any(type.is_float or type.is_nested for type in types)
