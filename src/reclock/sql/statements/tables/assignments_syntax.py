"""The assignments of SET."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import TokenType

from reclock.errors import SqlSyntaxError
from reclock.sql.syntax.expressions import QUERY_STARTS
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.writing import generates


class Assignment(exp.Expression):
    """``this = value``, where ``parts`` are fields and subscripts behind the column ``this``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "parts": False, "value": True}


class InsertedPart(exp.Expression):
    """What an INSERT gives a value: the ``parts``, fields and subscripts, of the column ``this``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "parts": True}


@generates(InsertedPart)
def _write_target(write: Generator, node: exp.Expression) -> str:
    parts = "".join(
        f".{write.sql(part)}" if isinstance(part, exp.Identifier) else f"[{write.sql(part)}]"
        for part in node.args.get("parts") or ()
    )
    return f"{write.sql(node, 'this')}{parts}"


@generates(Assignment)
def _write(write: Generator, node: exp.Expression) -> str:
    return f"{_write_target(write, node)} = {write.sql(node, 'value')}"


def assignments(parser: StatementParser) -> list[Assignment]:
    """One or more assignments, separated by commas."""
    return [assignment for parsed in parser.comma_list(_assignments) for assignment in parsed]


def _assignments(parser: StatementParser) -> list[Assignment]:
    """Assignments to one column, or to a list of columns from a row of as many values."""
    is_list = parser.sees_token(TokenType.L_PAREN)
    targets = parser.wrapped_list(_target) if is_list else [_target(parser)]
    if not parser.accept_token(TokenType.EQ):
        parser.raise_error("Expected =")
    if not is_list:
        return [Assignment(**targets[0], value=parser.value())]
    parser.accept("ROW")
    if parser.sees_token(TokenType.L_PAREN) and parser.next_token.token_type in QUERY_STARTS:
        values = _columns_of(parser.wrapped(StatementParser.query), len(targets))
    else:
        values = parser.wrapped_list(lambda parser: parser.value())
    if len(values) != len(targets):
        raise SqlSyntaxError("number of columns does not match number of values")
    return [
        Assignment(**target, value=value) for target, value in zip(targets, values, strict=True)
    ]


def _target(parser: StatementParser) -> dict[str, Any]:
    """A column, and the fields and subscripts that follow."""
    name, parts = parser.name(), list[exp.Expr]()
    while True:
        if parser.accept_token(TokenType.DOT):
            parts.append(parser.name())
        elif parser.accept_token(TokenType.L_BRACKET):
            part = parser.value()
            if parser.accept_token(TokenType.COLON):
                part = exp.Slice(this=part, expression=parser.value())
            parts.append(part)
            if not parser.accept_token(TokenType.R_BRACKET):
                parser.raise_error("Expected ]")
        else:
            return {"this": name, "parts": parts or None}


def inserted_column(parser: StatementParser) -> exp.Expr:
    """The name of a column, or an ``InsertedPart`` of it."""
    target = _target(parser)
    return InsertedPart(**target) if target["parts"] else target["this"]


def _columns_of(query: exp.Expr, count: int) -> list[exp.Expr]:
    """Each of ``count`` columns of ``query``, which has one row at most, as a subquery of its own."""
    if isinstance(query, exp.Query):
        columns: list[exp.Expr] = query.selects
    else:  # VALUES
        columns = query.expressions[0].expressions
    if any(column.is_star for column in columns):
        query = _of_width(query, count)
    elif len(columns) != count:
        raise SqlSyntaxError("number of columns does not match number of values")
    called = [exp.to_identifier(f"column{i + 1}") for i in range(count)]
    alias = exp.TableAlias(this=exp.to_identifier("row"), columns=called)
    return [
        exp.Subquery(
            this=exp.select(exp.column(column.copy()), copy=False).from_(
                exp.Subquery(this=query.copy(), alias=alias.copy()), copy=False
            )
        )
        for column in called
    ]


def _of_width(query: exp.Expr, width: int) -> exp.Expr:
    """The rows of ``query``; planning it raises if it has not so many columns."""
    rows = exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier("row")))
    nothing = exp.select(*(exp.Null() for _ in range(width)), copy=False)
    return exp.union(
        exp.select(exp.Star(), copy=False).from_(rows, copy=False),
        nothing.where(exp.false(), copy=False),
        distinct=False,
        copy=False,
    )
