"""Text to syntax."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot.errors import ErrorLevel, ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from reclock.errors import SqlSyntaxError
from reclock.sql.syntax import nodes
from reclock.sql.syntax.consumption import track
from reclock.sql.syntax.dialect import Reclock, to_sql
from reclock.sql.syntax.function_bodies import is_in_body, with_bodies
from reclock.sql.syntax.lexical import (
    check_numbers,
    join_strings,
    read_escapes,
    read_numbers,
    read_order_operators,
    read_unicode_strings,
)
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.words import Rejected

_DIALECT = Reclock()


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """One statement of a text; ``position`` is where it begins, counted from 1. ``text`` never has
    the value of a secret or a password."""

    node: nodes.Statement
    text: str
    position: int


_MOST_KEPT, _LONGEST_KEPT = 256, 10_000
_queries: dict[str, ParsedStatement] = {}
"""Texts that are one query, as clients repeat them. Nobody changes a parsed query, and a query
holds no secret."""


def parse(text: str) -> list[ParsedStatement]:
    """The statements of ``text``, which semicolons part. Raises ``SqlSyntaxError``, with the place,
    if one does not parse."""
    if (known := _queries.get(text)) is not None:
        return [known]
    statements = [
        _parse_one(with_bodies(tokens, text, _tokenize), text)
        for tokens in _statements(_tokenize(text))
    ]
    if (
        len(statements) == 1
        and len(text) <= _LONGEST_KEPT
        and isinstance(statements[0].node, nodes.QueryStatement)
    ):
        if len(_queries) >= _MOST_KEPT:
            _queries.clear()
        _queries[text] = statements[0]
    return statements


def parse_one(text: str) -> nodes.Statement:
    """The only statement of ``text``."""
    statements = parse(text)
    if len(statements) != 1:
        raise SqlSyntaxError(f"expected one statement, found {len(statements)}", position=1)
    return statements[0].node


def _tokenize(text: str) -> list[Token]:
    if "\0" in text:
        raise SqlSyntaxError(
            "a statement cannot hold a null character", position=text.index("\0") + 1
        )
    try:
        tokens = read_numbers(_DIALECT.tokenize(text), text, _DIALECT.tokenize)
    except TokenError as error:
        raise _unclosed(error, text) from error
    check_numbers(tokens, text)
    read_escapes(tokens, text)
    tokens = read_unicode_strings(tokens, text)
    tokens = read_order_operators(join_strings(tokens, text))
    for token in tokens:
        if token.token_type is TokenType.IDENTIFIER and not token.text:
            message = 'zero-length delimited identifier at or near """"'
            raise SqlSyntaxError(message, position=token.start + 1)
    return tokens


def _unclosed(error: TokenError, text: str) -> SqlSyntaxError:
    """The error of a quote or comment without an end, at its beginning."""
    missing = re.fullmatch(r"Missing (\S+) from \d+:(\d+)", str(error.__cause__))
    if missing is None:
        return SqlSyntaxError("unterminated /* comment", hint=_first_line(error))
    mark, start = missing[1], int(missing[2])
    kind = "dollar-quoted string" if mark[0] == "$" else "quoted string"
    kind = "quoted identifier" if mark == '"' else kind
    return SqlSyntaxError(
        f'unterminated {kind} at or near "{text[start:].splitlines()[0]}"', position=start + 1
    )


def _statements(tokens: list[Token]) -> Iterator[list[Token]]:
    statement: list[Token] = []
    for token in tokens:
        if token.token_type != TokenType.SEMICOLON or is_in_body(statement):
            statement.append(token)
        elif statement:
            yield statement
            statement = []
    if statement:
        yield statement


def _parse_one(tokens: list[Token], text: str) -> ParsedStatement:
    start, end = tokens[0].start, tokens[-1].end + 1
    try:
        node = StatementParser(dialect=_DIALECT, error_level=ErrorLevel.IMMEDIATE).parse_statement(
            tokens, text
        )
    except Rejected as error:
        position = error.position or end + 1
        raise SqlSyntaxError(error.message, position=position, hint=error.hint) from error
    except ParseError as error:
        raise SqlSyntaxError("syntax error", position=start + 1, hint=_first_line(error)) from error
    except RecursionError as error:
        raise SqlSyntaxError("the statement is nested too deeply", position=start + 1) from error
    track(node, text)
    return ParsedStatement(
        node, to_sql(node) if nodes.hides_value(node) else text[start:end], start + 1
    )


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
