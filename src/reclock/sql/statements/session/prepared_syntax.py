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

_ONE_ROW = {"NEXT": ("FORWARD", 1), "PRIOR": ("BACKWARD", 1)} | {
    "FIRST": ("ABSOLUTE", 1),
    "LAST": ("ABSOLUTE", -1),
}


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


@written_as("DECLARE {this} [is_scrollable: SCROLL] CURSOR [is_held: WITH HOLD] FOR {query}")
class DeclareStatement(Statement):
    """``query`` is a ``QueryStatement`` or a ``SubscribeStatement``; a cursor that ``is_held``
    outlives the transaction, and one that ``is_scrollable`` goes backwards too."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "is_scrollable": False,
        "is_held": False,
        "query": True,
    }


@written_as("FETCH {direction} {count|ALL} FROM {this} [WITH (TIMEOUT = {timeout})]")
class FetchStatement(Statement):
    """``direction`` is ``FORWARD``, ``BACKWARD``, ``ABSOLUTE`` or ``RELATIVE``. Without ``count`` it
    is ``ALL``. ``timeout`` is how long it waits for a subscription's next rows."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "direction": True,
        "count": False,
        "timeout": False,
    }


@written_as("MOVE {direction} {count|ALL} FROM {this}")
class MoveStatement(Statement):
    """Like ``FETCH``, without rows."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "direction": True, "count": False}


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
    name, is_scrollable = parser.name(), False
    while not parser.accept("CURSOR"):
        if parser.accept("NO", "SCROLL") or parser.accept_any(("INSENSITIVE", "ASENSITIVE")):
            continue
        parser.expect("SCROLL")
        is_scrollable = True
    is_held = parser.accept("WITH", "HOLD")
    if not is_held:
        parser.accept("WITHOUT", "HOLD")
    if not parser.accept_token(TokenType.FOR):
        parser.raise_error("Expected FOR")
    if parser.accept_any(("SUBSCRIBE", "TAIL")):
        if is_scrollable:
            raise UnsupportedSql("a SCROLL cursor of SUBSCRIBE is not supported")
        query: exp.Expr = subscribe(parser)
    elif parser.token.token_type in QUERY_STARTS:
        query = parser.query_statement()
    else:
        parser.raise_error("Expected a query")
    return DeclareStatement(this=name, is_scrollable=is_scrollable, is_held=is_held, query=query)


@parses("FETCH")
def fetch(parser: StatementParser) -> FetchStatement:
    rows = _rows_of_cursor(parser)
    timeout = None
    if parser.accept_token(TokenType.WITH):
        timeout = parser.wrapped(_fetch_timeout)
    return FetchStatement(**rows, timeout=timeout)


@parses("MOVE")
def move(parser: StatementParser) -> MoveStatement:
    return MoveStatement(**_rows_of_cursor(parser))


def _rows_of_cursor(parser: StatementParser) -> dict[str, str | exp.Expr | None]:
    """The cursor (``this``), the direction, and the ``count`` of rows, which may be negative."""
    direction = "FORWARD"
    count: exp.Expr | None = exp.Literal.number(1)
    if parser.next_token and parser.accept_any(_ONE_ROW):
        direction, one = _ONE_ROW[parser.last_word]
        count = _signed(one)
    elif parser.next_token and parser.accept_any(("ABSOLUTE", "RELATIVE")):
        direction = parser.last_word
        count = _signed_integer(parser)
    else:
        if parser.next_token and parser.accept_any(("FORWARD", "BACKWARD")):
            direction = parser.last_word
        if parser.accept("ALL"):
            count = None
        elif parser.token.token_type in (TokenType.NUMBER, TokenType.DASH):
            count = _signed_integer(parser)
    parser.accept_any(("FROM", "IN"))
    return {"this": parser.name(), "direction": direction, "count": count}


def _signed_integer(parser: StatementParser) -> exp.Expr:
    sign = -1 if parser.accept_token(TokenType.DASH) else 1
    return _signed(sign * int(parser.integer().name))


def _signed(number: int) -> exp.Expr:
    return exp.Literal(this=str(number), is_string=False)


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
