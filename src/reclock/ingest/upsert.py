"""Outputs whose rows replace each other by key: the envelope UPSERT, and changes that name the row that went by its key.

The state is the output itself: what a step's messages make of it is a difference, and that is all that is staged. Of the output
only the rows of keys that occur are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

import pyarrow as pa

from reclock.algebra.relations import BIGINT, BOOLEAN, DIFF_COLUMN, INTEGER, TIME_COLUMN, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.collections.folder import Folder
from reclock.collections.schema import arrow_schema
from reclock.collections.version import Version
from reclock.compute.engines.spark import SparkEngine
from reclock.ingest.stage import StagedWriter, stamped
from reclock.sources.connector import DELETED_COLUMN, OFFSET_COLUMN, PARTITION_COLUMN
from reclock.sources.description import PostgresConnector, Upstream
from reclock.sources.lineages import BORN_COLUMN, UNSENT_COLUMN, large, lineage_desc, was

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


RETRACTED = "retracted"
"""How the names of files begin that hold what an output had before it was emptied."""


class Replacement(Protocol):
    """What is staged of a message before it meets the output, and how they meet."""

    def message_desc(self, desc: RelationDesc) -> RelationDesc: ...

    def sql(self, desc: RelationDesc, messages: str, state: str) -> str:
        """The difference: the columns of ``desc`` with ``mz_diff``, from the messages and the updates of the output before them."""


class ByOffset:
    """A message replaces the row of its key, one without a value deletes it. Of several messages of a key the one with the greatest
    offset counts; if they lie in several partitions, which Kafka gives no order, the one in the highest partition."""

    def message_desc(self, desc: RelationDesc) -> RelationDesc:
        """Its row if it has one, and its place."""
        columns = (Column(column.name, column.type) for column in desc.columns)
        place = (Column(PARTITION_COLUMN, INTEGER), Column(OFFSET_COLUMN, BIGINT), Column(DELETED_COLUMN, BOOLEAN))
        return RelationDesc((*columns, *place))

    def sql(self, desc: RelationDesc, messages: str, state: str) -> str:
        key = f"({listed(desc.key or ())})"
        columns = listed(desc.names)
        return f"""
            WITH ranked AS (
                SELECT *, row_number() OVER (PARTITION BY {key} ORDER BY {PARTITION_COLUMN} DESC, {OFFSET_COLUMN} DESC) AS mz_rank
                FROM {messages}
            ), latest AS (
                SELECT * FROM ranked WHERE mz_rank = 1
            ), changes AS (
                SELECT {columns}, CAST(1 AS BIGINT) AS {DIFF_COLUMN} FROM latest WHERE NOT {DELETED_COLUMN}
                UNION ALL
                SELECT {columns}, -{DIFF_COLUMN} FROM {state} WHERE {key} IN (SELECT {key} FROM latest)
            )
            SELECT {columns}, SUM({DIFF_COLUMN}) AS {DIFF_COLUMN} FROM changes GROUP BY {columns} HAVING SUM({DIFF_COLUMN}) <> 0
        """

    def history_sql(self, desc: RelationDesc, messages: str) -> str:
        """All that the output ever was, from all messages: a row goes at the time of the next message of its key."""
        key = f"({listed(desc.key or ())})"
        columns = f"{listed(desc.names)}, {TIME_COLUMN}"
        return f"""
            WITH ranked AS (
                SELECT *, row_number() OVER (
                    PARTITION BY {key}, {TIME_COLUMN} ORDER BY {PARTITION_COLUMN} DESC, {OFFSET_COLUMN} DESC
                ) AS mz_rank
                FROM {messages}
            ), latest AS (
                SELECT *, lead({TIME_COLUMN}) OVER (PARTITION BY {key} ORDER BY {TIME_COLUMN}) AS mz_until
                FROM ranked WHERE mz_rank = 1
            ), changes AS (
                SELECT {columns}, CAST(1 AS BIGINT) AS {DIFF_COLUMN} FROM latest WHERE NOT {DELETED_COLUMN}
                UNION ALL
                SELECT {listed(desc.names)}, mz_until, CAST(-1 AS BIGINT) FROM latest
                WHERE NOT {DELETED_COLUMN} AND mz_until IS NOT NULL
            )
            SELECT {columns}, SUM({DIFF_COLUMN}) AS {DIFF_COLUMN} FROM changes GROUP BY {columns} HAVING SUM({DIFF_COLUMN}) <> 0
        """


class ByLineage:
    """A change says what its row is afterwards, but for what it did not send: that is what the row's lineage had last."""

    def message_desc(self, desc: RelationDesc) -> RelationDesc:
        return lineage_desc(desc)

    def sql(self, desc: RelationDesc, messages: str, state: str) -> str:
        columns, key = listed(desc.names), desc.key or ()
        was_key = listed([column.name for column in was(desc)])
        lineage = f"PARTITION BY {was_key}, {BORN_COLUMN} ORDER BY {OFFSET_COLUMN}"
        unsent = {desc.names[i]: f"mz_sent_{i}" for i in large(desc)}
        sent = "".join(
            f", last_value(IF({UNSENT_COLUMN} LIKE '%,{i},%', NULL, struct({quoted(desc.names[i])} AS value)), true)"
            f" OVER ({lineage}) AS mz_sent_{i}"
            for i in large(desc)
        )
        on = " AND ".join(f"s.{quoted(name)} = m.{quoted(column.name)}" for name, column in zip(key, was(desc), strict=True))
        lost = "raise_error('a change left a value as it was, and the row is not there')"
        values = ", ".join(
            f"CASE WHEN m.{unsent[name]} IS NOT NULL THEN m.{unsent[name]}.value"
            f" WHEN s.{quoted(key[0])} IS NULL THEN {lost} ELSE s.{quoted(name)} END AS {quoted(name)}"
            if name in unsent
            else f"m.{quoted(name)}"
            for name in desc.names
        )
        return f"""
            WITH followed AS (
                SELECT *, lead({OFFSET_COLUMN}) OVER ({lineage}) IS NULL AS mz_is_last{sent} FROM {messages}
            ), latest AS (
                SELECT * FROM followed WHERE mz_is_last
            ), met AS (
                SELECT {columns}, SUM({DIFF_COLUMN}) AS {DIFF_COLUMN} FROM {state}
                WHERE ({listed(key)}) IN (SELECT {was_key} FROM latest WHERE {BORN_COLUMN} = 0)
                GROUP BY {columns} HAVING SUM({DIFF_COLUMN}) <> 0
            ), changes AS (
                SELECT {values}, CAST(1 AS BIGINT) AS {DIFF_COLUMN}
                FROM latest m LEFT JOIN met s ON {on} AND m.{BORN_COLUMN} = 0 WHERE NOT m.{DELETED_COLUMN}
                UNION ALL
                SELECT {columns}, -{DIFF_COLUMN} FROM met
            )
            SELECT {columns}, SUM({DIFF_COLUMN}) AS {DIFF_COLUMN} FROM changes GROUP BY {columns} HAVING SUM({DIFF_COLUMN}) <> 0
        """


