"""Our SQL dialect: sqlglot's Materialize, its queries and expressions, with statements of our own
in and out of text."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.materialize import Materialize
from sqlglot.generators.materialize import MaterializeGenerator
from sqlglot.tokenizer_core import TokenizerCore, TokenType

from reclock.sql.syntax.families import load_syntax
from reclock.sql.syntax.operators import SIGNS
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.writing import WRITERS

load_syntax()  # before the generator below takes their writers

_ONLY_NAMES = frozenset({"ALTER", "DROP", "INSERT", "LOCK", "REVOKE", "ROLLBACK"})
"""Words that PostgreSQL reads as names wherever a name is allowed. The rules of statements read them
by their text."""


class _TokenizerCore(TokenizerCore):
    __slots__ = ()

    def _scan_string(self, start: str) -> bool:
        # sqlglot takes ``$1,$`` for the tag of a dollar quote; a tag does not begin with a digit.
        if start == "$" and self._peek.isdigit():
            self._add(TokenType.PARAMETER)
            return True
        return super()._scan_string(start)


class Reclock(Materialize):
    """The dialect of every text that Reclock reads or stores."""

    NORMALIZE_NOT_NULL = False
    INDEX_OFFSET = 0  # subscripts as they are written

    class Tokenizer(Materialize.Tokenizer):
        # A "command" would swallow the rest of its statement unparsed.
        COMMANDS: ClassVar[set[TokenType]] = set()

        # sqlglot takes `@1` for a parameter
        SINGLE_TOKENS: ClassVar[dict[str, TokenType]] = {
            **Materialize.Tokenizer.SINGLE_TOKENS,
            "@": TokenType.SESSION_PARAMETER,
        }

        def _init_core(self) -> TokenizerCore:
            core = super()._init_core()
            core.__class__ = _TokenizerCore
            return core

        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            word: kind
            for word, kind in [
                *Materialize.Tokenizer.KEYWORDS.items(),
                ("CURRENT_ROLE", TokenType.CURRENT_ROLE),
                *((sign, kind) for kind, sign in SIGNS.items()),
            ]
            if kind is not TokenType.COMMAND and word not in _ONLY_NAMES
        }

    Parser = StatementParser

    class Generator(MaterializeGenerator):
        MULTI_ARG_DISTINCT = True  # an aggregate of several arguments, as string_agg
        SUPPORTS_BETWEEN_FLAGS = True
        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **MaterializeGenerator.TRANSFORMS,
            exp.Array: lambda self, node: _array_sql(self, node),
            exp.Interval: lambda self, node: _interval_sql(self, node),
            exp.Join: lambda self, node: _join_sql(self, node),
            exp.Pow: lambda self, node: self.binary(node, "^"),
            exp.StartsWith: lambda self, node: self.binary(node, "^@"),
            **WRITERS,
        }


def _array_sql(generator: MaterializeGenerator, node: exp.Array) -> str:
    """sqlglot takes a subquery that is the first element for the query of all elements."""
    items = node.expressions
    is_query = len(items) == 1 and isinstance(items[0], exp.Query)
    if is_query and not node.args.get("value_constructor"):
        return f"ARRAY({generator.sql(items[0])})"
    return f"ARRAY[{', '.join(map(generator.sql, items))}]"


def _interval_sql(generator: MaterializeGenerator, node: exp.Interval) -> str:
    unit = f" {node.text('unit')}" if node.args.get("unit") else ""
    return f"INTERVAL {generator.sql(node, 'this')}{unit}"


def _join_sql(generator: MaterializeGenerator, node: exp.Join) -> str:
    alias = f" AS {generator.sql(node, 'using_alias')}" if node.args.get("using_alias") else ""
    return generator.join_sql(node) + alias


def to_sql(node: exp.Expr) -> str:
    """The node as text that parses to an equal node; calls keep their case, names their quotes."""
    return node.sql(dialect=Reclock, normalize_functions=False, comments=False)
