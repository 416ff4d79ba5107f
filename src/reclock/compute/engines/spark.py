"""Spark, classic or Connect: the same statement over the same files, for large inputs."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, Column, RelationDesc
from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.collections.version import Version
from reclock.compute import rendering
from reclock.compute.engines import continuing, fixpoints
from reclock.compute.engines.engine import (
    Answer,
    CollectionInput,
    Input,
    Inputs,
    PreviousResult,
    by_rules,
    cast_to,
    result_schema,
)
from reclock.compute.engines.failures import failure
from reclock.compute.engines.spark_rows import SparkRows, hadoop_uri
from reclock.compute.engines.spool import Spool, temporary
from reclock.compute.expressions.json_functions import JSON_FUNCTIONS
from reclock.compute.operators.recursive_union import Loop, iterations_exceeded
from reclock.compute.operators.rules import EngineRelation, NoRuleByTime
from reclock.compute.steps import delta
from reclock.compute.steps.new_rows import continued_recursion
from reclock.compute.steps.writer import RESULT, DeltaInputs
from reclock.errors import (
    RECURSION_HINT,
    EvaluationError,
    QueryCanceled,
    ReclockError,
    SparkLost,
    UnsupportedSql,
)
from reclock.plan.functions.json_calls import PREFIX
from reclock.plan.functions.sql_names import identifier, type_sql
from reclock.plan.mutual_recursion import has_blocks
from reclock.plan.relational import Finishing, Plan, row_limit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAME = "spark"
SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
"""The settings that the statements rely on. The engine sets them on its session."""

_FEW_ROWS = 1000
"""Results of at most this many rows are collected directly, without the spool."""

_ITERATIONS_OF_A_PLAN = 20
"""After this many iterations of a recursion its rows are stored, so that plans stay small."""

_OF_NO_SESSION = ("INVALID_HANDLE", "NO_ACTIVE_SESSION")
"""Error conditions after a server was restarted."""

_NO_PYTHON = (
    "UNSUPPORTED_FEATURE.PYTHON_UDF_IN_ON_CLAUSE",
    "UNSUPPORTED_FEATURE.LAMBDA_FUNCTION_WITH_PYTHON_UDF",
)
"""Error conditions of places where Spark cannot call a Python function."""


class SparkEngine:
    """Runs plans as Spark jobs of ``session``, which gets ``SETTINGS``. Thread-safe."""

    name = NAME

    def __init__(
        self, session: SparkSession, pool: str | None = None, spool: Callable[[], Spool] = temporary
    ) -> None:
        """Jobs run in this scheduling pool; None leaves the pool to the session, as for a server.
        Rows wait in the spool."""
        self._session, self._pool, self._spool = session, pool, spool
        self._has_json_functions = False
        self._depths = continuing.RecursionDepths()
        for key, value in SETTINGS.items():
            session.conf.set(key, value)

    def run(self, plan: Plan, finishing: Finishing, inputs: Inputs, as_of: Timestamp) -> Answer:
        if has_blocks(plan):
            return fixpoints.run(self, plan, finishing, inputs, as_of)

        relations = _relations(inputs, as_of)
        statement = rendering.select(plan, finishing, NAME, relations, as_of, _unique())
        most = row_limit(plan, finishing)
        columns = rendering.visible(plan.desc, finishing)
        are_few = most is not None and most <= _FEW_ROWS
        return self._answer(
            statement, self._frames(relations, inputs, as_of), columns, are_few=are_few
        )

    def difference(
        self,
        plan: Plan,
        desc: RelationDesc,
        inputs: Inputs,
        as_of: Timestamp,
        previous_result: PreviousResult,
    ) -> Answer:
        if has_blocks(plan):
            return fixpoints.difference(self, plan, desc, inputs, as_of, previous_result)

        relations = _relations(inputs, as_of)
        added, stored = (EngineRelation(_unique(), is_counted=True) for _ in range(2))
        parts = [(added, MAXIMUM)]
        if previous_result.version is not None:
            parts.append((stored, previous_result.through))
        statement = rendering.difference(plan, desc, NAME, relations, as_of, parts, _unique())
        frames = self._frames(relations, inputs, as_of)
        frames[added.name] = self._table(previous_result.added)
        if previous_result.version is not None:
            frames[stored.name] = self.updates(previous_result.version, previous_result.through)
        return self._answer(statement, frames, desc.columns, with_diff=True)

    def changes(
        self,
        plan: Plan,
        desc: RelationDesc,
        inputs: Inputs,
        before: Timestamp,
        as_of: Timestamp,
        previous_result: PreviousResult,
        *,
        by_time: bool = False,
    ) -> Answer:
        if by_time:
            raise NoRuleByTime
        if continued_recursion(plan):
            return continuing.changes(
                self, self._depths, plan, desc, inputs, before, as_of, previous_result
            )

        relations = _relations(inputs, as_of)
        frames = self._frames(relations, inputs, as_of)
        changed = self._changed(frames, inputs, before, as_of)
        result = EngineRelation(_unique(), is_counted=True)
        frames[result.name] = self._table(previous_result.added)
        if previous_result.version is not None:
            stored = self.updates(previous_result.version, previous_result.through)
            frames[result.name] = stored.unionByName(frames[result.name])
        step = DeltaInputs({**relations, str(RESULT): result}, changed, before, as_of)
        return self._answer(
            delta.render_for_inlining(plan, desc, NAME, step, _unique()),
            frames,
            desc.columns,
            with_diff=True,
        )

    def state_builds(self, index: GlobalId) -> int:
        return self._depths.builds

    def forget_index(self, index: GlobalId) -> None:
        self._depths.forget(index)

    def compare(
        self, plan: Plan, inputs: Inputs, as_of: Timestamp, after: Timestamp | None, earlier: Inputs
    ) -> Answer:
        if has_blocks(plan):
            return fixpoints.compare(self, plan, inputs, as_of, after, earlier)

        relations = _relations(inputs, as_of)
        frames = self._frames(relations, inputs, as_of)
        if after is not None and by_rules(plan, inputs, after):
            step = DeltaInputs(relations, self._changed(frames, inputs, after, as_of), after, as_of)
            changes = delta.render_for_inlining(plan, None, NAME, step, _unique())
            return self._answer(changes, frames, plan.desc.columns, with_diff=True)
        before = None
        if after is not None:
            before = (relations | _relations(earlier, after), after)
            frames |= self._frames(before[0], earlier, after)
        statement = rendering.comparison(plan, NAME, (relations, as_of), before, _unique())
        return self._answer(statement, frames, plan.desc.columns, with_diff=True)

    def _changed(
        self, frames: dict[str, DataFrame], inputs: Inputs, before: Timestamp, as_of: Timestamp
    ) -> dict[str, EngineRelation]:
        """The updates between the two times of every input that has some. Adds them to
        ``frames``."""
        changed = {}
        for id, input in inputs.items():
            if input.may_change(before, as_of):
                changed[str(id)] = input.relation(_unique(), as_of, after=before)
                frames[changed[str(id)].name] = self._frame(input, as_of, after=before)
        return changed

    def _frames(
        self, relations: Mapping[str, EngineRelation], inputs: Inputs, as_of: Timestamp
    ) -> dict[str, DataFrame]:
        return {relations[str(id)].name: self._frame(input, as_of) for id, input in inputs.items()}

    def _frame(
        self, input: Input, as_of: Timestamp, *, after: Timestamp | None = None
    ) -> DataFrame:
        return (
            self._collection(input, as_of, after=after)
            if isinstance(input, CollectionInput)
            else self._table(input.table)
        )

    def _table(self, table: pa.Table) -> DataFrame:
        """The rows of ``table``. Empty batches are left out, because Spark loses the batches after
        them. A server needs the schema of an empty table."""
        from pyspark.sql.pandas.types import from_arrow_schema

        filled = [batch for batch in table.to_batches() if batch.num_rows]
        if not filled:
            return self._session.createDataFrame([], from_arrow_schema(table.schema))
        return self._session.createDataFrame(pa.Table.from_batches(filled, table.schema))

    def _collection(
        self, input: CollectionInput, as_of: Timestamp, *, after: Timestamp | None = None
    ) -> DataFrame:
        updates = self.updates(input.version, as_of, after=after)
        has_tail = input.tail is not None and input.tail.num_rows
        return updates.unionByName(self._table(input.tail)) if has_tail else updates

    def updates(
        self, version: Version, as_of: Timestamp, *, after: Timestamp | None = None
    ) -> DataFrame:
        """A version's updates at times up to ``as_of`` (``after`` a time), perhaps with some
        others."""
        lower = None if after is None else Timestamp(after + 1)
        return self.files(
            version.desc,
            [file.uri for file in version.files(lower=lower, upper=Timestamp(as_of + 1))],
        )

    def files(self, desc: RelationDesc, uris: Sequence[str]) -> DataFrame:
        """The updates in files of that desc. The schema is passed, so that no job infers it."""
        fields = [
            f"{identifier(NAME, column.name)} {type_sql(NAME, column.type)}"
            for column in desc.columns
        ]
        schema = ", ".join([*fields, f"{TIME_COLUMN} BIGINT", f"{DIFF_COLUMN} BIGINT"])
        if uris:
            return self._session.read.schema(schema).parquet(*map(hadoop_uri, uris))
        return self._session.createDataFrame([], schema=schema)

    def _answer(
        self,
        statement: rendering.EngineStatement,
        frames: dict[str, DataFrame],
        columns: tuple[Column, ...],
        *,
        with_diff: bool = False,
        are_few: bool = False,
    ) -> Answer:
        schema = result_schema(columns)
        if with_diff:
            schema = schema.append(pa.field(DIFF_COLUMN, pa.int64(), nullable=False))
        rows = SparkRows(self._session, _unique(), self._pool, self._spool)

        def batches() -> Iterator[pa.RecordBatch]:
            from py4j.protocol import Py4JError
            from pyspark.errors import PySparkException

            try:
                for name, frame in frames.items():
                    frame.createOrReplaceTempView(name)
                self._add_json_functions(statement)
                for name, select in statement.shared:
                    frames[name], _ = rows.stored(self._parsed(select))
                    frames[name].createOrReplaceTempView(name)
                for loop in statement.loops:
                    self._iterate(loop, rows, frames)
                for batch in rows.of(self._parsed(statement.sql), are_few=are_few):
                    yield cast_to(batch, schema)
            except (PySparkException, Py4JError, OSError) as error:
                raise (QueryCanceled() if rows.is_cancelled else _failure(error)) from error
            finally:
                # where Spark has ended, so have they
                with suppress(PySparkException, Py4JError, OSError):
                    for name in frames:
                        self._session.catalog.dropTempView(name)
                rows.remove_stored()

        return Answer(
            NAME, columns, pa.RecordBatchReader.from_batches(schema, batches()), rows.cancel
        )

    def _parsed(self, query: str) -> DataFrame:
        """The rows of ``query``, which may begin with WITH. At the beginning of a statement, WITH
        would make Spark's parser read all of it ahead, to see whether it inserts rows."""
        return self._session.sql(f"SELECT * FROM ({query})")

    def _add_json_functions(self, statement: rendering.EngineStatement) -> None:
        """Register the functions of documents at the first statement that calls one: that takes a
        second."""
        if self._has_json_functions or not statement.calls(PREFIX):
            return
        from pyspark.sql.pandas.functions import arrow_udf

        types = {
            pa.string(): "STRING",
            pa.int32(): "INT",
            pa.float64(): "DOUBLE",
            pa.bool_(): "BOOLEAN",
        }
        types[pa.list_(pa.string())] = "ARRAY<STRING>"
        # its overloads name a kind that follows from the annotations
        make_function: Any = arrow_udf
        for name, function in JSON_FUNCTIONS.items():
            self._session.udf.register(
                name, make_function(function.of_columns(), types[function.result])
            )
        self._has_json_functions = True

    def _iterate(self, loop: Loop, rows: SparkRows, views: dict[str, DataFrame]) -> None:
        """Execute the loop. Its relations become views, which are added to ``views``."""

        def define(name: str, frame: DataFrame) -> None:
            views[name] = frame
            frame.createOrReplaceTempView(name)

        for name, select in loop.invariants:
            define(name, rows.stored(self._parsed(select))[0])
        added, _ = rows.stored(self._parsed(loop.base))
        result = added
        for iteration in itertools.count():
            define(loop.work_table, added)
            define(loop.result, result)
            added, has_rows = rows.stored(self._parsed(loop.step))
            if not has_rows:
                return
            if iteration == loop.most_iterations:
                message = iterations_exceeded(loop.name, loop.most_iterations)
                raise EvaluationError(message, sqlstate="54000", hint=RECURSION_HINT)
            result = result.unionAll(added)
            if iteration % _ITERATIONS_OF_A_PLAN == _ITERATIONS_OF_A_PLAN - 1:
                result, _ = rows.stored(result)


