"""SET and RESET, of a session and as a default."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.sql.statements.session.syntax import ResetVariableStatement, SetVariableStatement
from reclock.sql.syntax.expressions import QueryParser


class VariableParser(QueryParser):
    """Parses what gives a variable a value."""

    def _variable(self) -> exp.Identifier:
        return self._word("the name of a variable")

    def _set(self) -> SetVariableStatement:
        scope = self._prev.text.upper() if self._match_texts(("SESSION", "LOCAL")) else None
        if self._curr and self._curr.text.upper() == "ROLE" and not self._is_assignment():
            self._advance()
            role = exp.to_identifier("role")
            return SetVariableStatement(this=role, scope=scope, values=[self._word("the name of a role")])
        name, values = self._assignment()
        return SetVariableStatement(this=name, scope=scope, values=values)

    def _is_assignment(self) -> bool:
        """Whether the word here is followed by = or TO."""
        return bool(self._next) and (self._next.token_type == TokenType.EQ or self._next.text.upper() == "TO")

    def _assignment(self) -> tuple[exp.Identifier, list[exp.Expr] | None]:
        """The variable, and the values given to it; None is DEFAULT."""
        if self._match_text_seq("TIME", "ZONE"):
            name = exp.to_identifier("timezone")
        else:
            name = self._variable()
            if not self._match(TokenType.EQ) and not self._match_text_seq("TO"):
                self.raise_error("Expected = or TO")
        return name, None if self._match_text_seq("DEFAULT") else self._parse_csv(self._setting)

    def _setting(self) -> exp.Expr:
        if self._match(TokenType.DASH):
            return exp.Literal.number(f"-{(self._parse_number() or self._missing()).name}")
        literal = self._parse_string() or self._parse_number() or self._parse_boolean()
        return literal or self._parse_id_var(any_token=True) or self._missing()

    def _reset(self) -> ResetVariableStatement:
        return ResetVariableStatement(this=self._variable_or_all())

    def _variable_or_all(self) -> exp.Identifier | None:
        return None if self._match_text_seq("ALL") else self._variable()
