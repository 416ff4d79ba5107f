"""Builtin views: planned at their first use, once, and taken on by each session that reads them."""

from __future__ import annotations

from collections.abc import Callable

from reclock.algebra.relations import TEXT
from reclock.plan.calls import replace_calls
from reclock.plan.relational import Plan, collections
from reclock.plan.scalars import Call, Literal, Scalar
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.queries.session_functions import is_about_session


def in_session(plan: Plan, answer: Callable[[Call], Scalar]) -> Plan:
    """``plan`` with the session's answers to questions about the session."""
    return replace_calls(plan, lambda call: is_about_session(call.function), answer)


def in_database(plan: Plan, database: str) -> Plan:
    """``plan``, of a builtin view that follows the catalog, as sessions in ``database`` read it."""
    return in_session(plan, lambda call: Literal(database, TEXT))


def follows_catalog(plan: Plan, catalog: PlannerCatalog) -> bool:
    """Whether the rows of a builtin view are the same for all sessions in a database, until the
    catalog changes."""
    questions: set[str] = set()

    def collect(call: Call) -> Scalar:
        questions.add(call.function)
        return call

    in_session(plan, collect)
    read = (catalog.relation(id.source_id) for id in collections(plan))
    return questions <= {"current_database"} and all(
        entry.follows_catalog or entry.builtin_view is not None for entry in read
    )
