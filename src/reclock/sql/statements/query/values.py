"""Planned queries."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.plan.relational import Finishing, Plan


@dataclass(frozen=True, slots=True)
class AsOf:
    """The time a query is to be read at: exactly ``at``, or ``is_at_least`` at or after it."""

    at: Timestamp
    is_at_least: bool = False


@dataclass(frozen=True, slots=True)
class Effect:
    """A function that does something for each row. Its column has its arguments, as texts, until that is done."""

    index: int
    function: str


@dataclass(frozen=True, slots=True)
class Select:
    """A query. ``plan`` yields ``desc``'s columns first; ``finishing`` orders and cuts, and hides the rest.

    The plan reads views as ``Get`` of the view's own id: ``planner.views.expand`` replaces them. A SHOW is a Select without any
    ``Get``: what it shows is in the plan.
    """

    plan: Plan
    finishing: Finishing
    desc: RelationDesc
    as_of: AsOf | None = None
    depends_on: frozenset[GlobalId] = frozenset()
    tag: str = "SELECT"
    effects: tuple[Effect, ...] = ()
    """What the rows do; only of a statement of its own. ``desc`` has the columns as they are then."""


class ExplainKind(StrEnum):
    """What is explained, as the statement says it."""

    PLAN = "PLAN"
    TIMESTAMP = "TIMESTAMP"
    OPTIMIZER_TRACE = "OPTIMIZER TRACE"


@dataclass(frozen=True, slots=True)
class Explain:
    """What a SELECT would do, which ``kind`` of it: its plan, the time it would read at, or how it is optimized."""

    select: Select
    kind: ExplainKind
    planned: Plan
    """The plan of the select before the optimizer's rules."""
    tag: str = "EXPLAIN"
