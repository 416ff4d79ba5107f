"""Merges the changes of one time into the files of a table of current rows.

Files are immutable, so a file with a deleted row is replaced by new files without it. Rows are
compared as a whole, as in GROUP BY, so no key is needed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as pads

from reclock.algebra.relations import DIFF_COLUMN
from reclock.errors import TargetChanged

SMALL_BYTES = 8 << 20
SMALL_FILES = 16
"""If the table has this many small files, the next commit merges them."""

ReadFiles = Callable[[Sequence[str]], "pads.Dataset | pa.RecordBatchReader"]
"""The rows of files, given by their paths."""

_DELETIONS = f"changes WHERE {DIFF_COLUMN} < 0"


class CurrentRows:
    """The rows of a table, some of whose files are read by ``read``. ``label`` is the table's name
    in messages."""

    def __init__(self, schema: pa.Schema, read: ReadFiles, label: str) -> None:
        self._schema, self._read, self._label = schema, read, label
        self._names = ['"' + name.replace('"', '""') + '"' for name in schema.names]

    def load(self, changes: pa.RecordBatchReader) -> int:
        """Hold the changes of one time. Returns how many rows they add and remove."""
        self._database.register("incoming", changes)
        self._database.execute("CREATE OR REPLACE TABLE changes AS SELECT * FROM incoming")
        [(count,)] = self._rows(f"SELECT coalesce(sum(abs({DIFF_COLUMN})), 0) FROM changes")
        return int(count)

    def replaced(self, files: Mapping[str, int]) -> list[str]:
        """Those of the table's ``files`` (path to bytes) that the changes replace: files with
        deleted rows, and the small files if there are many."""
        small = [path for path, size in files.items() if size < SMALL_BYTES]
        touched = set(small) if len(small) >= SMALL_FILES else set[str]()
        if files and self._rows(f"SELECT 1 FROM {_DELETIONS} LIMIT 1"):
            same = " AND ".join(
                f"kept.{name} IS NOT DISTINCT FROM gone.{name}" for name in self._names
            )
            for path in files.keys() - touched:
                self._database.register("kept", self._read([path]))
                if self._rows(
                    f"SELECT 1 FROM kept SEMI JOIN (SELECT * FROM {_DELETIONS}) AS gone "
                    f"ON {same} LIMIT 1"
                ):
                    touched.add(path)
        return sorted(touched)

    def merged(self, replaced: Sequence[str]) -> pa.RecordBatchReader:
        """The rows of the files ``replaced`` with the changes, as batches of the table's schema.

        Raises ``TargetChanged`` if a deleted row is in none of them.
        """
        after = self._consolidated(replaced) if replaced else "changes"
        if self._rows(f"SELECT 1 FROM {after} WHERE {DIFF_COLUMN} < 0 LIMIT 1"):
            raise TargetChanged(
                f"{self._label} lacks a row that goes", detail="somebody else changed it"
            )
        has_copies = self._rows(f"SELECT 1 FROM {after} WHERE {DIFF_COLUMN} > 1 LIMIT 1")
        copied = f"{after}, range({DIFF_COLUMN})" if has_copies else after
        columns = ", ".join(self._names)
        rows = self._database.sql(f"SELECT {columns} FROM {copied}").to_arrow_reader(1 << 16)
        return pa.RecordBatchReader.from_batches(
            self._schema, (batch.cast(self._schema) for batch in rows if batch.num_rows)
        )

    def close(self) -> None:
        """Never raises."""
        if "_database" in vars(self):
            self._database.close()

    def _consolidated(self, replaced: Sequence[str]) -> str:
        """The name of a relation with the rows of ``replaced`` and the changes: each distinct row
        once, with its count."""
        columns = ", ".join(self._names)
        self._database.register("kept", self._read(replaced))
        self._database.execute(
            f"CREATE OR REPLACE TABLE after AS SELECT {columns}, "
            f"sum({DIFF_COLUMN})::BIGINT AS {DIFF_COLUMN} "
            f"FROM (SELECT {columns}, 1 AS {DIFF_COLUMN} FROM kept UNION ALL SELECT "
            f"{columns}, {DIFF_COLUMN} FROM changes) "
            f"GROUP BY ALL HAVING sum({DIFF_COLUMN}) <> 0"
        )
        return "after"

    @cached_property
    def _database(self) -> duckdb.DuckDBPyConnection:
        """A database that spills to temporary files."""
        database = duckdb.connect(":memory:")
        folder = os.path.join(tempfile.gettempdir(), f"reclock-sink-{os.getpid()}")
        database.execute("SET temp_directory = $folder", {"folder": folder})
        database.execute("SET TimeZone = 'UTC'")
        return database

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        return self._database.sql(query).fetchall()
