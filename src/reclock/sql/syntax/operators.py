"""Operators that sqlglot does not read: ``<<=`` and ``>>=``, and ``OPERATOR(schema.op)``."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.errors import UnsupportedSql
from reclock.sql.syntax.calls import CallParser

SIGNS = {TokenType.DCOLONDOLLAR: "<<=", TokenType.DCOLONPERCENT: ">>="}
"""Signs by tokens of sqlglot that no text of ours has."""


class OperatorParser(CallParser):
    """sqlglot's, with these operators."""

    RANGE_PARSERS: ClassVar[dict[Any, Any]] = {
        **CallParser.RANGE_PARSERS,
        **dict.fromkeys(SIGNS, lambda self, this: self._parse_signed(this)),
    }

    def _parse_signed(self, this: exp.Expr | None) -> exp.Expr:
        sign = SIGNS[self._prev.token_type]
        right = self._parse_bitwise() or self.missing()
        return self.expression(exp.Operator(this=this, operator=sign, expression=right))

    def _parse_operator(self, this: exp.Expr | None) -> exp.Expr | None:
        """``OPERATOR(schema.op)``, after its first word."""
        if not self._match(TokenType.L_PAREN):
            return super()._parse_operator(this)
        schemas = []
        while self._next.token_type == TokenType.DOT:
            schema = self.name()
            schemas.append(schema.name if schema.args.get("quoted") else schema.name.lower())
            self._match(TokenType.DOT)
        if len(schemas) > 1:
            raise UnsupportedSql("operators of other databases are not supported")
        signs = ""
        while self._curr and self._curr.text and not self._curr.text[0].isalnum():
            if self._match(TokenType.R_PAREN):
                break
            signs += self._curr.text
            self._advance()
        if not signs or self._prev.token_type != TokenType.R_PAREN:
            self.raise_error("Expected an operator")
        operator = ".".join([*schemas, signs])
        right = self._parse_bitwise() or self.missing()
        return self.expression(exp.Operator(this=this, operator=operator, expression=right))
