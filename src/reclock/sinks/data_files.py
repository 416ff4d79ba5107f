"""Rows as files in Parquet, CSV or JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol
from uuid import uuid4

import duckdb
import pyarrow as pa
from pyarrow import csv

from reclock.algebra.relations import Column, RelationDesc
from reclock.collections.files import parquet_writer
from reclock.collections.folder import Folder
from reclock.collections.schema import shown_schema, with_field_names
from reclock.definitions.sinks import FILE_BYTES
from reclock.sinks.json_messages import JsonForm

FILE_ROWS = 1 << 20
"""About how many rows a file has."""


class BatchWriter(Protocol):
    """Writes record batches into one open file."""

    def write(self, batch: pa.RecordBatch) -> None: ...


class DataFiles:
    """Writes files of rows with these columns into ``folder``. A file is complete after about
    ``FILE_ROWS`` rows or ``file_bytes`` bytes."""

    def __init__(
        self,
        folder: Folder,
        format: str,
        columns: Sequence[Column],
        *,
        file_bytes: int = FILE_BYTES,
    ) -> None:
        self._folder, self._format, self._columns = folder, format, columns
        self._file_bytes = file_bytes
        self._schema = shown_schema(RelationDesc(tuple(columns)))
        self.paths: list[str] = []
        """Every file that was begun."""

    def write(self, batches: Iterable[pa.RecordBatch], path: str) -> Iterator[dict[str, Any]]:
        """Write the batches, whose columns have these types, into files below ``path``. Returns
        path, rows and bytes of each file once it is durable. Without batches there is no file."""
        remaining = iter(batches)
        for first in remaining:
            name = f"{path}/{uuid4().hex}.{self._format.lower()}".lstrip("/")
            self._folder.make_parent(name)
            self.paths.append(name)
            rows = 0
            with self._open(name) as (writer, file):
                batch: pa.RecordBatch | None = first
                while batch is not None:
                    writer.write(with_field_names(batch, self._schema))
                    rows += batch.num_rows
                    is_full = rows >= FILE_ROWS or file.tell() >= self._file_bytes
                    batch = None if is_full else next(remaining, None)
            self._folder.sync([name])
            yield {"path": name, "rows": rows, "bytes": self._folder.sizes([name])[name]}

    def described(self, files: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """The part of a manifest that names ``files`` and says how to read them."""
        columns = {column.name: str(column.type) for column in self._columns}
        return {"format": self._format, "columns": columns, "files": list(files)}

    @contextmanager
    def _open(self, path: str) -> Iterator[tuple[BatchWriter, pa.NativeFile]]:
        """A writer, and the file that it writes."""
        if self._format == "PARQUET":
            with parquet_writer(self._folder, path, self._schema) as parquet:
                yield parquet, parquet.file_handle
            return
        with self._folder.open_to_write(path) as file:
            if self._format == "CSV":
                with csv.CSVWriter(file, self._schema) as lines:
                    yield lines, file
            else:
                with duckdb.connect(":memory:") as database:
                    yield _JsonLines(file, database, self._columns), file


class _JsonLines:
    """Writes one JSON object a line, as JSON messages of Kafka sinks are."""

    def __init__(
        self, file: pa.NativeFile, database: duckdb.DuckDBPyConnection, columns: Sequence[Column]
    ) -> None:
        self._file, self._database = file, database
        self._sql = f"SELECT {JsonForm().row(columns)} FROM changes"

    def write(self, batch: pa.RecordBatch) -> None:
        self._database.register("changes", pa.Table.from_batches([batch]))
        for (line,) in self._database.sql(self._sql).fetchall():
            self._file.write(f"{line}\n".encode())
