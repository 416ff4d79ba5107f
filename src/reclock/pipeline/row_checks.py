"""Evaluates the CHECK constraints of a source on the staged rows of a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import structlog

from reclock.adapter.context.texts import text_of
from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.relations import BIGINT, BOOLEAN, DIFF_COLUMN, Column, RelationDesc
from reclock.algebra.timestamps import MAXIMUM
from reclock.collections.schema import arrow_schema
from reclock.compute import rendering
from reclock.compute.engines.database import NAME
from reclock.compute.operators.rules import EngineRelation, columns
from reclock.connectors.connector import RowPlace, Skip
from reclock.errors import ReclockError
from reclock.ingest.audit import AuditCase
from reclock.ingest.source_collections import SourceCollections
from reclock.pipeline.row_places import row_places
from reclock.plan.build import compute, filter_rows
from reclock.plan.relational import Finishing, Get, Plan
from reclock.plan.scalars import Call, Case, ColumnRef, Literal, Scalar
from reclock.quality.row_checks import RowCheck
from reclock.runtime.environment import Environment
from reclock.sql.catalog.constraints import Constraint
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.named_types import types_of
from reclock.sql.names import SessionNames
from reclock.sql.statements.sources.checks import source_check
from reclock.sql.syntax.dialect import to_sql

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

    from reclock.compute.engines.duckdb import DuckDbEngine

_logger = structlog.get_logger(__name__)

_ROWS = "staged_rows"
_DIFF = Column(DIFF_COLUMN, BIGINT, is_nullable=False)
_SHOWN_PLACES = 5
"""How many places of rows that violate a constraint its result names. The statement that gives them
up has more."""

_EXAMPLE_VALUE, _EXAMPLE = 64, 1000
"""The most characters of a value, as in PostgreSQL, and of all values of an example."""


@dataclass(frozen=True, slots=True)
class RowChecks:
    """What comes of the CHECKs of a source on the rows of a step. ``skips`` are offsets of rows that
    violate a constraint, by its name."""

    results: Sequence[RowCheck] = ()
    skips: Mapping[str, Sequence[Skip]] = field(default_factory=dict)


def row_checks(environment: Environment, case: AuditCase) -> RowChecks:
    """What comes of each enforced CHECK of the source on all rows that the step inserts.

    One query answers all of them. A condition that cannot be evaluated for some row fails alone. Of
    rows that violate one, it finds the first in the upstream.
    """
    entry = environment.stores.planner_catalog().entry(case.source.id)
    constraints = entry.constraints if isinstance(entry, RelationEntry) else ()  # else dropped
    enforced = [constraint for constraint in constraints if constraint.is_enforced]
    if not enforced or not case.step.staged.get(""):
        return RowChecks()
    try:
        staged = _staged_rows(environment, case, enforced)
        results = _evaluated(staged, enforced)
    except Exception as failure:  # the edge between this source and the others of the audit
        return RowChecks([_unevaluated(constraint, failure) for constraint in enforced])
    places = {
        constraint.name: _places(environment, case, partial(staged.violating, constraint))
        for constraint, result in zip(enforced, results, strict=True)
        if result.violations
    }
    shown = {
        name: tuple(place.text for place in row_places[:_SHOWN_PLACES])
        for name, row_places in places.items()
    }
    return RowChecks(
        [replace(result, places=shown.get(result.name, ())) for result in results],
        {
            name: [place.skip for place in row_places]
            for name, row_places in places.items()
            if row_places
        },
    )


def _places(
    environment: Environment, case: AuditCase, find: Callable[[str, int], list[int]]
) -> list[RowPlace]:
    try:
        return row_places(environment, case, find)
    except Exception:  # the check has failed, whether or not its rows are found
        _logger.warning("rows not located", source=case.source.name, exc_info=True)
        return []


def _evaluated(staged: StagedRows, constraints: Sequence[Constraint]) -> list[RowCheck]:
    try:
        rows, *violations = staged.counts(constraints)
    except ReclockError as failure:
        if len(constraints) == 1:
            return [_unevaluated(constraints[0], failure)]
        return [check for constraint in constraints for check in _evaluated(staged, [constraint])]
    return [
        RowCheck(
            constraint.name,
            to_sql(constraint.condition),
            rows,
            count,
            staged.example(constraint) if count else None,
        )
        for constraint, count in zip(constraints, violations, strict=True)
    ]


def _unevaluated(constraint: Constraint, failure: Exception) -> RowCheck:
    reason = failure.message if isinstance(failure, ReclockError) else str(failure)
    return RowCheck(constraint.name, to_sql(constraint.condition), 0, error=reason)


def _staged_rows(
    environment: Environment, case: AuditCase, constraints: Sequence[Constraint]
) -> StagedRows:
    import pyarrow.dataset as pads  # it loads pandas

    catalog, desc = environment.stores.planner_catalog(), case.source.desc
    with types_of(catalog, SessionNames()):
        conditions = {constraint.name: source_check(constraint, desc) for constraint in constraints}
    folder = SourceCollections.open(environment.stores.lake, case.source).outputs[""].folder
    parquet = pads.ParquetFileFormat()
    fragments = [
        parquet.make_fragment(file.path, folder.filesystem) for file in case.step.staged[""]
    ]
    schema = arrow_schema(desc, with_updates=True)
    files = pads.FileSystemDataset(fragments, schema, parquet, folder.filesystem)
    return StagedRows(
        environment.runtime.engines.small, files, case.source.output(""), desc, conditions
    )


@dataclass(frozen=True, slots=True)
class StagedRows:
    """The staged rows of a source with columns of ``desc``, and the ``conditions`` of its CHECKs,
    by name."""

    engine: DuckDbEngine
    files: Dataset
    collection: StorageCollectionId
    desc: RelationDesc
    conditions: dict[str, Scalar]

    def counts(self, constraints: Sequence[Constraint]) -> list[int]:
        """How many rows there are, and how many of them violate each of the constraints."""
        scalars = [*(self.conditions[constraint.name] for constraint in constraints), self._diff]
        inserted = filter_rows(self._updates, [self._is_inserted])
        plan = compute(inserted, scalars, [f"c{i}" for i in range(len(scalars))])
        *conditions, diff = columns(plan)
        filters = ["", *(f" FILTER (WHERE NOT {condition})" for condition in conditions)]
        sums = ", ".join(f"CAST(coalesce(sum({diff}){filter}, 0) AS BIGINT)" for filter in filters)
        sql = f"SELECT {sums}, CAST(1 AS BIGINT) FROM ({self._rendered(plan)})"
        counts = tuple(Column(f"count{i}", BIGINT) for i in range(len(filters)))
        [row] = self._rows(sql, counts)
        return [*row]

    def violating(self, constraint: Constraint, path: str, most: int) -> list[int]:
        """The numbers, from 0, of the first rows of one staged file that violate the constraint, at
        most so many."""
        import pyarrow.parquet as pq

        rows = pq.read_table(path, filesystem=self.files.filesystem).select(self.files.schema.names)
        # the number of each row, from 1, in place of its diff: all rows are inserted
        numbers = pa.array(range(1, rows.num_rows + 1), pa.int64())
        rows = rows.set_column(rows.column_names.index(DIFF_COLUMN), DIFF_COLUMN, numbers)
        violated: Scalar = Call("not", (self.conditions[constraint.name],), BOOLEAN)
        numbered = [self._diff, self._diff]  # the second is the answer's diff
        plan = compute(filter_rows(self._updates, [violated]), numbered, ["row", "diff"])
        sql = f"{self._rendered(plan)} ORDER BY 1 LIMIT {most:d}"
        shown = (Column("row", BIGINT),)
        return [number - 1 for (number,) in self._rows(sql, shown, rows)]

    def example(self, constraint: Constraint) -> str | None:
        """The values of a row that violates the constraint, which does."""
        violated: Scalar = Call("not", (self.conditions[constraint.name],), BOOLEAN)
        # in a CASE, so that the condition is not evaluated for other rows
        case = Case(((self._is_inserted, violated),), Literal(False, BOOLEAN), BOOLEAN)
        plan = filter_rows(self._updates, [case])
        for row in self._rows(f"{self._rendered(plan)} LIMIT 1", self.desc.columns):
            text = ", ".join(map(_shortened, row))
            return text if len(text) <= _EXAMPLE else f"{text[:_EXAMPLE]}..."
        return None

    def _rows(
        self, sql: str, shown: tuple[Column, ...], rows: Dataset | pa.Table | None = None
    ) -> list[tuple[Any, ...]]:
        inputs = {_ROWS: self.files if rows is None else rows}
        with self.engine.query(sql, shown, inputs, MAXIMUM).batches as batches:
            table = batches.read_all()
        values = [column.to_pylist() for column in table.columns[: len(shown)]]
        return list(zip(*values, strict=True))

    @property
    def _diff(self) -> ColumnRef:
        return ColumnRef(len(self.desc), BIGINT)

    @property
    def _updates(self) -> Plan:
        """The rows, each with its diff as the last column."""
        return Get(self.collection, _ROWS, RelationDesc((*self.desc.columns, _DIFF)))

    @property
    def _is_inserted(self) -> Scalar:
        return Call(">", (self._diff, Literal(0, BIGINT)), BOOLEAN)

    def _rendered(self, plan: Plan) -> str:
        from reclock.compute.engines.duckdb import without_bounds

        rows = EngineRelation(without_bounds(_ROWS, self.desc), is_counted=False)
        relations = {str(self.collection): rows}
        return rendering.select(plan, Finishing(), NAME, relations, MAXIMUM).sql


def _shortened(value: Any) -> str:
    if value is None:
        return "null"
    text = text_of(value)
    return text if len(text) <= _EXAMPLE_VALUE else f"{text[:_EXAMPLE_VALUE]}..."
