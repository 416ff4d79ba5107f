"""The envelope UPSERT: a message replaces the row of its key, one without a value deletes it.

The state of the envelope is the output itself: what a step's messages make of it is a difference, and that is all that is
staged. Of the output only the rows of keys that occur are taken. Of several messages of a key the one with the greatest offset
counts; if they lie in several partitions, which Kafka gives no order, the one in the highest partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

from reclock.algebra.relations import BIGINT, BOOLEAN, DIFF_COLUMN, INTEGER, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.collections.folder import Folder
from reclock.collections.schema import arrow_schema
from reclock.collections.version import Version
from reclock.compute.engines.spark import SparkEngine
from reclock.ingest.stage import StagedWriter, stamped
from reclock.sources.connector import DELETED_COLUMN, OFFSET_COLUMN, PARTITION_COLUMN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def message_desc(desc: RelationDesc) -> RelationDesc:
    """What is staged of a message before it meets the output: its row if it has one, and its place."""
    columns = (Column(column.name, column.type) for column in desc.columns)
    place = (Column(PARTITION_COLUMN, INTEGER), Column(OFFSET_COLUMN, BIGINT), Column(DELETED_COLUMN, BOOLEAN))
    return RelationDesc((*columns, *place))


@dataclass(frozen=True, slots=True)
class UpsertJob:
    """From the messages in the folder ``messages`` to the updates at ``at``, in ``target``; ``key`` is a column of ``desc``."""

    desc: RelationDesc
    key: str
    at: Timestamp
    messages: str
    target: str
    target_options: Mapping[str, str] = field(repr=False)

    def run(self, spark: Callable[[], SparkSession], state: Version) -> None:
        """Afterwards the target holds the difference that the messages make to ``state``, the output before the step."""
        folder = Folder(self.messages, self.target_options)
        files = sorted(found.path for found in folder.walk("") if found.base_name.endswith(".parquet"))
        files = [path for path in files if not path.rpartition("/")[2].startswith(".")]
        if not files:
            return
        session = spark()
        engine = SparkEngine(session)
        names = {"messages": f"reclock_{uuid4().hex}", "state": f"reclock_{uuid4().hex}"}
        engine.files(message_desc(self.desc), [folder.absolute(path) for path in files]).createOrReplaceTempView(names["messages"])
        engine.updates(state, Timestamp(self.at - 1)).createOrReplaceTempView(names["state"])
        try:
            session.sql(self._sql(**names)).mapInArrow(self._write, "files INT").collect()
        finally:
            for name in names.values():
                session.catalog.dropTempView(name)

    def _sql(self, messages: str, state: str) -> str:
        key = _quoted(self.key)
        columns = ", ".join(_quoted(name) for name in self.desc.names)
        return f"""
            WITH ranked AS (
                SELECT *, row_number() OVER (PARTITION BY {key} ORDER BY {PARTITION_COLUMN} DESC, {OFFSET_COLUMN} DESC) AS mz_rank
                FROM {messages}
            ), latest AS (
                SELECT * FROM ranked WHERE mz_rank = 1
            ), changes AS (
                SELECT {columns}, CAST(1 AS BIGINT) AS {DIFF_COLUMN} FROM latest WHERE NOT {DELETED_COLUMN}
                UNION ALL
                SELECT {columns}, -{DIFF_COLUMN} FROM {state}
                WHERE mz_timestamp < {self.at:d} AND {key} IN (SELECT {key} FROM latest)
            )
            SELECT {columns}, SUM({DIFF_COLUMN}) AS {DIFF_COLUMN} FROM changes GROUP BY {columns} HAVING SUM({DIFF_COLUMN}) <> 0
        """

    def _write(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One file for what one task got."""
        writer = None
        for batch in batches:
            if not batch.num_rows:
                continue
            if writer is None:
                schema = arrow_schema(self.desc, with_updates=True)
                writer = StagedWriter(Folder(self.target, self.target_options), _task_file(), schema)
            writer.write(stamped(pa.Table.from_batches([batch]), self.at))
        if writer is not None:
            writer.close()
        yield pa.record_batch([pa.array([1 if writer else 0], pa.int32())], ["files"])


def _task_file() -> str:
    """The same for every attempt at a task, so that the last one counts."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return f"part-{context.partitionId():05}.parquet"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
