"""The context in which one statement is executed, and the registry of executions by family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reclock.adapter.context.advisory_locks import SessionAdvisoryLocks
from reclock.adapter.context.cancellation import Cancellation
from reclock.adapter.context.registry import Registry
from reclock.adapter.context.results import Result
from reclock.adapter.context.sequences import SessionSequences
from reclock.adapter.context.users import Users
from reclock.adapter.context.variables import SessionVariables
from reclock.adapter.copy.transfer import CopyIn, CopyOut
from reclock.adapter.planning.index_plans import IndexedPlan, Indexes
from reclock.adapter.planning.plan_cache import CachedPlan
from reclock.adapter.planning.statement_planner import StatementPlanner
from reclock.adapter.transaction.session_transactions import SessionTransactions
from reclock.algebra.timestamps import Timestamp
from reclock.plan.relational import Plan
from reclock.runtime.environment import Environment
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.queries.views import Definition
from reclock.sql.syntax.parse import ParsedStatement

Answer = Result | CopyIn | CopyOut


@dataclass(frozen=True, slots=True)
class StatementContext:
    """The session of a statement, at the catalog that the statement was planned at."""

    environment: Environment
    parsed: ParsedStatement
    planned: CachedPlan
    catalog: PlannerCatalog
    read_ts: Timestamp | None
    """The oracle's read timestamp at the moment of the catalog; None inside a block."""
    planner: StatementPlanner
    variables: SessionVariables
    transactions: SessionTransactions
    cancellation: Cancellation
    notice: Callable[[str], None]
    current_users: Callable[[], Users]
    """The current roles of the session. A later statement may change them while rows of this one are
    still fetched."""
    sequences: SessionSequences
    advisory_locks: SessionAdvisoryLocks
    set_role: Callable[[str | None], None]
    """SET ROLE: gives the session the privileges of the role with this id; None resets it."""

    @property
    def users(self) -> Users:
        """The roles that the statement runs as."""
        return self.planner.users

    @property
    def catalog_ts(self) -> Timestamp:
        """The time of the catalog."""
        assert self.catalog.snapshot is not None
        return self.catalog.snapshot.content_upper

    def active_cluster(self) -> int:
        """The session's cluster. Raises ``UnknownObject``."""
        return self.catalog.cluster_id(self.variables.get("cluster"))

    def definition_of(self, plan: Plan) -> Definition:
        """The definition of a plan of the statement. Executions that share their plan share it."""
        with self.cancellation.in_planning():
            return self.planned.definition_of(plan, self.catalog)

    def arranged(self, plan: Plan, indexes: Indexes) -> IndexedPlan:
        """A plan of the statement, over collections and these indexes. Executions that share their
        plan share it."""
        return self.planned.arranged(plan, self.catalog, indexes)

    def await_storage(self) -> None:
        """Wait until the storage controller has carried out the catalog."""
        self.environment.control_plane.await_storage(self.catalog, self.cancellation.pause)


executes: Registry[Callable[[Any, StatementContext], Answer]] = Registry("an execution")
"""Registers how statements of a type are executed, unless they only change the catalog."""
