"""Planned queries."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.plan.relational import Finishing, Plan
from reclock.sql.planning.registry import PlannedStatement


@dataclass(frozen=True, slots=True)
class AsOf:
    """The requested time of a query: exactly ``at``, or, with ``is_at_least``, at or after it."""

    at: Timestamp
    is_at_least: bool = False


@dataclass(frozen=True, slots=True)
class Effect:
    """A function called for each row. Until then, its column has its arguments, as texts."""

    index: int
    function: str


@dataclass(frozen=True, slots=True)
class Select:
    """A query. ``plan`` yields ``desc``'s columns first; ``finishing`` orders and cuts, and hides
    the rest.

    The plan reads views as ``Get`` of the view's own id: ``planner.views.expand`` replaces them. A
    SHOW is a Select without any ``Get``: what it shows is in the plan.
    """

    plan: Plan
    finishing: Finishing
    desc: RelationDesc
    as_of: AsOf | None = None
    depends_on: frozenset[GlobalId] = frozenset()
    tag: str = "SELECT"
    effects: tuple[Effect, ...] = ()
    """The functions with side effects, only in a statement of its own. ``desc`` has the columns
    after their calls."""


class ExplainKind(StrEnum):
    """The kinds of EXPLAIN."""

    PLAN = "PLAN"
    ANALYZE = "ANALYZE"
    TIMESTAMP = "TIMESTAMP"
    OPTIMIZER_TRACE = "OPTIMIZER TRACE"


@dataclass(frozen=True, slots=True)
class ExplainDefinition:
    """EXPLAIN of a statement that is no query."""

    definition: PlannedStatement
    tag: str = "EXPLAIN"


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN of a SELECT: its plan, what running it took, its time, or its optimization."""

    select: Select
    kind: ExplainKind
    planned: Plan
    """The plan of the select before the optimizer's rules."""
    is_json: bool = False
    """Whether the plan is written as JSON."""
    tag: str = "EXPLAIN"
