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

from reclock.algebra.relations import BIGINT, DIFF_COLUMN, TIME_COLUMN, Column, RelationDesc
from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.collections.folder import Folder
from reclock.collections.schema import arrow_schema
from reclock.collections.version import Version
from reclock.compute.engines.engine import CollectionInput
from reclock.compute.engines.spark import NAME as SPARK
from reclock.compute.engines.spark import SparkEngine
from reclock.ingest.engines import Engines
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
class _StagedFiles:
    """Complete Parquet files with rows of ``desc``."""

    desc: RelationDesc
    folder: Folder
    files: Sequence[FileInfo]

    @property
    def size_bytes(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def uris(self) -> list[str]:
        return [self.folder.absolute(file.path) for file in self.files]

    def dataset(self) -> Dataset | pa.Table:
        import pyarrow.dataset as pads  # it loads pandas

        if not self.files:
            return arrow_schema(self.desc, with_updates=True).empty_table()
        return pads.dataset(
            [file.path for file in self.files], filesystem=self.folder.filesystem, format="parquet"
        )


_Input = _StagedFiles | Version | None
"""What a difference reads: staged files, or the output as it was before; None if it was empty."""


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
        messages = self._messages(rule)
        if messages.files:
            inputs: dict[str, _Input] = {
                "messages": messages,
                "output": state,
                "new_rows": self._new_rows(),
            }
            self._run(engines, inputs, lambda **names: self._sql(rule, **names), _DIFFERENCE)

    def replay(self, engines: Engines, rule: ByOffset) -> None:
        """Write the whole history of the output to the target, from its messages of all times."""
        messages = self._messages(rule)
        if messages.files:
            self._run(
                engines,
                {"messages": messages},
                lambda **names: rule.history_sql(self.desc, **names),
                "history",
            )

    def replace(self, engines: Engines, state: Version) -> None:
        """Replace the rows in the target by the difference between ``state`` and them."""
        columns, rows = listed(self.desc.names), self._new_rows()
        self._run(
            engines,
            {"new_rows": rows, "output": state},
            lambda new_rows, output: (
                f"SELECT {columns}, SUM({DIFF_COLUMN}) AS {DIFF_COLUMN} FROM ("
                f"SELECT {columns}, {DIFF_COLUMN} FROM {new_rows}"
                f" UNION ALL SELECT {columns}, -{DIFF_COLUMN} FROM {output}"
                f") GROUP BY {columns} HAVING SUM({DIFF_COLUMN}) <> 0"
            ),
            RETRACTED,
        )
        rows.folder.delete([file.path for file in rows.files])

    def _sql(self, rule: Replacement, messages: str, output: str, new_rows: str) -> str:
        updates = f"{listed(self.desc.names)}, {DIFF_COLUMN}"
        return rule.sql(
            self.desc,
            messages,
            f"(SELECT {updates} FROM {output} UNION ALL SELECT {updates} FROM {new_rows})",
        )

    def _messages(self, rule: Replacement) -> _StagedFiles:
        return self._staged(rule.message_desc(self.desc), messages_of(self.target))

    def _new_rows(self) -> _StagedFiles:
        return self._staged(self.desc, self.target)

    def _staged(self, desc: RelationDesc, uri: str) -> _StagedFiles:
        """The complete files directly in the folder."""
        folder = Folder(uri, self.options)
        files = [file for file in folder.walk("") if file.path == file.base_name]
        complete = [
            file
            for file in files
            if file.base_name.endswith(".parquet") and not file.base_name.startswith(".")
        ]
        return _StagedFiles(desc, folder, sorted(complete, key=lambda file: file.path))

    # --- on an engine ---

    def _run(
        self, engines: Engines, inputs: Mapping[str, _Input], sql: Callable[..., str], kind: str
    ) -> None:
        """Write the rows of ``sql``, which is in Spark's SQL, and a function of the names of its
        inputs."""
        if sum(map(_size_bytes, inputs.values())) <= engines.threshold_bytes:
            self._run_here(engines.small(), inputs, sql(**{name: name for name in inputs}), kind)
        else:
            self._run_on_spark(engines.spark(), inputs, sql, kind)

    def _run_here(
        self, engine: DuckDbEngine, inputs: Mapping[str, _Input], sql: str, kind: str
    ) -> None:
        schema = arrow_schema(self.desc, with_updates=True)

        def bound(input: _Input) -> CollectionInput | Dataset | pa.Table:
            if isinstance(input, _StagedFiles):
                return input.dataset()
            return schema.empty_table() if input is None else CollectionInput(input)

        [translated] = sqlglot.transpile(sql, read=SPARK, write=engine.name)
        columns, as_of = self.desc.columns, MAXIMUM
        if self.at is None:
            columns = (*columns, Column(TIME_COLUMN, BIGINT))
        else:
            as_of = Timestamp(self.at - 1)
        read = {name: bound(input) for name, input in inputs.items()}
        with engine.query(translated, columns, read, as_of).batches as batches:
            self._write_file(f"{kind}-00000.parquet", batches)

    def _run_on_spark(
        self,
        session: SparkSession,
        inputs: Mapping[str, _Input],
        sql: Callable[..., str],
        kind: str,
    ) -> None:
        names = {name: f"reclock_{uuid4().hex}" for name in inputs}
        for name, input in inputs.items():
            self._frame(session, input).createOrReplaceTempView(names[name])
        try:
            # names with dots are lost on the way
            rows = session.sql(sql(**names)).toDF(*(str(i) for i in range(len(self._names))))
            rows.mapInArrow(partial(self._write, kind), "files INT").collect()
        finally:
            for name in names.values():
                session.catalog.dropTempView(name)

    def _frame(self, session: SparkSession, input: _Input) -> DataFrame:
        engine = SparkEngine(session)
        if isinstance(input, _StagedFiles):
            return engine.files(input.desc, input.uris)
        if input is None:
            return engine.files(self.desc, [])
        assert self.at is not None
        return engine.updates(input, Timestamp(self.at - 1)).where(f"{TIME_COLUMN} < {self.at:d}")

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


def _size_bytes(input: _Input) -> int:
    if isinstance(input, Version):
        return sum(file.size_bytes for file in input.all_files)
    return 0 if input is None else input.size_bytes


def _task_file(kind: str) -> str:
    """The file name of a task, the same for each of its attempts, so that the last attempt
    counts."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return f"{kind}-{context.partitionId():05}.parquet"
