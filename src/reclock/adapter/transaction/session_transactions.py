"""The transactions of one session: a block between BEGIN and COMMIT, or one for each statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from reclock.adapter.context.advisory_locks import SessionAdvisoryLocks
from reclock.adapter.context.cancellation import Cancellation
from reclock.adapter.context.variables import (
    DEFAULT_READ_ONLY,
    ISOLATION,
    READ_ONLY,
    SessionVariables,
)
from reclock.adapter.transaction.ddl_transaction import Definitions
from reclock.adapter.transaction.temporary import TemporaryObjects, TemporaryState
from reclock.adapter.transaction.transaction import Transaction, TransactionMark
from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.collections.table_queues import Turn
from reclock.errors import (
    InternalError,
    NoTransaction,
    SqlWarning,
    TransactionActive,
    TransactionFailed,
    TransactionModeFixed,
    UnknownSavepoint,
    WriteConflict,
    outside_block,
)
from reclock.runtime.environment import Environment
from reclock.sql.catalog.entries import Scope
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.statements.transactions.plan import TransactionControl
from reclock.sql.syntax.temporary import TEMPORARY_SCHEMA

T = TypeVar("T")

ATTEMPTS = 20
"""How often a statement is executed before it fails with the conflict."""

_MODES = {
    ISOLATION: "the isolation level of a transaction",
    READ_ONLY: "READ WRITE of a transaction",
}
_AFTER_FAILURE = ("COMMIT", "ROLLBACK", "ROLLBACK TO")


class TransactionStatus(StrEnum):
    IDLE = "idle"
    IN_BLOCK = "in block"
    FAILED = "failed"
    """Only COMMIT and ROLLBACK are executed, and both roll back; or ROLLBACK TO, after which the
    block goes on."""


@dataclass(frozen=True, slots=True)
class Savepoint:
    """The state of a block, for ROLLBACK TO."""

    name: str
    mark: TransactionMark
    variables: tuple[dict[str, str], dict[str, str]]
    alone: tuple[str, Callable[[], object]] | None
    has_statements: bool
    temporary: TemporaryState


class SessionTransactions:
    """Decides which transaction a statement belongs to, and when that transaction ends."""

    def __init__(
        self,
        environment: Environment,
        variables: SessionVariables,
        cancellation: Cancellation,
        advisory_locks: SessionAdvisoryLocks,
        notice: Callable[[str], None],
    ) -> None:
        self.status = TransactionStatus.IDLE
        self.temporary = TemporaryObjects(environment)
        self._environment = environment
        self._variables = variables
        self._cancellation = cancellation
        self._advisory_locks = advisory_locks
        self._notice = notice
        self._block: Transaction | None = None
        self._is_implicit = False
        self._alone: tuple[str, Callable[[], object]] | None = None
        self._has_statements = False
        self._savepoints: list[Savepoint] = []
        self._temporary_before, self._began_at = self.temporary.state, MINIMUM
        self._statement_began_at = environment.stores.clock()

    # --- blocks ---

    def control(self, statement: TransactionControl) -> str:
        """Begin or end a block, or handle its savepoints. Returns the command tag: the COMMIT of a
        failed block returns ROLLBACK."""
        match statement.kind:
            case "BEGIN" | "START TRANSACTION":
                self._begin(statement)
                return statement.kind
            case "COMMIT":
                return self._commit()
            case "ROLLBACK":
                return self._rollback()
            case "SAVEPOINT":
                self._savepoints = [*self._savepoints, self._savepoint(statement.savepoint)]
                return "SAVEPOINT"
            case "RELEASE":
                self._savepoints = self._savepoints[: self._savepoint_index(statement)]
                return "RELEASE"
            case "ROLLBACK TO":
                self._roll_back_to(self._savepoint_index(statement))
                return "ROLLBACK"
            case "SET TRANSACTION" if self._block is None or self._is_implicit:
                self._notice(outside_block("SET TRANSACTION"))
                return statement.tag
            case "SET TRANSACTION" | "SET SESSION CHARACTERISTICS AS TRANSACTION":
                self._set_modes(statement)
                return statement.tag
            case kind:
                raise InternalError(f"no transaction statement: {kind}")

    def begin_implicit(self) -> None:
        """Begin an implicit transaction, of statements that were sent together, unless a block is
        open."""
        if self._block is None:
            self._open()
            self._is_implicit = True

    def end_implicit(self) -> None:
        """Commit the implicit transaction, if one is open. After ``WriteConflict`` it is rolled
        back."""
        if self._is_implicit:
            self._commit()

    def abort_implicit(self) -> None:
        """Roll back the implicit transaction, if one is open."""
        if self._is_implicit:
            self._rollback()

    @property
    def is_implicit(self) -> bool:
        return self._is_implicit

    def close(self) -> None:
        """Roll back the open transaction."""
        if self._block is not None:
            self._rollback()

    @property
    def block(self) -> Transaction | None:
        """The transaction of the open block."""
        return self._block

    @property
    def catalog(self) -> PlannerCatalog:
        """The catalog as the next statement sees it."""
        return self.present()[0]

    def present(self) -> tuple[PlannerCatalog, Timestamp | None]:
        """The catalog as the next statement sees it, and, outside a block, the read timestamp of
        the same moment."""
        if self._block is not None:
            return self.temporary.over(self._block.definitions.catalog), None
        catalog, read_ts = self._environment.stores.planner_catalogs.current_with_read_ts()
        return self.temporary.over(catalog), read_ts

    @property
    def definitions(self) -> Definitions:
        """The definitions of the open block; outside a block, none."""
        return (self._block or self._new()).definitions

    @property
    def explicit_block(self) -> Transaction | None:
        """The transaction of the block that a BEGIN opened."""
        return None if self._is_implicit else self._block

    def begin_statement(self) -> None:
        """A statement begins: outside a block, with a ``now`` of its own."""
        self._statement_began_at = self._environment.stores.clock()

    @property
    def now(self) -> Timestamp:
        """When the block began; outside a block, when the statement began."""
        return self._statement_began_at if self._block is None else self._began_at

    # --- statements ---

    @contextmanager
    def statement(self, statement: TransactionControl | None = None) -> Iterator[None]:
        """Surrounds the execution of every statement. In a failed block only statements that end it
        are executed: ``statement`` is given for those that control transactions. Raises
        ``TransactionFailed``, ``TransactionActive``, ``AdvisoryLocksLost``."""
        self._advisory_locks.check()
        if self.status is TransactionStatus.FAILED and (
            statement is None or statement.kind not in _AFTER_FAILURE
        ):
            raise TransactionFailed
        if self._alone is not None and statement is None:
            self.fail()
            raise TransactionActive(self._alone[0])
        before = self.temporary.state
        try:
            yield
        except BaseException:
            self.temporary.state = before
            self.fail()
            raise
        if statement is None:
            self._has_statements = True
        if self._block is None:
            self.temporary.end_transaction()

    def attempt(self, work: Callable[[], bool]) -> bool:
        """The result of ``work``, which executes statements in the open transaction.

        If it is False or an error, nothing is written and the block has not failed: the statements
        are executed one by one then.
        """
        if (
            self._block is None
            or self.status is TransactionStatus.FAILED
            or self._alone is not None
        ):
            return False
        mark, temporary, is_done = self._block.mark(), self.temporary.state, False
        try:
            is_done = work()
            self._block.end_statement()
        finally:
            if not is_done:
                self._block.rewind(mark)
                self.temporary.state = temporary
        self._has_statements = self._has_statements or is_done
        return is_done

    def fail(self) -> None:
        """Fail the open block, because of an error in a statement or in its text."""
        if self._block is not None and not self._is_implicit:
            self.status = TransactionStatus.FAILED

    def run(self, work: Callable[[Transaction], T], turn: Callable[[], Turn] | None = None) -> T:
        """The result of ``work`` in the block's transaction, or in a transaction of its own that is
        retried after each conflict until the statement's timeout, as a statement would wait for a
        row lock.

        ``turn`` says what that transaction reads and writes: it queues behind transactions of this
        process that it would conflict with. Blocks do not queue: two of them could wait for each
        other.
        """
        if self._block is not None:
            result = work(self._block)
            self._block.end_statement()
            return result
        if turn is None:
            return self._run_optimistically(work)
        with (
            self._cancellation.in_consensus(),
            self._environment.stores.table_queues.wait_turn(turn()),
        ):
            return self._run_optimistically(work)

    def _run_optimistically(self, work: Callable[[Transaction], T]) -> T:
        attempt = 0
        while True:
            attempt += 1
            transaction = self._new()
            try:
                result = work(transaction)
                # the rows of a COPY arrive after its statement has begun
                with self._cancellation.in_consensus():
                    transaction.commit()
                return result
            except WriteConflict:
                self._cancellation.back_off(attempt)

    def change(self, tag: str, work: Callable[[Transaction], T]) -> T:
        """Run definitions at once, or in the block's transaction. Among statements that were sent
        together they are a transaction of their own, and commit the one before."""
        if self._block is not None and not self._is_implicit:
            self._block.check_writable(tag)
            result = work(self._block)
            self._block.end_statement()
            return result
        self._new().check_writable(tag)
        return self._outside_implicit(lambda: self._run_at_once(work))

    def run_alone(self, tag: str, work: Callable[[], object]) -> None:
        """Run work that belongs to no transaction: at once, or, as the only statement of a block,
        at its COMMIT.

        Raises ``TransactionActive`` if the block has other statements.
        """
        if self._block is None or self._is_implicit:
            self._new().check_writable(tag)
            self._outside_implicit(work)
            return
        self._block.check_writable(tag)
        if self._has_statements:
            raise TransactionActive(tag)
        self._alone = (tag, work)

    # --- internals ---

    def _new(self, *, is_block: bool = False) -> Transaction:
        definitions = Definitions(self._environment, self._cancellation, self._notice)
        return Transaction(
            self._environment,
            definitions,
            self.temporary,
            is_block=is_block,
            is_read_only=lambda: self._variables.is_read_only,
            searched_scopes=self._searched_scopes,
        )

    def _searched_scopes(self) -> Set[Scope]:
        names = self._variables.names
        scopes = {(names.database, schema) for schema in names.search_path}
        return {(None, TEMPORARY_SCHEMA), *scopes}

    def _run_at_once(self, work: Callable[[Transaction], T]) -> T:
        for attempt in range(1, ATTEMPTS + 1):
            transaction = self._new()
            try:
                result = work(transaction)
                transaction.commit()
                return result
            except WriteConflict:  # a table whose rows are written again was written meanwhile
                if attempt == ATTEMPTS:
                    raise
                self._cancellation.back_off(attempt)
            finally:
                transaction.release()
        raise InternalError("definitions neither committed nor failed")

    def _outside_implicit(self, work: Callable[[], T]) -> T:
        """Run ``work`` between two implicit transactions."""
        if not self._is_implicit:
            return work()
        self._commit()
        result = work()
        self.begin_implicit()
        return result

    def _begin(self, statement: TransactionControl) -> None:
        if self._block is not None and not self._is_implicit:
            self._notice(SqlWarning("there is already a transaction in progress", "25001"))
            return
        if self._is_implicit:
            self._is_implicit = False  # earlier statements belong to the block
        else:
            self._open()
        self._set_modes(statement)

    def _set_modes(self, statement: TransactionControl) -> None:
        """Set the modes of the open block, or, for SET SESSION CHARACTERISTICS, of the session's
        later transactions."""
        is_local = statement.kind != "SET SESSION CHARACTERISTICS AS TRANSACTION"
        if statement.isolation is not None:
            self.set_mode(ISOLATION, statement.isolation.lower(), is_local=is_local)
        if statement.access is not None:
            variable = READ_ONLY if is_local else DEFAULT_READ_ONLY
            value = "on" if statement.access == "READ ONLY" else "off"
            self.set_mode(variable, value, is_local=is_local)

    def set_mode(self, variable: str, value: str | None, *, is_local: bool) -> None:
        """Set a variable, which may be a mode of transactions. Raises ``TransactionModeFixed`` if
        that would change how a block reads that has read or written, or let it write."""
        change = _MODES.get(variable)
        if change is not None and value is not None and self._has_used_modes:
            is_stricter = variable == READ_ONLY and not self._variables.is_read_only
            if not is_stricter and self._variables.would_change(variable, value):
                raise TransactionModeFixed(change)
        self._variables.set(variable, value, is_local=is_local)

    @property
    def _has_used_modes(self) -> bool:
        block = self._block if not self._is_implicit else None
        return block is not None and (block.read_at is not None or bool(block.writes))

    def _savepoint(self, name: str) -> Savepoint:
        if self._block is None or self._is_implicit:
            raise NoTransaction("SAVEPOINT", hint="BEGIN first")
        variables = self._variables.mark()
        return Savepoint(
            name,
            self._block.mark(),
            variables,
            self._alone,
            self._has_statements,
            self.temporary.state,
        )

    def _savepoint_index(self, statement: TransactionControl) -> int:
        """The index of the newest savepoint of that name. Raises ``UnknownSavepoint``,
        ``NoTransaction``."""
        if self._block is None or self._is_implicit:
            raise NoTransaction(statement.kind.replace(" TO", " TO SAVEPOINT"), hint="BEGIN first")
        indexes = [
            index
            for index, savepoint in enumerate(self._savepoints)
            if savepoint.name == statement.savepoint
        ]
        if not indexes:
            raise UnknownSavepoint(statement.savepoint)
        return indexes[-1]

    def _roll_back_to(self, index: int) -> None:
        """Restore the block as it was at the savepoint, and drop the savepoints after it."""
        assert self._block is not None
        savepoint = self._savepoints[index]
        self._block.rewind(savepoint.mark)
        self._variables.rewind(savepoint.variables)
        self.temporary.state = savepoint.temporary
        self._alone, self._has_statements = savepoint.alone, savepoint.has_statements
        self._savepoints = self._savepoints[: index + 1]
        self.status = TransactionStatus.IN_BLOCK

    def _open(self) -> None:
        self._block = self._new(is_block=True)
        self._has_statements = False
        self._temporary_before, self._began_at = (
            self.temporary.state,
            self._environment.stores.clock(),
        )
        self._variables.begin()
        self.status = TransactionStatus.IN_BLOCK

    def _commit(self) -> str:
        if self._block is None:
            self._notice(SqlWarning("there is no transaction in progress", "25P01"))
            return "COMMIT"
        if self.status is TransactionStatus.FAILED:
            return self._rollback()
        block, alone = self._block, self._alone
        try:
            self._advisory_locks.check()
            with self._cancellation.in_consensus():
                block.commit()
            if alone is not None:
                alone[1]()
        except BaseException:
            self._end(is_committed=False)
            raise
        self._end(is_committed=True)
        return "COMMIT"

    def _rollback(self) -> str:
        if self._block is None:
            self._notice(SqlWarning("there is no transaction in progress", "25P01"))
            return "ROLLBACK"
        self._block.release()
        self._end(is_committed=False)
        return "ROLLBACK"

    def _end(self, *, is_committed: bool) -> None:
        self._block, self._alone, self._is_implicit, self._savepoints = None, None, False, []
        self._advisory_locks.end_transaction()
        self._variables.end(is_committed=is_committed)
        if is_committed:
            self.temporary.end_transaction()
        else:
            self.temporary.state = self._temporary_before
        self.status = TransactionStatus.IDLE
