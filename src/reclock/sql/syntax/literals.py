"""A short way to the literals of long lists."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.sql.syntax.joins import JoinParser

_LITERALS = frozenset({TokenType.NUMBER, TokenType.STRING, TokenType.NULL})
_ENDS_OF_ITEMS = frozenset({TokenType.COMMA, TokenType.R_PAREN})


class LiteralParser(JoinParser):
    """sqlglot's, without the levels of precedence for a literal that is a whole item of a list,
    which may have thousands of them."""

    def _parse_expression(self) -> exp.Expr | None:
        return self._parse_primary() if self._is_lone_literal() else super()._parse_expression()

    def _parse_assignment(self) -> exp.Expr | None:
        return self._parse_primary() if self._is_lone_literal() else super()._parse_assignment()

    def _is_lone_literal(self) -> bool:
        return (
            self._curr.token_type in _LITERALS
            and self._next is not None
            and self._next.token_type in _ENDS_OF_ITEMS
        )
