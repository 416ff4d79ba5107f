"""EXPLAIN."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.expressions import QUERY_STARTS
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import generates


class ExplainStatement(Statement):
    """``kind`` is ``PLAN``, ``TIMESTAMP`` or ``OPTIMIZER TRACE``; ``this`` a ``QueryStatement``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True}


@parses("EXPLAIN")
def explain(parser: StatementParser, words: tuple[str, ...]) -> ExplainStatement:
    kind = parser.accept_first("OPTIMIZER TRACE", "PLAN", "TIMESTAMP") or "PLAN"
    parser.accept("FOR")
    if parser.token.token_type not in QUERY_STARTS:
        parser.raise_error("Expected a query")
    return ExplainStatement(this=parser.query_statement(), kind=kind)


@generates(ExplainStatement)
def _write_explain(write: Generator, node: exp.Expression) -> str:
    return f"EXPLAIN {node.args['kind']} FOR {write.sql(node, 'this')}"
