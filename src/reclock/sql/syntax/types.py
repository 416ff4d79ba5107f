"""Names of types, as PostgreSQL writes them."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.parsers.materialize import MaterializeParser
from sqlglot.tokenizer_core import TokenType


class TypeParser(MaterializeParser):
    """sqlglot's, with arrays of every type."""

    def _parse_types(self, check_func: bool = False, *args: Any, **options: Any) -> exp.Expr | None:
        """sqlglot does not look for ``[]`` after ``oid`` and ``regclass``, and takes ``[3]`` for a
        subscript. The size means nothing."""
        kind = super()._parse_types(check_func, *args, **options)
        is_type = isinstance(kind, exp.DataType) and not check_func
        if isinstance(kind, exp.ObjectIdentifier) and self._match_pair(
            TokenType.L_BRACKET, TokenType.R_BRACKET
        ):
            return exp.DataType(this=exp.DType.ARRAY, expressions=[kind], nested=True)
        while is_type and self._match_pair(TokenType.L_BRACKET, TokenType.NUMBER):
            if not self._match(TokenType.R_BRACKET):
                self.raise_error("Expected ]")
            kind = exp.DataType(this=exp.DType.ARRAY, expressions=[kind], nested=True)
        return kind
