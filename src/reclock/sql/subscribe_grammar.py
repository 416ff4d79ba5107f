"""SUBSCRIBE, and TAIL, as it was called once."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.sql.statements.subscribe.syntax import SubscribeStatement
from reclock.sql.syntax import nodes
from reclock.sql.syntax.expressions import QueryParser


class SubscribeParser(QueryParser):
    """Parses ``SUBSCRIBE [TO] name | (query) [WITH (…)] [AS OF …] [UP TO …] [ENVELOPE … (KEY (…)) | WITHIN TIMESTAMP ORDER BY …]``,
    the clauses in any order."""

    def _subscribe(self) -> SubscribeStatement:
        self._match_text_seq("TO")
        name = query = None
        if self._match(TokenType.L_PAREN):
            query = self._query()
            if not self._match(TokenType.R_PAREN):
                self.raise_error("Expected )")
        else:
            name = self._object_name()
        given: dict[str, Any] = {}
        while self._curr and self._curr.token_type != TokenType.R_PAREN:
            if "as_of" not in given and self._is_as_of():
                given["as_of"] = self._as_of()
            elif "up_to" not in given and self._match_text_seq("UP", "TO"):
                given["up_to"] = nodes.AsOfClause(this=self._parse_disjunction() or self._missing())
            elif not given.keys() & {"snapshot", "progress"} and self._match_texts(("WITH", "WITHOUT")):
                given |= self._subscribe_options(is_with=self._prev.text.upper() == "WITH")
            elif not given.keys() & {"envelope", "order"} and self._match_text_seq("ENVELOPE"):
                given |= self._subscribe_envelope()
            elif not given.keys() & {"envelope", "order"} and self._match_text_seq("WITHIN", "TIMESTAMP"):
                given["order"] = self._parse_order() or self._missing()
            else:
                self.raise_error("Expected WITH, AS OF, UP TO, ENVELOPE or WITHIN TIMESTAMP ORDER BY")
        return SubscribeStatement(this=name, query=query, **given)

    def _subscribe_envelope(self) -> dict[str, Any]:
        if not self._match_texts(("UPSERT", "DEBEZIUM")):
            self.raise_error("Expected UPSERT or DEBEZIUM")
        envelope = self._prev.text.upper()
        if not self._match(TokenType.L_PAREN) or not self._match_text_seq("KEY"):
            self.raise_error("Expected (KEY (…))")
        key = self._parse_wrapped_csv(self._name)
        if not self._match(TokenType.R_PAREN):
            self.raise_error("Expected )")
        return {"envelope": envelope, "key": key}

    def _subscribe_options(self, *, is_with: bool) -> dict[str, exp.Expr]:
        if self._match_text_seq("SNAPSHOT"):
            return {"snapshot": exp.Boolean(this=is_with)}
        if not is_with or not self._match(TokenType.L_PAREN, advance=False):
            self.raise_error("Expected SNAPSHOT")
        return dict(self._parse_wrapped_csv(self._subscribe_option))

    def _subscribe_option(self) -> tuple[str, exp.Expr]:
        if not self._match_texts(("SNAPSHOT", "PROGRESS")):
            self.raise_error("Expected SNAPSHOT or PROGRESS")
        name = self._prev.text.lower()
        self._match(TokenType.EQ)
        if not self._curr or self._curr.token_type in (TokenType.COMMA, TokenType.R_PAREN):
            return name, exp.Boolean(this=True)
        return name, self._parse_boolean() or self._missing()
