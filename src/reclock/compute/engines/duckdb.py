"""DuckDB, in this process and in memory, for inputs that need no Spark job."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import BIGINT, DIFF_COLUMN, TIME_COLUMN, Column, RelationDesc
from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.collections.arrow_offsets import without_offsets
from reclock.collections.files import DataFile
from reclock.collections.schema import arrow_schema
from reclock.compute import rendering
from reclock.compute.engines import continuing, fixpoints
from reclock.compute.engines.database import (
    NAME,
    Databases,
    breaks_database,
    failure_of,
    interrupt,
    is_of_another,
    open_database,
)
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
from reclock.compute.engines.group_states import GroupStates, GroupStep
from reclock.compute.engines.key_lookups import KeyLookups
from reclock.compute.engines.step_reads import DuckDbStepReads
from reclock.compute.narrowing import narrowed
from reclock.compute.operators.rules import EngineRelation
from reclock.compute.rendering import EngineStatement
from reclock.compute.steps import delta
from reclock.compute.steps.linear_recursion import with_linear_recursions
from reclock.compute.steps.new_rows import continued_recursion
from reclock.compute.steps.writer import RESULT, DeltaInputs
from reclock.errors import (
    EvaluationError,
    InternalError,
)
from reclock.plan.functions.sql_names import identifier, string, type_sql
from reclock.plan.mutual_recursion import has_blocks
from reclock.plan.relational import Finishing, Plan

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

Prepare = Callable[[duckdb.DuckDBPyConnection, bool], rendering.EngineStatement | str | pa.Table]
"""Makes the inputs of a statement relations of its session. Returns the statement, or its rows if
it was executed on the way. The argument says whether the statement may have signs."""

BATCH_ROWS = 1 << 16
_ATTEMPTS = 5
"""How often a statement is started again after fatal errors of other statements."""


class DuckDbEngine:
    """Runs plans on this machine, all statements together in ``memory_limit`` (such as ``2GB``, or
    ``50%`` of what the machine has) and by ``threads`` (0 is one a core). What does not fit is
    spilled to a folder below ``spill`` that goes with the process, all together as much as
    ``spill_limit`` (such as ``100GB``, or ``50%`` of what is free there).

    Its database reads no file but those below ``roots``, loads no extension and opens no
    connection; that cannot be changed by the statements that it runs. Files of an object store come
    through the collection's stored file system. Safe for several threads.
    """

    name = NAME

    def __init__(
        self,
        roots: Sequence[str] = (),
        *,
        memory_limit: str = "50%",
        spill_limit: str = "50%",
        threads: int = 0,
        spill: str | Path | None = None,
        lookups: KeyLookups | None = None,
        group_states: GroupStates | None = None,
    ) -> None:
        """Refreshes read by key from ``lookups`` where that is better than a scan; without it they
        scan.

        They keep partial aggregates of groups in ``group_states``; without it they read all rows of
        a group.
        """
        folder = Path(spill) if spill is not None else Path(tempfile.gettempdir(), "reclock-spill")
        self._lookups, self._group_states = lookups, group_states
        self._depths = continuing.RecursionDepths()
        self._databases = Databases(
            lambda: open_database(
                roots,
                memory_limit=memory_limit,
                threads=threads,
                spill=folder,
                spill_limit=spill_limit,
            )
        )

    def close(self) -> None:
        """Interrupt running statements and remove spilled files. A later statement opens the engine
        again."""
        self._databases.close()

    def run(self, plan: Plan, finishing: Finishing, inputs: Inputs, as_of: Timestamp) -> Answer:
        plan = with_linear_recursions(plan)
        if has_blocks(plan):
            return fixpoints.run(self, plan, finishing, inputs, as_of)

        def prepare(session: duckdb.DuckDBPyConnection, may_sign: bool) -> EngineStatement:
            relations = _bind(session, inputs, as_of, may_sign=may_sign)
            plan_to_read = narrowed(plan, is_read=True)
            return rendering.select(plan_to_read, finishing, NAME, relations, as_of)

        return self._answer(prepare, rendering.visible(plan.desc, finishing))

    def difference(
        self,
        plan: Plan,
        desc: RelationDesc,
        inputs: Inputs,
        as_of: Timestamp,
        previous_result: PreviousResult,
    ) -> Answer:
        plan = with_linear_recursions(plan)
        if has_blocks(plan):
            return fixpoints.difference(self, plan, desc, inputs, as_of, previous_result)

        def prepare(session: duckdb.DuckDBPyConnection, may_sign: bool) -> EngineStatement:
            relations = _bind(session, inputs, as_of, may_sign=may_sign)
            session.register("added", without_offsets(previous_result.added))
            parts = [(EngineRelation("added", is_counted=True), MAXIMUM)]
            if previous_result.version is not None:
                stored = _updates(
                    session,
                    "stored",
                    CollectionInput(previous_result.version),
                    previous_result.through,
                )
                parts.append((EngineRelation(stored, is_counted=True), previous_result.through))
            return rendering.difference(plan, desc, NAME, relations, as_of, parts)

        return self._answer(prepare, desc.columns, with_diff=True)

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
        if continued_recursion(plan):
            return continuing.changes(
                self, self._depths, plan, desc, inputs, before, as_of, previous_result
            )

        def prepare(session: duckdb.DuckDBPyConnection, may_sign: bool) -> pa.Table:
            relations = _bind(session, inputs, as_of, may_sign=False)
            changed = {} if by_time else _changed(session, inputs, before, as_of)
            keyed: dict[StorageCollectionId, Input] = dict(inputs)
            if previous_result.version is None:
                session.register("result", without_offsets(previous_result.added))
                relations[str(RESULT)] = EngineRelation("result", is_counted=True)
            else:
                result = keyed[RESULT] = CollectionInput(
                    previous_result.version, previous_result.added
                )
                read = _updates(session, "result", result, previous_result.through)
                relations[str(RESULT)] = EngineRelation(read, is_counted=True)
            step_inputs = DeltaInputs(relations, changed, before, as_of, by_time)
            with self._group_step(
                session, previous_result.index, before, as_of, inputs, by_time=by_time
            ) as groups:
                reads = DuckDbStepReads(self._lookups, groups, session, keyed, relations, as_of)
                # Computed here: what it reads of the groups is as it must be only until the step
                # ends.
                return session.sql(
                    delta.render(plan, desc, NAME, step_inputs, reads)
                ).to_arrow_table()

        columns = (*desc.columns, Column(TIME_COLUMN, BIGINT)) if by_time else desc.columns
        return self._answer(prepare, columns, with_diff=True)

    def _group_step(
        self,
        session: duckdb.DuckDBPyConnection,
        index: GlobalId | None,
        before: Timestamp,
        as_of: Timestamp,
        inputs: Inputs,
        *,
        by_time: bool,
    ) -> AbstractContextManager[GroupStep | None]:
        if self._group_states is None or index is None:
            return nullcontext()
        rewrites = {
            id: input.version.rewrites
            for id, input in inputs.items()
            if isinstance(input, CollectionInput)
        }
        return self._group_states.step(session, index, before, as_of, rewrites, by_time=by_time)

    def state_builds(self, index: GlobalId) -> int:
        groups = 0 if self._group_states is None else self._group_states.builds(index)
        return self._depths.builds + groups + (0 if self._lookups is None else self._lookups.builds)

    def state_bytes(self) -> tuple[int, int]:
        """What the state of refreshes takes: partial aggregates in memory, and what rows are looked
        up in by key, most of it on disk."""
        return (
            0 if self._group_states is None else self._group_states.size_bytes(),
            0 if self._lookups is None else self._lookups.size_bytes(),
        )

    def forget_index(self, index: GlobalId) -> None:
        self._depths.forget(index)
        if self._group_states is not None:
            self._group_states.forget(index, lambda: self._databases.current().session())

    def compare(
        self, plan: Plan, inputs: Inputs, as_of: Timestamp, after: Timestamp | None, earlier: Inputs
    ) -> Answer:
        plan = with_linear_recursions(plan)
        if has_blocks(plan):
            return fixpoints.compare(self, plan, inputs, as_of, after, earlier)

        def prepare(session: duckdb.DuckDBPyConnection, may_sign: bool) -> EngineStatement | str:
            relations = _bind(session, inputs, as_of, may_sign=may_sign)
            if after is not None and by_rules(plan, inputs, after):
                step = DeltaInputs(relations, _changed(session, inputs, after, as_of), after, as_of)
                return delta.render(plan, None, NAME, step)
            before = (
                None
                if after is None
                else (
                    relations | _bind(session, earlier, after, prefix="earlier", may_sign=may_sign),
                    after,
                )
            )
            return rendering.comparison(plan, NAME, (relations, as_of), before)

        return self._answer(prepare, plan.desc.columns, with_diff=True)

    def query(
        self,
        sql: str,
        columns: tuple[Column, ...],
        inputs: Mapping[str, CollectionInput | Dataset | pa.Table],
        as_of: Timestamp,
    ) -> Answer:
        """The rows of ``sql`` over inputs by name: ``columns`` and diffs. Of a collection it reads
        the updates at times up to ``as_of``."""

        def prepare(session: duckdb.DuckDBPyConnection, may_sign: bool) -> str:
            for name, input in inputs.items():
                if isinstance(input, CollectionInput):
                    read = _updates(session, f"{name}_files", input, as_of)
                    session.execute(
                        f"CREATE TEMP VIEW {name} AS SELECT * FROM {read} WHERE "
                        f"{TIME_COLUMN} <= {as_of:d}"
                    )
                else:
                    session.register(name, input)
            return sql

        return self._answer(prepare, columns, with_diff=True)

    def _answer(
        self,
        prepare: Prepare,
        columns: tuple[Column, ...],
        *,
        with_diff: bool = False,
    ) -> Answer:
        schema = result_schema(columns)
        if with_diff:
            schema = schema.append(pa.field(DIFF_COLUMN, pa.int64(), nullable=False))
        query = _Query(self._databases, prepare)
        query.begin()
        return Answer(
            NAME,
            columns,
            pa.RecordBatchReader.from_batches(schema, query.batches(schema)),
            query.interrupt,
        )


class _Query:
    """One statement, on the engine's current database. A statement that breaks its database fails
    alone.

    Other statements on that database fail at that moment too; those that have returned nothing yet
    begin again on a new one.
    """

    def __init__(self, databases: Databases, prepare: Prepare) -> None:
        self._databases, self._prepare = databases, prepare
        self._attempts, self._may_sign, self._has_signs = 0, True, False

    def begin(self) -> None:
        """Open a session with the statement's inputs. Raises a ``ReclockError``."""
        while True:
            self._attempts += 1
            self._database = self._databases.current()
            try:
                self._session = self._database.session()
                self._has_signs = False
                prepared = self._prepared = self._prepare(self._session, self._may_sign)
                self._has_signs = isinstance(prepared, EngineStatement) and prepared.has_signs
                return
            except duckdb.Error as error:
                self._ended_by(error, has_answered=False)

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        has_answered = False
        while True:
            # The engine computes from here on, not before: what runs until the first batch can then
            # be interrupted too.
            try:
                with self._reader() as reader:
                    for batch in reader:
                        yield cast_to(batch, schema)
                        has_answered = True
                return
            except (duckdb.Error, pa.ArrowException, OSError) as error:
                self._ended_by(error, has_answered=has_answered)
            finally:
                with suppress(duckdb.Error):  # its database is broken
                    self._session.close()
            self.begin()

    def _reader(self) -> pa.RecordBatchReader:
        if isinstance(self._prepared, pa.Table):
            return self._prepared.to_reader()
        sql = self._prepared
        if isinstance(sql, EngineStatement):
            for name in sql.counters:
                self._session.execute(f"CREATE TEMP SEQUENCE {name}")
            sql = sql.sql
        return self._session.sql(sql).to_arrow_reader(BATCH_ROWS)

    def interrupt(self) -> None:
        interrupt(self._session)

    def _ended_by(self, error: Exception, *, has_answered: bool) -> None:
        """Raises the error that ``error`` means, unless the statement may begin again."""
        if breaks_database(error):
            self._databases.discard(self._database)
        failed = failure_of(error)
        if (
            self._has_signs
            and not has_answered
            and isinstance(failed, EvaluationError | InternalError)
        ):
            self._may_sign = False
            return
        if not is_of_another(error) or has_answered or self._attempts == _ATTEMPTS:
            raise failed from error


