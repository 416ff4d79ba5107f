"""The Delta target: a plain table of the current rows, for any engine. Each time of the relation is
one commit.

A commit has the application transaction (sink, time), is attempted at one version of the log, and
replaces files: those with a deleted row by new ones without it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from uuid import uuid4

import pyarrow as pa
import pyarrow.dataset as pads
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction

from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import Clock, Timestamp
from reclock.collections.delta_log import DeltaLog
from reclock.collections.files import parquet_writer
from reclock.collections.folder import Folder, fsync
from reclock.collections.schema import shown_schema
from reclock.errors import ClaimConflict, TargetChanged, TargetUnavailable
from reclock.failpoints import failpoint
from reclock.sinks.current_rows import CurrentRows
from reclock.sinks.target import Written

SINK_PROPERTY = "reclock.sink"

FILE_ROWS = 1 << 20
"""About how many rows a file has."""

_ATTEMPTS = 10
"""How often the commit of a time is attempted while other writers compact the table."""


class DeltaWriter:
    """Writes to a Delta table (see ``reclock.sinks.target.Writer``). ``sink`` is unique among the
    sinks of all environments."""

    def __init__(self, folder: Folder, sink: str, desc: RelationDesc, clock: Clock) -> None:
        self._folder, self._sink, self._clock = folder, sink, clock
        self._schema = shown_schema(desc)
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
            count = self._current.load(changes)
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
        return Written(count, size)

    def _commit(self, log: DeltaLog, at: Timestamp) -> int | None:
        """The number of added bytes, or None if another writer has committed; its commit is loaded
        then."""
        files = log.paths()
        replaced = self._current.replaced(files)
        added = list(self._files(self._current.merged(replaced)))
        now = int(self._clock())
        removes = [RemoveAction(path, True, now, files[path], {}) for path in replaced]
        failpoint("sinks.delta.before_commit")
        if not log.commit([*added, *removes], {self._sink: at}):
            return None
        failpoint("sinks.delta.after_commit")
        return sum(action.size for action in added)

    def close(self) -> None:
        self._current.close()

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

    @cached_property
    def _current(self) -> CurrentRows:
        return CurrentRows(self._schema, self._read, f'the table at "{self._folder.uri}"')

    def _read(self, paths: Sequence[str]) -> pads.Dataset:
        parquet = pads.ParquetFileFormat()
        fragments = [parquet.make_fragment(path, self._folder.filesystem) for path in paths]
        return pads.FileSystemDataset(fragments, self._schema, parquet, self._folder.filesystem)

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
