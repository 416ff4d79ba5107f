"""Calls of ``nextval`` in syntax: the session takes the values, not an engine."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from reclock.errors import SqlSyntaxError
from reclock.sql.names import fold, parts
from reclock.sql.queries.expressions import function_name
from reclock.sql.syntax.consumption import consume
from reclock.sql.syntax.nodes import QueryStatement
from reclock.sql.syntax.parse import parse_one


def sequence_named(node: exp.Expr | None) -> tuple[str, ...] | None:
    """The written name of the sequence if ``node`` is a call of ``nextval`` with a constant."""
    literal = _argument(node)
    return sequence_parts(literal) if literal is not None else None


def called_sequences(node: exp.Expr) -> Iterator[exp.Literal]:
    """The arguments of all calls of ``nextval`` in ``node``."""
    for call in node.find_all(exp.Anonymous):
        literal = _argument(call)
        if literal is not None:
            yield literal


def sequence_parts(literal: exp.Literal) -> tuple[str, ...]:
    """The parts of a name in a string: ``public."S"`` is ``public`` and ``S``."""
    return parsed_name(literal.name)


def parsed_name(text: str) -> tuple[str, ...]:
    """The parts of a written name. Raises ``SqlSyntaxError``."""
    parsed = parse_one(f"SELECT 1 FROM {text}")
    table = parsed.find(exp.Table) if isinstance(parsed, QueryStatement) else None
    if table is None:
        raise SqlSyntaxError(f'invalid name of a sequence: "{text}"')
    return parts(table)


def _argument(node: exp.Expr | None) -> exp.Literal | None:
    if isinstance(node, exp.Paren):
        node = node.unnest()
    if isinstance(node, exp.Dot) and fold(node.this) == "pg_catalog":
        node = node.expression
    if not isinstance(node, exp.Anonymous) or function_name(node) != "nextval":
        return None
    if len(node.expressions) != 1:
        return None
    argument = node.expressions[0]
    while isinstance(argument, exp.Cast):  # 's'::text::regclass
        consume(argument.args["to"])
        argument = argument.this
    return argument if isinstance(argument, exp.Literal) and argument.is_string else None
