"""The files target: the changes of each time in a folder of their own, in Parquet, CSV or JSON.

A manifest names the files of one time and has the sink's progress. It is created last, under the
next number, which only one writer can create. What no manifest names is not part of the target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol
from uuid import uuid4

import duckdb
import pyarrow as pa
from pyarrow import csv

from reclock.algebra.relations import BIGINT, DIFF_COLUMN, TIME_COLUMN, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.collections.files import parquet_writer
from reclock.collections.folder import Folder
from reclock.errors import ClaimConflict, TargetChanged, TargetUnavailable
from reclock.failpoints import failpoint
from reclock.sinks.changes import changes_schema
from reclock.sinks.json_messages import JsonForm
from reclock.sinks.manifests import Manifests
from reclock.sinks.target import Written

FILE_ROWS = 1 << 20
"""About how many changes a file has."""


class BatchWriter(Protocol):
    """Writes record batches into one open file."""

    def write(self, batch: pa.RecordBatch) -> None: ...


class FilesWriter:
    """Writes files and manifests (see ``reclock.sinks.target.Writer``). ``sink`` is unique among
    the sinks of all environments."""

    def __init__(
        self,
        folder: Folder,
        format: str,
        sink: str,
        desc: RelationDesc,
        client: Callable[[], Any],
    ) -> None:
        self._folder, self._format, self._sink = folder, format, sink
        self._columns = [*desc.stored.columns, Column(DIFF_COLUMN, BIGINT, False)]
        self._schema = changes_schema(desc.stored)
        self._manifests = Manifests(folder, client)

    def begin(self) -> Timestamp | None:
        """See ``reclock.sinks.target.Writer``. After this writer's first manifest, an earlier
        writer's next one fails by its number."""
        with self._failures():
            manifest = self._manifests.newest()
        if manifest is None:
            return None
        self._check(manifest)
        return Timestamp(manifest["upper"])

    def emit(self, at: Timestamp, changes: pa.RecordBatchReader) -> Written:
        """See ``reclock.sinks.target.Writer``."""
        with self._failures():
            files = list(self._files(at, changes))
            manifest = {
                "sink": self._sink,
                "time": at,
                "upper": at + 1,
                "format": self._format,
                "columns": {column.name: str(column.type) for column in self._columns},
                "files": files,
            }
            failpoint("sinks.files.before_manifest")
            if not self._manifests.append(manifest):
                raise ClaimConflict(self._sink, detail="another writer has written a manifest")
            failpoint("sinks.files.after_manifest")
        return Written(sum(f["rows"] for f in files), sum(f["bytes"] for f in files))

    def close(self) -> None:
        """There is nothing to close."""

    def _files(self, at: Timestamp, changes: pa.RecordBatchReader) -> Iterator[dict[str, Any]]:
        batches = (batch for batch in changes if batch.num_rows)
        for first in batches:
            name = f"{uuid4().hex}.{self._format.lower()}"
            path, rows = f"{TIME_COLUMN}={at}/{name}", 0
            self._folder.make_parent(path)
            with self._open(path) as writer:
                batch: pa.RecordBatch | None = first
                while batch is not None:
                    writer.write(batch.rename_columns(self._schema.names))
                    rows += batch.num_rows
                    batch = next(batches, None) if rows < FILE_ROWS else None
            self._folder.sync([path])
            yield {"path": path, "rows": rows, "bytes": self._folder.sizes([path])[path]}

    def _open(self, path: str) -> AbstractContextManager[BatchWriter]:
        match self._format:
            case "PARQUET":
                parquet: AbstractContextManager[BatchWriter]
                parquet = parquet_writer(self._folder, path, self._schema)
                return parquet
            case "CSV":
                return self._open_csv(path)
            case _:
                return self._open_json(path)

    @contextmanager
    def _open_csv(self, path: str) -> Iterator[BatchWriter]:
        with self._folder.open_to_write(path) as file, csv.CSVWriter(file, self._schema) as writer:
            yield writer

    @contextmanager
    def _open_json(self, path: str) -> Iterator[BatchWriter]:
        with self._folder.open_to_write(path) as file, duckdb.connect(":memory:") as database:
            yield _JsonLines(file, database, self._columns)

    def _check(self, manifest: dict[str, Any]) -> None:
        if manifest.get("sink") != self._sink:
            raise TargetChanged(f'the files at "{self._folder.uri}" are not of this sink')

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except OSError as failure:
            raise TargetUnavailable(
                f'cannot write files at "{self._folder.uri}"', detail=str(failure)
            ) from failure


class _JsonLines:
    """Writes one JSON object a line, as JSON messages of Kafka sinks are."""

    def __init__(
        self, file: pa.NativeFile, database: duckdb.DuckDBPyConnection, columns: list[Column]
    ) -> None:
        self._file, self._database = file, database
        self._sql = f"SELECT {JsonForm().row(columns)} FROM changes"

    def write(self, batch: pa.RecordBatch) -> None:
        self._database.register("changes", pa.Table.from_batches([batch]))
        for (line,) in self._database.sql(self._sql).fetchall():
            self._file.write(f"{line}\n".encode())
