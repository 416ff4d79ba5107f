"""Rows of Spark that wait on a disk until they are read."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from reclock.algebra.timestamps import Timestamp
from reclock.collections.folder import Folder
from reclock.compute.engines.spill import SpillFolder

_BATCH_ROWS = 1 << 14
_IN_LAKE = "_spool"
_NAME = re.compile(r"/part-(\d+)-[^/]*-c(\d+)\.[^/]*parquet$")
"""Names of Spark's files: the number of the partition, and a count within it."""


class Spool:
    """Folders of Parquet files, one for each answer. Spark's tasks write them, and this process
    reads and removes them."""

    def __init__(self, folder: Folder, spill: SpillFolder | None = None) -> None:
        self._folder, self._spill = folder, spill

    @classmethod
    def of_machine(cls, spill: str | Path) -> Self:
        """A spool below ``spill``, for tasks on this machine. It is removed however the process
        ends."""
        folder = SpillFolder(Path(spill))
        return cls(Folder(str(folder.path)), folder)

    @classmethod
    def of_lake(cls, root: str, storage_options: Mapping[str, str]) -> Self:
        """A spool for tasks on any machine. The files of a killed process stay until `sweep`."""
        return cls(Folder(f"{root}/{_IN_LAKE}", storage_options))

    def uri(self, name: str) -> str:
        """The URI of the folder of this name, which its writer creates."""
        return self._folder.absolute(name)

    def read(self, name: str) -> Iterator[pa.RecordBatch]:
        """The rows of its files: partition after partition, and each one's in the order in which
        its task wrote them."""
        files = [(_NAME.search(file.path), file.path) for file in self._folder.walk(name)]
        for _, path in sorted(
            ((int(match[1]), int(match[2])), path) for match, path in files if match
        ):
            with self._folder.filesystem.open_input_file(path) as file:
                yield from pq.ParquetFile(file).iter_batches(_BATCH_ROWS)

    def remove(self, name: str) -> None:
        """Remove the folder with its content."""
        self._folder.delete_folder(name)

    def sweep(self, before: Timestamp) -> int:
        """Remove files written before this time, in milliseconds of the epoch. Returns their
        number."""
        old = [
            file.path
            for file in self._folder.walk("")
            if file.mtime_ns is not None and file.mtime_ns < before * 1_000_000
        ]
        self._folder.delete(old)
        self._folder.prune("")
        return len(old)


@cache
def temporary() -> Spool:
    """A spool in this machine's folder for temporary files."""
    return Spool.of_machine(Path(tempfile.gettempdir(), "reclock-spill"))
