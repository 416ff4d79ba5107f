"""Data files arranged for lookups by key: the columns that are read, and orders of their rows.

Both are kept as they are in memory. Large ones lie in memory-mapped files of the spill folder, so
that the operating system decides how much of them is in memory.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any, TypeVar, cast

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from reclock.collections.files import DataFile
from reclock.collections.version import Version
from reclock.compute.engines.database import NAME
from reclock.compute.engines.spill import SpillFolder
from reclock.compute.operators.get import stored
from reclock.failpoints import failpoint
from reclock.plan.functions.sql_names import type_sql

_SMALL_BYTES = 1 << 20
"""What is smaller stays in memory, because a file of its own would cost more."""

Hashes = np.ndarray[tuple[int], np.dtype[np.uint64]]
Places = np.ndarray[tuple[int], np.dtype[np.int64]]
_Item = TypeVar("_Item", bound="np.dtype[Any]")


@dataclass(slots=True)
class MappedFiles:
    """Memory-mapped files in a folder of this process below ``root``. A file has no name once it is
    mapped, so nothing of it is left when nobody uses it any more."""

    root: Path
    _folder: SpillFolder | None = None

    def column(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """The same values, in one chunk if that is possible. Raises ``OSError`` if there is no
        space for them."""
        table = pa.table({"column": values}).combine_chunks()
        if values.nbytes < _SMALL_BYTES:
            return table.column(0)
        with self._new_file() as file:
            with pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
            file.flush()
            failpoint("refresh.spilled")
            return pa.ipc.open_file(pa.memory_map(file.name)).read_all().column(0)

    def array(self, values: np.ndarray[tuple[int], _Item]) -> np.ndarray[tuple[int], _Item]:
        """The same values. Raises ``OSError`` if there is no space for them."""
        if values.nbytes < _SMALL_BYTES:
            return values
        with self._new_file() as file:
            file.write(values.data)
            file.flush()
            failpoint("refresh.spilled")
            mapped = np.memmap(file.name, values.dtype, "r", 0, values.shape)
        return cast("np.ndarray[tuple[int], _Item]", mapped)

    def _new_file(self) -> IO[bytes]:
        if self._folder is None:
            self._folder = SpillFolder(self.root)
        return NamedTemporaryFile(dir=self._folder.path)


@dataclass(frozen=True, slots=True)
class Order:
    """The rows of a file in the order of their hashes: ``hashes`` ascending, and the places of
    their rows."""

    hashes: Hashes
    places: np.ndarray[tuple[int], np.dtype[np.int32]]

    def find(self, keys: Hashes) -> Places:
        """The places of the rows that have one of the hashes."""
        lower = np.searchsorted(self.hashes, keys, "left")
        counts = np.searchsorted(self.hashes, keys, "right") - lower
        starts = np.repeat(lower - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        places: Places = self.places[starts + np.arange(counts.sum())]
        return places


@dataclass(slots=True)
class ArrangedFile:
    """One data file. Its columns are read when they are used first."""

    file: DataFile
    version: Version
    mapped: MappedFiles
    used: float = field(default_factory=time.monotonic)
    size_bytes: int = 0
    """Of its columns and orders, in memory or memory-mapped."""
    _columns: dict[str, pa.ChunkedArray] = field(default_factory=dict)
    _orders: dict[tuple[int, ...], Order] = field(default_factory=dict)

    def has_columns(self, names: Iterable[str]) -> bool:
        return self._columns.keys() >= set(names)

    def has_order(self, columns: tuple[int, ...]) -> bool:
        return columns in self._orders

    def rows(self, places: Places | None, schema: pa.Schema) -> pa.Table:
        """The columns of ``schema`` of the updates at ``places``, or of all."""
        columns = self._read(schema.names).values()
        if places is None:
            return pa.table([*columns], schema)
        return pa.table([column.take(places) for column in columns], schema)

    def order(self, session: duckdb.DuckDBPyConnection, columns: tuple[int, ...]) -> Order:
        """The order by the hash of these columns, as ``session`` computes it."""
        if columns not in self._orders:
            desc = self.version.desc
            listed = ", ".join(
                f"CAST({stored(NAME, desc.columns[index])} AS "
                f"{type_sql(NAME, desc.columns[index].type)})"
                for index in columns
            )
            keys = pa.table(self._read([desc.names[index] for index in columns]))
            session.register("arranged_file", keys)
            try:
                hashes = session.execute(
                    f"SELECT hash({listed}) AS h FROM arranged_file"
                ).fetchnumpy()["h"]
            finally:
                session.unregister("arranged_file")
            places = np.argsort(hashes, kind="stable").astype(np.int32)
            order = Order(self.mapped.array(hashes[places]), self.mapped.array(places))
            self._orders[columns] = order
            self.size_bytes += order.hashes.nbytes + order.places.nbytes
        return self._orders[columns]

    def _read(self, names: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        missing = [name for name in names if name not in self._columns]
        if missing:
            with pq.ParquetFile(
                self.file.path, filesystem=self.version.folder.filesystem
            ) as parquet:
                for name in missing:  # one after the other, so that one is in memory at a time
                    values = parquet.read(columns=[name]).column(0)
                    column = self._columns[name] = self.mapped.column(values)
                    self.size_bytes += column.nbytes
        return {name: self._columns[name] for name in names}
