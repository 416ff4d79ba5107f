"""SET, RESET and SHOW of variables, and their defaults."""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import TokenType

from reclock.algebra.interval_reading import interval_of
from reclock.errors import InvalidOption
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import clause, generates, listed, written_as


@written_as("SHOW {this|ALL}")
class ShowVariableStatement(Statement):
    """Without ``this`` it is ``SHOW ALL``. A ``Var`` is ``TRANSACTION ISOLATION LEVEL``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False}


@written_as("SET {scope} {this} = {values|DEFAULT}")
class SetVariableStatement(Statement):
    """``scope`` is ``SESSION``, ``LOCAL`` or absent. ``values`` holds literals and names; none is
    ``DEFAULT``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "values": False, "scope": False}


@written_as("RESET {this|ALL}")
class ResetVariableStatement(Statement):
    """Without ``this`` it is ``RESET ALL``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False}


class SetDefaultStatement(Statement):
    """``ALTER ROLE … SET | RESET``, or without ``role`` ``ALTER SYSTEM``. Without ``values`` it is
    RESET; without ``this``, ALL."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False, "role": False, "values": False}


@parses("ALTER SYSTEM")
def alter_system(parser: StatementParser) -> SetDefaultStatement:
    if parser.accept("RESET"):
        return SetDefaultStatement(this=variable_or_all(parser))
    parser.expect("SET")
    variable, values = assignment(parser)
    return SetDefaultStatement(this=variable, values=values)


def _variable(parser: StatementParser) -> exp.Identifier:
    """A name of one word, or of two with a dot between them: a variable of the client's own."""
    name = parser.word("the name of a variable")
    if not parser.accept_token(TokenType.DOT):
        return name
    return exp.to_identifier(
        f"{name.name}.{parser.word('the name of a variable').name}", quoted=False
    )


def _named(parser: StatementParser) -> exp.Identifier:
    """A variable, also the one that has a name of two words."""
    if parser.accept("TIME", "ZONE"):
        return exp.to_identifier("timezone")
    return _variable(parser)


@parses("SET")
def set_variable(parser: StatementParser) -> SetVariableStatement:
    scope = parser.last_word if parser.accept_any(("SESSION", "LOCAL")) else None
    if parser.token and parser.token.text.upper() == "ROLE" and not _is_assignment(parser):
        parser.advance()
        role = exp.to_identifier("role")
        return SetVariableStatement(
            this=role, scope=scope, values=[parser.word("the name of a role")]
        )
    if not _is_assignment(parser) and parser.accept("SCHEMA"):
        schemas = [parser.string() or parser.missing()]
        return SetVariableStatement(
            this=exp.to_identifier("search_path"), scope=scope, values=schemas
        )
    name, values = assignment(parser)
    return SetVariableStatement(this=name, scope=scope, values=values)


def _is_assignment(parser: StatementParser) -> bool:
    """Whether the next word is followed by = or TO."""
    return bool(parser.next_token) and (
        parser.next_token.token_type in (TokenType.EQ, TokenType.DOT)
        or parser.next_token.text.upper() == "TO"
    )


def assignment(parser: StatementParser) -> tuple[exp.Identifier, list[exp.Expr] | None]:
    """The variable and its values; None means DEFAULT."""
    if parser.accept("TIME", "ZONE"):
        name = exp.to_identifier("timezone")
        if parser.accept("INTERVAL"):
            return name, [_hours(parser)]
    else:
        name = _variable(parser)
        if not parser.accept_token(TokenType.EQ) and not parser.accept("TO"):
            parser.raise_error("Expected = or TO")
    return name, None if parser.accept("DEFAULT") else parser.comma_list(_setting)


def _hours(parser: StatementParser) -> exp.Expr:
    """How many hours ahead of UTC the interval is that follows."""
    text = (parser.string() or parser.missing()).name
    fields = "hour to minute" if parser.accept("HOUR", "TO", "MINUTE") else ""
    fields = fields or ("hour" if parser.accept("HOUR") else "")
    months, days, us = interval_of(text, fields)
    if months or days:
        raise InvalidOption(
            f'invalid value for parameter "TimeZone": "{text}"',
            detail=f"cannot specify {'months' if months else 'days'} in time zone interval",
        )
    return exp.Literal(this=f"{Decimal(us) / _HOUR_US:f}", is_string=False)


_HOUR_US = 3_600_000_000


def _setting(parser: StatementParser) -> exp.Expr:
    if parser.accept_token(TokenType.DASH):
        number = (parser.number() or parser.missing()).name
        return exp.Literal(this=f"-{number}", is_string=False)
    if parser.accept_token(TokenType.PLUS):
        return parser.number() or parser.missing()
    literal = parser.string() or parser.number() or parser.boolean()
    return literal or parser.any_name() or parser.missing()


@parses("SHOW")
def show_variable(parser: StatementParser) -> ShowVariableStatement:
    if parser.accept("ALL"):
        return ShowVariableStatement()
    if parser.accept("TRANSACTION", "ISOLATION", "LEVEL"):
        return ShowVariableStatement(this=exp.Var(this="TRANSACTION ISOLATION LEVEL"))
    return ShowVariableStatement(this=_named(parser))


@parses("RESET")
def reset_variable(parser: StatementParser) -> ResetVariableStatement:
    return ResetVariableStatement(this=variable_or_all(parser))


def variable_or_all(parser: StatementParser) -> exp.Identifier | None:
    return None if parser.accept("ALL") else _named(parser)


@generates(SetDefaultStatement)
def _write_set_default(write: Generator, node: exp.Expression) -> str:
    whose = clause(write, "ROLE", node, "role") or "SYSTEM"
    variable = write.sql(node, "this") or "ALL"
    change = (
        f"SET {variable} = {listed(write, node, 'values')}"
        if node.args.get("values")
        else f"RESET {variable}"
    )
    return f"ALTER {whose} {change}"
