"""Views whose rows depend on the session that reads them: plain views and builtin ones. Their plans
keep the questions about the session, and each query that reads them answers these."""

from __future__ import annotations

from collections.abc import Callable

from reclock.algebra.relations import TEXT
from reclock.errors import UnsupportedSql
from reclock.plan.calls import replace_calls
from reclock.plan.relational import Plan, collections
from reclock.plan.scalars import Call, Literal, Scalar
from reclock.plan.temporal import NOW
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.queries.session_functions import is_about_session, is_moment


def in_session(plan: Plan, answer: Callable[[Call], Scalar]) -> Plan:
    """``plan`` with the session's answers to questions about the session."""
    return replace_calls(plan, lambda call: is_about_session(call.function), answer)


_INSTEAD = "; or compare mz_now() with a column in WHERE"


def questions(plan: Plan) -> frozenset[str]:
    """The functions about the session in ``plan``. ``mz_now()`` is none of them: its value depends
    on the time of the rows alone."""
    functions: set[str] = set()

    def collect(call: Call) -> Scalar:
        functions.add(call.function)
        return call

    in_session(plan, collect)
    return frozenset(functions - {NOW})


def check_shared(plan: Plan) -> None:
    """Raises ``UnsupportedSql`` if the rows of ``plan`` depend on who reads them, or when, so that
    no index or sink can have them."""
    for function in sorted(questions(plan)):
        raise UnsupportedSql(
            f"{function} is not supported where changes are followed",
            detail="its value depends on who asks and when",
            hint="make a plain view" + _INSTEAD * is_moment(function),
        )


def in_database(plan: Plan, database: str) -> Plan:
    """``plan``, of a builtin view that follows the catalog, as sessions in ``database`` read it."""
    return in_session(plan, lambda call: Literal(database, TEXT))


def follows_catalog(plan: Plan, catalog: PlannerCatalog) -> bool:
    """Whether the rows of a builtin view are the same for all sessions in a database, until the
    catalog changes."""
    read = (catalog.relation(id.source_id) for id in collections(plan))
    return questions(plan) <= {"current_database"} and all(
        entry.follows_catalog or entry.builtin_view is not None for entry in read
    )
