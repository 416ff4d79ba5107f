"""Planned queries."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Explain:
    """``is_timestamp`` asks for the time the query would be read at rather than for its plan."""

    select: Select
    is_timestamp: bool = False
    tag: str = "EXPLAIN"
