"""Places of what begins with a sign or a key word, which no name or constant of it says."""

from __future__ import annotations

from typing import Any, TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from reclock.sql.syntax.words import WordParser

E = TypeVar("E", bound=exp.Expr)
_SIGN = "sign"
_PREFIXED = exp.Neg | exp.BitwiseNot


class PlacedParser(WordParser):
    """sqlglot's, where subqueries, casts, arrays, EXTRACT and what has a sign before it know their
    place, which is that of PostgreSQL's errors about them."""

    def _parse_paren(self) -> exp.Expr | None:
        start = self._curr
        node = super()._parse_paren()
        return _placed(node, start) if isinstance(node, exp.Subquery) else node

    def _parse_unary(self) -> exp.Expr | None:
        start = self._curr
        node = super()._parse_unary()
        is_prefixed = isinstance(node, _PREFIXED) and start.token_type in self.UNARY_PARSERS
        return _placed(node, start) if node is not None and is_prefixed else node

    def _parse_cast(self, strict: bool, safe: bool | None = None) -> exp.Expr:
        word = self._tokens[self._index - 2]
        return _placed(super()._parse_cast(strict, safe), word)

    def _parse_extract(self) -> exp.Extract | exp.Anonymous:
        word = self._tokens[self._index - 2]
        return _placed(super()._parse_extract(), word)

    def _parse_dcolon(self) -> exp.Expr | None:
        sign = self._prev
        kind = super()._parse_dcolon()
        if kind is not None:
            kind.meta[_SIGN] = sign
        return kind

    def build_cast(self, strict: bool, **kwargs: Any) -> exp.Expr:
        sign = kwargs["to"].meta.pop(_SIGN, None)
        node = super().build_cast(strict, **kwargs)
        return node if sign is None else _placed(node, sign)

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        word = self._prev if this is None else None
        node = super()._parse_bracket(this)
        if (
            isinstance(node, exp.Array)
            and "start" not in node.meta
            and word is not None
            and word.token_type is TokenType.ARRAY
        ):
            return _placed(node, word)
        return node


def _placed(node: E, token: Token) -> E:
    node.meta.update({"start": token.start, "end": token.end})
    return node
