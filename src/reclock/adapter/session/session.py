"""One client's session: parses statements, plans them, runs them in their transactions, and
dispatches them to their families."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from reclock.adapter.context.advisory_locks import SessionAdvisoryLocks
from reclock.adapter.context.cancellation import Cancellation
from reclock.adapter.context.results import Result, result_desc
from reclock.adapter.context.sequences import SessionSequences
from reclock.adapter.context.users import Users
from reclock.adapter.context.variables import SessionVariables, checked, configured
from reclock.adapter.planning.plan_cache import CachedPlan
from reclock.adapter.planning.statement_planner import StatementPlanner
from reclock.adapter.query.memory_reads import read_from_memory
from reclock.adapter.session.activity import Activity
from reclock.adapter.session.prepared import PreparedStatement, RepeatedInsert, prepare
from reclock.adapter.session.session_statements import SessionStatements, executes_syntax
from reclock.adapter.statement_context import Answer, StatementContext
from reclock.adapter.statements.dispatch import execute
from reclock.adapter.statements.tables.repeated_inserts import insert_rows
from reclock.adapter.transaction.session_transactions import (
    ATTEMPTS,
    SessionTransactions,
    TransactionStatus,
)
from reclock.algebra.relations import ScalarType
from reclock.algebra.text_style import TextStyle
from reclock.algebra.timestamps import Timestamp, as_datetime
from reclock.algebra.zones import LocalClock
from reclock.errors import ReclockError, RelationChanged, TransactionActive
from reclock.runtime.environment import Environment
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.named_types import type_of_oid
from reclock.sql.names import DEFAULT_USER
from reclock.sql.parameters import NO_PARAMETERS, Parameters
from reclock.sql.planning.statement import plan_statement
from reclock.sql.statements.tables.modify_plan import Modify
from reclock.sql.statements.transactions.plan import TransactionControl
from reclock.sql.statements.transactions.syntax import TransactionStatement
from reclock.sql.syntax.parse import ParsedStatement, parse
from reclock.tracing import span

T = TypeVar("T")


class Session:
    """Executes the statements of one client one after the other. Each is planned on the newest
    catalog."""

    def __init__(
        self,
        environment: Environment,
        notice: Callable[[str], None] = lambda message: None,
        *,
        user: str = DEFAULT_USER,
        startup: Mapping[str, str] | None = None,
    ) -> None:
        """``notice`` receives PostgreSQL's notices, while the statement runs. ``startup`` has variables
        of this session, which override the defaults of the role and of the system. Raises
        ``InvalidAuthorization``."""
        self.environment = environment
        self.notice = notice
        self.user = user
        self.cancellation = Cancellation()
        snapshot = environment.stores.catalog.sync()
        self.users = Users.of(user, snapshot)
        timeout_ms = environment.stores.settings.statement_timeout_ms
        settings = _checked_values({"statement_timeout": str(timeout_ms)})
        started = _checked_values(startup or {})
        self.variables = SessionVariables(
            settings | configured(snapshot, self.users.session_id) | started
        )
        self._planner: tuple[tuple[int, Users], StatementPlanner] | None = None
        """What ``planner`` returned last, and for which variables and roles."""
        self.activity = Activity(environment)
        self.statements = SessionStatements()
        self.sequences = SessionSequences(environment.stores.sequences)
        self.advisory_locks = SessionAdvisoryLocks(environment.stores)
        self.transactions = SessionTransactions(
            environment,
            self.variables,
            self.cancellation,
            self.advisory_locks,
            lambda message: self.notice(message),
        )

    @property
    def in_block(self) -> bool:
        """Whether a transaction is open that later statements will belong to."""
        return self.transactions.block is not None

    def discard(self) -> None:
        """Reset the session to its initial state. Raises ``TransactionActive``."""
        if self.in_block:
            raise TransactionActive("DISCARD ALL")
        self.variables.reset()
        self._set_role(None)
        self.discard_temporary()
        self.sequences.forget()
        self.advisory_locks.release_all()

    def discard_temporary(self) -> None:
        """Drop the session's temporary objects."""
        self.transactions.temporary.clear()

    def fail(self) -> None:
        """Fail the open block, because of an error outside the execution of a statement."""
        self.transactions.fail()

    @property
    def transaction_status(self) -> TransactionStatus:
        return self.transactions.status

    def close(self) -> None:
        """Roll back the open transaction, and release the session's locks."""
        self.statements.cursors.close_all()
        self.transactions.close()
        self.advisory_locks.close()
        self.activity.ended()

    def cancel(self) -> None:
        """End the running statement, if any, with ``QueryCanceled``. From any thread; repeat it
        until the statement has ended."""
        self.cancellation.cancel()

    def execute(self, text: str) -> Iterator[Answer]:
        """The result of each statement of ``text``, executed lazily. The first error ends the
        iteration."""
        for parsed in self._parse(text):
            yield self._execute(parsed)

    def execute_as_one(self, text: str) -> Iterator[Answer]:
        """Like ``execute``, but several statements are one implicit transaction, unless one of them
        begins or ends a block or defines something."""
        statements = self._parse(text)
        for number, parsed in enumerate(statements, 1):
            try:
                if len(statements) > 1:
                    self.transactions.begin_implicit()
                result = self._execute(parsed)
                if number == len(statements):
                    self.transactions.end_implicit()
            except BaseException:
                self.transactions.abort_implicit()
                raise
            yield result

    def prepare(
        self, text: str, types: Sequence[ScalarType | None] = (), name: str = ""
    ) -> PreparedStatement:
        """Prepare the only statement of ``text``. None in ``types`` leaves a parameter's type to
        the context."""
        self._begin_statement()
        catalog = self.transactions.catalog
        names = self.planner.names_at(catalog)
        with self.cancellation.in_planning():
            return prepare(text, types, catalog, names, name, self.statements.describe)

    def type_of_oid(self, oid: int) -> ScalarType | None:
        """The user-defined type with this object id; None if there is none."""
        return type_of_oid(oid, self.transactions.catalog)

    def execute_prepared(self, prepared: PreparedStatement, values: Sequence[Any] = ()) -> Answer:
        """The result of the statement with ``values`` for its parameters."""
        parameters = prepared.bound(values)
        if prepared.parsed is None:
            return Result("")
        result = self._execute(prepared.parsed, parameters, prepared)
        if isinstance(result, Result):
            prepared.check_unchanged(result.desc)
        return result

    def use_plan(
        self,
        prepared: PreparedStatement,
        values: Sequence[Any],
        use: Callable[[StatementContext], T],
    ) -> T:
        """What ``use`` returns for the prepared statement, which is planned and authorized with
        ``values`` for its parameters, and not executed."""
        assert prepared.parsed is not None
        self._begin_statement()
        with self.cancellation.in_consensus(), self.transactions.statement():
            return use(self._planned(prepared.parsed, prepared.bound(values)))

    def insert_all(self, inserts: Sequence[RepeatedInsert]) -> bool:
        """Execute prepared INSERTs of one row many times, in the open transaction; each is planned
        and written once.

        If it returns False or raises, nothing was executed and the open block has not failed: each
        INSERT can then be executed by itself, unless the error is ``QueryCanceled``.
        """
        return self.transactions.attempt(lambda: all(map(self._insert_repeatedly, inserts)))

    def _insert_repeatedly(self, insert: RepeatedInsert) -> bool:
        parsed = insert.prepared.parsed
        if parsed is None or insert.prepared.desc is not None:
            return False
        cluster = self.variables.get("cluster")

        def work() -> bool:
            self._begin_statement()
            with self.cancellation.in_consensus():
                catalog, read_ts = self.transactions.present()
                first = insert.prepared.bound([column[0] for column in insert.columns])
                with self.cancellation.in_planning():
                    planned = self.planner.plan_cached(parsed, catalog, first)
                context = self.context(parsed, planned, catalog, read_ts)
                return insert_rows(insert.columns, insert.count, context)

        return self.activity.recorded_repeatedly(parsed, self.user, cluster, insert.count, work)

    def relation_names(self) -> list[str]:
        """The names of all relations, for completion."""
        return sorted(
            {entry.name.item for entry in self.environment.stores.planner_catalog().relations()}
        )

    def column_names(self, relations: Collection[str]) -> list[str]:
        """The names of the columns of all relations with these names, for completion."""
        return sorted(
            {
                column
                for entry in self.environment.stores.planner_catalog().relations()
                if entry.name.item in relations
                for column in entry.desc.names
            }
        )

    def zone(self) -> str:
        """The time zone in which timestamps are read and written as text."""
        return self.variables.zone()

    def text_style(self) -> TextStyle:
        """How values are written as text."""
        return self.variables.text_style()

    @property
    def clock(self) -> LocalClock:
        """What the texts of moments that the client sends leave to the session."""
        return LocalClock(self.zone, self._now)

    def _now(self) -> datetime:
        in_block = self.transactions.explicit_block is not None
        return as_datetime(self.transactions.now if in_block else self.environment.stores.clock())

    @property
    def planner(self) -> StatementPlanner:
        """Plans a statement of this session. It stays the same until a variable or a role
        changes."""
        key = self.variables.changes, self.users
        if self._planner is None or self._planner[0] != key:
            self._planner = key, self._new_planner()
        return self._planner[1]

    def _new_planner(self) -> StatementPlanner:
        stores = self.environment.stores
        return StatementPlanner(
            self.users,
            replace(
                self.variables.names,
                installation_id=stores.mark.id,
                now=lambda: as_datetime(self.transactions.now),
                started_at=as_datetime(stores.opened_at),
                clock=lambda: as_datetime(stores.clock()),
            ),
        )

    def context(
        self,
        parsed: ParsedStatement,
        planned: CachedPlan,
        catalog: PlannerCatalog,
        read_ts: Timestamp | None = None,
        planner: StatementPlanner | None = None,
    ) -> StatementContext:
        """The context in which a statement that was planned on ``catalog`` is executed. ``planner``
        planned it, if it is not None."""
        return StatementContext(
            self.environment,
            parsed,
            planned,
            catalog,
            read_ts,
            planner or self.planner,
            self.variables,
            self.transactions,
            self.cancellation,
            lambda message: self.notice(message),
            lambda: self.users,
            self.sequences,
            self.advisory_locks,
            self._set_role,
        )

    # --- one statement ---

    def _begin_statement(self) -> None:
        self.cancellation.begin(self.variables.statement_timeout_ms)
        self.transactions.begin_statement()

    def _parse(self, text: str) -> list[ParsedStatement]:
        self._begin_statement()
        try:
            with self.cancellation.in_planning():
                return parse(text)
        except ReclockError:
            self.transactions.fail()
            raise

    def _execute(
        self,
        parsed: ParsedStatement,
        parameters: Parameters = NO_PARAMETERS,
        prepared: PreparedStatement | None = None,
    ) -> Answer:
        def work() -> Answer:
            return self._execute_cancelable(parsed, parameters, prepared)

        answer = self.activity.recorded(parsed, self.user, self.variables.get("cluster"), work)
        if not isinstance(answer, Result):
            return answer
        return replace(answer.with_blanks(), style=self.text_style())

    def _execute_cancelable(
        self, parsed: ParsedStatement, parameters: Parameters, prepared: PreparedStatement | None
    ) -> Answer:
        self._begin_statement()
        with self.cancellation.in_consensus():
            if isinstance(parsed.node, TransactionStatement):
                return self._control_transaction(parsed)
            with self.transactions.statement():
                if type(parsed.node) in executes_syntax:
                    catalog = self.transactions.catalog
                    return self.statements.execute(
                        parsed, parameters, self, catalog, self.planner.names_at(catalog)
                    )
                return self._execute_planned(parsed, parameters, prepared)

    def _execute_planned(
        self, parsed: ParsedStatement, parameters: Parameters, prepared: PreparedStatement | None
    ) -> Answer:
        attempt = 0
        while True:
            attempt += 1
            context = self._planned(parsed, parameters)
            statement = context.planned.statement
            if prepared is not None:  # before the statement has an effect
                prepared.check_unchanged(result_desc(statement))
            try:
                return read_from_memory(context) or execute(statement, context)
            except RelationChanged:
                # nothing was written: plan it on the catalog as it is now
                is_alone = isinstance(statement, Modify) and self.transactions.block is None
                if not is_alone or attempt == ATTEMPTS:
                    raise

    def _planned(self, parsed: ParsedStatement, parameters: Parameters) -> StatementContext:
        catalog, read_ts = self.transactions.present()
        planner = self.planner
        with span("plan"), self.cancellation.in_planning():
            planned = planner.plan_cached(parsed, catalog, parameters)
        return self.context(parsed, planned, catalog, read_ts, planner)

    def _control_transaction(self, parsed: ParsedStatement) -> Answer:
        """BEGIN, COMMIT and the like are executed in a failed block too, and need no catalog."""
        catalog = PlannerCatalog()
        statement = plan_statement(parsed, catalog, self.variables.names)
        assert isinstance(statement, TransactionControl)
        with self.transactions.statement(statement):
            try:
                return execute(statement, self.context(parsed, CachedPlan(statement), catalog))
            finally:
                if self.transaction_status is TransactionStatus.IDLE:
                    self.statements.cursors.end_transaction()

    def _set_role(self, role_id: str | None) -> None:
        self.users = self.users.set_role(role_id)


def _checked_values(variables: Mapping[str, str]) -> dict[str, str]:
    checked_variables = (checked(name, value) for name, value in variables.items())
    return {name: value for name, value in checked_variables if value is not None}
