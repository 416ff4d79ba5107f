"""The Delta target: a plain table of the current rows, for any engine. Each time of the relation is
one commit.

A commit has the application transaction (sink, time), is attempted at one version of the log, and
replaces files: those with a deleted row by new ones without it. Rows are compared as a whole, as in
GROUP BY, so no key is needed.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from functools import cached_property
from typing import Any
from uuid import uuid4

import duckdb
import pyarrow as pa
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction

from reclock.algebra.relations import DIFF_COLUMN, RelationDesc
from reclock.algebra.timestamps import Clock, Timestamp
from reclock.collections.delta_log import DeltaLog
from reclock.collections.files import parquet_writer
from reclock.collections.folder import Folder, fsync
from reclock.collections.schema import arrow_schema
from reclock.errors import ClaimConflict, TargetChanged, TargetUnavailable
from reclock.failpoints import failpoint
from reclock.sinks.target import Written

SINK_PROPERTY = "reclock.sink"

FILE_ROWS = 1 << 20
"""About how many rows a file has."""

_ATTEMPTS = 10
"""How often the commit of a time is attempted while other writers compact the table."""

SMALL_BYTES = 8 << 20
SMALL_FILES = 16
"""If the table has this many small files, the next commit merges them."""

_DELETIONS = f"changes WHERE {DIFF_COLUMN} < 0"


class DeltaWriter:
    """Writes to a Delta table (see ``reclock.sinks.target.Writer``). ``sink`` is unique among the
    sinks of all environments."""

    def __init__(self, folder: Folder, sink: str, desc: RelationDesc, clock: Clock) -> None:
        self._folder, self._sink, self._clock = folder, sink, clock
        self._schema = arrow_schema(desc, with_updates=False)
        self._log: DeltaLog | None = None
        self._progress: Timestamp | None = None

    def begin(self) -> Timestamp | None:
        """See ``reclock.sinks.target.Writer``. After this writer's first commit, the next commit of
        an earlier writer fails by its version."""
        try:
            self._log = DeltaLog.open(self._folder)
        except TableNotFoundError:
            return None
        except (DeltaError, OSError) as failure:
            raise self._unavailable(failure) from failure
        log = self._log
        if log.properties.get(SINK_PROPERTY) != self._sink:
            raise TargetChanged(f'the table at "{self._folder.uri}" is not of this sink')
        if not _is_same(log.schema, self._schema):
            raise TargetChanged(
                f'the table at "{self._folder.uri}" has other columns',
                detail=f"found {log.schema.names}",
            )
        self._check_rows(log)
        self._progress = _progress(log, self._sink)
        return self._progress

    def emit(self, at: Timestamp, changes: pa.RecordBatchReader) -> Written:
        """See ``reclock.sinks.target.Writer``. Writers that only rewrite files meanwhile, such as
        OPTIMIZE, have precedence."""
        try:
            log = self._log = self._log or self._create()
            self._database.register("incoming", changes)
            self._database.execute("CREATE OR REPLACE TABLE changes AS SELECT * FROM incoming")
            [(count,)] = self._rows(f"SELECT coalesce(sum(abs({DIFF_COLUMN})), 0) FROM changes")
            for _ in range(_ATTEMPTS):
                if (size := self._commit(log, at)) is not None:
                    break
                if _progress(log, self._sink) != self._progress:
                    raise self._overtaken(log)
                self._check_rows(log)
            else:
                raise TargetUnavailable(
                    f'the table at "{self._folder.uri}" is committed to all the time',
                    detail="it is tried again",
                )
        except (DeltaError, OSError) as failure:
            raise self._unavailable(failure) from failure
        self._progress = Timestamp(at + 1)
        return Written(int(count), size)

    def _commit(self, log: DeltaLog, at: Timestamp) -> int | None:
        """The number of added bytes, or None if another writer has committed; its commit is loaded
        then."""
        replaced = self._touched(log.paths())
        added = self._write(replaced)
        now = int(self._clock())
        removes = [RemoveAction(path, True, now, size, {}) for path, size in replaced.items()]
        failpoint("sinks.delta.before_commit")
        if not log.commit([*added, *removes], {self._sink: at}):
            return None
        failpoint("sinks.delta.after_commit")
        return sum(action.size for action in added)

    def close(self) -> None:
        if "_database" in vars(self):
            self._database.close()

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

    def _create(self) -> DeltaLog:
        parents = self._folder.make()
        DeltaLog.create(
            self._folder,
            self._schema,
            {SINK_PROPERTY: self._sink, "delta.dataSkippingNumIndexedCols": "0"},
        )
        for path in parents:
            fsync(path)
        log = DeltaLog.open(self._folder)
        if (
            log.properties.get(SINK_PROPERTY) != self._sink
            or log.transaction(self._sink) is not None
        ):
            raise self._overtaken(log)
        return log

    def _touched(self, files: dict[str, int]) -> dict[str, int]:
        """The files with deleted rows, and the small files if there are many, with their sizes."""
        small = [path for path, size in files.items() if size < SMALL_BYTES]
        touched = set(small) if len(small) >= SMALL_FILES else set[str]()
        if files and self._rows(f"SELECT 1 FROM {_DELETIONS} LIMIT 1"):
            same = " AND ".join(
                f"kept.{name} IS NOT DISTINCT FROM gone.{name}" for name in self._names
            )
            for path in files.keys() - touched:
                self._register("kept", [path])
                if self._rows(
                    f"SELECT 1 FROM kept SEMI JOIN (SELECT * FROM {_DELETIONS}) AS gone "
                    f"ON {same} LIMIT 1"
                ):
                    touched.add(path)
        return {path: files[path] for path in sorted(touched)}

    def _write(self, replaced: dict[str, int]) -> list[AddAction]:
        """Write new files with the rows of ``replaced`` and the changes, consolidated."""
        columns = ", ".join(self._names)
        after = self._merged(list(replaced)) if replaced else "changes"
        if self._rows(f"SELECT 1 FROM {after} WHERE {DIFF_COLUMN} < 0 LIMIT 1"):
            raise TargetChanged(
                f'the table at "{self._folder.uri}" lacks a row that goes',
                detail="somebody else changed it",
            )
        has_copies = self._rows(f"SELECT 1 FROM {after} WHERE {DIFF_COLUMN} > 1 LIMIT 1")
        copied = f"{after}, range({DIFF_COLUMN})" if has_copies else after
        rows = self._database.sql(f"SELECT {columns} FROM {copied}").to_arrow_reader(1 << 16)
        return list(self._files(batch.cast(self._schema) for batch in rows if batch.num_rows))

    def _merged(self, replaced: list[str]) -> str:
        """The name of a relation with the rows of ``replaced`` and the changes: each distinct row
        once, with its count."""
        columns = ", ".join(self._names)
        self._register("kept", replaced)
        self._database.execute(
            f"CREATE OR REPLACE TABLE after AS SELECT {columns}, "
            f"sum({DIFF_COLUMN})::BIGINT AS {DIFF_COLUMN} "
            f"FROM (SELECT {columns}, 1 AS {DIFF_COLUMN} FROM kept UNION ALL SELECT "
            f"{columns}, {DIFF_COLUMN} FROM changes) "
            f"GROUP BY ALL HAVING sum({DIFF_COLUMN}) <> 0"
        )
        return "after"

    def _files(self, batches: Iterator[pa.RecordBatch]) -> Iterator[AddAction]:
        for first in batches:
            path, written = f"part-{uuid4().hex}.parquet", 0
            with parquet_writer(self._folder, path, self._schema) as writer:
                batch: pa.RecordBatch | None = first
                while batch is not None:
                    writer.write(batch)
                    written += batch.num_rows
                    batch = next(batches, None) if written < FILE_ROWS else None
            self._folder.sync([path])
            size = self._folder.sizes([path])[path]
            yield AddAction(
                path, size, {}, int(self._clock()), True, json.dumps({"numRecords": written})
            )

    def _register(self, name: str, paths: list[str]) -> None:
        import pyarrow.dataset as pads

        parquet = pads.ParquetFileFormat()
        fragments = [parquet.make_fragment(path, self._folder.filesystem) for path in paths]
        self._database.register(
            name, pads.FileSystemDataset(fragments, self._schema, parquet, self._folder.filesystem)
        )

    @property
    def _names(self) -> list[str]:
        return ['"' + name.replace('"', '""') + '"' for name in self._schema.names]

    def _check_rows(self, log: DeltaLog) -> None:
        if log.is_changed_since(self._sink):
            raise TargetChanged(f'somebody else changed rows of the table at "{self._folder.uri}"')

    def _overtaken(self, log: DeltaLog) -> ClaimConflict:
        committed = log.transaction(self._sink)
        return ClaimConflict(
            self._sink, detail=f"another writer has committed the changes at {committed}"
        )

    def _unavailable(self, failure: Exception) -> TargetUnavailable:
        return TargetUnavailable(
            f'cannot write the table at "{self._folder.uri}"', detail=str(failure)
        )


def _progress(log: DeltaLog, sink: str) -> Timestamp | None:
    last = log.transaction(sink)
    return None if last is None else Timestamp(last + 1)


def _is_same(actual: pa.Schema, expected: pa.Schema) -> bool:
    return [(field.name, field.type) for field in actual] == [
        (field.name, field.type) for field in expected
    ]
