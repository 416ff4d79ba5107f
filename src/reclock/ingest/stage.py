"""Staging: tasks read the ranges of a step, and write one Parquet file for each output into staging
folders. Threads of this process run the tasks of a small step, Spark those of a large one.

On Spark too, Arrow decodes and writes the rows, which never pass through the JVM. That makes this
faster than Spark's own CSV reader and Delta writer. A file's name and content follow from the claim
alone, and the file appears only when it is complete. So a repeated task does no harm, and no output
committer is needed. A task returns errors of the upstream as values, because Spark would run a
failed task again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa

from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.collections.files import parquet_writer
from reclock.collections.folder import Folder
from reclock.collections.schema import arrow_schema
from reclock.connectors.connector import OFFSET_COLUMN, ChangeCount, Connector, Read
from reclock.errors import DecodeFailed, InternalError, OutputFailed, SourceError
from reclock.ingest.engines import Engines
from reclock.ingest.failures import decode_failure, encode_failure
from reclock.ingest.payload import FailureReason

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_THREADS = 8
"""How many tasks of a step this process runs at a time. Most of a small task's time, it waits for
its upstream."""


@dataclass(frozen=True, slots=True)
class StagingOutcome:
    """What a reading reports of outputs besides their rows: those that were ``truncated`` before
    the rows, and those that ``failed``."""

    truncated: Collection[str] = ()
    failed: Mapping[str, FailureReason] = field(default_factory=dict)
    changes: int | None = None
    """How many changes there were at the bound offsets, if the connector counts them."""


@dataclass(frozen=True, slots=True)
class StagingJob:
    """Everything that the tasks of one step need, as one value that is sent to the executors. Task
    ``i`` reads ``tasks[i]``: pieces of the connector's work, each with the time of its rows.

    ``targets`` are the staging folders by output, ``outputs`` their relations. Messages that
    replace rows by key have the columns in ``messages``, and go to a folder of their own.
    """

    connector: Connector = field(repr=False)
    tasks: Sequence[Sequence[tuple[Timestamp, Any]]]
    outputs: Mapping[str, RelationDesc]
    targets: Mapping[str, str]
    target_options: Mapping[str, str] = field(repr=False)
    messages: Mapping[str, RelationDesc] = field(default_factory=dict)

    def run(self, engines: Engines) -> StagingOutcome:
        """Run every task. Afterwards the staging folders have all rows. Files, outcome and errors
        are the same on every engine.

        Raises the ``SourceError`` of the first bad offset, in order of partition. If that is of a
        record that does not decode, the error has those of the other tasks too.
        """
        size_bytes = sum(
            self.connector.size_bytes(piece) for task in self.tasks for _, piece in task
        )
        if size_bytes > engines.staging_threshold_bytes:
            results = self._run_on_spark(engines.spark())
        else:
            results = self._run_here()
        failures = [decode_failure(failure) for failure, _ in results if failure is not None]
        if failures:
            raise _merged(failures)
        outcomes = [outcome for _, outcome in results]
        counts = [outcome.changes for outcome in outcomes if outcome.changes is not None]
        return StagingOutcome(
            frozenset(output for outcome in outcomes for output in outcome.truncated),
            {name: reason for outcome in outcomes for name, reason in outcome.failed.items()},
            sum(counts) if counts else None,
        )

    def _run_here(self) -> list[TaskResult]:
        """Raises the exception of a task that is no ``SourceError``."""
        results: list[TaskResult] = []
        if len(self.tasks) <= 1:
            return [self.run_task(task) for task in range(len(self.tasks))]
        with ThreadPoolExecutor(min(len(self.tasks), _THREADS), "staging") as pool:
            for result in pool.map(self.run_task, range(len(self.tasks))):
                results.append(result)
                if result[0] is not None and _place(decode_failure(result[0])) == _FIRST:
                    # The upstream does not respond: do not wait for it once more for each task.
                    pool.shutdown(wait=False, cancel_futures=True)
                    break
        return results

    def _run_on_spark(self, spark: SparkSession) -> list[TaskResult]:
        count = len(self.tasks)
        columns = "task BIGINT, failure STRING, outcome STRING"
        rows = spark.range(0, count, 1, count).mapInArrow(self._run_tasks, columns).collect()
        if sorted(row.task for row in rows) != list(range(count)):
            raise InternalError(f"staging answered for {len(rows)} of {count} tasks")
        return [(row.failure, _decode_outcome(row.outcome)) for row in rows]

    def _run_tasks(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                failure, outcome = self.run_task(task)
                columns = [[task], [failure], [json.dumps(asdict(outcome))]]
                arrays = [
                    pa.array(column, type)
                    for column, type in zip(columns, _OUTCOME.types, strict=True)
                ]
                yield pa.record_batch(arrays, schema=_OUTCOME)

    def run_task(self, task: int) -> TaskResult:
        """Write the files of one task."""
        writers: dict[tuple[str, bool], StagedWriter] = {}
        truncated: list[str] = []
        failed: dict[str, FailureReason] = {}
        changes: int | None = None
        try:
            for output, rows in self._read(task):
                if isinstance(rows, ChangeCount):
                    changes = (changes or 0) + rows.changes
                elif rows is None or isinstance(rows, OutputFailed):
                    for key in [key for key in writers if key[0] == output]:
                        writers.pop(key).discard()
                    if rows is None:
                        truncated.append(output)
                    else:
                        failed[output] = FailureReason(rows.message, rows.detail)
                elif rows.num_rows:
                    key = output, OFFSET_COLUMN in rows.column_names
                    if key not in writers:
                        writers[key] = self._writer(
                            *key, f"part-{task:05}-{truncated.count(output)}.parquet"
                        )
                    writers[key].write(rows)
        except SourceError as failure:
            return encode_failure(failure), StagingOutcome()
        for writer in writers.values():
            writer.close()
        return None, StagingOutcome(tuple(truncated), failed, changes)

    def _writer(self, output: str, is_of_messages: bool, name: str) -> StagedWriter:
        target = self.targets[output]
        desc, folder = (
            (self.messages[output], messages_of(target))
            if is_of_messages
            else (self.outputs[output], target)
        )
        return StagedWriter(
            Folder(folder, self.target_options), name, arrow_schema(desc, with_updates=True)
        )

    def _read(self, task: int) -> Iterator[Read]:
        for at, piece in self.tasks[task]:
            for output, rows in self.connector.read(piece):
                yield output, stamped(rows, at) if isinstance(rows, pa.Table) else rows


TaskResult = tuple[str | None, StagingOutcome]
"""The encoded error of the upstream, if the task met one, and the outcome."""

_OUTCOME = pa.schema([("task", pa.int64()), ("failure", pa.string()), ("outcome", pa.string())])
_FIRST = "", 0


def _place(failure: SourceError) -> tuple[str, int]:
    """Errors are in order of partition and offset. Those of no partition come first."""
    return getattr(failure, "partition", _FIRST[0]), getattr(failure, "offset", _FIRST[1])


def _merged(failures: Sequence[SourceError]) -> SourceError:
    first = min(failures, key=_place)
    if not isinstance(first, DecodeFailed):
        return first
    return DecodeFailed.merged(
        [failure for failure in failures if isinstance(failure, DecodeFailed)],
        is_complete=all(isinstance(failure, DecodeFailed) for failure in failures),
    )


def _decode_outcome(text: str) -> StagingOutcome:
    fields = json.loads(text)
    failed = {output: FailureReason(**reason) for output, reason in fields["failed"].items()}
    return StagingOutcome(fields["truncated"], failed, fields["changes"])


def messages_of(target: str) -> str:
    """The folder for messages that replace rows by key, beside the staged files."""
    return f"{target}/messages"


def stamped(rows: pa.Table, at: Timestamp) -> pa.Table:
    """The rows with their time, and with the diff 1 unless they have diffs."""
    rows = rows.append_column(TIME_COLUMN, pa.repeat(pa.scalar(at, pa.int64()), rows.num_rows))
    if DIFF_COLUMN not in rows.column_names:
        rows = rows.append_column(DIFF_COLUMN, pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows))
    return rows


class StagedWriter:
    """Writes a file that gets its name when it is complete. An object store shows no object before
    that."""

    def __init__(self, folder: Folder, path: str, schema: pa.Schema) -> None:
        self._folder, self._path, self._schema = folder, path, schema
        self._written = f".{path}.{uuid4().hex}" if folder.is_local else path
        if folder.is_local:
            os.makedirs(folder.uri, exist_ok=True)
        self._file = parquet_writer(folder, self._written, schema, compression="snappy")

    def write(self, rows: pa.Table) -> None:
        self._file.write_table(
            rows.select(self._schema.names).cast(self._schema), row_group_size=1 << 20
        )

    def close(self) -> None:
        self._file.close()
        if self._folder.is_local:
            os.replace(self._folder.absolute(self._written), self._folder.absolute(self._path))

    def discard(self) -> None:
        """Discard what was written."""
        self._file.close()
        self._folder.delete([self._written])