def _bind(
    session: duckdb.DuckDBPyConnection,
    inputs: Inputs,
    as_of: Timestamp,
    *,
    prefix: str = "input",
    may_sign: bool = True,
) -> dict[str, EngineRelation]:
    """Make every input a relation of the session."""
    relations = {
        str(id): input.relation(_read(session, f"{prefix}{number}", input, as_of), as_of)
        for number, (id, input) in enumerate(inputs.items())
    }
    if may_sign:
        return relations
    return {id: replace(relation, is_signed=False) for id, relation in relations.items()}


def _changed(
    session: duckdb.DuckDBPyConnection, inputs: Inputs, before: Timestamp, as_of: Timestamp
) -> dict[str, EngineRelation]:
    """Make the updates between the two times relations of the session, for every input that has
    some."""
    return {
        str(id): input.relation(
            _read(session, f"changed{number}", input, as_of, after=before), as_of, after=before
        )
        for number, (id, input) in enumerate(inputs.items())
        if input.may_change(before, as_of)
    }


def _read(
    session: duckdb.DuckDBPyConnection,
    name: str,
    input: Input,
    as_of: Timestamp,
    *,
    after: Timestamp | None = None,
) -> str:
    if isinstance(input, CollectionInput):
        return _updates(session, name, input, as_of, after=after)
    session.register(name, without_offsets(input.table))
    return name


