"""What a session refuses: prepared statements, cursors, transactions, and what they write."""

from __future__ import annotations

from reclock.errors.names import quoted_name
from reclock.errors.root import ReclockError


class UnknownParameter(ReclockError):
    """A statement has no parameter of that number, or cannot have parameters."""

    sqlstate = "42P02"

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no parameter {name}")
        self.name = name


class IndeterminateType(ReclockError):
    """Nothing in the statement determines the type of a parameter, or of an empty array."""

    sqlstate = "42P18"


class CachedPlanChanged(ReclockError):
    """A prepared statement would answer other columns than its client was told, because the catalog
    has changed."""

    sqlstate = "0A000"
    routine = "RevalidateCachedQuery"
    """PostgreSQL's name of the place, by which pgjdbc recognizes the error and prepares again."""

    def __init__(self) -> None:
        super().__init__(
            "cached plan must not change result type", hint="prepare the statement again"
        )


class WrongNumberOfParameters(ReclockError):
    """A client bound more or fewer values than the prepared statement has parameters."""

    sqlstate = "08P01"

    def __init__(self, name: str, *, supplied: int, expected: int) -> None:
        super().__init__(
            f"prepared statement {quoted_name(name)} requires {expected} parameters, "
            f"but {supplied} were supplied"
        )
        self.name, self.supplied, self.expected = name, supplied, expected


class WrongNumberOfValues(ReclockError):
    """EXECUTE has more or fewer values than the prepared statement has parameters."""

    sqlstate = "42601"

    def __init__(self, name: str, *, supplied: int, expected: int) -> None:
        super().__init__(
            f"wrong number of parameters for prepared statement {quoted_name(name)}",
            detail=f"Expected {expected} parameters but got {supplied}.",
        )
        self.name, self.supplied, self.expected = name, supplied, expected


class LockTimeout(ReclockError):
    """A statement waited longer than ``lock_timeout`` for an advisory lock."""

    sqlstate = "55P03"

    def __init__(self) -> None:
        super().__init__("canceling statement due to lock timeout")


class AdvisoryLocksLost(ReclockError):
    """The session held advisory locks, and could not renew them in time: another session may have
    them now. The connection ends."""

    sqlstate = "57P01"

    def __init__(self) -> None:
        super().__init__(
            "terminating connection because its advisory locks may be lost",
            detail="they could not be renewed in consensus in time",
        )


class NoTransaction(ReclockError):
    """The statement needs a transaction block, and none is open."""

    sqlstate = "25P01"

    def __init__(
        self, statement: str, hint: str = "BEGIN, or declare the cursor WITH HOLD"
    ) -> None:
        super().__init__(f"{statement} can only be used in transaction blocks", hint=hint)
        self.statement = statement


class NotInTransaction(ReclockError):
    """The statement cannot be executed in a transaction block, nor together with others."""

    sqlstate = "25001"

    def __init__(self, statement: str) -> None:
        super().__init__(f"{statement} cannot run inside a transaction block")
        self.statement = statement


class UnknownPrepared(ReclockError):
    """The session has no prepared statement of that name."""

    sqlstate = "26000"

    def __init__(self, name: str) -> None:
        super().__init__(f"prepared statement {quoted_name(name)} does not exist")
        self.name = name


class DuplicatePrepared(ReclockError):
    """The session already has a prepared statement of that name."""

    sqlstate = "42P05"

    def __init__(self, name: str) -> None:
        super().__init__(f"prepared statement {quoted_name(name)} already exists")
        self.name = name


class UnknownCursor(ReclockError):
    """The session has no open cursor or portal of that name."""

    sqlstate = "34000"

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"{kind} {quoted_name(name)} does not exist")
        self.kind, self.name = kind, name


class CursorOnlyForward(ReclockError):
    """A cursor that was not declared with SCROLL is to go backwards. The SQLSTATE is
    PostgreSQL's."""

    sqlstate = "55000"

    def __init__(self) -> None:
        super().__init__(
            "cursor can only scan forward",
            hint="Declare it with SCROLL option to enable backward scan.",
        )


class DuplicateCursor(ReclockError):
    """A cursor or portal of that name is open already."""

    sqlstate = "42P03"

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"{kind} {quoted_name(name)} already exists")
        self.kind, self.name = kind, name


class UnknownSavepoint(ReclockError):
    """The transaction block has no savepoint of that name."""

    sqlstate = "3B001"

    def __init__(self, name: str) -> None:
        super().__init__(f"savepoint {quoted_name(name)} does not exist")


class TransactionFailed(ReclockError):
    """An earlier statement of the block failed. Only the end of the block is executed."""

    sqlstate = "25P02"

    def __init__(self) -> None:
        super().__init__(
            "current transaction is aborted, commands ignored until end of transaction block"
        )


class TransactionActive(ReclockError):
    """The statement cannot be executed in a transaction block, or not in one with other
    statements."""

    sqlstate = "25001"

    def __init__(self, statement: str) -> None:
        super().__init__(
            f"{statement} must be the only statement of its transaction block",
            hint="COMMIT or ROLLBACK the others first",
        )
        self.statement = statement