def _relations(inputs: Inputs, as_of: Timestamp) -> dict[str, EngineRelation]:
    """A unique name in the session for every input."""
    return {str(id): input.relation(_unique(), as_of) for id, input in inputs.items()}


def _unique() -> str:
    return f"reclock_{uuid.uuid4().hex}"


def _failure(error: Exception) -> ReclockError:
    from py4j.protocol import Py4JJavaError, Py4JNetworkError
    from pyspark.errors import PySparkException

    condition = (error.getCondition() or "") if isinstance(error, PySparkException) else ""
    if isinstance(error, OSError | Py4JNetworkError) or condition.startswith(_OF_NO_SESSION):
        return SparkLost(detail=str(error) or type(error).__name__)
    if condition in _NO_PYTHON:
        return UnsupportedSql(
            "a function of JSON documents or ranges is not supported here on Spark",
            detail=str(error).split(" SQLSTATE")[0],
            hint="compute it in a subquery or view",
        )
    text = error.java_exception.toString() if isinstance(error, Py4JJavaError) else str(error)
    state = (error.getSqlState() or "") if isinstance(error, PySparkException) else ""
    is_of_data = state.startswith("22") or "org.apache.spark.SparkArithmeticException" in text
    return failure(error, text, is_of_data=is_of_data)
