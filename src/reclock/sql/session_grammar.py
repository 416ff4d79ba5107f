"""What a session keeps from one statement to the next: prepared statements and cursors."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.sql.statements.session.prepared_syntax import (
    CloseStatement,
    DeallocateStatement,
    DeclareStatement,
    DiscardStatement,
    ExecuteStatement,
    FetchStatement,
    PrepareStatement,
    UnlistenStatement,
)
from reclock.sql.subscribe_grammar import SubscribeParser
from reclock.sql.syntax import nodes
from reclock.sql.syntax.expressions import QUERY_STARTS


class SessionParser(SubscribeParser):
    """Parses PREPARE, EXECUTE and DEALLOCATE, DECLARE, FETCH and CLOSE, and DISCARD."""

    def _root(self) -> nodes.Statement:
        raise NotImplementedError

    def _query_statement(self) -> nodes.QueryStatement:
        raise NotImplementedError

    def _prepare(self) -> PrepareStatement:
        name, types = self._name(), None
        if self._match(TokenType.L_PAREN, advance=False):
            types = self._parse_wrapped_csv(lambda: self._parse_types(check_func=False) or self._missing())
        if not self._match(TokenType.ALIAS):
            self.raise_error("Expected AS")
        if not self._curr:
            self.raise_error("Expected a statement")
        return PrepareStatement(this=name, types=types, statement=self._root())

    def _execute(self) -> ExecuteStatement:
        name, values = self._name(), None
        if self._match(TokenType.L_PAREN, advance=False):
            values = self._parse_wrapped_csv(lambda: self._parse_disjunction() or self._missing())
        return ExecuteStatement(this=name, values=values)

    def _deallocate(self) -> DeallocateStatement:
        self._match_text_seq("PREPARE")
        return DeallocateStatement(this=None if self._match_text_seq("ALL") else self._name())

    def _declare(self) -> DeclareStatement:
        name = self._name()
        while self._match_texts(("BINARY", "INSENSITIVE", "ASENSITIVE")) or self._match_text_seq("NO", "SCROLL"):
            if self._prev.text.upper() == "BINARY":
                self.raise_error("Expected CURSOR", self._prev)
        self._expect("CURSOR")
        is_held = self._match_text_seq("WITH", "HOLD")
        if not is_held:
            self._match_text_seq("WITHOUT", "HOLD")
        if not self._match(TokenType.FOR):
            self.raise_error("Expected FOR")
        if self._match_texts(("SUBSCRIBE", "TAIL")):
            return DeclareStatement(this=name, is_held=is_held, query=self._subscribe())
        if self._curr.token_type not in QUERY_STARTS:
            self.raise_error("Expected a query")
        return DeclareStatement(this=name, is_held=is_held, query=self._query_statement())

    def _fetch(self) -> FetchStatement:
        """Forwards alone: a count, NEXT or ALL."""
        self._match_text_seq("FORWARD")
        count: exp.Expr | None = exp.Literal.number(1)
        if self._match_text_seq("ALL"):
            count = None
        elif self._curr.token_type == TokenType.NUMBER:
            count = self._integer()
        else:
            self._match_text_seq("NEXT")
        self._match_texts(("FROM", "IN"))
        name, timeout = self._name(), None
        if self._match(TokenType.WITH):
            timeout = self._parse_wrapped(self._fetch_timeout)
        return FetchStatement(this=name, count=count, timeout=timeout)

    def _fetch_timeout(self) -> exp.Expr:
        self._expect("TIMEOUT")
        self._match(TokenType.EQ)
        return self._text()

    def _close(self) -> CloseStatement:
        return CloseStatement(this=None if self._match_text_seq("ALL") else self._name())

    def _unlisten(self) -> UnlistenStatement:
        return UnlistenStatement(this=None if self._match(TokenType.STAR) else self._name())

    def _discard(self) -> DiscardStatement:
        if not self._match_texts(("ALL", "PLANS", "SEQUENCES", "TEMP", "TEMPORARY")):
            self.raise_error("Expected ALL")
        return DiscardStatement(kind=self._prev.text.upper())