def _updates(
    session: duckdb.DuckDBPyConnection,
    name: str,
    input: CollectionInput,
    as_of: Timestamp,
    *,
    after: Timestamp | None = None,
) -> str:
    """The updates to read: those at times (``after`` one) up to ``as_of``, possibly others, and the
    tail. Local files are read in place."""
    parts = []
    version, tail, files = input.version, input.tail, input.files(as_of, after=after)
    if files and version.folder.is_local:
        parts.append(without_bounds(_parquet(files), version.desc))
    elif files:
        session.register(name, version.dataset(files))
        parts.append(without_bounds(name, version.desc))
    if (tail is not None and tail.num_rows) or not files:
        session.register(
            f"{name}_tail",
            arrow_schema(version.desc, with_updates=True).empty_table()
            if tail is None
            else without_offsets(tail),
        )
        parts.append(f"{name}_tail")
    return (
        parts[0]
        if len(parts) == 1
        else f"({' UNION ALL BY NAME '.join(f'SELECT * FROM {part}' for part in parts)})"
    )


def _parquet(files: Sequence[DataFile]) -> str:
    return f"read_parquet([{', '.join(string(NAME, file.uri) for file in files)}])"


def without_bounds(source: str, desc: RelationDesc) -> str:
    """``source`` as a relation in which NaN is a value of every floating-point column, whatever its
    statistics say.

    The bounds in a Parquet file leave NaN out, which DuckDB orders above every number. Where it
    trusts them, it skips rows, and decides a comparison before it sees one. The constant widens the
    bounds that it derives for the column.
    """
    floats = [column for column in desc.columns if column.type.is_float]
    if not floats:
        return source
    replaced = []
    for column in floats:
        name = identifier(NAME, column.name)
        nan = f"CAST('NaN' AS {type_sql(NAME, column.type)})"
        replaced.append(f"CASE WHEN isnan({name}) THEN {nan} ELSE {name} END AS {name}")
    return f"(SELECT * REPLACE ({', '.join(replaced)}) FROM {source})"