class MixedTransaction(ReclockError):
    """A transaction block defines objects and writes to a table that it did not create, and the
    catalog is kept in the lake."""

    sqlstate = "25001"

    def __init__(self) -> None:
        super().__init__(
            "a transaction that defines objects can write only to tables that it creates",
            detail="the catalog is kept in the lake, the rows are committed in consensus",
            hint="define and write in two transactions",
        )


class TransactionReadOnly(ReclockError):
    """A write in a READ ONLY transaction."""

    sqlstate = "25006"

    def __init__(self, statement: str) -> None:
        super().__init__(f"cannot execute {statement} in a read-only transaction")


class TransactionModeFixed(ReclockError):
    """A block changes its isolation level, or becomes READ WRITE, after it read or wrote."""

    sqlstate = "25001"

    def __init__(self, change: str) -> None:
        super().__init__(
            f"{change} must be set before any query",
            hint="set it in BEGIN, or directly after it",
        )


class OutsideTransaction(ReclockError):
    """A block reads at one time, from the schemas that its first query named. The block did not
    hold another object at that time."""

    sqlstate = "25000"

    def __init__(self, names: list[str]) -> None:
        super().__init__(
            "a transaction can only read from the schemas of its first query",
            detail=f"outside of them: {', '.join(names)}",
            hint="read them in another transaction, or name them in the first query",
        )
        self.names = names


class RelationChanged(ReclockError):
    """A table or view that a transaction used was dropped or redefined before the commit."""

    sqlstate = "40001"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"relation {quoted_name(name)} was dropped or changed before the transaction could "
            "commit",
            hint="run the transaction again",
        )
        self.name = name


class NotNullViolation(ReclockError):
    """A row has NULL where its table allows none."""

    sqlstate = "23502"

    def __init__(self, column: str, table: str, *, row: str | None) -> None:
        """``row`` is the one that is written; None if the rows of the table are checked."""
        where = f'column "{column}" of relation {quoted_name(table)}'
        super().__init__(
            f"{where} contains null values"
            if row is None
            else f"null value in {where} violates not-null constraint",
            detail=None if row is None else f"Failing row contains ({row}).",
        )
        self.column, self.table = column, table


class UniqueViolation(ReclockError):
    """A row repeats the key of a PRIMARY KEY or UNIQUE constraint, or of a unique index."""

    sqlstate = "23505"

    def __init__(self, constraint: str, table: str, *, key: str) -> None:
        super().__init__(
            f'duplicate key value violates unique constraint "{constraint}"',
            detail=f"Key {key} already exists.",
        )
        self.constraint, self.table = constraint, table


class ForeignKeyViolation(ReclockError):
    """A row refers by a foreign key to a row that does not exist, or would no longer exist."""

    sqlstate = "23503"

    def __init__(self, constraint: str, table: str, message: str, *, detail: str) -> None:
        super().__init__(message, detail=detail)
        self.constraint, self.table = constraint, table

    @classmethod
    def of_referring(cls, constraint: str, table: str, *, detail: str) -> ForeignKeyViolation:
        """A new row of ``table`` has no row to refer to."""
        message = (
            f"insert or update on table {quoted_name(table)} violates foreign key constraint "
            f'"{constraint}"'
        )
        return cls(constraint, table, message, detail=detail)

    @classmethod
    def of_target(
        cls, constraint: str, table: str, target: str, *, detail: str
    ) -> ForeignKeyViolation:
        """Rows of ``table`` still refer to a row that goes from ``target``."""
        message = (
            f"update or delete on table {quoted_name(target)} violates foreign key constraint "
            f'"{constraint}" on table {quoted_name(table)}'
        )
        return cls(constraint, table, message, detail=detail)


class CheckViolation(ReclockError):
    """The condition of a CHECK constraint is false for a row."""

    sqlstate = "23514"

    def __init__(self, constraint: str, table: str, *, row: str) -> None:
        super().__init__(
            f'new row for relation {quoted_name(table)} violates check constraint "{constraint}"',
            detail=f"Failing row contains ({row}).",
        )
        self.constraint, self.table = constraint, table


class DomainViolation(ReclockError):
    """A value breaks a constraint of its domain. The SQLSTATE is PostgreSQL's."""

    sqlstate = "23514"

    def __init__(self, domain: str, message: str, *, sqlstate: str = sqlstate) -> None:
        super().__init__(message)
        self.domain, self.sqlstate = domain, sqlstate

    @classmethod
    def of_null(cls, domain: str) -> DomainViolation:
        return cls(domain, f"domain {domain} does not allow null values", sqlstate="23502")

    @classmethod
    def of_check(cls, domain: str, constraint: str) -> DomainViolation:
        message = f'value for domain {domain} violates check constraint "{constraint}"'
        return cls(domain, message)


class BadCopyData(ReclockError):
    """The data of COPY FROM does not have the format and the columns of the statement."""

    sqlstate = "22P04"

    def __init__(self, message: str, *, line: int, sqlstate: str | None = None) -> None:
        super().__init__(message, detail=f"line {line}")
        if sqlstate is not None:
            self.sqlstate = sqlstate
        self.line = line


class CopyAbandoned(ReclockError):
    """The client cancelled a COPY FROM. Nothing was written."""

    sqlstate = "57014"

    def __init__(self, reason: str) -> None:
        super().__init__(f"COPY from stdin failed: {reason}")
