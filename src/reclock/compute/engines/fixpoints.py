"""Answers of plans with ``WITH MUTUALLY RECURSIVE``: the bindings are computed by one query after
the other, and wait in memory as tables."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import pyarrow as pa

from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.compute import rendering
from reclock.compute.engines.engine import (
    Answer,
    Engine,
    Inputs,
    PreviousResult,
    TableInput,
    result_schema,
)
from reclock.errors import RECURSION_LIMIT_HINT, EvaluationError, QueryCanceled
from reclock.plan.mutual_recursion import (
    RecursiveBlock,
    by_places,
    parts_without_blocks,
    renamed,
    table,
    without_blocks,
)
from reclock.plan.relational import Finishing, Get, Plan


def run(
    engine: Engine, plan: Plan, finishing: Finishing, inputs: Inputs, as_of: Timestamp
) -> Answer:
    """``Engine.run``, for the plan without blocks over inputs with their rows."""
    work = _Work(engine, plan)

    def answered() -> Answer:
        evaluated, tables = work.evaluated(plan, inputs, as_of)
        return engine.run(evaluated, finishing, tables, as_of)

    return work.answer(rendering.visible(plan.desc, finishing), answered, with_diff=False)


def difference(
    engine: Engine,
    plan: Plan,
    desc: RelationDesc,
    inputs: Inputs,
    as_of: Timestamp,
    previous_result: PreviousResult,
) -> Answer:
    """``Engine.difference``, in the same way."""
    work = _Work(engine, plan)

    def answered() -> Answer:
        evaluated, tables = work.evaluated(plan, inputs, as_of)
        return engine.difference(evaluated, desc, tables, as_of, previous_result)

    return work.answer(desc.columns, answered, with_diff=True)


def compare(
    engine: Engine,
    plan: Plan,
    inputs: Inputs,
    as_of: Timestamp,
    after: Timestamp | None,
    earlier: Inputs,
) -> Answer:
    """``Engine.compare``: both versions are computed as a whole."""
    work, get = _Work(engine, plan), table("result", plan.desc)

    def compared() -> Answer:
        now: Inputs = {get.collection: TableInput(work.rows(plan, inputs, as_of))}
        before: Inputs = {}
        if after is not None:
            rows = work.rows(plan, {**inputs, **earlier}, after)
            before = {get.collection: TableInput(rows)}
        return engine.compare(renamed(get, plan.desc), now, as_of, after, before)

    return work.answer(plan.desc.columns, compared, with_diff=True)


class _Work:
    """Queries of one answer, one after the other. They can be interrupted from any thread."""

    def __init__(self, engine: Engine, plan: Plan) -> None:
        """Raises ``UnsupportedSql`` if the engine cannot run the plan."""
        for part in parts_without_blocks(plan):
            with suppress(EvaluationError):  # which the query raises
                rendering.check_supported_by(engine.name, part)
        self._engine = engine
        self._running: Answer | None = None
        self._is_interrupted = False

    def answer(
        self, columns: tuple[Column, ...], last: Callable[[], Answer], *, with_diff: bool
    ) -> Answer:
        """The answer of ``last``, which is called, and may compute, when it is read."""
        schema = result_schema(columns)
        if with_diff:
            schema = schema.append(pa.field(DIFF_COLUMN, pa.int64(), nullable=False))

        def batches() -> Iterator[pa.RecordBatch]:
            yield from self._batches(last())

        reader = pa.RecordBatchReader.from_batches(schema, batches())
        return Answer(self._engine.name, columns, reader, self._interrupt)

    def rows(self, plan: Plan, inputs: Inputs, as_of: Timestamp, depth: int = 0) -> pa.Table:
        """The rows of the plan, with columns named by their places."""
        plan, inputs = self.evaluated(plan, inputs, as_of, depth)
        desc = by_places(plan.desc)
        answer = self._engine.run(renamed(plan, desc), Finishing(), inputs, as_of)
        return pa.Table.from_batches(self._batches(answer), result_schema(desc.columns))

    def evaluated(
        self, plan: Plan, inputs: Inputs, as_of: Timestamp, depth: int = 0
    ) -> tuple[Plan, Inputs]:
        """The plan without blocks, and the inputs with their rows. ``depth`` is the number of
        blocks around it."""
        blocks: dict[RecursiveBlock, str] = {}
        plan, tables = without_blocks(plan, blocks), dict(inputs)
        for block, prefix in blocks.items():
            rows = self._fixpoint(block, inputs, as_of, depth)
            for place, binding in enumerate(rows):
                tables[block.table(place, prefix).collection] = TableInput(binding)
        return plan, tables

    def _fixpoint(
        self, block: RecursiveBlock, inputs: Inputs, as_of: Timestamp, depth: int
    ) -> Sequence[pa.Table]:
        """The rows of each binding when no iteration changes them any more, or at the limit."""
        places, prefix = range(len(block.values)), f"depth{depth}"
        gets = [block.table(place, prefix) for place in places]
        values = [block.over_tables(place, prefix) for place in places]
        reads = [block.reads(place) for place in places]
        rows = [result_schema(get.desc.columns).empty_table() for get in gets]
        versions = [0 for _ in places]
        read_versions: list[list[int] | None] = [None for _ in places]
        for iteration in itertools.count(1):
            before = list(versions)
            for place in places:
                newest = [versions[other] for other in reads[place]]
                if read_versions[place] == newest:
                    continue  # the value has read these rows already
                read_versions[place] = newest
                own = {gets[other].collection: TableInput(rows[other]) for other in reads[place]}
                value = self.rows(values[place], {**inputs, **own}, as_of, depth + 1)
                if self._differ(gets[place], value, rows[place], as_of):
                    rows[place] = value
                    versions[place] += 1
            if versions == before:
                break
            if iteration == block.most_iterations and not block.returns_at_limit:
                raise _limit_exceeded(block)
            if iteration == block.most_iterations:
                break
        return rows

    def _differ(self, get: Get, rows: pa.Table, others: pa.Table, as_of: Timestamp) -> bool:
        """Whether some row of the table ``get`` is not in both equally often."""
        if len(rows) != len(others) or not len(rows):
            return len(rows) != len(others)
        at = pa.repeat(pa.scalar(0, pa.int64()), len(others))
        diffs = pa.repeat(pa.scalar(1, pa.int64()), len(others))
        updates = others.append_column(TIME_COLUMN, at).append_column(DIFF_COLUMN, diffs)
        previous = PreviousResult(None, Timestamp(0), updates)
        inputs: Inputs = {get.collection: TableInput(rows)}
        answer = self._engine.difference(get, get.desc, inputs, as_of, previous)
        return any(batch.num_rows for batch in self._batches(answer))

    def _batches(self, answer: Answer) -> Iterator[pa.RecordBatch]:
        self._running = answer
        with answer.batches as batches:
            if self._is_interrupted:
                raise QueryCanceled
            yield from batches

    def _interrupt(self) -> None:
        self._is_interrupted = True
        if (running := self._running) is not None:
            running.interrupt()


def _limit_exceeded(block: RecursiveBlock) -> EvaluationError:
    return EvaluationError(
        f"recursive query exceeded the recursion limit {block.most_iterations}",
        sqlstate="54000",
        detail=f"rows of {', '.join(block.names)} still change",
        hint=RECURSION_LIMIT_HINT,
    )
