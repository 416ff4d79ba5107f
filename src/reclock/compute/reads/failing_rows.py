"""Finds the row for which a plan fails, after it has failed, so that its error can name the row.

The search runs the plan over batches of the rows that reach the failing operator, bisects a failing
batch to one row, and runs the whole plan over that row. If no single row fails (for example if a
sum overflows), it tries groups in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
import structlog

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.compute.engines.engine import CollectionInput, Engine, Inputs, TableInput
from reclock.compute.reads.peeks import bytes_to_read
from reclock.errors import EvaluationError, ReclockError
from reclock.plan.properties import could_fail
from reclock.plan.relational import (
    Distinct,
    Filter,
    Finishing,
    Get,
    Join,
    JoinKind,
    Map,
    Plan,
    Project,
    Reduce,
    collections,
    inputs,
    with_inputs,
    work_tables,
)
from reclock.plan.traversal import nodes_by_id, nodes_of

_log = structlog.get_logger(__name__)

_CANDIDATES = StorageCollectionId(GlobalId("candidates"))
_MOST_BATCHES = 300
"""The search gives up after this many batches."""
_MOST_BYTES = 1 << 30
"""Larger inputs are not searched."""
_VALUE_CHARACTERS, _ROW_CHARACTERS = 40, 400
"""How much of a value, and of a row, an error shows."""


@dataclass(frozen=True, slots=True)
class FailingRow:
    """A row, or a group, that alone made a plan fail at a time. ``error`` names it."""

    error: EvaluationError
    at: Timestamp
    rows: Plan
    """The part of the plan that the row is of."""
    whole: Plan
    """The plan over ``candidates`` in place of that part."""
    candidates: pa.Table
    rewrites: Mapping[StorageCollectionId, int]
    """How often each collection that ``rows`` reads had been rewritten."""


def find_row(
    error: EvaluationError,
    plan: Plan,
    at: Timestamp,
    inputs_at: Inputs,
    *,
    engine: Engine,
    small: Engine,
    previous: FailingRow | None = None,
) -> FailingRow | None:
    """The row, or group, that alone makes ``plan`` fail over the inputs ``inputs_at``, with the
    error that ``engine`` has raised; None if none is certain.

    The engine ``small`` runs the batches of the search. Nothing is searched while the row that an
    earlier search of the same plan found, ``previous``, is certainly still there and fails.
    """
    search = _Search(plan, at, inputs_at, engine, small, error.sqlstate)
    if previous is not None and search.still_fails(previous):
        return previous
    if bytes_to_read(inputs_at, at) > _MOST_BYTES:
        return None
    return search.result()


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Rows of the plan ``rows``, one of which may make ``top``, a part of the whole plan, fail.
    ``restricted`` replaces ``target``, a part of ``top``, to compute it for some of the candidates
    alone."""

    rows: Plan
    target: Plan
    top: Plan
    restricted: Callable[[Get], Plan]
    kind: str


