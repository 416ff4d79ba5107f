"""The protocol of engines, with their inputs and answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import (
    DIFF_COLUMN,
    TIME_COLUMN,
    Column,
    RelationDesc,
    ScalarType,
    TypeName,
)
from reclock.algebra.timestamps import Timestamp
from reclock.collections.files import DataFile
from reclock.collections.schema import arrow_type
from reclock.collections.version import Version
from reclock.compute.operators.rules import EngineRelation
from reclock.compute.steps.delta import has_delta_rules
from reclock.plan.functions.sql_names import field_names
from reclock.plan.relational import Finishing, Plan

_FEW = 0.25
"""The share of a collection's updates, in files with other diffs than one, up to which they are
told apart from the rest."""


@dataclass(frozen=True, slots=True)
class CollectionInput:
    """One version of a collection. Its rows are those at the plan's time, at which the caller has
    made sure that it is readable.

    ``tail`` has updates, with times and diffs, that belong to the collection and are not in the
    version.
    """

    version: Version
    tail: pa.Table | None = None

    def relation(
        self, name: str, as_of: Timestamp, *, after: Timestamp | None = None
    ) -> EngineRelation:
        """Its name, and what the statistics of its files say about diffs (``after`` a time) up to
        ``as_of``."""
        files = self.files(as_of, after=after)
        bounds = [bound for file in files for bound in (file.min_diff, file.max_diff)]
        rows = sum(file.rows for file in files)
        rows_of_other_diffs = sum(
            file.rows for file in files if (file.min_diff, file.max_diff) != (1, 1)
        )
        if self.tail is not None:
            bounds += _bounds(self.tail)
            rows, rows_of_other_diffs = (
                rows + self.tail.num_rows,
                rows_of_other_diffs + self.tail.num_rows,
            )
        relation = _relation(name, bounds, is_monotonic=self.version.is_monotonic)
        return replace(relation, is_mostly_single=rows_of_other_diffs <= _FEW * rows)

    def files(self, as_of: Timestamp, *, after: Timestamp | None = None) -> list[DataFile]:
        """The files with updates at times (``after`` one) up to ``as_of``, possibly with others."""
        return self.version.files(
            lower=None if after is None else Timestamp(after + 1), upper=Timestamp(as_of + 1)
        )

    def may_change(self, after: Timestamp, as_of: Timestamp) -> bool:
        """Whether it may have updates at times later than ``after``, up to ``as_of``."""
        return bool(self.files(as_of, after=after)) or (
            self.tail is not None and self.tail.num_rows > 0
        )

    def tells_apart(self, at: Timestamp) -> bool:
        """Whether its contents at this time, and the changes since, can be read."""
        return self.version.since <= at


@dataclass(frozen=True, slots=True)
class TableInput:
    """A table in memory, whose columns are found by name. Its rows do not depend on the time, as
    with a system relation.

    With ``has_updates`` it has updates of a collection instead, with times and diffs: all that
    matter to the plan, and possibly others. It has all updates at times from ``since`` on; None if
    some may be missing.
    """

    table: pa.Table
    has_updates: bool = False
    since: Timestamp | None = None

    def relation(
        self, name: str, as_of: Timestamp, *, after: Timestamp | None = None
    ) -> EngineRelation:
        return (
            _relation(name, _bounds(self.table))
            if self.has_updates
            else EngineRelation(name, is_counted=False)
        )

    def may_change(self, after: Timestamp, as_of: Timestamp) -> bool:
        """As for a `CollectionInput`."""
        times = self.table[TIME_COLUMN]
        return (
            pc.any(pc.and_(pc.greater(times, after), pc.less_equal(times, as_of))).as_py() is True
        )

    def tells_apart(self, at: Timestamp) -> bool:
        """As for a `CollectionInput`."""
        return self.since is not None and self.since <= at


Input = CollectionInput | TableInput
Inputs = Mapping[StorageCollectionId, Input]


def _bounds(updates: pa.Table) -> list[int | None]:
    """The least and the largest diff, if there is any."""
    bounds = pc.min_max(updates[DIFF_COLUMN])
    return [bounds["min"].as_py(), bounds["max"].as_py()] if updates.num_rows else []


def _relation(
    name: str, bounds: Sequence[int | None], *, is_monotonic: bool = False
) -> EngineRelation:
    known = [bound for bound in bounds if bound is not None]
    if len(known) < len(bounds):
        return EngineRelation(name, is_counted=True, is_monotonic=is_monotonic)
    low, high = min(known, default=1), max(known, default=1)
    return EngineRelation(
        name,
        is_counted=True,
        is_monotonic=low > 0,
        is_single=low == high == 1,
        is_signed=low == -1 and high == 1,
    )


@dataclass(frozen=True, slots=True)
class PreviousResult:
    """The contents of a maintained result: the updates in ``version`` up to ``through``, if there
    are any, and those in ``added``."""

    version: Version | None
    through: Timestamp
    added: pa.Table
    index: GlobalId | None = None
    """The id of the index, for which engines keep state between refreshes."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of an answer. ``batches`` may compute them while it is read, and raises
    ``EvaluationError`` for a value that fails.

    ``interrupt`` may be called from any thread, also after the end: the next batch then raises
    ``QueryCanceled``. Repeat the call until it does, because the computation may not have begun at
    the first call.
    """

    engine: str
    columns: tuple[Column, ...]
    batches: pa.RecordBatchReader
    interrupt: Callable[[], None]


class Engine(Protocol):
    """Runs plans. Raises ``UnsupportedSql`` before it starts if it cannot run a plan."""

    name: str

    def run(self, plan: Plan, finishing: Finishing, inputs: Inputs, as_of: Timestamp) -> Answer:
        """The plan's rows at ``as_of``, finished. The columns have the Arrow types of the desc."""
        ...

    def difference(
        self,
        plan: Plan,
        desc: RelationDesc,
        inputs: Inputs,
        as_of: Timestamp,
        previous_result: PreviousResult,
    ) -> Answer:
        """The updates from ``previous_result`` to the plan at ``as_of``: the columns of ``desc``,
        and ``mz_diff``. Consolidated; empty if nothing changed."""
        ...

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
        """The same as ``difference``, computed from the changes of ``inputs`` since ``before``,
        when the previous result equaled the plan.

        The plan must have delta rules, and the inputs must be readable at ``before`` too.

        ``by_time``: no input changes since, and each update has its own time, in a column
        ``mz_timestamp`` before its diff. Raises ``NoRuleByTime`` if that is not possible.
        """
        ...

    def state_builds(self, index: GlobalId) -> int:
        """How often ``changes`` has built state that makes the next refreshes of the index
        cheaper, or has left it to the next one. Other indexes' builds may be counted too."""
        ...

    def forget_index(self, index: GlobalId) -> None:
        """Drop the state of an index that is no longer refreshed."""
        ...

    def compare(
        self, plan: Plan, inputs: Inputs, as_of: Timestamp, after: Timestamp | None, earlier: Inputs
    ) -> Answer:
        """The changes of the plan's rows from the time ``after``, at which the inputs are readable
        too, to ``as_of``.

        All rows are inserts if ``after`` is None. The plan's columns, and ``mz_diff``;
        consolidated. ``earlier`` are the inputs that have no times, as they were then. Where there
        are delta rules, only the changes of the inputs are read.
        """
        ...


