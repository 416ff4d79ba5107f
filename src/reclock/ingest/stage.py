"""Staging: a Spark job whose tasks read the splits of a step, decode them, and write one Parquet file each into the staging folder.

A task's rows never pass through the JVM: Arrow decodes and Arrow writes, which is what makes it faster than Spark's own CSV reader
and Delta writer. A file's name and contents follow from the claim alone, and it appears under its name only whole; so a task that
is run twice does no harm, and no output committer is needed. What a task finds wrong with the upstream it returns as a
value: Spark would only run it again.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.collections.folder import Folder
from reclock.collections.schema import arrow_schema
from reclock.errors import DecodeFailed, InternalError, SourceError, UpstreamChanged, UpstreamUnavailable
from reclock.ingest.decode import decode
from reclock.reclocking.remap import Range
from reclock.reclocking.stamp import without
from reclock.sources.description import Format
from reclock.sources.object_store import ObjectMissing, ObjectStore
from reclock.sources.objects import SPLIT_BYTES, Growth, Skip, Split

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Piece:
    """One split of one object, with what its records need to be understood."""

    key: str
    split: Split
    header: tuple[str, ...] | None
    header_end: int
    skips: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class StagingJob:
    """All that the tasks of one step need, as one value that travels to the executors; task ``i`` reads ``tasks[i]``."""

    tasks: tuple[tuple[Piece, ...], ...]
    at: Timestamp
    store: ObjectStore
    bucket: str
    format: Format
    desc: RelationDesc
    target: str
    target_options: Mapping[str, str] = field(repr=False)

    def run(self, spark: Callable[[], SparkSession]) -> None:
        """Run every task on Spark. Afterwards the staging folder holds the rows of all of them.

        Raises the ``SourceError`` of the first bad byte, in order of key. With nothing to read, Spark is not asked.
        """
        if not self.tasks:
            return
        count = len(self.tasks)
        outcome = spark().range(0, count, 1, count).mapInArrow(self._run_tasks, "task BIGINT, failure STRING").collect()
        if sorted(row.task for row in outcome) != list(range(count)):
            raise InternalError(f"staging answered for {len(outcome)} of {count} tasks")
        failures = [decode_failure(row.failure) for row in outcome if row.failure is not None]
        if failures:
            raise min(failures, key=lambda failure: (getattr(failure, "partition", ""), getattr(failure, "offset", 0)))

    def _run_tasks(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            tasks = batch.column(0).to_pylist()
            failures = [self.run_task(task) for task in tasks]
            yield pa.record_batch([pa.array(tasks, pa.int64()), pa.array(failures, pa.string())], ["task", "failure"])

    def run_task(self, task: int) -> str | None:
        """Write the file of one task; answers what was wrong with the upstream, encoded, or None."""
        try:
            rows = pa.concat_tables([self._read(piece) for piece in self.tasks[task]])
        except SourceError as failure:
            return encode_failure(failure)
        if rows.num_rows:
            stamps = [pa.repeat(pa.scalar(value, pa.int64()), rows.num_rows) for value in (self.at, 1)]
            for name, values in zip((TIME_COLUMN, DIFF_COLUMN), stamps, strict=True):
                rows = rows.append_column(name, values)
            self._write(task, rows.cast(arrow_schema(self.desc, with_updates=True)))
        return None

    def _read(self, piece: Piece) -> pa.Table:
        split = piece.split
        try:
            buffer = b"".join(self.store.read(self.bucket, piece.key, split.lower, split.upper))
        except ObjectMissing as missing:
            raise UpstreamChanged(
                piece.key,
                split.lower,
                message=f'object "{piece.key}" no longer has the bytes from {split.lower} to {split.upper}',
                detail=missing.detail,
            ) from missing
        if zlib.crc32(buffer, split.crc_before) != split.crc_after:
            raise UpstreamChanged(
                piece.key,
                split.lower,
                message=f'object "{piece.key}" changed under its bytes from {split.lower} to {split.upper}',
                detail="their crc32 is not the one they had when they were bound",
            )
        start = max(split.lower, min(piece.header_end, split.upper))
        return decode(
            buffer[start - split.lower :] if start > split.lower else buffer,
            self.format,
            self.desc,
            piece.header,
            key=piece.key,
            offset=start,
            skips=piece.skips,
        )

    def _write(self, task: int, rows: pa.Table) -> None:
        folder = Folder(self.target, self.target_options)
        path = f"part-{task:05}.parquet"
        # a local file gets its name when it is whole; an object store shows no object before that
        written = f".{path}.{uuid4().hex}" if folder.is_local else path
        if folder.is_local:
            os.makedirs(folder.uri, exist_ok=True)
        pq.write_table(rows, written, filesystem=folder.filesystem, compression="snappy", row_group_size=1 << 20)
        if folder.is_local:
            os.replace(folder.absolute(written), folder.absolute(path))


def plan_tasks(growths: Sequence[Growth], skips: Sequence[Skip]) -> tuple[tuple[Piece, ...], ...]:
    """The splits of a step, packed in order into tasks of about ``SPLIT_BYTES``. What is given up whole is not read at all."""
    tasks: list[list[Piece]] = []
    size = SPLIT_BYTES
    for growth in growths:
        own = tuple((lower, upper) for key, lower, upper in skips if key == growth.key)
        for split in growth.splits:
            if not without(Range(growth.key, split.lower, split.upper, Timestamp(0)), own):
                continue
            if size + split.upper - split.lower > SPLIT_BYTES * 3 // 2 or size >= SPLIT_BYTES:
                tasks.append([])
                size = 0
            tasks[-1].append(Piece(growth.key, split, growth.header, growth.header_end, own))
            size += split.upper - split.lower
    return tuple(tuple(task) for task in tasks)


def encode_failure(failure: SourceError) -> str:
    """A failure as text, from an executor to the driver and into a claim."""
    fields: dict[str, Any] = {"message": failure.message, "detail": failure.detail}
    if isinstance(failure, DecodeFailed | UpstreamChanged):
        fields |= {"partition": failure.partition, "offset": failure.offset}
    return json.dumps({"kind": type(failure).__name__, **fields})


def decode_failure(text: str) -> SourceError:
    """The failure that ``encode_failure`` wrote."""
    fields = json.loads(text)
    match fields["kind"]:
        case "DecodeFailed":
            return DecodeFailed(fields["partition"], fields["offset"], detail=fields["detail"])
        case "UpstreamChanged":
            return UpstreamChanged(fields["partition"], fields["offset"], message=fields["message"], detail=fields["detail"])
        case _:
            return UpstreamUnavailable(fields["message"], detail=fields["detail"])