@dataclass(slots=True)
class _Search:
    """See ``find_row``."""

    plan: Plan
    at: Timestamp
    inputs_at: Inputs
    engine: Engine
    small: Engine
    sqlstate: str
    batches: int = 0
    """The number of batches so far."""
    nodes: list[Plan] = field(default_factory=list)

    def still_fails(self, row: FailingRow) -> bool:
        """Whether ``row`` is certainly among the rows still, and the plan fails for it."""
        try:
            return self._only_adds(row) and (self._causing(row.whole, row.candidates) is not None)
        except (ReclockError, pa.ArrowException):
            return False

    def _only_adds(self, row: FailingRow) -> bool:
        """Whether no row was deleted from the rows that ``row`` is one of since it was found."""
        for id, rewrites in row.rewrites.items():
            read = self.inputs_at.get(id)
            if not isinstance(read, CollectionInput) or read.version.rewrites != rewrites:
                return False
            if read.tail is not None and read.tail.num_rows > 0:
                return False
            changes = read.files(self.at, after=row.at)
            if changes and not isinstance(row.rows, Get):
                return False
            if any(file.min_diff is None or file.min_diff < 0 for file in changes):
                return False
        return True

    def result(self) -> FailingRow | None:
        self.nodes = nodes_of(self.plan)
        for candidates in [*self._rows(), *self._groups()]:
            try:
                if (value_failure := self._find(candidates)) is not None:
                    return value_failure
            except (ReclockError, pa.ArrowException) as failure:
                # the caller raises the original error
                _log.info("the row that a plan fails for was not found", error=str(failure))
        return None

    def _rows(self) -> list[_Candidates]:
        """The rows that reach each operator that could fail for a row, inner operators first."""
        candidates: dict[tuple[int, int], _Candidates] = {}
        for node in filter(could_fail, self.nodes):
            if work_tables(node):  # it cannot be computed outside of its recursion
                continue
            rows, top = inputs(node)[0], node
            while isinstance(rows, Map | Filter | Project):
                rows = rows.input
            while not isinstance(top, Reduce) and isinstance(
                reader := self._only_reader(top), Map | Filter | Project | Reduce
            ):
                top = reader
            kind = (
                f"the row of {rows.name} with "
                if isinstance(rows, Get)
                else "a row of a subquery with "
            )
            candidates[id(rows), id(top)] = _Candidates(rows, rows, top, lambda get: get, kind)
        return list(candidates.values())

    def _only_reader(self, node: Plan) -> Plan | None:
        readers = [reader for reader in self.nodes for child in inputs(reader) if child is node]
        return readers[0] if len(readers) == 1 else None

    def _groups(self) -> list[_Candidates]:
        """The groups of each aggregation."""
        candidates = []
        for node in self.nodes:
            if (
                isinstance(node, Reduce)
                and node.group_by
                and node.aggregates
                and not work_tables(node)
            ):
                columns = tuple(node.input.desc.columns[index] for index in node.group_by)
                rows = Distinct(Project(node.input, node.group_by, RelationDesc(columns)))
                candidates.append(
                    _Candidates(
                        rows, node.input, node, partial(_of_groups, node), "the group with "
                    )
                )
        return candidates

    def _find(self, candidates: _Candidates) -> FailingRow | None:
        """The candidate that the plan fails for alone, if the plan does not fail without any:
        then no other part causes it."""
        types = candidates.rows.desc.types
        desc = RelationDesc(tuple(Column(f"c{index}", type) for index, type in enumerate(types)))
        restricted = candidates.restricted(Get(_CANDIDATES, "candidates", desc))
        part = _replaced(candidates.top, candidates.target, restricted)
        whole = _replaced(self.plan, candidates.target, restricted)
        for batch in self._batches(candidates.rows, desc):
            self.batches += 1
            if self.batches > _MOST_BATCHES:
                return None
            if (row := self._narrow(part, batch)) is not None:
                if (error := self._causing(whole, row)) is None:
                    return None
                name = candidates.kind + _row_text(candidates.rows.desc, row)
                detail = (
                    f"{error.detail}; it fails for {name}"
                    if error.detail
                    else f"It fails for {name}"
                )
                named = EvaluationError(
                    error.message, sqlstate=error.sqlstate, detail=detail, hint=error.hint
                )
                return FailingRow(
                    named, self.at, candidates.rows, whole, row, self._rewrites(candidates.rows)
                )
        return None

    def _causing(self, whole: Plan, row: pa.Table) -> EvaluationError | None:
        """The error of the plan for this row alone; None if it does not fail, or fails without the
        row too."""
        error = self._error(self.engine, whole, row)
        is_other = (
            error is not None and self._error(self.engine, whole, row.slice(0, 0)) is not None
        )
        return None if is_other else error

    def _rewrites(self, rows: Plan) -> dict[StorageCollectionId, int]:
        return {
            id: read.version.rewrites
            if isinstance(read := self.inputs_at[id], CollectionInput)
            else -1
            for id in collections(rows)
        }

    def _batches(self, rows: Plan, desc: RelationDesc) -> Iterator[pa.Table]:
        """The rows, sorted within each batch, so that every search finds the same row."""
        with closing(self._run(self.engine, rows, {})) as batches:
            for batch in batches:
                table = pa.Table.from_batches([batch]).rename_columns(list(desc.names))
                order = [
                    (field.name, "ascending")
                    for field in table.schema
                    if not _is_unordered(field.type)
                ]
                yield table.sort_by(order) if order else table

    def _narrow(self, part: Plan, rows: pa.Table) -> pa.Table | None:
        """The first row that ``part`` fails for by itself; None if there is none."""
        if self._error(self.small, part, rows) is None:
            return None
        while rows.num_rows > 1:
            half = rows.slice(0, rows.num_rows // 2)
            rows = (
                rows.slice(half.num_rows) if self._error(self.small, part, half) is None else half
            )
        return rows if self._error(self.small, part, rows) is not None else None

    def _error(self, engine: Engine, plan: Plan, candidates: pa.Table) -> EvaluationError | None:
        """The error that the plan raises over these candidates, if it has the same SQLSTATE."""
        try:
            with closing(self._run(engine, plan, {_CANDIDATES: TableInput(candidates)})) as batches:
                for _ in batches:
                    pass
        except EvaluationError as error:
            return error if error.sqlstate == self.sqlstate else None
        return None

    def _run(
        self, engine: Engine, plan: Plan, added: Mapping[StorageCollectionId, TableInput]
    ) -> pa.RecordBatchReader:
        read = collections(plan)
        inputs_read = {id: input for id, input in {**self.inputs_at, **added}.items() if id in read}
        return engine.run(plan, Finishing(), inputs_read, self.at).batches


def _of_groups(node: Reduce, groups: Get) -> Plan:
    """The rows of these groups, except groups with NULL in a key, which a join does not match."""
    keys = tuple((index, place) for place, index in enumerate(node.group_by))
    return Join(node.input, groups, JoinKind.SEMI, keys, (), node.input.desc)


def _is_unordered(type: pa.DataType) -> bool:
    return bool(pa.types.is_nested(type))


def _replaced(plan: Plan, target: Plan, by: Plan) -> Plan:
    """The plan with ``by`` in the place of ``target``, one of its nodes."""
    replaced: dict[int, Plan] = {}
    for key, node in nodes_by_id(plan).items():
        children = [replaced[id(child)] for child in inputs(node)]
        replaced[key] = by if node is target else with_inputs(node, children)
    return replaced[id(plan)]


def _row_text(desc: RelationDesc, row: pa.Table) -> str:
    """The row by its columns; long values, and long rows, are truncated."""
    values = [column[0].as_py() for column in row.columns]
    return _truncated(
        ", ".join(
            f"{name} = {_value(value)}" for name, value in zip(desc.names, values, strict=True)
        ),
        _ROW_CHARACTERS,
    )


def _value(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case bytes():
            return f"'{_truncated(chr(92) + 'x' + value[:_VALUE_CHARACTERS].hex(), _VALUE_CHARACTERS)}'"
        case int() | float():
            return str(value)
        case list():
            return _truncated(str(value), _VALUE_CHARACTERS)
        case str():
            return "'" + _truncated(value.replace("'", "''"), _VALUE_CHARACTERS) + "'"
        case _ if hasattr(value, "as_tuple"):  # a Decimal
            return str(value)
        case _:
            return f"'{value}'"


def _truncated(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[:characters]}…"
