"""The rows that a peek carries with it: those of relations that are no collections of the lake."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Set
from dataclasses import dataclass

import pyarrow as pa

from reclock.adapter.query.system import system_rows
from reclock.adapter.statement_context import StatementContext
from reclock.adapter.transaction.transaction import StatementStart, Transaction
from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.timestamps import Timestamp
from reclock.compute.engines.engine import result_schema
from reclock.introspection.privacy import IntrospectionReader
from reclock.plan.relational import Finishing, Plan, collections
from reclock.protocol.compute import CancelPeek, Peek, Replica
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.queries.session_views import in_database
from reclock.sql.queries.views import expand


@dataclass(frozen=True, slots=True)
class PeekRows:
    """The rows for one query: of system relations, of temporary tables, of tables that the
    transaction creates, and of transient collections that the caller ``provided``."""

    context: StatementContext
    transaction: Transaction | None
    provided: Mapping[StorageCollectionId, pa.Table]
    is_as_of: bool
    start: StatementStart | None = None
    """If not None, temporary and created tables are read as they were at this moment."""

    def at(
        self, read: Set[StorageCollectionId], at: Timestamp
    ) -> dict[StorageCollectionId, pa.Table]:
        """The rows, at the time ``at``, of those relations of ``read`` that are not in the lake."""
        rows = {id: self._system_rows(id.source_id, at) for id in read if id.is_system}
        for id in read - rows.keys():
            if id in self.provided:
                rows[id] = self.provided[id]
            elif id.is_transient:
                temporary = self.context.transactions.temporary.state
                state = temporary if self.start is None else self.start.temporary
                rows[id] = state.rows_of(self._catalog.relation(id.source_id))
            elif self.transaction is not None and id.source_id in self.transaction.created:
                table = self._catalog.relation(id.source_id)
                rows[id] = self.transaction.created_rows(table, self.start)
        return rows

    def _system_rows(self, id: GlobalId, at: Timestamp) -> pa.Table:
        entry = self._catalog.relation(id)
        is_view = entry.builtin_view is not None
        if not is_view and not entry.follows_catalog:
            return self._present_rows(id, at)
        database = self.context.variables.get("database")
        key = (id, database if is_view else None)
        rows: pa.Table | None = self._catalog.rows.get(key)
        if rows is None:
            rows = (
                self._view_rows(in_database(self._catalog.builtin_plans[id], database), at)
                if is_view
                else self._present_rows(id, at)
            )
            self._catalog.rows[key] = rows
        return rows

    def _view_rows(self, view: Plan, at: Timestamp) -> pa.Table:
        plan = expand(view, self._catalog)
        rows = self.at(collections(plan), at)
        peek = Peek(uuid.uuid4().hex, self.context.catalog_ts, at, plan, Finishing(), rows=rows)
        controller = self.context.environment.control_plane.system_controller
        answer = controller.peek(peek, self.context.cancellation.pause)
        batches = self.context.cancellation.checked(
            answer.batches, lambda: controller.cancel(CancelPeek(peek.id))
        )
        schema = result_schema(plan.desc.columns)
        return pa.Table.from_batches([batch.cast(schema) for batch in batches], schema)

    def _present_rows(self, id: GlobalId, at: Timestamp) -> pa.Table:
        def replica() -> Replica:
            controller = self.context.environment.control_plane.compute_controller(
                self.context.active_cluster()
            )
            controller.await_frontier(self.context.catalog_ts, self.context.cancellation.pause)
            return controller.target(self.context.variables.get("cluster_replica"))

        assert self._catalog.snapshot is not None
        reader = IntrospectionReader(
            self._catalog.snapshot, self.context.users.current_id, self.context.variables.process_id
        )
        return system_rows(
            self.context.environment,
            self._catalog,
            id,
            reader,
            replica,
            at if self.is_as_of else None,
        )

    @property
    def _catalog(self) -> PlannerCatalog:
        return self.context.catalog
