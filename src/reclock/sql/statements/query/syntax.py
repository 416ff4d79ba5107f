"""EXPLAIN."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.expressions import QUERY_STARTS
from reclock.sql.syntax.nodes import QueryStatement, Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import generates, written_as

_SHOWN = ("VERBOSE", "COSTS", "SETTINGS", "BUFFERS", "TIMING", "SUMMARY", "MEMORY")
"""PostgreSQL's options that choose how much is shown. They are read and change nothing."""


class ExplainStatement(Statement):
    """``kind`` is ``PLAN``, ``ANALYZE``, ``TIMESTAMP`` or ``OPTIMIZER TRACE``; ``format`` ``TEXT`` or
    ``JSON``; ``this`` a ``QueryStatement``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True, "format": True}


@written_as("EXPLAIN {this}")
class ExplainDefinitionStatement(Statement):
    """``this`` is a statement that is no query."""


@parses("EXPLAIN")
def explain(parser: StatementParser) -> ExplainStatement | ExplainDefinitionStatement:
    kind, format = _options(parser)
    is_query = parser.accept("FOR") or kind != "PLAN"
    if not parser.token or (is_query and parser.token.token_type not in QUERY_STARTS):
        parser.raise_error("Expected a query")
    statement = parser.statement()
    if isinstance(statement, QueryStatement):
        return ExplainStatement(this=statement, kind=kind, format=format)
    return ExplainDefinitionStatement(this=statement)


def _options(parser: StatementParser) -> tuple[str, str]:
    """The kind and the format."""
    if not _sees_options(parser):
        kind = parser.accept_first("OPTIMIZER TRACE", "PLAN", "TIMESTAMP", "ANALYZE")
        parser.accept("VERBOSE")
        return kind or "PLAN", "TEXT"
    kind, format = "PLAN", "TEXT"

    def analyze() -> None:
        nonlocal kind
        kind = "ANALYZE" if _is_on(parser) else "PLAN"

    def read_format() -> None:
        nonlocal format
        format = parser.accept_first("TEXT", "JSON") or parser.raise_error("Expected TEXT or JSON")

    shown = {name: lambda: _is_on(parser) for name in _SHOWN}
    parser.options({"ANALYZE": analyze, "FORMAT": read_format, **shown})
    return kind, format


def _sees_options(parser: StatementParser) -> bool:
    """Whether options in parentheses are next, and not a query in parentheses."""
    return any(parser.sees("(", name) for name in ("ANALYZE", "FORMAT", *_SHOWN))


def _is_on(parser: StatementParser) -> bool:
    return parser.accept_first("TRUE", "ON", "1", "FALSE", "OFF", "0") not in ("FALSE", "OFF", "0")


@generates(ExplainStatement)
def _write_explain(write: Generator, node: exp.Expression) -> str:
    kind, format, query = node.args["kind"], node.args["format"], write.sql(node, "this")
    if format == "TEXT":
        return f"EXPLAIN {kind} FOR {query}"
    analyze = "ANALYZE, " if kind == "ANALYZE" else ""
    return f"EXPLAIN ({analyze}FORMAT {format}) FOR {query}"
