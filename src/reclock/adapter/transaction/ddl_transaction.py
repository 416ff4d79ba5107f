"""The definitions of one transaction: each is planned on the catalog as those before leave it, and all are committed at once.

Nothing of them is durable before, except ids: a table that may be filled in the same transaction has one that nobody else gets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from uuid import uuid4

from reclock.adapter.context.cancellation import Interruption
from reclock.adapter.session.statement_context import Author
from reclock.adapter.transaction import cleanup as leftovers
from reclock.adapter.transaction.ddl import Change, NewTable, define
from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.catalog.objects import Kind
from reclock.catalog.transaction import CatalogTransaction
from reclock.errors import UpperMismatch
from reclock.failpoints import failpoint
from reclock.runtime.environment import Environment
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.planning.registry import PlannedStatement, Skipped
from reclock.sql.syntax.parse import ParsedStatement

ATTEMPTS = 50
"""How often definitions are planned anew because another actor changed the catalog meanwhile."""


@dataclass(frozen=True, slots=True)
class DdlStatement:
    """A statement that changes the catalog. ``planned`` is what it is at one catalog; ``new_table`` is kept for the table it
    makes."""

    parsed: ParsedStatement
    author: Author
    planned: tuple[PlannerCatalog, PlannedStatement] | None = None
    new_table: NewTable | None = None

    def plan(self, catalog: PlannerCatalog) -> PlannedStatement:
        if self.planned is not None and self.planned[0] is catalog:
            return self.planned[1]
        return self.author.plan(self.parsed, catalog)


@dataclass(slots=True)
class _State:
    """The catalog after some of the definitions; no ``change`` before the first that changes something."""

    environment: Environment
    newest: PlannerCatalog
    change: Change | None = None

    @property
    def catalog(self) -> PlannerCatalog:
        """Planned when it is first asked for."""
        if self.change is not None and self.newest.snapshot is not self.change.tx.snapshot:
            before = {entry.id for entry in self.newest.quarantined()}
            self.newest = self.environment.stores.planner_catalogs.resolve(self.change.tx.snapshot, self.newest)
            for entry in self.newest.quarantined():
                if entry.id not in before:  # a definition must not break what is there
                    raise entry.refusal
        return self.newest

    def after(self, definition: DdlStatement, begins_at: Timestamp) -> _State:
        statement = definition.plan(self.catalog)
        if isinstance(statement, Skipped):
            return self
        users = definition.author.users
        if self.change is not None:
            change = self.change.fork(users)
        else:
            assert self.newest.snapshot is not None
            change = Change(self.environment, users, CatalogTransaction(self.newest.snapshot), begins_at)
        change.new_table = definition.new_table
        define(statement, change)
        return _State(self.environment, self.newest, change)


class Definitions:
    """Of one transaction, in their order."""

    def __init__(self, environment: Environment, interruption: Interruption, notice: Callable[[str], None]) -> None:
        self.made: dict[GlobalId, NewTable] = {}
        """The tables that are made here, and may be filled here."""
        self._environment, self._interruption, self._notice = environment, interruption, notice
        self._said: list[DdlStatement] = []
        self._states: list[_State] = []
        self._begins_at: Timestamp | None = None

    def __len__(self) -> int:
        return len(self._said)

    @property
    def catalog(self) -> PlannerCatalog:
        """As it is with all that has been defined."""
        return self._states[-1].catalog if self._said else self._environment.stores.planner_catalog()

    @property
    def begins_at(self) -> Timestamp:
        """The time of the data timeline that new items begin at."""
        if self._begins_at is None:
            self._begins_at = self._environment.stores.oracle.read_ts(EPOCH_MS)
        return self._begins_at

    def add(self, definition: DdlStatement, *, is_filled: bool = False) -> GlobalId | None:
        """One more. ``is_filled`` says of a CREATE TABLE that its transaction writes to it, and answers its id.

        Raises what planning and defining raise.
        """
        if is_filled:
            definition = replace(definition, new_table=NewTable(self._reserved_id(), uuid4().hex))
        if is_filled or not self._said:
            self._plan_again()
        self._states.append(self._states[-1].after(definition, self.begins_at))
        self._said.append(definition)
        new_table = definition.new_table
        if new_table is None:
            return None
        self.made[new_table.id] = new_table
        return new_table.id

    def rewind(self, count: int) -> None:
        """Forget all but the first ``count``."""
        for definition in self._said[count:]:
            if definition.new_table is not None:
                del self.made[definition.new_table.id]
        del self._said[count:], self._states[count + 1 :]

    def commit(self) -> None:
        """All of them at once; if another actor was faster, they are planned again on what it left. Raises ``UpperMismatch``."""
        if not self._said:
            return
        with self._interruption.taking(self._environment.stores.ddl_lock):
            for attempt in range(1, ATTEMPTS + 1):
                change, left = None, []
                try:
                    self._plan_on_newest()
                    change = self._states[-1].change
                    if change is not None:
                        dropped = change.tx.removed(Kind.ITEM)
                        left = leftovers.of(self._states[0].newest, dropped, self._environment)
                        self._environment.stores.pending_cleanup.put(left)  # first, lest nobody knows of it once the source is gone
                        change.keep_passwords()  # first too, lest the role can log in without one
                        failpoint("definitions.before_commit")
                        self._environment.stores.catalog.commit_transaction(change.tx)
                        failpoint("definitions.after_commit")
                        change.forget_passwords()
                    break
                except UpperMismatch:
                    if change is not None:
                        change.discard_passwords()
                    if attempt == ATTEMPTS:
                        raise
                    self._interruption.back_off(attempt)
        self._environment.control_plane.storage_controller.wake()
        left = leftovers.settle(self._environment, left)
        for own in left:
            self._notice(f'the upstream of "{own.name}" still has the {own.what}: {own.error}; it will be told later')
        if change is not None:
            change.forget_secrets(but=leftovers.secrets_of(left))

    # --- inside ---

    def _plan_on_newest(self) -> None:
        planned, newest = self._states[0].newest.snapshot, self._environment.stores.planner_catalog().snapshot
        assert planned is not None
        assert newest is not None
        if planned.content_upper != newest.content_upper:
            self._plan_again()

    def _plan_again(self) -> None:
        self._states = [_State(self._environment, self._environment.stores.planner_catalog())]
        for definition in self._said:
            self._states.append(self._states[-1].after(definition, self.begins_at))

    def _reserved_id(self) -> GlobalId:
        """One that nothing else will have, whatever becomes of this transaction."""
        with self._interruption.taking(self._environment.stores.ddl_lock):
            for attempt in range(1, ATTEMPTS + 1):
                tx = CatalogTransaction(self._environment.stores.catalog.sync())
                id = tx.allocate_user_id()
                try:
                    self._environment.stores.catalog.commit_transaction(tx)
                    return id
                except UpperMismatch:
                    self._interruption.back_off(attempt)
        raise UpperMismatch("catalog", expected=tx.base.upper, found=self._environment.stores.catalog.upper)
