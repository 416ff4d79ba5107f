"""Computes the difference that a step's messages make to an output whose rows replace each other by
key: in this process if that reads little, else on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
import sqlglot
from pyarrow.fs import FileInfo

from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.collections.folder import Folder
from reclock.collections.schema import arrow_schema
from reclock.collections.version import Version
from reclock.compute.engines.engine import CollectionInput
from reclock.compute.engines.spark import NAME as SPARK
from reclock.compute.engines.spark import SparkEngine
from reclock.ingest.stage import StagedWriter, messages_of, stamped
from reclock.ingest.upsert import ByOffset, Replacement, listed

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset
    from pyspark.sql import DataFrame, SparkSession

    from reclock.compute.engines.duckdb import DuckDbEngine

_DIFFERENCE = "difference"
RETRACTED = "retracted"
"""The prefix of files with the difference between the rows that an output had before it was
truncated, or copied anew, and those it has after. They may have as many rows as the output had."""


@dataclass(frozen=True, slots=True)
class Engines:
    """The engines of a step. Work that reads at most ``threshold_bytes`` of Parquet is done in this
    process, other work on Spark."""

    spark: Callable[[], SparkSession]
    small: Callable[[], DuckDbEngine]
    threshold_bytes: int


@dataclass(frozen=True, slots=True)
class DifferenceJob:
    """Writes updates into the folder ``target``, at the time ``at`` or at the times that the rows
    have."""

    desc: RelationDesc
    at: Timestamp | None
    target: str
    options: Mapping[str, str] = field(repr=False)

    def upsert(self, engines: Engines, rule: Replacement, state: Version | None) -> None:
        """Add to the target the difference that its messages make to the earlier rows: those of the
        output, ``state`` (None if it was truncated), and those in the target, whose keys the output
        does not have."""
        files = self._files(self._messages)
        if not files:
            return
        new_rows = self._files(self.target)
        read = sum(file.size for file in [*files, *new_rows])
        read += sum(file.size_bytes for file in state.all_files) if state is not None else 0
        if read <= engines.threshold_bytes:
            self._upsert_in_process(engines.small(), files, new_rows, rule, state)
        else:
            session = engines.spark()
            engine = SparkEngine(session)
            frames = {
                "messages": engine.files(
                    rule.message_desc(self.desc), self._uris(self._messages, files)
                ),
                "output": self._before(session, state),
                "new_rows": engine.files(self.desc, self._uris(self.target, new_rows)),
            }
            self._run(session, frames, lambda names: self._sql(rule, **names), _DIFFERENCE)

    @property
    def _messages(self) -> str:
        return messages_of(self.target)

    def _sql(self, rule: Replacement, messages: str, output: str, new_rows: str) -> str:
        updates = f"{listed(self.desc.names)}, {DIFF_COLUMN}"
        return rule.sql(
            self.desc,
            messages,
            f"(SELECT {updates} FROM {output} UNION ALL SELECT {updates} FROM {new_rows})",
        )

    def _upsert_in_process(
        self,
        engine: DuckDbEngine,
        files: Sequence[FileInfo],
        new_rows: Sequence[FileInfo],
        rule: Replacement,
        state: Version | None,
    ) -> None:
        import pyarrow.dataset as pads  # it loads pandas

        assert self.at is not None
        schema = arrow_schema(self.desc, with_updates=True)

        def staged(uri: str, staged_files: Sequence[FileInfo]) -> Dataset:
            return pads.dataset(
                [file.path for file in staged_files],
                filesystem=Folder(uri, self.options).filesystem,
                format="parquet",
            )

        [sql] = sqlglot.transpile(
            self._sql(rule, "messages", "output", "new_rows"), read=SPARK, write=engine.name
        )
        inputs = {
            "messages": staged(self._messages, files),
            "output": schema.empty_table() if state is None else CollectionInput(state),
            "new_rows": staged(self.target, new_rows) if new_rows else schema.empty_table(),
        }
        with engine.query(
            sql, self.desc.columns, inputs, Timestamp(self.at - 1)
        ).batches as batches:
            self._write_file(f"{_DIFFERENCE}-00000.parquet", batches)

    def replay(self, spark: Callable[[], SparkSession], rule: ByOffset) -> None:
        """Write the whole history of the output to the target, from its messages of all times."""
        if files := self._files(self._messages):
            session = spark()
            frames = {
                "messages": SparkEngine(session).files(
                    rule.message_desc(self.desc), self._uris(self._messages, files)
                )
            }
            self._run(
                session, frames, lambda names: rule.history_sql(self.desc, **names), "history"
            )

    def _files(self, uri: str) -> list[FileInfo]:
        """The complete files directly in the folder."""
        files = [file for file in Folder(uri, self.options).walk("") if file.path == file.base_name]
        complete = [
            file
            for file in files
            if file.base_name.endswith(".parquet") and not file.base_name.startswith(".")
        ]
        return sorted(complete, key=lambda file: file.path)

    def _uris(self, uri: str, files: Sequence[FileInfo]) -> list[str]:
        return [Folder(uri, self.options).absolute(file.path) for file in files]

    def replace(self, spark: Callable[[], SparkSession], state: Version) -> None:
        """Replace the rows in the target by the difference between ``state`` and them."""
        session, columns = spark(), listed(self.desc.names)
        rows = self._files(self.target)
        frames = {
            "rows": SparkEngine(session).files(self.desc, self._uris(self.target, rows)),
            "state": self._before(session, state),
        }
        self._run(
            session,
            frames,
            lambda names: (
                f"SELECT {columns}, SUM({DIFF_COLUMN}) AS {DIFF_COLUMN} FROM ("
                f"SELECT {columns}, {DIFF_COLUMN} FROM {names['rows']}"
                f" UNION ALL SELECT {columns}, -{DIFF_COLUMN} FROM {names['state']}"
                f") GROUP BY {columns} HAVING SUM({DIFF_COLUMN}) <> 0"
            ),
            RETRACTED,
        )
        Folder(self.target, self.options).delete([file.path for file in rows])

    def _before(self, session: SparkSession, state: Version | None) -> DataFrame:
        engine = SparkEngine(session)
        if state is None or self.at is None:
            return engine.files(self.desc, [])
        return engine.updates(state, Timestamp(self.at - 1)).where(f"{TIME_COLUMN} < {self.at:d}")

    def _run(
        self,
        session: SparkSession,
        frames: Mapping[str, DataFrame],
        sql: Callable[[dict[str, str]], str],
        kind: str,
    ) -> None:
        names = {name: f"reclock_{uuid4().hex}" for name in frames}
        for name, frame in frames.items():
            frame.createOrReplaceTempView(names[name])
        try:
            # names with dots are lost on the way
            rows = session.sql(sql(names)).toDF(*(str(i) for i in range(len(self._names))))
            rows.mapInArrow(partial(self._write, kind), "files INT").collect()
        finally:
            for name in names.values():
                session.catalog.dropTempView(name)

    @property
    def _names(self) -> list[str]:
        """The columns of the computed rows."""
        return [*self.desc.names, *([TIME_COLUMN] if self.at is None else []), DIFF_COLUMN]

    def _write(self, kind: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the rows of one task to one file."""
        has_some = self._write_file(_task_file(kind), batches)
        yield pa.record_batch([pa.array([int(has_some)], pa.int32())], ["files"])

    def _write_file(self, name: str, batches: Iterable[pa.RecordBatch]) -> bool:
        """Write the rows to one file. Without rows, write no file and return False."""
        writer = None
        for batch in batches:
            if not batch.num_rows:
                continue
            if writer is None:
                writer = StagedWriter(
                    Folder(self.target, self.options),
                    name,
                    arrow_schema(self.desc, with_updates=True),
                )
            rows = pa.Table.from_batches([batch]).rename_columns(self._names)
            writer.write(rows if self.at is None else stamped(rows, self.at))
        if writer is not None:
            writer.close()
        return writer is not None


def _task_file(kind: str) -> str:
    """The file name of a task, the same for each of its attempts, so that the last attempt
    counts."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return f"{kind}-{context.partitionId():05}.parquet"
