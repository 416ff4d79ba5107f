"""Prepared statements and cursors, DISCARD and UNLISTEN."""

from __future__ import annotations

from typing import ClassVar, Never

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.errors import UnsupportedSql
from reclock.sql.statements.subscribe.syntax import subscribe
from reclock.sql.syntax.expressions import QUERY_STARTS
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import written_as

_OTHER_DIRECTIONS = ("PRIOR", "FIRST", "LAST", "ABSOLUTE", "RELATIVE", "BACKWARD")
_FORWARD_HINT = "fetch forwards: a number of rows, NEXT or ALL"


@written_as("PREPARE {this} [({types})] AS {statement}")
class PrepareStatement(Statement):
    """``statement`` is the prepared statement, ``types`` the written types of its parameters."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "types": False, "statement": True}


@written_as("EXECUTE {this} [({values})]")
class ExecuteStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "values": False}


@written_as("DEALLOCATE {this|ALL}")
class DeallocateStatement(Statement):
    """Without ``this`` it is ``DEALLOCATE ALL``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False}


@written_as("DECLARE {this} CURSOR [is_held: WITH HOLD] FOR {query}")
class DeclareStatement(Statement):
    """``query`` is a ``QueryStatement`` or a ``SubscribeStatement``; a cursor that ``is_held``
    outlives the transaction."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "is_held": False, "query": True}


@written_as("FETCH {count|ALL} FROM {this} [WITH (TIMEOUT = {timeout})]")
class FetchStatement(Statement):
    """Without ``count`` it is ``FETCH ALL``. ``timeout`` is how long it waits for a subscription's
    next rows."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "count": False, "timeout": False}


@written_as("MOVE {count|ALL} FROM {this}")
class MoveStatement(Statement):
    """Like ``FETCH``, without rows. Without ``count`` it is ``MOVE ALL``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "count": False}


@written_as("CLOSE {this|ALL}")
class CloseStatement(Statement):
    """Without ``this`` it is ``CLOSE ALL``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False}


@written_as("UNLISTEN {this|*}")
class UnlistenStatement(Statement):
    """UNLISTEN of ``this`` channel, or of all. It has no effect, because there is no LISTEN."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False}


@written_as("DISCARD {kind}")
class DiscardStatement(Statement):
    """``kind`` is ``ALL``, ``PLANS``, ``SEQUENCES`` or ``TEMP``."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True}


@parses("PREPARE")
def prepare(parser: StatementParser) -> PrepareStatement:
    name, types = parser.name(), None
    if parser.sees_token(TokenType.L_PAREN):
        types = parser.wrapped_list(lambda parser: parser.data_type() or parser.missing())
    if not parser.accept_token(TokenType.ALIAS):
        parser.raise_error("Expected AS")
    if not parser.token:
        parser.raise_error("Expected a statement")
    return PrepareStatement(this=name, types=types, statement=parser.statement())


@parses("PREPARE TRANSACTION")
def prepare_transaction(parser: StatementParser) -> Never:
    raise UnsupportedSql("PREPARE TRANSACTION is not supported", hint="COMMIT the transaction")


@parses("EXECUTE")
def execute(parser: StatementParser) -> ExecuteStatement:
    name, values = parser.name(), None
    if parser.sees_token(TokenType.L_PAREN):
        values = parser.wrapped_list(lambda parser: parser.value())
    return ExecuteStatement(this=name, values=values)


@parses("DEALLOCATE")
def deallocate(parser: StatementParser) -> DeallocateStatement:
    parser.accept("PREPARE")
    return DeallocateStatement(this=None if parser.accept("ALL") else parser.name())


@parses("DECLARE")
def declare(parser: StatementParser) -> DeclareStatement:
    name = parser.name()
    while parser.accept_any(("BINARY", "INSENSITIVE", "ASENSITIVE")) or parser.accept(
        "NO", "SCROLL"
    ):
        if parser.last_word == "BINARY":
            parser.raise_error("Expected CURSOR", parser.last_token)
    if parser.accept("SCROLL"):
        raise UnsupportedSql("SCROLL cursors are not supported", hint=_FORWARD_HINT)
    parser.expect("CURSOR")
    is_held = parser.accept("WITH", "HOLD")
    if not is_held:
        parser.accept("WITHOUT", "HOLD")
    if not parser.accept_token(TokenType.FOR):
        parser.raise_error("Expected FOR")
    if parser.accept_any(("SUBSCRIBE", "TAIL")):
        return DeclareStatement(this=name, is_held=is_held, query=subscribe(parser))
    if parser.token.token_type not in QUERY_STARTS:
        parser.raise_error("Expected a query")
    return DeclareStatement(this=name, is_held=is_held, query=parser.query_statement())


@parses("FETCH")
def fetch(parser: StatementParser) -> FetchStatement:
    count, name = _rows_of_cursor(parser)
    timeout = None
    if parser.accept_token(TokenType.WITH):
        timeout = parser.wrapped(_fetch_timeout)
    return FetchStatement(this=name, count=count, timeout=timeout)


@parses("MOVE")
def move(parser: StatementParser) -> MoveStatement:
    count, name = _rows_of_cursor(parser)
    return MoveStatement(this=name, count=count)


def _rows_of_cursor(parser: StatementParser) -> tuple[exp.Expr | None, exp.Identifier]:
    """How many rows, None for all, and the cursor. Raises ``UnsupportedSql`` for directions other
    than forwards."""
    count: exp.Expr | None = exp.Literal.number(1)
    if parser.sees_token(TokenType.DASH) or (
        parser.next_token and parser.accept_any(_OTHER_DIRECTIONS)
    ):
        raise UnsupportedSql("cursor can only scan forward", hint=_FORWARD_HINT)
    parser.accept("FORWARD")
    if parser.accept("ALL"):
        count = None
    elif parser.token.token_type == TokenType.NUMBER:
        count = parser.integer()
    else:
        parser.accept("NEXT")
    parser.accept_any(("FROM", "IN"))
    return count, parser.name()


def _fetch_timeout(parser: StatementParser) -> exp.Expr:
    parser.expect("TIMEOUT")
    parser.accept_token(TokenType.EQ)
    return parser.text()


@parses("CLOSE")
def close(parser: StatementParser) -> CloseStatement:
    return CloseStatement(this=None if parser.accept("ALL") else parser.name())


@parses("UNLISTEN")
def unlisten(parser: StatementParser) -> UnlistenStatement:
    return UnlistenStatement(this=None if parser.accept_token(TokenType.STAR) else parser.name())


@parses("DISCARD")
def discard(parser: StatementParser) -> DiscardStatement:
    if not parser.accept_any(("ALL", "PLANS", "SEQUENCES", "TEMP", "TEMPORARY")):
        parser.raise_error("Expected ALL")
    return DiscardStatement(kind=parser.last_word)
