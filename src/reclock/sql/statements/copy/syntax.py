"""COPY."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import TokenType

from reclock.sql.statements.subscribe.syntax import subscribe
from reclock.sql.syntax import nodes
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import generates, joined, listed


class CopyStatement(Statement):
    """``is_from`` STDIN or else to STDOUT. ``this`` is the table, unless there is a ``query``."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": False,
        "columns": False,
        "query": False,
        "is_from": False,
        "options": False,
    }


@parses("COPY")
def copy(parser: StatementParser, words: tuple[str, ...]) -> CopyStatement:
    table = columns = query = None
    if parser.accept_token(TokenType.L_PAREN):
        is_subscription = parser.accept_any(("SUBSCRIBE", "TAIL"))
        query = subscribe(parser) if is_subscription else parser.query()
        if not parser.accept_token(TokenType.R_PAREN):
            parser.raise_error("Expected )")
    else:
        table = parser.object_name()
        if parser.sees_token(TokenType.L_PAREN):
            columns = parser.wrapped_list(StatementParser.name)
    is_from = table is not None and parser.accept("FROM")
    parser.expect("STDIN") if is_from else parser.expect("TO", "STDOUT")
    return CopyStatement(
        this=table, columns=columns, query=query, is_from=is_from, options=_options(parser)
    )


def _options(parser: StatementParser) -> list[nodes.WithOption]:
    """``(FORMAT csv, HEADER, …)``, or the words of old: ``CSV HEADER DELIMITER ';'``."""
    parser.accept("WITH")
    if parser.sees_token(TokenType.L_PAREN):
        return parser.wrapped_list(_option)
    options = []
    while parser.token and parser.token.token_type != TokenType.SEMICOLON:
        if parser.accept_any(("CSV", "TEXT", "BINARY")):
            written = exp.to_identifier(parser.last_token.text.lower())
            options.append(nodes.WithOption(this=exp.to_identifier("format"), value=written))
        elif parser.accept("HEADER"):
            options.append(nodes.WithOption(this=exp.to_identifier("header"), value=exp.true()))
        elif parser.accept_any(("DELIMITER", "NULL", "QUOTE", "ESCAPE")):
            name = exp.to_identifier(parser.last_token.text.lower())
            parser.accept_token(TokenType.ALIAS)
            options.append(nodes.WithOption(this=name, value=parser.text()))
        else:
            parser.raise_error("Expected an option of COPY")
    return options


def _option(parser: StatementParser) -> nodes.WithOption:
    name = parser.word("an option of COPY")
    if not parser.token or parser.token.token_type in (TokenType.COMMA, TokenType.R_PAREN):
        return nodes.WithOption(this=name, value=exp.true())
    value = parser.string() or parser.boolean() or parser.word("a value")
    return nodes.WithOption(this=name, value=value)


@generates(CopyStatement)
def _write_copy(write: Generator, node: exp.Expression) -> str:
    what = f"({write.sql(node, 'query')})" if node.args.get("query") else write.sql(node, "this")
    columns = f"({listed(write, node, 'columns')})" if node.args.get("columns") else ""
    options = ", ".join(
        f"{write.sql(option, 'this')} {write.sql(option, 'value')}"
        for option in node.args.get("options") or ()
    )
    return joined(
        "COPY",
        what,
        columns,
        "FROM STDIN" if node.args.get("is_from") else "TO STDOUT",
        options and f"WITH ({options})",
    )
