"""Answers of plans with ``WITH MUTUALLY RECURSIVE``: the bindings are computed by one query after
the other, and wait in memory as tables.

A binding that is a set and only gains rows is computed once. Then each iteration computes the rows
that follow from the newest rows of what it reads (semi-naive evaluation); the rows after an
iteration are the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.compute import rendering
from reclock.compute.engines.engine import (
    Answer,
    Engine,
    Input,
    Inputs,
    PreviousResult,
    TableInput,
    result_schema,
)
from reclock.compute.operators.recursive_union import iterations_exceeded
from reclock.compute.steps.new_rows import growing_bindings, over_new_rows, without_rows
from reclock.errors import RECURSION_HINT, EvaluationError, QueryCanceled
from reclock.plan.mutual_recursion import (
    RecursiveBlock,
    by_places,
    parts_without_blocks,
    renamed,
    table,
    without_blocks,
)
from reclock.plan.relational import Finishing, Get, Plan, Union

_CHUNKS = 64
"""A table of rows that were added bit by bit is copied into one piece when it has more pieces."""


def run(
    engine: Engine, plan: Plan, finishing: Finishing, inputs: Inputs, as_of: Timestamp
) -> Answer:
    """``Engine.run``, for the plan without blocks over inputs with their rows."""
    work = FixpointWork(engine, plan)

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
    work = FixpointWork(engine, plan)

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
    work, get = FixpointWork(engine, plan), table("result", plan.desc)

    def compared() -> Answer:
        now: Inputs = {get.collection: TableInput(work.rows(plan, inputs, as_of))}
        before: Inputs = {}
        if after is not None:
            rows = work.rows(plan, {**inputs, **earlier}, after)
            before = {get.collection: TableInput(rows)}
        return engine.compare(renamed(get, plan.desc), now, as_of, after, before)

    return work.answer(plan.desc.columns, compared, with_diff=True)


@dataclass(slots=True)
class IteratedBinding:
    """A binding of a block, and its ``rows`` so far. ``value`` reads the tables of the bindings at
    the places ``reads``."""

    get: Get
    value: Plan
    reads: list[int]
    grows: bool
    """Whether it is a set that only gains rows, as do the bindings that it reads."""
    rows: pa.Table
    version: int = 0
    """How often the rows have changed."""
    read: list[tuple[int, int]] | None = None
    """Of each binding that it reads, the version and the number of rows that it has read."""


def block_bindings(block: RecursiveBlock, prefix: str) -> list[IteratedBinding]:
    """The bindings before the first iteration."""
    growing = growing_bindings(block)
    gets = [block.table(place, prefix) for place in range(len(block.values))]
    return [
        IteratedBinding(
            get,
            block.over_tables(place, prefix),
            block.reads(place),
            place in growing,
            result_schema(get.desc.columns).empty_table(),
        )
        for place, get in enumerate(gets)
    ]


class FixpointWork:
    """Queries of one answer, one after the other. They can be interrupted from any thread."""

    def __init__(self, engine: Engine, plan: Plan) -> None:
        """Raises ``UnsupportedSql`` if the engine cannot run the plan."""
        for part in parts_without_blocks(plan):
            with suppress(EvaluationError):  # which the query raises
                rendering.check_supported_by(engine.name, part)
        self.engine = engine
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
        return Answer(self.engine.name, columns, reader, self._interrupt)

    def table(self, answer: Answer) -> pa.Table:
        """The answer's rows."""
        return pa.Table.from_batches(self._batches(answer), answer.batches.schema)

    def rows(self, plan: Plan, inputs: Inputs, as_of: Timestamp, depth: int = 0) -> pa.Table:
        """The rows of the plan, with columns named by their places."""
        plan, inputs = self.evaluated(plan, inputs, as_of, depth)
        desc = by_places(plan.desc)
        return self.table(self.engine.run(renamed(plan, desc), Finishing(), inputs, as_of))

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
        bindings = block_bindings(block, f"depth{depth}")
        self.iterate(block, bindings, inputs, as_of, depth)
        return [binding.rows for binding in bindings]

    def iterate(
        self,
        block: RecursiveBlock,
        bindings: Sequence[IteratedBinding],
        inputs: Inputs,
        as_of: Timestamp,
        depth: int,
    ) -> int:
        """Go on from the rows of the bindings until no iteration changes them any more, or to the
        limit. Returns the number of iterations that changed rows."""
        for iteration in itertools.count(1):
            changes = [
                self._compute(binding, bindings, inputs, as_of, depth) for binding in bindings
            ]
            if not any(changes):
                return iteration - 1
            if iteration == block.most_iterations and not block.returns_at_limit:
                raise _limit_exceeded(block)
            if iteration == block.most_iterations:
                return iteration
        raise AssertionError

    def _compute(
        self,
        binding: IteratedBinding,
        bindings: Sequence[IteratedBinding],
        inputs: Inputs,
        as_of: Timestamp,
        depth: int,
    ) -> bool:
        """Compute the binding over the newest rows. Returns whether its rows changed."""
        reads = [bindings[place] for place in binding.reads]
        newest = [(other.version, len(other.rows)) for other in reads]
        read, binding.read = binding.read, newest
        if read == newest:
            return False  # the value has read these rows already
        tables: dict[StorageCollectionId, Input] = {
            other.get.collection: TableInput(other.rows) for other in reads
        }
        if read is None or not binding.grows:
            value = self.rows(binding.value, {**inputs, **tables}, as_of, depth + 1)
            if not self._differ(binding.get, value, binding.rows, as_of):
                return False
            binding.rows, binding.version = value, binding.version + 1
            return True
        new = {
            other.get.collection: other.rows.slice(rows)
            for other, (_, rows) in zip(reads, read, strict=True)
            if len(other.rows) > rows
        }
        return self.add_rows(binding, new, {**inputs, **tables}, as_of, depth)

    def add_rows(
        self,
        binding: IteratedBinding,
        new: Mapping[StorageCollectionId, pa.Table],
        inputs: Inputs,
        as_of: Timestamp,
        depth: int,
    ) -> bool:
        """Add the rows of the value that follow from the ``new`` rows of some collections. Returns
        whether there are any. ``inputs`` have the new rows too."""
        ids = {
            id: StorageCollectionId(GlobalId("new_rows"), output=str(number))
            for number, id in enumerate(new)
        }
        tables: dict[StorageCollectionId, Input] = {
            ids[id]: TableInput(rows) for id, rows in new.items()
        }
        tables[binding.get.collection] = TableInput(binding.rows)
        new_parts = [renamed(part, binding.get.desc) for part in over_new_rows(binding.value, ids)]
        if not new_parts:
            return False
        candidates = (
            new_parts[0] if len(new_parts) == 1 else Union(tuple(new_parts), binding.get.desc)
        )
        added = self.rows(
            without_rows(candidates, binding.get), {**inputs, **tables}, as_of, depth + 1
        )
        if not len(added):
            return False
        binding.rows = pa.concat_tables([binding.rows, added])
        if binding.rows.column(0).num_chunks > _CHUNKS:
            binding.rows = binding.rows.combine_chunks()
        binding.version += 1
        return True

    def _differ(self, get: Get, rows: pa.Table, previous_rows: pa.Table, as_of: Timestamp) -> bool:
        """Whether some row of the table ``get`` is not in both equally often."""
        if len(rows) != len(previous_rows) or not len(rows):
            return len(rows) != len(previous_rows)
        at = pa.repeat(pa.scalar(0, pa.int64()), len(previous_rows))
        diffs = pa.repeat(pa.scalar(1, pa.int64()), len(previous_rows))
        updates = previous_rows.append_column(TIME_COLUMN, at).append_column(DIFF_COLUMN, diffs)
        previous = PreviousResult(None, Timestamp(0), updates)
        inputs: Inputs = {get.collection: TableInput(rows)}
        answer = self.engine.difference(get, get.desc, inputs, as_of, previous)
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
    message = iterations_exceeded('", "'.join(block.names), block.most_iterations)
    return EvaluationError(message, sqlstate="54000", hint=RECURSION_HINT)
