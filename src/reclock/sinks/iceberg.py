"""The Iceberg target: a table of the current rows, for any engine that reads Iceberg. Each time of
the relation is one snapshot.

Progress is a property of the table, set by the commit that adds the snapshot; the snapshot's
summary has it too, so that it says which time it shows. A commit names the snapshot that it
follows, so the catalog refuses it if anybody else has committed. Like in Delta, it replaces the
files with a deleted row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from uuid import uuid4

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NoSuchTableError,
    RESTError,
    TableAlreadyExistsError,
)
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan, write_file
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table, WriteTask
from pyiceberg.table.snapshots import Operation, Snapshot
from sqlalchemy.exc import SQLAlchemyError

from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.collections.schema import shown_schema
from reclock.definitions.sinks import IcebergTarget
from reclock.errors import ClaimConflict, TargetChanged, TargetUnavailable
from reclock.failpoints import failpoint
from reclock.sinks.current_rows import CurrentRows
from reclock.sinks.iceberg_catalog import lies_elsewhere
from reclock.sinks.target import Written

SINK_PROPERTY, UPPER_PROPERTY = "reclock.sink", "reclock.upper"

FILE_ROWS = 1 << 20
"""About how many rows a file has."""

_ATTEMPTS = 10
"""How often the commit of a time is attempted while other writers compact the table."""

_PROPERTIES = {
    "commit.manifest-merge.enabled": "true",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}


class IcebergWriter:
    """Writes to an Iceberg table (see ``reclock.sinks.target.Writer``). ``sink`` is unique among
    the sinks of all environments; ``connect`` opens the catalog."""

    def __init__(
        self, target: IcebergTarget, sink: str, desc: RelationDesc, connect: Callable[[], Catalog]
    ) -> None:
        self._name, self._sink, self._connect = (target.namespace, target.table), sink, connect
        self._schema = shown_schema(desc)
        self._table: Table | None = None
        self._files: dict[str, FileScanTask] = {}
        self._progress: Timestamp | None = None

    def begin(self) -> Timestamp | None:
        """See ``reclock.sinks.target.Writer``. After this writer's first commit, the next commit of
        an earlier writer fails by the snapshot that it follows."""
        with self._failures():
            try:
                self._table = self._load()
            except NoSuchTableError:
                return None
            self._progress = self._checked_progress(self._table)
        return self._progress

    def emit(self, at: Timestamp, changes: pa.RecordBatchReader) -> Written:
        """See ``reclock.sinks.target.Writer``. Writers that only rewrite files meanwhile have
        precedence."""
        with self._failures():
            self._table = self._table or self._create()
            count = self._current.load(changes)
            for _ in range(_ATTEMPTS):
                if (size := self._commit(self._table, at)) is not None:
                    break
                self._table = self._load()
                if self._checked_progress(self._table) != self._progress:
                    raise self._overtaken(self._table)
            else:
                raise TargetUnavailable(
                    f"{self._label} is committed to all the time", detail="it is tried again"
                )
        self._progress = Timestamp(at + 1)
        return Written(count, size)

    def close(self) -> None:
        self._current.close()
        if "_catalog" in vars(self):
            self._catalog.close()

    def _commit(self, table: Table, at: Timestamp) -> int | None:
        """The number of added bytes, or None if another writer has committed."""
        self._files = {task.file.file_path: task for task in table.scan().plan_files()}
        if any(task.delete_files for task in self._files.values()):
            raise TargetChanged(f"somebody else deleted rows of {self._label}")
        replaced = self._current.replaced(
            {path: task.file.file_size_in_bytes for path, task in self._files.items()}
        )
        added = list(self._write(table, self._current.merged(replaced)))
        progress = {UPPER_PROPERTY: str(at + 1)}
        transaction = table.transaction()
        transaction.set_properties(progress)
        update = transaction.update_snapshot(snapshot_properties=progress)
        with update.overwrite() if replaced else update.merge_append() as snapshot:
            for file in added:
                snapshot.append_data_file(file)
            for path in replaced:
                snapshot.delete_data_file(self._files[path].file)
        failpoint("sinks.iceberg.before_commit")
        try:
            self._table = _without_retries(transaction.commit_transaction())
        except CommitFailedException:
            return None
        failpoint("sinks.iceberg.after_commit")
        return sum(file.file_size_in_bytes for file in added)

    def _write(self, table: Table, rows: pa.RecordBatchReader) -> Iterator[DataFile]:
        """Write ``rows`` into new files. Each is in memory before it is written."""
        batches = iter(rows)
        for task, first in enumerate(batches):
            batches_of_file, count = [first], first.num_rows
            while count < FILE_ROWS and (batch := next(batches, None)) is not None:
                batches_of_file.append(batch)
                count += batch.num_rows
            work = WriteTask(uuid4(), task, table.schema(), batches_of_file)
            yield from write_file(table.io, table.metadata, iter([work]))

    def _read(self, paths: Sequence[str]) -> pa.RecordBatchReader:
        assert self._table is not None
        scan = ArrowScan(self._table.metadata, self._table.io, self._table.schema(), AlwaysTrue())
        files = (scan.to_record_batches([self._files[path]]) for path in paths)  # one in memory
        return pa.RecordBatchReader.from_batches(
            self._schema, (batch.cast(self._schema) for file in files for batch in file)
        )

    def _create(self) -> Table:
        namespace, _ = self._name
        self._catalog.create_namespace_if_not_exists(namespace)
        properties = _PROPERTIES | {SINK_PROPERTY: self._sink}
        with suppress(TableAlreadyExistsError):
            self._catalog.create_table(self._name, self._schema, properties=properties)
        table = self._load()
        if self._checked_progress(table) is not None:
            raise self._overtaken(table)
        return table

    def _load(self) -> Table:
        return _without_retries(self._catalog.load_table(self._name))

    def _checked_progress(self, table: Table) -> Timestamp | None:
        """The upper of the table. Raises ``TargetChanged`` unless the table is this sink's and
        holds what the sink wrote last."""
        if table.properties.get(SINK_PROPERTY) != self._sink:
            raise TargetChanged(f"{self._label} is not of this sink")
        if lies_elsewhere(table):
            raise TargetChanged(
                f"{self._label} lies outside this environment",
                detail=f"its files are in {table.location()}: was the environment copied or moved?",
            )
        columns = _columns(table.schema())
        if columns != self._columns:
            raise TargetChanged(
                f"{self._label} has other columns", detail=f"found {[name for name, _ in columns]}"
            )
        upper = table.properties.get(UPPER_PROPERTY)
        if not _shows(table, upper):
            raise TargetChanged(f"somebody else changed rows of {self._label}")
        return None if upper is None else Timestamp(int(upper))

    @cached_property
    def _columns(self) -> list[tuple[str, str]]:
        return _columns(self._catalog._convert_schema_if_needed(self._schema))

    @cached_property
    def _catalog(self) -> Catalog:
        return self._connect()

    @cached_property
    def _current(self) -> CurrentRows:
        return CurrentRows(self._schema, self._read, self._label)

    @property
    def _label(self) -> str:
        return f'Iceberg table "{".".join(self._name)}"'

    def _overtaken(self, table: Table) -> ClaimConflict:
        upper = table.properties.get(UPPER_PROPERTY)
        return ClaimConflict(
            self._sink, detail=f"another writer has committed the changes below {upper}"
        )

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Failures of the catalog and of the files raise ``TargetUnavailable``."""
        try:
            yield
        except (OSError, RESTError, SQLAlchemyError) as failure:
            detail = str(failure).splitlines()[0] if str(failure) else type(failure).__name__
            raise TargetUnavailable(f"cannot write {self._label}", detail=detail) from failure


def _without_retries(table: Table) -> Table:
    """The table, whose commits are attempted once. By itself, the library repeats a commit after
    another writer's, without looking at what that was."""
    properties = table.metadata.properties | {"commit.retry.num-retries": "0"}
    table.metadata = table.metadata.model_copy(update={"properties": properties})
    return table


def _columns(schema: Schema) -> list[tuple[str, str]]:
    """Names and types. Types are texts, since those of arrays have ids that each table chooses."""
    return [(field.name, str(field.field_type)) for field in schema.fields]


def _shows(table: Table, upper: str | None) -> bool:
    """Whether the table shows the rows of the commit with this upper: its newest snapshot is from
    that commit, or only rewrites files of it."""
    snapshot: Snapshot | None = table.current_snapshot()
    if snapshot is None:
        return upper is None
    while snapshot is not None and snapshot.summary is not None:
        shown = snapshot.summary[UPPER_PROPERTY]
        if shown is not None:
            return bool(shown == upper)
        if snapshot.summary.operation is not Operation.REPLACE:
            return False
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else table.snapshot_by_id(parent)
    return upper is not None  # the snapshot of the commit has expired
