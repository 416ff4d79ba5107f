"""COPY."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import TokenType

from reclock.definitions.sinks import FILE_FORMATS
from reclock.sql.statements.subscribe.syntax import subscribe
from reclock.sql.syntax import nodes
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import clause, comma_list, generates, joined, list_clause


class CopyStatement(Statement):
    """``is_from`` STDIN, or else to STDOUT or ``files``. ``this`` is the table, unless there is a
    ``query``."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": False,
        "columns": False,
        "query": False,
        "is_from": False,
        "files": False,
        "options": False,
    }


class CopyFiles(exp.Expression):
    """``'folder' WITH (FORMAT = …)``. ``format`` is of ``FILE_FORMATS``."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "format": True,
        "connection": False,
        "max_file_size": False,
    }


@parses("COPY")
def copy(parser: StatementParser) -> CopyStatement:
    table = columns = query = None
    if parser.accept_token(TokenType.L_PAREN):
        is_subscription = parser.accept_any(("SUBSCRIBE", "TAIL"))
        query = subscribe(parser) if is_subscription else parser.query_statement()
        if not parser.accept_token(TokenType.R_PAREN):
            parser.raise_error("Expected )")
    else:
        table = parser.object_name()
        if parser.sees_token(TokenType.L_PAREN):
            columns = parser.wrapped_list(StatementParser.name)
    is_from = table is not None and parser.accept("FROM")
    if is_from:
        parser.expect("STDIN")
    else:
        parser.expect("TO")
        if parser.is_string():
            return CopyStatement(this=table, columns=columns, query=query, files=_files(parser))
        parser.expect("STDOUT")
    return CopyStatement(
        this=table, columns=columns, query=query, is_from=is_from, options=_options(parser)
    )


def _files(parser: StatementParser) -> CopyFiles:
    folder, options = parser.text(), dict[str, object]()
    parser.expect("WITH")
    parser.options(
        {
            "FORMAT": lambda: options.update(format=_file_format(parser)),
            "AWS CONNECTION": lambda: options.update(connection=parser.object_name()),
            "MAX FILE SIZE": lambda: options.update(max_file_size=parser.text()),
        }
    )
    if "format" not in options:
        parser.raise_error("Expected FORMAT")
    return CopyFiles(this=folder, **options)


def _file_format(parser: StatementParser) -> str:
    word = parser.string() or parser.word("a format")
    if word.name.upper() not in FILE_FORMATS:
        parser.raise_error(f"Expected {', '.join(FILE_FORMATS)}", parser.last_token)
    return word.name.upper()


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
        elif phrase := parser.accept_first("FORCE QUOTE", "FORCE NOT NULL", "FORCE NULL"):
            options.append(nodes.WithOption(this=_option_name(phrase), value=_columns(parser)))
        else:
            parser.raise_error("Expected an option of COPY")
    return options


def _option_name(words: str) -> exp.Identifier:
    return exp.to_identifier(words.lower().replace(" ", "_"))


def _columns(parser: StatementParser) -> exp.Star | exp.Tuple:
    if parser.accept_token(TokenType.STAR):
        return exp.Star()
    return exp.Tuple(expressions=parser.comma_list(StatementParser.name))


def _option(parser: StatementParser) -> nodes.WithOption:
    name = parser.word("an option of COPY")
    parser.accept_token(TokenType.EQ)
    if parser.sees_token(TokenType.STAR):
        return nodes.WithOption(this=name, value=_columns(parser))
    if parser.sees_token(TokenType.L_PAREN):
        return nodes.WithOption(this=name, value=parser.wrapped(_columns))
    if not parser.token or parser.token.token_type in (TokenType.COMMA, TokenType.R_PAREN):
        return nodes.WithOption(this=name, value=exp.true())
    value = parser.string() or parser.boolean() or parser.word("a value")
    return nodes.WithOption(this=name, value=value)


@generates(CopyStatement)
def _write_copy(write: Generator, node: exp.Expression) -> str:
    source = f"({write.sql(node, 'query')})" if node.args.get("query") else write.sql(node, "this")
    columns = list_clause(write, "", node, "columns")
    if node.args.get("files"):
        return joined("COPY", source, columns, "TO", write.sql(node, "files"))
    options = ", ".join(
        f"{write.sql(option, 'this')} {write.sql(option, 'value')}"
        for option in node.args.get("options") or ()
    )
    return joined(
        "COPY",
        source,
        columns,
        "FROM STDIN" if node.args.get("is_from") else "TO STDOUT",
        options and f"WITH ({options})",
    )


@generates(CopyFiles)
def _write_copy_files(write: Generator, node: exp.Expression) -> str:
    options = comma_list(
        f"FORMAT = '{node.args['format'].lower()}'",
        clause(write, "AWS CONNECTION =", node, "connection"),
        clause(write, "MAX FILE SIZE =", node, "max_file_size"),
    )
    return f"{write.sql(node, 'this')} WITH ({options})"