def by_rules(plan: Plan, inputs: Inputs, after: Timestamp | None) -> bool:
    """Whether ``compare`` reads only changes and the rows that they affect: all inputs have times,
    and every operator has a rule."""
    return (
        after is not None
        and all(input.tells_apart(after) for input in inputs.values())
        and has_delta_rules(plan, is_kept=False)
    )


def result_type(type: ScalarType) -> pa.DataType:
    """The Arrow type of a column of an answer, the same as in a collection."""
    if type.element is not None:
        return pa.list_(result_type(type.element))
    if type.name is TypeName.RECORD:
        types = [result_type(field.type) for field in type.fields]
        return pa.struct(zip(field_names(type), types, strict=True))
    return pa.int64() if type.is_object_id else arrow_type(type)


def result_schema(columns: tuple[Column, ...]) -> pa.Schema:
    return pa.schema([pa.field(column.name, result_type(column.type)) for column in columns])


def cast_to(batch: pa.RecordBatch | pa.Table, schema: pa.Schema) -> pa.RecordBatch | pa.Table:
    """The engine's columns, by position, as exactly ``schema``. A relation without columns keeps
    its rows."""
    if not len(schema):  # arrays would not say how many
        rows = pa.RecordBatch.from_struct_array(pa.nulls(batch.num_rows, pa.struct([])))
        return pa.Table.from_batches([rows]) if isinstance(batch, pa.Table) else rows
    arrays = [batch.column(index).cast(field.type) for index, field in enumerate(schema)]
    if isinstance(batch, pa.Table):
        return pa.Table.from_arrays(arrays, schema=schema)
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
