"""One client's session: statements in, results out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pyarrow as pa

from reclock.adapter.context.cancellation import Interruption
from reclock.adapter.context.results import SHOW_ALL, Result, result_desc
from reclock.adapter.context.users import Users
from reclock.adapter.context.variables import READ_ONLY, ROLE, SessionVariables, checked, configured
from reclock.adapter.copy.transfer import CopyIn, CopyOut
from reclock.adapter.query.queries import QueryExecution, text_result
from reclock.adapter.query.subscription import Subscription
from reclock.adapter.session.activity import Activity
from reclock.adapter.session.kept import KINDS, Kept
from reclock.adapter.session.prepared import Prepared, prepare
from reclock.adapter.session.statement_context import Author
from reclock.adapter.statements import (  # they register what they define
    clusters,  # noqa: F401
    connections,  # noqa: F401
    roles,  # noqa: F401
)
from reclock.adapter.statements.authorization import requirements
from reclock.adapter.statements.decisions import decide, restart
from reclock.adapter.statements.side_effects import set_config, signal, with_effects
from reclock.adapter.statements.upstreams import purified
from reclock.adapter.transaction.ddl_transaction import DdlStatement
from reclock.adapter.transaction.modify import copy_in, fill, modify, truncate, turn_of
from reclock.adapter.transaction.temporary import TemporaryDefinition, is_temporary, without_temporary
from reclock.adapter.transaction.transaction import Transaction
from reclock.adapter.transaction.transactions import Transactions, TransactionStatus
from reclock.algebra.relations import ScalarType
from reclock.algebra.timestamps import Timestamp
from reclock.collections.table_queues import Turn
from reclock.connectors.validation import validate
from reclock.errors import ReclockError, TransactionActive
from reclock.runtime.environment import Environment
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import DEFAULT_USER
from reclock.sql.parameters import NO_PARAMETERS, Parameters
from reclock.sql.planning.registry import PlannedStatement, Skipped
from reclock.sql.planning.statement import plan_statement
from reclock.sql.statements.connections.plan import CreateConnection, ValidateConnection
from reclock.sql.statements.copy.plan import CopyFrom, CopyTo
from reclock.sql.statements.query.values import Explain, Select
from reclock.sql.statements.roles.plan import SetRole
from reclock.sql.statements.session.plan import ResetVariable, SetVariable, ShowVariable
from reclock.sql.statements.sources.alter_plan import ResnapshotSource, RestartPartition, RetrySource, SkipRange, WaiveCheck
from reclock.sql.statements.subscribe.plan import SubscribeQuery
from reclock.sql.statements.tables.modify_plan import Modify, Truncate
from reclock.sql.statements.tables.plan import CreateTable
from reclock.sql.statements.transactions.plan import TransactionControl
from reclock.sql.statements.transactions.syntax import TransactionStatement
from reclock.sql.syntax.parse import ParsedStatement, parse

Answer = Result | CopyIn | CopyOut


class Session:
    """Statements of one client, one after the other, each planned at the catalog as it is then."""

    def __init__(
        self,
        environment: Environment,
        notice: Callable[[str], None] = lambda message: None,
        *,
        user: str = DEFAULT_USER,
        startup: Mapping[str, str] | None = None,
    ) -> None:
        """``notice`` is told, at once, what the client should know beside the results. ``startup`` are variables that this session
        begins with, over the defaults of the role and of the system. Raises ``InvalidAuthorization``."""
        self.environment = environment
        self.notice = notice
        self.user = user
        self.interruption = Interruption()
        snapshot = environment.stores.catalog.sync()
        self.users = Users.of(user, snapshot)
        settings = {"statement_timeout": str(environment.stores.settings.statement_timeout_ms)}
        started = {name: value for name, value in (checked(*each) for each in (startup or {}).items()) if value is not None}
        self.variables = SessionVariables(settings | configured(snapshot, self.users.session_id) | started)
        self.activity = Activity(environment)
        self.kept = Kept()
        self.transactions = Transactions(environment, self.variables, self.interruption, lambda message: self.notice(message))

    @property
    def in_block(self) -> bool:
        """Whether a transaction is open that later statements will be of."""
        return self.transactions.block is not None

    def discard(self) -> None:
        """As a session that has just begun."""
        if self.in_block:
            raise TransactionActive("DISCARD ALL")
        self.variables.reset()
        self.users = self.users.set_role(None)
        self.discard_temporary()

    def discard_temporary(self) -> None:
        """Drop what the session has made for itself."""
        self.transactions.temporary.clear()

    def fail(self) -> None:
        """Something failed that was no statement's execution: a block fails with it."""
        self.transactions.fail()

    @property
    def transaction_status(self) -> TransactionStatus:
        return self.transactions.status

    def close(self) -> None:
        """Roll back what is open."""
        self.kept.close()
        self.transactions.close()
        self.activity.ended()

    def cancel(self) -> None:
        """The running statement ends with ``QueryCanceled``; without one nothing happens. From any thread; repeat it until
        the statement has ended."""
        self.interruption.cancel()

    def execute(self, text: str) -> Iterator[Answer]:
        """The result of each statement of ``text``, executed when it is asked for. The first error ends it."""
        for parsed in self._parse(text):
            yield self._execute(parsed)

    def execute_together(self, text: str) -> Iterator[Answer]:
        """As ``execute``, but they are one transaction, unless one of them begins or ends a block or defines something."""
        together = self._parse(text)
        for number, parsed in enumerate(together, 1):
            try:
                if len(together) > 1:
                    self.transactions.begin_implicit()
                result = self._execute(parsed)
                if number == len(together):
                    self.transactions.end_implicit()
            except BaseException:
                self.transactions.abort_implicit()
                raise
            yield result

    @property
    def is_together(self) -> bool:
        """Whether statements are one transaction that the client did not begin itself."""
        return self.transactions.is_implicit

    def begin_together(self) -> None:
        """Statements from here on are one transaction, if none is open, until ``end_together`` or ``abort_together``."""
        self.transactions.begin_implicit()

    def end_together(self) -> None:
        """Commit what ``begin_together`` began. Raises ``WriteConflict``, and then nothing of it counts."""
        self.transactions.end_implicit()

    def abort_together(self) -> None:
        """Nothing of what ``begin_together`` began counts."""
        self.transactions.abort_implicit()

    def prepare(self, text: str, types: Sequence[ScalarType | None] = (), name: str = "") -> Prepared:
        """The only statement of ``text``, to be executed as often as wanted; None in ``types`` leaves that to the context."""
        return prepare(text, types, catalog := self.transactions.catalog, self._author.named(catalog), name, self.kept.describe)

    def execute_prepared(self, prepared: Prepared, values: Sequence[Any] = ()) -> Answer:
        """The result of the statement with ``values`` for its parameters."""
        parameters = prepared.bound(values)
        if prepared.parsed is None:
            return Result("")
        result = self._execute(prepared.parsed, parameters)
        if isinstance(result, Result):
            prepared.check_unchanged(result.desc)
        return result

    def relation_names(self) -> list[str]:
        """Names of everything that can be read, for completion."""
        return sorted({entry.name.item for entry in self.environment.stores.planner_catalog().relations()})

    def _execute(self, parsed: ParsedStatement, parameters: Parameters = NO_PARAMETERS) -> Answer:
        cluster = self.variables.get("cluster")
        return self.activity.recorded(parsed, self.user, cluster, lambda: self._executed(parsed, parameters))

    def _executed(self, parsed: ParsedStatement, parameters: Parameters) -> Answer:
        self.interruption.begin(self.variables.statement_timeout_ms)
        with self.interruption.in_consensus():
            return self._begun(parsed, parameters)

    def _begun(self, parsed: ParsedStatement, parameters: Parameters) -> Answer:
        if isinstance(parsed.node, TransactionStatement):
            return self._control(parsed)
        with self.transactions.statement():
            if isinstance(parsed.node, KINDS):
                catalog = self.transactions.catalog
                return self.kept.execute(parsed, parameters, self, catalog, self._author.named(catalog))
            return self._execute_planned(parsed, parameters)

    def _control(self, parsed: ParsedStatement) -> Result:
        statement = plan_statement(parsed, PlannerCatalog(), self.variables.names)
        assert isinstance(statement, TransactionControl)
        with self.transactions.statement(statement):
            try:
                return Result(self.transactions.control(statement))
            finally:
                if self.transaction_status is TransactionStatus.IDLE:
                    self.kept.end_transaction()

    def _execute_planned(self, parsed: ParsedStatement, parameters: Parameters) -> Answer:
        catalog, read_ts = self.transactions.present()
        planned = self._author.planned(parsed, catalog, parameters)
        statement = planned.statement
        match statement:
            case Select():
                run = self._query(catalog, statement, self.transactions.block, read_ts).run
                return with_effects(planned.run(run, self.variables.max_result_bytes), statement.effects, self._act)
            case Modify() | Truncate():
                self.environment.control_plane.await_storage(catalog, self.interruption.pause)
                turn = partial(turn_of, statement, catalog)
                return self.transactions.run(lambda transaction: self._modify(statement, transaction, catalog), turn)
            case SubscribeQuery():
                return self._subscribe(catalog, statement)
            case CopyTo(select=SubscribeQuery() as subscribe):
                return CopyOut(self._subscribe(catalog, subscribe), statement.format)
            case CopyTo(select=Select() as select):
                return CopyOut(self._query(catalog, select, self.transactions.block, read_ts).run(), statement.format)
            case CopyFrom():
                self.environment.control_plane.await_storage(catalog, self.interruption.pause)
                return CopyIn(statement, partial(self._copy, statement, catalog), self.transactions.fail)
            case Explain():
                query = self._query(catalog, statement.select, self.transactions.block)
                lines = query.explain_timestamp() if statement.is_timestamp else query.explain_plan()
                return text_result(statement.tag, result_desc(statement), lines)
            case Skipped():
                self.notice(statement.notice)
                return Result(statement.tag)
            case RetrySource() | ResnapshotSource() | WaiveCheck() | SkipRange():
                self.environment.control_plane.await_storage(catalog, self.interruption.pause)
                self.transactions.run_alone(statement.tag, lambda: decide(statement, self.environment, self.users))
                return Result(statement.tag)
            case RestartPartition():
                self.environment.control_plane.await_storage(catalog, self.interruption.pause)
                self.transactions.run_alone(statement.tag, lambda: restart(statement, self.environment, self.users))
                return Result(statement.tag)
            case ValidateConnection(connection=connection):
                validate(connection, self.environment.runtime.connection_context.resolve_secret)
                return Result(statement.tag)
            case ShowVariable():
                return self._show(statement)
            case SetRole():
                self.users = self.users.set_role(statement.id)
                self.variables.set(ROLE, statement.name)
                return Result(statement.tag)
            case SetVariable():
                is_local = statement.is_local or statement.name == READ_ONLY
                if is_local and self.transactions.block is None:
                    self.notice("SET LOCAL can only be used in transaction blocks")
                    return Result(statement.tag)
                value = ",".join(statement.values) if statement.values is not None else None
                self.variables.set(statement.name, value, is_local=is_local)
                self._note_unknown_cluster(statement.name, catalog)
                return Result(statement.tag)
            case ResetVariable():
                if statement.name is None:
                    self.variables.reset()
                    self.users = self.users.set_role(None)
                else:
                    self.variables.set(statement.name, None)
                return Result(statement.tag)
            case _:
                return self._define(parsed, statement, catalog)

    def _act(self, function: str, arguments: Sequence[str]) -> str | bool:
        if function == "set_config":
            return set_config(self.variables, *arguments, in_block=self.in_block)
        snapshot = self.environment.stores.catalog.sync()
        return signal(function, arguments[0], self.environment.runtime.backends, self.users, snapshot, self.notice)

    def _note_unknown_cluster(self, variable: str, catalog: PlannerCatalog) -> None:
        """A cluster that is not there may be made later: only using it is an error."""
        cluster = self.variables.get("cluster")
        if variable == "cluster" and cluster not in catalog.clusters:
            self.notice(f'cluster "{cluster}" does not exist')

    def _query(
        self,
        catalog: PlannerCatalog,
        select: Select,
        transaction: Transaction | None,
        read_ts: Timestamp | None = None,
    ) -> QueryExecution:
        return QueryExecution(
            self.environment,
            catalog,
            self.users,
            self.variables,
            select,
            self.notice,
            self.transactions.temporary,
            self.interruption,
            transaction,
            read_ts=read_ts,
        )

    def _subscribe(self, catalog: PlannerCatalog, statement: SubscribeQuery) -> Result:
        """Its time is without limit, and its own: it sees nothing of what the block has written or defined."""
        block = self.transactions.block
        if block is not None and (block.writes or block.definitions):
            raise TransactionActive("SUBSCRIBE")
        self.interruption.begin(0)
        return Subscription(
            self.environment,
            catalog,
            self.users,
            self.variables,
            statement,
            self.notice,
            self.transactions.temporary,
            self.interruption,
        ).run()

    def _modify(self, statement: Modify | Truncate, transaction: Transaction, catalog: PlannerCatalog) -> Result:
        def run(select: Select) -> Result:
            return self._query(catalog, select, transaction).run()

        if isinstance(statement, Truncate):
            return truncate(statement, transaction, catalog, run)
        return modify(statement, transaction, catalog, run)

    def _parse(self, text: str) -> list[ParsedStatement]:
        try:
            return parse(text)
        except ReclockError:
            self.transactions.fail()
            raise

    @property
    def _author(self) -> Author:
        began_at = self.transactions.now
        now = partial(datetime.fromtimestamp, began_at / 1000, UTC)
        return Author(self.users, replace(self.variables.names, installation_id=self.environment.stores.mark.id, now=now))

    def _copy(self, statement: CopyFrom, catalog: PlannerCatalog, rows: pa.Table) -> None:
        def work(transaction: Transaction) -> None:
            copy_in(statement, rows, transaction, catalog, lambda select: self._query(catalog, select, transaction).run())

        self.transactions.run(work, lambda: Turn({}, frozenset({statement.table})))

    def _define(self, parsed: ParsedStatement, statement: PlannedStatement, catalog: PlannerCatalog) -> Result:
        """A table that is made in a block, or from a query, is filled by the transaction that makes it."""
        if is_temporary(statement):
            return self._define_temporary(statement, catalog)
        owned = requirements(statement, catalog, self.users, self.variables.get("cluster")).owner_of
        parsed = without_temporary(parsed, statement, owned)
        if isinstance(statement, CreateConnection) and statement.is_validated:
            validate(statement.connection, self.environment.runtime.connection_context.resolve_secret)
        whole = purified(parsed, statement, self.environment.runtime.connection_context.resolve_secret)
        definition = DdlStatement(whole, self._author, (catalog, statement) if whole is parsed else None)
        query = statement.query if isinstance(statement, CreateTable) else None

        def work(transaction: Transaction) -> Result:
            is_filled = isinstance(statement, CreateTable) and (transaction.is_block or query is not None)
            id = transaction.define(definition, is_filled=is_filled)
            if query is None or id is None:
                return Result(statement.tag)
            known = self.transactions.temporary.over(transaction.definitions.catalog)
            return fill(known.relation(id), query, transaction, known, lambda select: self._query(known, select, transaction).run())

        result = self.transactions.change(statement.tag, work)
        for notice in getattr(statement, "notices", ()):
            self.notice(notice)
        return result

    def _define_temporary(self, statement: TemporaryDefinition, catalog: PlannerCatalog) -> Result:
        temporary = self.transactions.temporary

        def work(transaction: Transaction) -> Result:
            id = temporary.define(statement, self.users)
            if id is None or not isinstance(statement, CreateTable) or statement.query is None:
                return Result(statement.tag)
            made = temporary.over(catalog).relation(id)
            return fill(made, statement.query, transaction, catalog, lambda select: self._query(catalog, select, transaction).run())

        result = self.transactions.run(work)
        for notice in getattr(statement, "notices", ()):
            self.notice(notice)
        return result

    def _show(self, statement: ShowVariable) -> Result:
        if statement.name is not None:
            return text_result(statement.tag, result_desc(statement), [self.variables.get(statement.name)])
        rows = [dict(zip(SHOW_ALL.names, row, strict=True)) for row in self.variables]
        return Result(statement.tag, SHOW_ALL, pa.Table.from_pylist(rows).to_batches())
