"""EXPLAIN."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.expressions import QUERY_STARTS
from reclock.sql.syntax.nodes import QueryStatement, Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import generates


class ExplainStatement(Statement):
    """``kind`` is ``PLAN``, ``TIMESTAMP`` or ``OPTIMIZER TRACE``; ``this`` a ``QueryStatement``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True}


class ExplainDefinitionStatement(Statement):
    """``this`` is a statement that is no query."""


@parses("EXPLAIN")
def explain(
    parser: StatementParser, words: tuple[str, ...]
) -> ExplainStatement | ExplainDefinitionStatement:
    kind = parser.accept_first("OPTIMIZER TRACE", "PLAN", "TIMESTAMP")
    is_query = parser.accept("FOR") or kind is not None
    if not parser.token or (is_query and parser.token.token_type not in QUERY_STARTS):
        parser.raise_error("Expected a query")
    statement = parser.statement()
    if isinstance(statement, QueryStatement):
        return ExplainStatement(this=statement, kind=kind or "PLAN")
    return ExplainDefinitionStatement(this=statement)


@generates(ExplainStatement)
def _write_explain(write: Generator, node: exp.Expression) -> str:
    return f"EXPLAIN {node.args['kind']} FOR {write.sql(node, 'this')}"


@generates(ExplainDefinitionStatement)
def _write_explain_definition(write: Generator, node: exp.Expression) -> str:
    return f"EXPLAIN {write.sql(node, 'this')}"
