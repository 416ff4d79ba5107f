"""The plan cache: the same text from the same roles at the same moment of the catalog has the same
plan."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pyarrow as pa

from reclock.adapter.context.results import Result
from reclock.adapter.context.users import Users
from reclock.adapter.planning.index_plans import IndexedPlan, Indexes, arranged
from reclock.adapter.planning.lookup_plans import Binder, binder, lookup_binder
from reclock.algebra.ids import TABLES, GlobalId
from reclock.algebra.relations import ScalarType
from reclock.compute.reads.lookups import Lookup
from reclock.plan.relational import Plan, collections
from reclock.plan.temporal import reads_now
from reclock.sql.catalog.entries import IndexEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames
from reclock.sql.parameters import Parameters
from reclock.sql.planning.registry import PlannedStatement
from reclock.sql.queries.views import Definition, definition_of
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.show.syntax import (
    ShowColumnsStatement,
    ShowCreateStatement,
    ShowObjectsStatement,
)
from reclock.sql.statements.tables.insert_template import InsertTemplate
from reclock.sql.statements.tables.modify_plan import Modify
from reclock.sql.statements.tables.modify_syntax import (
    DeleteStatement,
    InsertStatement,
    UpdateStatement,
)
from reclock.sql.syntax import nodes
from reclock.sql.syntax.parse import ParsedStatement

T = TypeVar("T")

MOST_PLANS = 256
"""Plans at one moment of the catalog. When there would be more, all are dropped."""
LONGEST_TEXT = 10_000
"""Characters of a statement and its parameters. Longer statements are not cached."""
LARGEST_ANSWER_BYTES = 1 << 16

_CACHED = (
    nodes.QueryStatement,
    UpdateStatement,
    DeleteStatement,
    ShowObjectsStatement,
    ShowColumnsStatement,
    ShowCreateStatement,
)
"""Statements that clients repeat, and whose plans depend on the cache key and the catalog alone."""


@dataclass(frozen=True, slots=True)
class BoundLookup:
    """A query of one table, as it is now, that needs no engine. ``select`` has parameters where
    ``rows`` has values."""

    select: Select
    rows: Lookup


@dataclass(slots=True, eq=False)
class CachedPlan:
    """A planned statement, shared by all sessions that repeat it at one moment of the catalog.
    ``answer`` holds its rows if it reads no collection and they are small. ``template`` makes
    INSERTs with other values, at the same moment."""

    _statement: PlannedStatement | None
    answer: tuple[pa.RecordBatch, ...] | None = None
    template: InsertTemplate | None = None
    lookup: BoundLookup | None = None
    """Set if it is a query that memory may answer."""
    _definition: Definition | None = None
    _binders: _Binders | None = None
    """Once ``with_values`` has made them."""
    _bind: Callable[[], tuple[PlannedStatement, Definition]] | None = None
    """Makes the statement and its definition when they are first used."""
    _arrange: Callable[[PlannerCatalog, Indexes], IndexedPlan] | None = None
    """As ``arranged`` for the statement's own plan."""
    _arranged: dict[frozenset[GlobalId], IndexedPlan] = field(default_factory=dict)
    """The statement's own plan by the indexes that it may read."""

    @property
    def statement(self) -> PlannedStatement:
        if self._statement is None:
            assert self._bind is not None
            self._statement, self._definition = self._bind()
        return self._statement

    def definition_of(self, plan: Plan, catalog: PlannerCatalog) -> Definition:
        """The definition of a plan at the catalog that the statement was planned at. That of the
        statement's own plan is computed once."""
        if not isinstance(self.statement, Select | Modify) or plan is not self.statement.plan:
            return definition_of(plan, catalog)
        if self._definition is None:
            self._definition = definition_of(plan, catalog)
        return self._definition

    def arranged(self, plan: Plan, catalog: PlannerCatalog, indexes: Indexes) -> IndexedPlan:
        """``index_plans.arranged`` for a plan at the catalog that the statement was planned at. For
        the statement's own plan it is computed once."""
        if not isinstance(self.statement, Select | Modify) or plan is not self.statement.plan:
            return arranged(plan, catalog, indexes)
        if self._arrange is not None:
            return self._arrange(catalog, indexes)
        key = _ids(indexes)
        if key not in self._arranged:
            self._arranged[key] = arranged(plan, catalog, indexes)
        return self._arranged[key]

    def with_values(self, values: Sequence[Any], catalog: PlannerCatalog) -> CachedPlan:
        """The plan of a lookup (see ``is_lookup``) with values for its parameters. Its statement is
        only made if it is used: an answer from memory needs none."""
        statement = self.statement
        assert isinstance(statement, Select | Modify)
        if self._binders is None:
            definition = self.definition_of(statement.plan, catalog)
            self._binders = _Binders.of(statement, definition, catalog)
        binders = self._binders
        return CachedPlan(
            None,
            lookup=binders.lookup(values),
            _bind=lambda: binders.bind(values),
            _arrange=lambda catalog, indexes: binders.arranged(values, catalog, indexes),
        )

    def run(self, run: Callable[[], Result], limit_bytes: int) -> Result:
        """The result of ``run``, or of an earlier run.

        A plan that reads no collection has one answer: what it takes from the moment or the session
        is in it as constants, and such a plan is not shared.
        """
        select = self.statement
        assert isinstance(select, Select)
        if self.answer is not None and not 0 < limit_bytes < LARGEST_ANSWER_BYTES:
            return Result(select.tag, select.desc, iter(self.answer))
        result = run()
        if collections(select.plan) or select.as_of is not None or reads_now(select.plan):
            return result
        return replace(result, batches=self._recorded(result))

    def _recorded(self, result: Result) -> Iterator[pa.RecordBatch]:
        recorded: list[pa.RecordBatch] | None = []
        size = 0
        with closing(result):
            for batch in result.batches:
                size += batch.nbytes
                if recorded is not None:
                    recorded = [*recorded, batch] if size <= LARGEST_ANSWER_BYTES else None
                yield batch
        if recorded is not None:
            self.answer = tuple(recorded)


