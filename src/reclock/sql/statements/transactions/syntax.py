"""BEGIN, COMMIT, ROLLBACK and savepoints."""

from __future__ import annotations

from typing import ClassVar, NoReturn

from sqlglot.tokenizer_core import TokenType

from reclock.errors import UnsupportedSql
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import written_as


@written_as("{kind} {this} [ISOLATION LEVEL {isolation}] {access}")
class TransactionStatement(Statement):
    """``kind`` is ``BEGIN``, ``START TRANSACTION``, ``COMMIT`` or ``ROLLBACK``, ``isolation`` and
    ``access`` are as written, upper case; or ``kind`` is ``SAVEPOINT``, ``RELEASE`` or ``ROLLBACK TO``, and ``this``
    names the savepoint; or ``SET TRANSACTION`` or ``SET SESSION CHARACTERISTICS AS TRANSACTION``,
    with the modes of ``BEGIN``."""

    arg_types: ClassVar[dict[str, bool]] = {
        "kind": True,
        "this": False,
        "isolation": False,
        "access": False,
    }


_ISOLATION_LEVELS = (
    "STRICT SERIALIZABLE",
    "SERIALIZABLE",
    "REPEATABLE READ",
    "READ COMMITTED",
    "READ UNCOMMITTED",
)


@parses("BEGIN")
def begin(parser: StatementParser) -> TransactionStatement:
    parser.accept_any(("WORK", "TRANSACTION"))
    return _modes(parser, "BEGIN")


@parses("START")
def start(parser: StatementParser) -> TransactionStatement:
    if not parser.accept("TRANSACTION"):
        parser.raise_error("Expected TRANSACTION")
    return _modes(parser, "START TRANSACTION")


@parses("SET TRANSACTION", "SET SESSION CHARACTERISTICS AS TRANSACTION")
def set_modes(parser: StatementParser) -> TransactionStatement:
    if not parser.token:
        parser.raise_error("Expected a mode of transactions")
    return _modes(parser, " ".join(parser.phrase))


def _modes(parser: StatementParser, kind: str) -> TransactionStatement:
    isolation = access = None
    while parser.token:
        if parser.accept("ISOLATION", "LEVEL"):
            isolation = next(
                (level for level in _ISOLATION_LEVELS if parser.accept(*level.split())), None
            )
            if isolation is None:
                parser.raise_error("Expected an isolation level")
        elif parser.accept("READ", "ONLY"):
            access = "READ ONLY"
        elif parser.accept("READ", "WRITE"):
            access = "READ WRITE"
        elif parser.accept("NOT", "DEFERRABLE") or parser.accept("DEFERRABLE"):
            pass  # nothing is deferred
        else:
            parser.raise_error("Invalid expression")
        parser.accept_token(TokenType.COMMA)
    return TransactionStatement(kind=kind, isolation=isolation, access=access)


@parses("COMMIT|END")
def commit(parser: StatementParser) -> TransactionStatement:
    parser.accept_any(("WORK", "TRANSACTION"))
    return TransactionStatement(kind="COMMIT")


@parses("ROLLBACK|ABORT")
def roll_back(parser: StatementParser) -> TransactionStatement:
    parser.accept_any(("WORK", "TRANSACTION"))
    if not parser.accept("TO"):
        return TransactionStatement(kind="ROLLBACK")
    parser.accept("SAVEPOINT")
    return TransactionStatement(kind="ROLLBACK TO", this=parser.name())


@parses("SAVEPOINT")
def savepoint(parser: StatementParser) -> TransactionStatement:
    return TransactionStatement(kind="SAVEPOINT", this=parser.name())


@parses("RELEASE")
def release(parser: StatementParser) -> TransactionStatement:
    parser.accept("SAVEPOINT")
    return TransactionStatement(kind="RELEASE", this=parser.name())


@parses("LOCK")
def lock(parser: StatementParser) -> NoReturn:
    raise UnsupportedSql(
        "LOCK TABLE is not supported",
        detail="A transaction reads at one time, and its writes fail with 40001 if what it read "
        "was changed since: it holds no lock for which others would wait.",
        hint="leave LOCK TABLE out and repeat the transaction after 40001, or let all who write "
        "call pg_advisory_xact_lock first",
    )
