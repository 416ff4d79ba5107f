"""MERGE."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import TokenType

from reclock.sql.statements.tables.assignments_syntax import assignments
from reclock.sql.statements.tables.modify_syntax import (
    changed_table,
    returning,
)
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import clause, generates, joined, list_clause, listed, written_as

MATCHED, BY_TARGET, BY_SOURCE = "MATCHED", "NOT MATCHED", "NOT MATCHED BY SOURCE"


@written_as("MERGE INTO {this} USING {source} [ON {on}] {*clauses} [RETURNING {returning}]")
class MergeStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "source": True,
        "on": True,
        "clauses": True,
        "returning": False,
    }


class MergeClause(exp.Expression):
    """``WHEN match AND condition THEN action``. ``match`` is MATCHED, NOT MATCHED or NOT MATCHED BY
    SOURCE; ``action`` is UPDATE, DELETE, INSERT or DO NOTHING. An INSERT without ``values`` inserts
    defaults."""

    arg_types: ClassVar[dict[str, bool]] = {
        "match": True,
        "condition": False,
        "action": True,
        "assignments": False,
        "columns": False,
        "overriding": False,
        "values": False,
    }


@parses("MERGE INTO")
def merge(parser: StatementParser) -> MergeStatement:
    target = changed_table(parser)
    if not parser.accept_token(TokenType.USING):
        parser.raise_error("Expected USING")
    source = parser.table() or parser.missing()
    if not parser.accept("ON"):
        parser.raise_error("Expected ON")
    on = parser.value()
    clauses = []
    while parser.accept("WHEN"):
        clauses.append(_clause(parser))
    if not clauses:
        parser.raise_error("Expected WHEN")
    return MergeStatement(
        this=target, source=source, on=on, clauses=clauses, returning=returning(parser)
    )


def _clause(parser: StatementParser) -> MergeClause:
    match = MATCHED
    if not parser.accept("MATCHED"):
        parser.expect("NOT")
        parser.expect("MATCHED")
        match = BY_SOURCE if parser.accept("BY", "SOURCE") else BY_TARGET
        if match == BY_TARGET:
            parser.accept("BY", "TARGET")
    condition = parser.value() if parser.accept("AND") else None
    parser.expect("THEN")
    written = MergeClause(match=match, condition=condition, action="DO NOTHING")
    if parser.accept("DO"):
        parser.expect("NOTHING")
    elif match == BY_TARGET:
        parser.expect("INSERT")
        _insert(parser, written)
    elif parser.accept("DELETE"):
        written.set("action", "DELETE")
    else:
        parser.expect("UPDATE")
        parser.expect("SET")
        written.set("action", "UPDATE")
        written.set("assignments", assignments(parser))
    return written


def _insert(parser: StatementParser, written: MergeClause) -> None:
    written.set("action", "INSERT")
    if parser.sees_token(TokenType.L_PAREN):
        written.set("columns", parser.wrapped_list(StatementParser.name))
    if parser.accept("OVERRIDING"):
        kind = parser.accept_first("SYSTEM", "USER") or parser.raise_error(
            "Expected SYSTEM or USER"
        )
        written.set("overriding", kind)
        parser.expect("VALUE")
    if parser.accept("DEFAULT", "VALUES"):
        return
    parser.expect("VALUES")
    written.set("values", parser.wrapped_list(StatementParser.value))


@generates(MergeClause)
def _write_clause(write: Generator, node: exp.Expression) -> str:
    action = node.args["action"]
    if action == "UPDATE":
        action = f"UPDATE SET {listed(write, node, 'assignments')}"
    elif action == "INSERT":
        values = listed(write, node, "values") if node.args.get("values") else None
        overriding = node.args.get("overriding")
        action = joined(
            "INSERT",
            list_clause(write, "", node, "columns"),
            f"OVERRIDING {overriding} VALUE" if overriding else "",
            f"VALUES ({values})" if values is not None else "DEFAULT VALUES",
        )
    return joined(
        f"WHEN {node.args['match']}", clause(write, "AND", node, "condition"), f"THEN {action}"
    )
