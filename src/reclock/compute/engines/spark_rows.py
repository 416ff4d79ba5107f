"""Reads the rows of a Spark query through a disk, some partitions at a time, so that no process
holds a whole partition in memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import structlog

from reclock.compute.engines.spool import Spool
from reclock.errors import QueryCanceled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILES = {
    # a row group is in memory as a whole, in a task as it is written, here as it is read
    "parquet.block.size": str(8 << 20),
    "maxRecordsPerFile": str(1 << 20),  # a task sees between files that it was interrupted
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}

_POLL_S, _KILL_AGAIN_S, _PATIENCE_S = 0.02, 0.5, 30.0
"""How often the tasks of a cancelled job are looked at, when those that still run are killed again,
and for how long in all."""

_BUS_MS = 5000

_logger = structlog.get_logger(__name__)


class SparkRows:
    """The jobs of a query, under a ``tag`` of their own; in a classic session it is a job group.
    ``cancel`` may be called from any thread: running jobs end, and no other begins.

    Rows wait in the ``spool`` until they are read; it is opened unless they are few. In a classic
    session, a job computes as many partitions as run at the same time, and the next job begins when
    their rows have been read. Jobs run in the scheduling ``pool``. A Connect server runs one job.
    """

    def __init__(
        self, session: SparkSession, tag: str, pool: str | None, spool: Callable[[], Spool]
    ) -> None:
        self._session: Any = session
        self._tag, self._pool, self._spool = tag, pool, spool
        self._cancelled = threading.Event()
        self._stored: list[str] = []

    def of(self, frame: DataFrame, *, are_few: bool = False) -> Iterator[pa.RecordBatch]:
        """The query's rows in order; column names are ignored. Raises ``QueryCanceled``, and
        Spark's errors."""
        if are_few:
            return self._collected(frame)
        named = frame.toDF(*map(str, range(len(frame.columns))))
        return self._spooled("all", named.write) if self._is_remote else self._by_waves(named)

    def stored(self, frame: DataFrame) -> tuple[DataFrame, bool]:
        """The rows as a frame over files of the spool, and whether there are any. The files stay
        until ``remove_stored``."""
        spool, folder = self._spool(), f"{self._tag}-stored{len(self._stored)}"
        self._stored.append(folder)
        with self._job():
            frame.write.parquet(hadoop_uri(spool.uri(folder)))
        has_rows = any(batch.num_rows for batch in spool.read(folder))
        return self._session.read.schema(frame.schema).parquet(
            hadoop_uri(spool.uri(folder))
        ), has_rows

    def remove_stored(self) -> None:
        for folder in self._stored:
            self._spool().remove(folder)

    @property
    def is_cancelled(self) -> bool:
        """Whether ``cancel`` was called. Errors of Spark are a consequence then."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        self._cancelled.set()
        if self._is_remote:
            self._session.interruptTag(self._tag)
        else:
            # those too that a thread is about to begin
            self._session.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(self._tag)

    @property
    def _is_remote(self) -> bool:
        from pyspark.sql import SparkSession

        return not isinstance(self._session, SparkSession)

    def _collected(self, frame: DataFrame) -> Iterator[pa.RecordBatch]:
        with self._job():
            table = frame.toArrow()
        yield from table.to_batches()

    def _by_waves(self, frame: DataFrame) -> Iterator[pa.RecordBatch]:
        with self._job():
            partitions, schema = frame._jdf.queryExecution().toRdd(), frame._jdf.schema()
        spark = self._session.sparkContext._jvm.org.apache.spark
        session = self._session._jsparkSession
        count = partitions.getNumPartitions()
        at_once = max(1, self._session.sparkContext.defaultParallelism)
        for start in range(0, count, at_once):
            wave = spark.api.python.PythonUtils.toSeq(
                list(range(start, min(start + at_once, count)))
            ).toSet()
            rows = session.internalCreateDataFrame(
                spark.rdd.PartitionPruningRDD.create(partitions, wave), schema, False
            )
            yield from self._spooled(str(start), rows.write())

    def _spooled(self, name: str, writer: Any) -> Iterator[pa.RecordBatch]:
        """The rows that ``writer``, one of Python or of Java, writes to the spool."""
        spool, folder = self._spool(), f"{self._tag}-{name}"
        try:
            with self._job():
                for option, value in _FILES.items():
                    writer = writer.option(option, value)
                writer.parquet(hadoop_uri(spool.uri(folder)))
            for batch in spool.read(folder):
                self._check()
                yield batch
        finally:
            spool.remove(folder)

    @contextmanager
    def _job(self) -> Iterator[None]:
        """Within the block, Spark's work can be cancelled. Tag, group and pool belong to this
        thread."""
        if self._is_remote:
            self._session.addTag(self._tag)
        else:
            context = self._session.sparkContext
            context.setJobGroup(self._tag, self._tag, interruptOnCancel=True)
            if self._pool is not None:
                context.setLocalProperty("spark.scheduler.pool", self._pool)
        try:
            self._check()
            yield
        finally:
            if self._is_remote:
                self._session.removeTag(self._tag)
            else:
                if self.is_cancelled:
                    self._end_tasks()
                context._jsc.clearJobGroup()

    def _end_tasks(self) -> None:
        """Return once no task of a cancelled job runs.

        Spark interrupts each task once. Hadoop loses an interrupt that comes while it runs a
        program, such as ``chmod`` for a new file, and the task would go on until its last row.
        """
        from py4j.protocol import Py4JJavaError

        context = self._session.sparkContext._jsc.sc()
        with suppress(Py4JJavaError):  # of a bus that is always busy
            context.listenerBus().waitUntilEmpty(_BUS_MS)  # the tracker then knows the stages
        begun = killed = time.monotonic()
        while running := self._running_stages(context):
            now = time.monotonic()
            if now - begun > _PATIENCE_S:
                _logger.warning("tasks go on after their query was cancelled", stages=running)
                return
            if now - killed > _KILL_AGAIN_S:
                killed = now
                for stage in running:
                    context.taskScheduler().killAllTaskAttempts(stage, True, "cancelled")
            time.sleep(_POLL_S)

    def _running_stages(self, context: Any) -> list[int]:
        """The stages under the tag that have running tasks, as the scheduler knows them: the
        tracker misses a task that began as its stage was cancelled."""
        tracker, scheduler = context.statusTracker(), context.taskScheduler()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(self._tag)]
        ids = {stage for job in jobs if job.isDefined() for stage in job.get().stageIds()}
        stages = {id: tracker.getStageInfo(id) for id in sorted(ids)}
        attempts = {
            id: scheduler.taskSetManagerForAttempt(id, stage.get().currentAttemptId())
            for id, stage in stages.items()
            if stage.isDefined()
        }
        return [
            id for id, tasks in attempts.items() if tasks.isDefined() and tasks.get().runningTasks()
        ]

    def _check(self) -> None:
        if self.is_cancelled:
            raise QueryCanceled


def hadoop_uri(uri: str) -> str:
    """The URI in the form of Hadoop's file systems."""
    return uri.replace("s3://", "s3a://", 1) if "://" in uri else f"file://{uri}"