@dataclass(frozen=True, slots=True)
class _Binders:
    """What gives values to a lookup."""

    statement: Select | Modify
    definition: Definition
    plan: Binder[Plan]
    definition_plan: Binder[Plan]
    rows: Binder[Lookup] | None
    """Of a query that memory may answer."""
    indexed: dict[frozenset[GlobalId], tuple[Binder[Plan], tuple[IndexEntry, ...]]] = field(
        default_factory=dict
    )
    """The plan by the indexes that it may read, and those that it reads."""

    @classmethod
    def of(
        cls, statement: Select | Modify, definition: Definition, catalog: PlannerCatalog
    ) -> _Binders:
        rows = None
        if isinstance(statement, Select) and _reads_one_table(statement, definition, catalog):
            rows = lookup_binder(definition.plan, statement.finishing)
        plan, definition_plan = binder(statement.plan), binder(definition.plan)
        return cls(statement, definition, plan, definition_plan, rows)

    def bind(self, values: Sequence[Any]) -> tuple[PlannedStatement, Definition]:
        """The statement and its definition with values."""
        plan = bound = self.plan(values)
        if self.definition.plan is not self.statement.plan:
            bound = self.definition_plan(values)
        return replace(self.statement, plan=plan), replace(self.definition, plan=bound)

    def arranged(
        self, values: Sequence[Any], catalog: PlannerCatalog, indexes: Indexes
    ) -> IndexedPlan:
        """The statement's plan with values, over collections and these indexes."""
        key = _ids(indexes)
        if key not in self.indexed:
            plan, chosen = arranged(self.statement.plan, catalog, indexes)
            self.indexed[key] = binder(plan), chosen
        bind, chosen = self.indexed[key]
        return bind(values), chosen

    def lookup(self, values: Sequence[Any]) -> BoundLookup | None:
        if self.rows is None:
            return None
        assert isinstance(self.statement, Select)
        return BoundLookup(self.statement, self.rows(values))


def _ids(indexes: Indexes) -> frozenset[GlobalId]:
    return frozenset(index.id for index in indexes.values())


def _reads_one_table(select: Select, definition: Definition, catalog: PlannerCatalog) -> bool:
    """Whether the query reads a table as it is now, with no index that could be read instead."""
    return (
        select.as_of is None
        and not select.effects
        and all(id.group == TABLES and id.has_times for id in definition.reads)
        and not any(catalog.indexes_on(relation) for relation in definition.relations)
    )


def cache_key(
    parsed: ParsedStatement, names: SessionNames, parameters: Parameters, users: Users
) -> Hashable | None:
    """All that planning and authorizing the statement depend on, besides the catalog. None for
    statements that are not cached."""
    if not isinstance(parsed.node, _CACHED):
        return None
    values: tuple[str, ...] = ()
    if parameters.values is not None:
        if (
            sum(len(value) for value in parameters.values if isinstance(value, str | bytes | list))
            > LONGEST_TEXT
        ):
            return None
        # equal values can differ: 1.0 and 1.00, 0.0 and -0.0
        values = tuple(repr(value) for value in parameters.values)
    if len(parsed.text) + sum(map(len, values)) > LONGEST_TEXT:
        return None
    return (
        type(parsed.node),
        parsed.text,
        names,
        users,
        _exactly(parameters.types),
        values,
        parameters.is_open,
    )


def template_key(
    parsed: ParsedStatement,
    names: SessionNames,
    types: Sequence[ScalarType | None],
    users: Users,
) -> Hashable | None:
    """All that planning and authorizing an INSERT depend on, besides the catalog and the values of
    its parameters. None for statements that are not cached."""
    if not isinstance(parsed.node, InsertStatement) or len(parsed.text) > LONGEST_TEXT:
        return None
    return "template", parsed.text, names, users, _exactly(types)


def description_key(
    parsed: ParsedStatement, names: SessionNames, types: Sequence[ScalarType | None]
) -> Hashable | None:
    """All that the description of a statement's parameters and columns depends on, besides the
    catalog. None for statements that are not cached."""
    if not isinstance(parsed.node, _CACHED) or len(parsed.text) > LONGEST_TEXT:
        return None
    return "description", type(parsed.node), parsed.text, names, _exactly(types)


def _exactly(types: Sequence[ScalarType | None]) -> tuple[Hashable, ...]:
    """The types, of which a text and a ``varchar`` are not equal."""
    return tuple((type, type is not None and type.is_varchar) for type in types)


def watched(names: SessionNames) -> tuple[SessionNames, Callable[[], bool]]:
    """``names``, and whether anything that differs between sessions or statements was read from
    them since."""
    has_read = False

    def noting(read: Callable[[], T]) -> Callable[[], T]:
        def noted() -> T:
            nonlocal has_read
            has_read = True
            return read()

        return noted

    watched_names = replace(
        names,
        settings=noting(names.settings),
        process_id=noting(names.process_id),
        now=noting(names.now),
        clock=noting(names.clock),
    )
    return watched_names, lambda: has_read


def store(catalog: PlannerCatalog, key: Hashable, planned: object) -> None:
    """Keep a plan or a description, or None if there is no plan that other executions could use,
    until the catalog changes, or the cache is full."""
    if len(catalog.planned) >= MOST_PLANS:
        catalog.planned.clear()
    catalog.planned[key] = planned
