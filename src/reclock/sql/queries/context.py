"""The context of planning a query, and its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from sqlglot import exp

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import ScalarType
from reclock.plan.build import project
from reclock.plan.relational import Finishing, Ordering, Plan, TopK
from reclock.plan.scalars import Call
from reclock.sql.catalog.definitions import FunctionDefinition
from reclock.sql.catalog.entries import FunctionEntry, RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName, SessionNames
from reclock.sql.queries.planned import TypedExpr
from reclock.sql.queries.scope import Scope, ScopedPlan


@dataclass(frozen=True, slots=True)
class Block:
    """FROM and WHERE of a SELECT. ``correlated`` are the conditions of WHERE that refer to the
    outer query, which are not applied yet."""

    node: exp.Select
    relation: ScopedPlan
    correlated: tuple[TypedExpr, ...]


class Queries(Protocol):
    """Plans queries, for modules that meet one inside of something else."""

    def plan(
        self, node: exp.Expr, context: Context, hints: Sequence[ScalarType | None] = ()
    ) -> PlannedQuery: ...
    def block(self, node: exp.Select, context: Context, outer: Scope | None) -> Block: ...
    def finish(
        self, node: exp.Select, relation: ScopedPlan, context: Context, around: Plan | None = None
    ) -> PlannedQuery: ...
    def select_values(
        self, node: exp.Select, relation: ScopedPlan, context: Context
    ) -> list[TypedExpr]: ...
    def builtin_plan(self, entry: RelationEntry, catalog: PlannerCatalog) -> Plan: ...
    def order(
        self, node: exp.Select, relation: ScopedPlan, context: Context
    ) -> list[tuple[TypedExpr, bool, bool]]: ...


@dataclass(frozen=True, slots=True)
class Context:
    """The catalog, the session, the CTEs in scope, and a record of every relation that was
    named."""

    catalog: PlannerCatalog
    session: SessionNames
    queries: Queries
    about_session: Callable[[Call[TypedExpr]], TypedExpr]
    """Replaces a question about the session."""
    ctes: Mapping[str, Plan] = field(default_factory=dict)
    outer_widths: Mapping[str, int] = field(default_factory=dict)
    """For CTEs that refer to the outer query: how many columns after their own identify the outer
    row of each row."""
    ordered_ctes: Mapping[str, PlannedQuery] = field(default_factory=dict)
    """Those of the CTEs whose queries give their rows in an order."""
    without_rows: frozenset[str] = frozenset()
    """Statements of WITH that have no RETURNING."""
    named: list[tuple[exp.Table, QualifiedName]] = field(default_factory=list)
    calls: dict[int, DefinedCall] = field(default_factory=dict)
    """The calls of defined functions in a definition, by the numbers that their nodes have."""
    depends_on: set[GlobalId] = field(default_factory=set)
    around: ScopedPlan | None = None
    """Rows with which FROM begins, whose columns follow its own in name resolution: those of a
    subquery's outer query."""

    def with_cte(
        self, name: str, plan: Plan, outer_width: int = 0, ordered: PlannedQuery | None = None
    ) -> Context:
        others = {other: query for other, query in self.ordered_ctes.items() if other != name}
        return replace(
            self,
            ctes={**self.ctes, name: plan},
            ordered_ctes=others if ordered is None else {**others, name: ordered},
            outer_widths={**self.outer_widths, name: outer_width},
            without_rows=self.without_rows - {name},
        )


@dataclass(frozen=True, slots=True)
class DefinedCall:
    """A call of a function that a user defined, and an argument for each of its parameters.
    ``casts`` says which arguments have another type than their parameter."""

    entry: FunctionEntry
    arguments: tuple[TypedExpr, ...]
    casts: tuple[bool, ...]

    @property
    def function(self) -> FunctionDefinition:
        return self.entry.function


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """A planned query: the first ``visible`` columns of ``plan`` are shown, the others only ordered
    by.

    ``untyped`` are positions of constants that were made text because nothing said otherwise.
    ``outer_width`` columns after the visible ones say which row around each is for; LIMIT counts for each
    of these.
    """

    plan: Plan
    order: tuple[Ordering, ...]
    limit: int | None
    offset: int
    visible: int
    untyped: frozenset[int] = frozenset()
    outer_width: int = 0

    @property
    def finishing(self) -> Finishing:
        return Finishing(
            self.order,
            self.limit,
            self.offset,
            self.visible if self.visible < len(self.plan.desc) else None,
        )

    @property
    def embedded(self) -> Plan:
        """The rows as a part of another plan: limited, without the hidden columns, in no order."""
        return project(self.limited, range(self.visible + self.outer_width))

    @property
    def limited(self) -> Plan:
        """The rows that LIMIT leaves, with the hidden columns."""
        if self.limit is None and not self.offset:
            return self.plan
        around = tuple(range(self.visible, self.visible + self.outer_width))
        return TopK(self.plan, around, self.order, self.limit, self.offset)