def replacement(upstream: Upstream) -> Replacement:
    """How rows of that source replace each other."""
    return ByLineage() if isinstance(upstream, PostgresConnector) else ByOffset()


@dataclass(frozen=True, slots=True)
class DifferenceJob:
    """From what is known to the updates at ``at``, or at the times that it has, in the folder ``target``."""

    desc: RelationDesc
    at: Timestamp | None
    target: str
    options: Mapping[str, str] = field(repr=False)

    def upsert(self, spark: Callable[[], SparkSession], messages: str, rule: Replacement, state: Version | None) -> None:
        """Afterwards the target holds the difference that the messages in that folder make to ``state``, the output before them:
        None, if it was emptied."""
        if files := self._files(messages):
            session = spark()
            staged = SparkEngine(session).files(rule.message_desc(self.desc), files)
            frames = {"messages": staged, "state": self._before(session, state)}
            self._run(session, frames, lambda names: rule.sql(self.desc, **names), "difference")

    def replay(self, spark: Callable[[], SparkSession], messages: str, rule: ByOffset) -> None:
        """Afterwards the target holds all that the output ever was, from the messages of all times in that folder."""
        if files := self._files(messages):
            session = spark()
            frames = {"messages": SparkEngine(session).files(rule.message_desc(self.desc), files)}
            self._run(session, frames, lambda names: rule.history_sql(self.desc, **names), "history")

    def _files(self, messages: str) -> list[str]:
        folder = Folder(messages, self.options)
        files = sorted(found.path for found in folder.walk("") if found.base_name.endswith(".parquet"))
        return [folder.absolute(path) for path in files if not path.rpartition("/")[2].startswith(".")]

    def retract(self, spark: Callable[[], SparkSession], state: Version) -> None:
        """Afterwards the target holds the retraction of all rows of ``state``."""
        session, columns = spark(), listed(self.desc.names)
        self._run(
            session,
            {"state": self._before(session, state)},
            lambda names: (
                f"SELECT {columns}, -SUM({DIFF_COLUMN}) AS {DIFF_COLUMN} FROM {names['state']} GROUP BY {columns}"
                f" HAVING SUM({DIFF_COLUMN}) <> 0"
            ),
            RETRACTED,
        )

    def _before(self, session: SparkSession, state: Version | None) -> DataFrame:
        engine = SparkEngine(session)
        if state is None or self.at is None:
            return engine.files(self.desc, [])
        return engine.updates(state, Timestamp(self.at - 1)).where(f"{TIME_COLUMN} < {self.at:d}")

    def _run(self, session: SparkSession, frames: Mapping[str, DataFrame], sql: Callable[[dict[str, str]], str], kind: str) -> None:
        names = {name: f"reclock_{uuid4().hex}" for name in frames}
        for name, frame in frames.items():
            frame.createOrReplaceTempView(names[name])
        try:
            session.sql(sql(names)).mapInArrow(partial(self._write, kind), "files INT").collect()
        finally:
            for name in names.values():
                session.catalog.dropTempView(name)

    def _write(self, kind: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One file for what one task got."""
        writer = None
        for batch in batches:
            if not batch.num_rows:
                continue
            if writer is None:
                schema = arrow_schema(self.desc, with_updates=True)
                writer = StagedWriter(Folder(self.target, self.options), _task_file(kind), schema)
            rows = pa.Table.from_batches([batch])
            writer.write(rows if self.at is None else stamped(rows, self.at))
        if writer is not None:
            writer.close()
        yield pa.record_batch([pa.array([1 if writer else 0], pa.int32())], ["files"])


def _task_file(kind: str) -> str:
    """The same for every attempt at a task, so that the last one counts."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return f"{kind}-{context.partitionId():05}.parquet"


def listed(names: Sequence[str]) -> str:
    return ", ".join(quoted(name) for name in names)


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
