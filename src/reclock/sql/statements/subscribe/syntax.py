"""SUBSCRIBE, and TAIL, its earlier name."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import TokenType

from reclock.sql.syntax import nodes
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import generates, joined, when


class SubscribeStatement(Statement):
    """SUBSCRIBE to a relation (``this``) or to a ``query``; ``as_of`` and ``up_to`` are
    ``AsOfClause``; ``snapshot`` and ``progress`` are booleans.

    ``envelope`` is a name, with identifiers as ``key``; or there is an ``order`` instead.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": False,
        "query": False,
        "snapshot": False,
        "progress": False,
        "as_of": False,
        "up_to": False,
        "envelope": False,
        "key": False,
        "order": False,
    }


@parses("SUBSCRIBE", "TAIL")
def subscribe(parser: StatementParser) -> SubscribeStatement:
    parser.accept("TO")
    name = query = None
    if parser.accept_token(TokenType.L_PAREN):
        query = parser.query()
        if not parser.accept_token(TokenType.R_PAREN):
            parser.raise_error("Expected )")
    else:
        name = parser.object_name()
    clauses: dict[str, Any] = {}
    while parser.token and parser.token.token_type != TokenType.R_PAREN:
        if "as_of" not in clauses and parser.is_as_of():
            clauses["as_of"] = parser.as_of()
        elif "up_to" not in clauses and parser.accept("UP", "TO"):
            clauses["up_to"] = nodes.AsOfClause(this=parser.value())
        elif not clauses.keys() & {"snapshot", "progress"} and parser.accept_any(
            ("WITH", "WITHOUT")
        ):
            clauses |= _options(parser, is_with=parser.last_word == "WITH")
        elif not clauses.keys() & {"envelope", "order"} and parser.accept("ENVELOPE"):
            clauses |= _envelope(parser)
        elif not clauses.keys() & {"envelope", "order"} and parser.accept("WITHIN", "TIMESTAMP"):
            clauses["order"] = parser.order() or parser.missing()
        else:
            parser.raise_error("Expected WITH, AS OF, UP TO, ENVELOPE or WITHIN TIMESTAMP ORDER BY")
    return SubscribeStatement(this=name, query=query, **clauses)


def _envelope(parser: StatementParser) -> dict[str, Any]:
    if not parser.accept_any(("UPSERT", "DEBEZIUM")):
        parser.raise_error("Expected UPSERT or DEBEZIUM")
    envelope = parser.last_word
    if not parser.accept_token(TokenType.L_PAREN) or not parser.accept("KEY"):
        parser.raise_error("Expected (KEY (…))")
    key = parser.wrapped_list(StatementParser.name)
    if not parser.accept_token(TokenType.R_PAREN):
        parser.raise_error("Expected )")
    return {"envelope": envelope, "key": key}


def _options(parser: StatementParser, *, is_with: bool) -> dict[str, exp.Expr]:
    if parser.accept("SNAPSHOT"):
        return {"snapshot": exp.Boolean(this=is_with)}
    if not is_with or not parser.sees_token(TokenType.L_PAREN):
        parser.raise_error("Expected SNAPSHOT")
    return dict(parser.wrapped_list(_option))


def _option(parser: StatementParser) -> tuple[str, exp.Expr]:
    if not parser.accept_any(("SNAPSHOT", "PROGRESS")):
        parser.raise_error("Expected SNAPSHOT or PROGRESS")
    name = parser.last_token.text.lower()
    parser.accept_token(TokenType.EQ)
    if not parser.token or parser.token.token_type in (TokenType.COMMA, TokenType.R_PAREN):
        return name, exp.Boolean(this=True)
    return name, parser.boolean() or parser.missing()


@generates(SubscribeStatement)
def _write_subscribe(write: Generator, node: exp.Expression) -> str:
    source = f"({write.sql(node, 'query')})" if node.args.get("query") else write.sql(node, "this")
    options = ", ".join(
        f"{name.upper()} = {write.sql(node, name)}"
        for name in ("snapshot", "progress")
        if node.args.get(name)
    )
    up_to = write.sql(node, "up_to").removeprefix("AS OF ")
    key = ", ".join(write.sql(column) for column in node.args.get("key") or ())
    return joined(
        "SUBSCRIBE TO",
        source,
        options and f"WITH ({options})",
        write.sql(node, "as_of"),
        up_to and f"UP TO {up_to}",
        key and f"ENVELOPE {node.args['envelope']} (KEY ({key}))",
        when(node, "order", f"WITHIN TIMESTAMP {write.sql(node, 'order').strip()}"),
    )
