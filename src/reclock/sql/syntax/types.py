"""Names of types, as PostgreSQL writes them."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.algebra.relations import RANGES
from reclock.sql.syntax.placed import PlacedParser
from reclock.sql.syntax.reserved_words import RESERVED_WORD

_RESERVED = re.compile(RESERVED_WORD, re.IGNORECASE)

_KEYWORDS = frozenset(
    ("bool", "int2", "int4", "int8", "float4", "float8", "numeric", "text", "varchar", "bpchar")
) | {
    "bytea",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "interval",
    "json",
    "jsonb",
    "uuid",
    "inet",
}
"""Types of ``pg_catalog`` by their names there, which are also names of the grammar."""
_IN_CATALOG = (
    _KEYWORDS
    | RANGES
    | {"oid", "name", "char", "regclass", "regnamespace", "regproc", "cidr", "macaddr"}
)
"""Those, and others, of which there are types of arrays."""


class _EveryName(set[str]):
    def __contains__(self, name: object) -> bool:
        return True


class TypeParser(PlacedParser):
    """sqlglot's, with arrays of every type, and the names of ``pg_catalog``."""

    QUOTED_TYPES_TO_PRESERVE = _EveryName()
    """sqlglot takes ``"Name"`` and ``"Date"``, which are types of users, for its keywords."""

    def _parse_id_var(
        self, any_token: bool = True, tokens: Collection[TokenType] | None = None
    ) -> exp.Expr | None:
        """sqlglot takes no keyword for the name of a user's type."""
        if tokens == (TokenType.VAR,) and not _RESERVED.fullmatch(self._curr.text):
            tokens = None
        return super()._parse_id_var(any_token, tokens)

    def _parse_types(self, check_func: bool = False, *args: Any, **options: Any) -> exp.Expr | None:
        """sqlglot does not look for ``[]`` after ``oid`` and ``regclass``, and takes ``[3]`` for a
        subscript. The size means nothing."""
        if options.get("allow_identifiers", True) and self._sees_quoted_schema():
            return self._qualified_type()
        kind = _in_catalog(super()._parse_types(check_func, *args, **options))
        is_type = isinstance(kind, exp.DataType) and not check_func
        if isinstance(kind, exp.ObjectIdentifier) and self._match_pair(
            TokenType.L_BRACKET, TokenType.R_BRACKET
        ):
            return exp.DataType(this=exp.DType.ARRAY, expressions=[kind], nested=True)
        if is_type and self._match(TokenType.ARRAY):  # with a size or without
            kind = exp.DataType(this=exp.DType.ARRAY, expressions=[kind], nested=True)
            if self._match_pair(TokenType.L_BRACKET, TokenType.NUMBER) and not self._match(
                TokenType.R_BRACKET
            ):
                self.raise_error("Expected ]")
            return kind
        while is_type and self._match_pair(TokenType.L_BRACKET, TokenType.NUMBER):
            if not self._match(TokenType.R_BRACKET):
                self.raise_error("Expected ]")
            kind = exp.DataType(this=exp.DType.ARRAY, expressions=[kind], nested=True)
        return kind

    def _sees_quoted_schema(self) -> bool:
        is_quoted = bool(self._curr) and self._curr.token_type == TokenType.IDENTIFIER
        return is_quoted and bool(self._next) and self._next.token_type == TokenType.DOT

    def _qualified_type(self) -> exp.Expr | None:
        """``"schema"."type"`` or an array of it, of which sqlglot reads the schema alone."""
        name = self._parse_id_var()
        while self._match(TokenType.DOT):
            name = exp.Dot(this=name, expression=self._parse_id_var(any_token=True))
        kind = _in_catalog(exp.DataType(this=exp.DType.USERDEFINED, kind=name))
        while self._match(TokenType.L_BRACKET):
            self._match(TokenType.NUMBER)
            if not self._match(TokenType.R_BRACKET):
                self.raise_error("Expected ]")
            kind = exp.DataType(this=exp.DType.ARRAY, expressions=[kind], nested=True)
        return kind


def _drop_full_precision(interval: exp.DataType) -> None:
    """Microseconds are all that an interval has: ``interval(6)`` is ``interval``."""
    digits = [size.this.name for size in interval.expressions]
    if len(digits) == 1 and digits[0].isdigit() and int(digits[0][:3]) >= 6:
        interval.set("expressions", None)


def _in_catalog(kind: exp.Expr | None) -> exp.Expr | None:
    """The type that ``pg_catalog.int4`` or ``_int4`` means; any other type as it is."""
    if not isinstance(kind, exp.DataType):
        return kind
    if kind.this == exp.DType.ARRAY:
        kind.set("expressions", [_in_catalog(element) for element in kind.expressions])
    if kind.this == exp.DType.INTERVAL:
        _drop_full_precision(kind)
    if kind.this != exp.DType.USERDEFINED:
        return kind
    written = kind.args.get("kind")
    if isinstance(written, exp.Dot) and written.this.name.lower() == "pg_catalog":
        written = written.expression
    if not isinstance(written, exp.Identifier):
        return kind
    name = written.name if written.args.get("quoted") else written.name.lower()
    if name.startswith("_") and name[1:] in _IN_CATALOG:
        return exp.DataType(this=exp.DType.ARRAY, expressions=[_named(name[1:])], nested=True)
    if name not in _KEYWORDS | RANGES:
        return kind
    type = _named(name)
    type.set("expressions", kind.expressions or None)
    return type


def _named(name: str) -> exp.DataType:
    if name in _IN_CATALOG - _KEYWORDS - RANGES:
        return exp.DataType(this=exp.DType.USERDEFINED, kind=exp.to_identifier(name, quoted=True))
    return exp.DataType.build(name, dialect="postgres")
