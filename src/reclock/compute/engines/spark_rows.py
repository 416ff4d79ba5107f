"""The rows of a Spark query, some partitions at a time: neither the driver nor this process ever holds the whole result."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from reclock.errors import QueryCanceled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCH_ROWS = 1 << 14


class SparkRows:
    """Jobs under a ``tag`` of their own. ``cancel`` may be called from any thread: what runs ends, and nothing is begun any more.

    With a session of one's own, a job answers as many partitions as run at the same time, and the next job begins when their rows
    were taken; jobs are in the scheduling ``pool``. A Connect server sends what its one job has, as fast as it is taken.
    """

    def __init__(self, session: SparkSession, tag: str, pool: str | None) -> None:
        self._session, self._tag, self._pool = session, tag, pool
        self._cancelled = threading.Event()

    def of(self, frame: DataFrame) -> Iterator[pa.RecordBatch]:
        """Its rows in their order. Raises ``QueryCanceled``, and what Spark raises."""
        return self._from_server(frame) if self._is_remote else self._by_waves(frame)

    @property
    def is_cancelled(self) -> bool:
        """If so, whatever Spark raised, it did for that."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        self._cancelled.set()
        if self._is_remote:
            self._session.interruptTag(self._tag)
        else:
            self._session.sparkContext.cancelJobsWithTag(self._tag)

    @property
    def _is_remote(self) -> bool:
        from pyspark.sql import SparkSession

        return not isinstance(self._session, SparkSession)

    def _by_waves(self, frame: DataFrame) -> Iterator[pa.RecordBatch]:
        from pyspark.sql.pandas.types import to_arrow_schema

        schema = to_arrow_schema(frame.schema, timezone="UTC", prefers_large_types=False)
        context: Any = self._session.sparkContext
        with self._job():
            partitions = frame._jdf.toArrowBatchRdd(BATCH_ROWS, "UTC", False, False).toJavaRDD()
        count, at_once = partitions.getNumPartitions(), max(1, context.defaultParallelism)
        for start in range(0, count, at_once):
            with self._job():
                wave = list(range(start, min(start + at_once, count)))
                served = context._jvm.PythonRDD.runJob(context._jsc.sc(), partitions, wave)
            for message in _served(served):
                yield pa.ipc.read_record_batch(pa.py_buffer(message), schema)

    @contextmanager
    def _job(self) -> Iterator[None]:
        """What Spark does in the block can be cancelled. Tag and pool are of the thread, which is whoever takes the rows."""
        context = self._session.sparkContext
        if self._pool is not None:
            context.setLocalProperty("spark.scheduler.pool", self._pool)
        context.addJobTag(self._tag)
        try:
            if self.is_cancelled:
                raise QueryCanceled
            yield
        finally:
            context.removeJobTag(self._tag)

    def _from_server(self, frame: DataFrame) -> Iterator[pa.RecordBatch]:
        session: Any = self._session
        plan: Any = frame._plan
        answers = session.client.to_table_as_iterator(plan.to_proto(session.client), plan.observations)
        session.addTag(self._tag)  # of the request, which the first answer is of
        try:
            if self.is_cancelled:
                raise QueryCanceled
            first = next(answers, None)
        finally:
            session.removeTag(self._tag)
        is_done = False
        try:
            answer = first
            while answer is not None:
                if isinstance(answer, pa.Table):
                    yield from answer.to_batches()
                answer = next(answers, None)
            is_done = True
        finally:
            if not is_done:  # the server computes ahead of who takes the rows
                session.interruptTag(self._tag)


def _served(served: Any) -> Iterator[bytes]:
    """The messages that the JVM offers at a port. Raises if they end before their end."""
    from pyspark.serializers import NoOpSerializer
    from pyspark.util import _load_from_socket

    port, secret, serving = served
    with _load_from_socket((port, secret), NoOpSerializer()) as messages:
        yield from messages
    serving.getResult()
