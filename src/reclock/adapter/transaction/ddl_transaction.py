"""The definitions of one transaction: each is planned on the catalog that the earlier ones leave,
and all commit at once, together with the transaction's writes to older tables.

Nothing is durable before the commit except reserved ids: a table that the same transaction may fill
has an id of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from uuid import UUID, uuid4

import sqlalchemy as sa

from reclock.adapter.context.cancellation import Cancellation
from reclock.adapter.planning.statement_planner import StatementPlanner
from reclock.adapter.transaction import cleanup
from reclock.adapter.transaction.catalog_change import CatalogChange, NewTable, define
from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.catalog.objects import Kind
from reclock.catalog.transaction import CatalogTransaction
from reclock.collections.table_commits import Commit, CommittedBatch
from reclock.errors import CatalogMoved, UpperMismatch, WriteConflict, quoted_name
from reclock.failpoints import failpoint
from reclock.runtime.environment import Environment
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.planning.registry import PlannedStatement, Skipped
from reclock.sql.syntax.parse import ParsedStatement

ATTEMPTS = 50
"""How often definitions are planned again because another actor changed the catalog."""


@dataclass(frozen=True, slots=True)
class DdlStatement:
    """A statement that changes the catalog. ``planned`` is its plan at one catalog; ``new_table``
    is the identity reserved for the table that it creates."""

    parsed: ParsedStatement
    planner: StatementPlanner
    planned: tuple[PlannerCatalog, PlannedStatement] | None = None
    new_table: NewTable | None = None
    seed: UUID = field(default_factory=uuid4)
    """Of the incarnations of the sequences that it creates, however often it is planned."""

    def plan(self, catalog: PlannerCatalog) -> PlannedStatement:
        if self.planned is not None and self.planned[0] is catalog:
            return self.planned[1]
        return self.planner.plan(self.parsed, catalog)


@dataclass(slots=True)
class ChangedCatalog:
    """The catalog after some of the definitions. ``change`` is None until one of them changes
    something."""

    environment: Environment
    newest: PlannerCatalog
    change: CatalogChange | None = None

    @property
    def catalog(self) -> PlannerCatalog:
        """Planned at first use. Raises the error of an existing object that a definition breaks."""
        if self.change is not None and self.newest.snapshot is not self.change.tx.snapshot:
            before = {entry.id for entry in self.newest.quarantined()}
            self.newest = self.environment.stores.planner_catalogs.resolve(
                self.change.tx.snapshot, self.newest
            )
            for entry in self.newest.quarantined():
                if entry.id not in before:  # a definition must not break an existing object
                    raise entry.refusal
        return self.newest

    def after(self, definition: DdlStatement, begins_at: Timestamp) -> ChangedCatalog:
        statement = definition.plan(self.catalog)
        if isinstance(statement, Skipped):
            return self
        users = definition.planner.users
        if self.change is not None:
            change = self.change.fork(users)
        else:
            assert self.newest.snapshot is not None
            change = CatalogChange(
                self.environment, users, CatalogTransaction(self.newest.snapshot), begins_at
            )
        change.new_table, change.seed = definition.new_table, definition.seed
        define(statement, change)
        return ChangedCatalog(self.environment, self.newest, change)


class Definitions:
    """The definitions of one transaction, in their order."""

    def __init__(
        self, environment: Environment, cancellation: Cancellation, notice: Callable[[str], None]
    ) -> None:
        self.created_tables: dict[GlobalId, NewTable] = {}
        """The tables that this transaction creates and may fill."""
        self._environment, self._cancellation, self._notice = environment, cancellation, notice
        self._definitions: list[DdlStatement] = []
        self._states: list[ChangedCatalog] = []
        self._begins_at: Timestamp | None = None

    def __len__(self) -> int:
        return len(self._definitions)

    @property
    def catalog(self) -> PlannerCatalog:
        """The catalog with all definitions."""
        return (
            self._states[-1].catalog
            if self._definitions
            else self._environment.stores.planner_catalog()
        )

    @property
    def base(self) -> PlannerCatalog:
        """The catalog that the definitions change."""
        return (
            self._states[0].newest
            if self._definitions
            else self._environment.stores.planner_catalog()
        )

    def is_dropped(self, id: GlobalId) -> bool:
        """Whether the definitions drop the item."""
        if not self._definitions:
            return False
        return self.base.entry(id) is not None and self.catalog.entry(id) is None

    @property
    def begins_at(self) -> Timestamp:
        """The time of the data timeline at which new items begin."""
        if self._begins_at is None:
            self._begins_at = self._environment.stores.oracle.read_ts(EPOCH_MS)
        return self._begins_at

    def add(self, definition: DdlStatement, *, is_filled: bool = False) -> GlobalId | None:
        """Add a definition. If ``is_filled``, a CREATE TABLE whose transaction writes to it, return
        the table's id.

        Raises what planning and defining raise.
        """
        if is_filled:
            definition = replace(definition, new_table=NewTable(self._reserved_id(), uuid4().hex))
        if is_filled or not self._definitions:
            self._plan_again()
        self._states.append(self._states[-1].after(definition, self.begins_at))
        self._definitions.append(definition)
        new_table = definition.new_table
        if new_table is None:
            return None
        self.created_tables[new_table.id] = new_table
        return new_table.id

    def preview(self, definition: DdlStatement) -> tuple[ChangedCatalog, ChangedCatalog]:
        """The catalog before and after one more definition, which is not added. Writes nothing.
        Raises as ``add``."""
        before = (
            self._states[-1]
            if self._states
            else ChangedCatalog(self._environment, self._environment.stores.planner_catalog())
        )
        return before, before.after(definition, self.begins_at)

    def rewind(self, count: int) -> None:
        """Drop all but the first ``count``."""
        for definition in self._definitions[count:]:
            if definition.new_table is not None:
                del self.created_tables[definition.new_table.id]
        del self._definitions[count:], self._states[count + 1 :]

    def commit(self, prepare: Callable[[PlannerCatalog], Commit | None]) -> bool:
        """Commit all definitions at once, and with them the writes to older tables that ``prepare``
        returns for the catalog that the definitions change. If another actor changed the catalog,
        plan again on top of that.

        Returns False, having written nothing, if the definitions change nothing any more. Raises
        ``UpperMismatch`` after too many attempts, and the errors of ``prepare``.
        """
        tables, written = self._environment.stores.tables, None
        with self._cancellation.acquire(self._environment.stores.ddl_lock):
            for attempt in range(1, ATTEMPTS + 1):
                change, pending = None, []
                try:
                    self._plan_on_newest()
                    change = self._states[-1].change
                    if change is None or not change.tx.changes():
                        return False
                    dropped = change.tx.removed(Kind.ITEM)
                    pending = cleanup.pending_of(self._states[0].newest, dropped, self._environment)
                    rows = prepare(self._states[0].newest)
                    # Before the commit: afterwards nothing else would know of the dropped
                    # source's upstream.
                    self._environment.stores.pending_cleanup.put(pending)
                    change.prepare_commit()
                    failpoint("definitions.before_commit")
                    written = self._write(change.tx, rows)
                    failpoint("definitions.after_commit")
                    change.delete_old_passwords()
                    change.delete_old_sequences()
                    break
                except (UpperMismatch, CatalogMoved, WriteConflict) as lost:
                    if change is not None:
                        change.undo_preparation()
                    if attempt == ATTEMPTS or isinstance(lost, WriteConflict):
                        raise
                    self._cancellation.back_off(attempt)
        if written is not None:
            tables.confirm(written)
        self._environment.control_plane.storage_controller.wake()
        failures = cleanup.run(self._environment, pending)
        for task in failures:
            self._notice(
                f"the upstream of {quoted_name(task.name)} still has the {task.what}: "
                f"{task.error}; "
                "the drop is retried later"
            )
        assert change is not None
        change.delete_old_secrets(still_needed=cleanup.secrets_of(failures))
        return True

    # --- internals ---

    def _write(self, tx: CatalogTransaction, rows: Commit | None) -> CommittedBatch | None:
        """Commit the change of the catalog, and ``rows`` in the same transaction of consensus."""
        stores, written = self._environment.stores, None
        if rows is None:
            stores.catalog.commit_transaction(tx)
            return None

        def write_rows(connection: sa.Connection) -> None:
            nonlocal written
            written = stores.tables.log.commit_beside(connection, rows)

        try:
            stores.catalog.commit_transaction(tx, write_rows)
        except WriteConflict:
            stores.tables.note_refusal(rows)
            raise
        return written

    def _plan_on_newest(self) -> None:
        planned = self._states[0].newest.snapshot
        newest = self._environment.stores.planner_catalog().snapshot
        assert planned is not None
        assert newest is not None
        if planned.content_upper != newest.content_upper:
            self._plan_again()

    def _plan_again(self) -> None:
        self._states = [
            ChangedCatalog(self._environment, self._environment.stores.planner_catalog())
        ]
        for definition in self._definitions:
            self._states.append(self._states[-1].after(definition, self.begins_at))

    def _reserved_id(self) -> GlobalId:
        """An id that no other item gets, even if this transaction fails."""
        with self._cancellation.acquire(self._environment.stores.ddl_lock):
            for attempt in range(1, ATTEMPTS + 1):
                tx = CatalogTransaction(self._environment.stores.catalog.sync())
                id = tx.allocate_user_id()
                try:
                    self._environment.stores.catalog.commit_transaction(tx)
                    return id
                except UpperMismatch:
                    self._cancellation.back_off(attempt)
        raise UpperMismatch(
            "catalog", expected=tx.base.upper, found=self._environment.stores.catalog.upper
        )
