"""The assignments of SET."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.errors import SqlSyntaxError, UnsupportedSql
from reclock.sql.syntax.expressions import QUERY_STARTS
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.writing import written_as


@written_as("{this} = {value}")
class Assignment(exp.Expression):
    """``this = value``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "value": True}


def assignments(parser: StatementParser) -> list[Assignment]:
    """One or more assignments, separated by commas."""
    return [assignment for parsed in parser.comma_list(_assignments) for assignment in parsed]


def _assignments(parser: StatementParser) -> list[Assignment]:
    """Assignments to one column, or to a list of columns from a row of as many values."""
    is_list = parser.sees_token(TokenType.L_PAREN)
    names = parser.wrapped_list(assigned_column) if is_list else [assigned_column(parser)]
    if not parser.accept_token(TokenType.EQ):
        parser.raise_error("Expected =")
    if not is_list:
        return [Assignment(this=names[0], value=parser.value())]
    parser.accept("ROW")
    if parser.sees_token(TokenType.L_PAREN) and parser.next_token.token_type in QUERY_STARTS:
        values = _columns_of(parser.wrapped(StatementParser.query), names)
    else:
        values = parser.wrapped_list(lambda parser: parser.value())
    if len(values) != len(names):
        raise SqlSyntaxError("number of columns does not match number of values")
    return [Assignment(this=name, value=value) for name, value in zip(names, values, strict=True)]


def assigned_column(parser: StatementParser) -> exp.Identifier:
    """The name of a column. Raises ``UnsupportedSql`` for a field of it, or an element."""
    name = parser.name()
    if parser.sees_token(TokenType.DOT) or parser.sees_token(TokenType.L_BRACKET):
        raise UnsupportedSql(
            f'a part of column "{name.name}" cannot be assigned',
            hint="assign a whole value, as in SET c = ROW(1, (c).b)",
        )
    return name


def _columns_of(query: exp.Expr, names: Sequence[exp.Identifier]) -> list[exp.Expr]:
    """Each column of ``query``, which has one row at most, as a subquery of its own."""
    if isinstance(query, exp.Query):
        columns: list[exp.Expr] = query.selects
    else:  # VALUES
        columns = query.expressions[0].expressions
    if any(column.is_star for column in columns):
        raise UnsupportedSql("* is not supported in a subquery in SET", hint="name the columns")
    if len(columns) != len(names):
        raise SqlSyntaxError("number of columns does not match number of values")
    called = [exp.to_identifier(f"column{i + 1}") for i in range(len(names))]
    alias = exp.TableAlias(this=exp.to_identifier("row"), columns=called)
    return [
        exp.Subquery(
            this=exp.select(exp.column(column.copy()), copy=False).from_(
                exp.Subquery(this=query.copy(), alias=alias.copy()), copy=False
            )
        )
        for column in called
    ]
