"""How statements name functions: with the types of their parameters, or without."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import TokenType

from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.writing import generates, listed


class FunctionName(exp.Table):
    """The name of a function, with the types of its parameters in ``types``, a tuple."""

    arg_types: ClassVar[dict[str, bool]] = {**exp.Table.arg_types, "types": True}


def object_name(parser: StatementParser, kind: str) -> exp.Table:
    """The name of an object of that kind. That of a function may be followed by types."""
    name = parser.object_name()
    if kind != "FUNCTION" or not parser.sees_token(TokenType.L_PAREN):
        return name
    parser.open_parenthesis()
    types: list[exp.Expr] = []
    if not parser.accept_token(TokenType.R_PAREN):
        types = [kind for _, kind in parser.comma_list(typed_parameter)]
        parser.close_parenthesis()
    return FunctionName(**name.args, types=exp.Tuple(expressions=types))


def typed_parameter(parser: StatementParser) -> tuple[exp.Identifier | None, exp.Expr]:
    """The name of a parameter, if it has one, and its type."""
    parser.accept("IN")
    start = parser.index
    kind = parser.data_type()
    if kind is not None and _ends_parameter(parser):
        return None, kind
    parser.retreat(start)
    return parser.name(), parser.data_type() or parser.missing()


def _ends_parameter(parser: StatementParser) -> bool:
    ends = (TokenType.COMMA, TokenType.R_PAREN, TokenType.EQ)
    return any(map(parser.sees_token, ends)) or parser.sees("DEFAULT")


@generates(FunctionName)
def _write_function_name(write: Generator, node: exp.Expression) -> str:
    name = ".".join(
        write.sql(node, part) for part in ("catalog", "db", "this") if node.args.get(part)
    )
    return f"{name}({listed(write, node.args['types'], 'expressions')})"
