"""CREATE SEQUENCE and ALTER SEQUENCE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import alters, parses
from reclock.sql.syntax.temporary import TEMPORARY, is_temporary, make_temporary
from reclock.sql.syntax.writing import clause, generates, joined, when, written_as


@written_as("{this}.{column}")
class SequenceOwner(exp.Expression):
    """The column of a table."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "column": True}


class SequenceOptions(exp.Expression):
    """The options of a sequence. Numbers are literals; ``minimum`` and ``maximum`` are False for NO
    MINVALUE and NO MAXVALUE. ``is_free`` is OWNED BY NONE. ``restart`` is a
    number, or True."""

    arg_types: ClassVar[dict[str, bool]] = {
        "type": False,
        "increment": False,
        "minimum": False,
        "maximum": False,
        "start": False,
        "cache": False,
        "is_cyclic": False,
        "owner": False,
        "is_free": False,
        "restart": False,
        "name": False,
    }


@written_as("CREATE SEQUENCE [exists: IF NOT EXISTS] {this} {options}")
class CreateSequenceStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False, "options": True}


@written_as("ALTER SEQUENCE [exists: IF EXISTS] {this} {options}")
class AlterSequenceStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False, "options": True}


@parses("CREATE SEQUENCE", f"CREATE {TEMPORARY} SEQUENCE")
def create_sequence(parser: StatementParser) -> CreateSequenceStatement:
    exists = parser.if_not_exists()
    name = parser.object_name()
    if is_temporary(parser.phrase):
        make_temporary(name)
    return CreateSequenceStatement(this=name, exists=exists, options=sequence_options(parser))


@alters("SEQUENCE")
def alter_sequence(
    parser: StatementParser, name: exp.Table, exists: bool
) -> AlterSequenceStatement:
    options = sequence_options(parser)
    if not options.args:
        parser.raise_error("Expected an option of a sequence")
    return AlterSequenceStatement(this=name, exists=exists, options=options)


def sequence_options(parser: StatementParser) -> SequenceOptions:
    """The options that follow, in any order."""
    options: dict[str, Any] = {}

    def set_option(name: str, value: object) -> None:
        if name in options:
            parser.reject("conflicting or redundant options", parser.last_token)
        options[name] = value

    while _read_option(parser, set_option):
        pass
    return SequenceOptions(**options)


def _read_option(parser: StatementParser, set_option: Callable[[str, object], None]) -> bool:
    """Read the next option. False if none follows."""
    if parser.accept("AS"):
        set_option("type", parser.data_type() or parser.missing())
    elif parser.accept("INCREMENT"):
        parser.accept("BY")
        set_option("increment", _number(parser))
    elif parser.accept("NO", "MINVALUE"):
        set_option("minimum", False)
    elif parser.accept("NO", "MAXVALUE"):
        set_option("maximum", False)
    elif parser.accept("NO", "CYCLE"):
        set_option("is_cyclic", False)
    elif parser.accept("MINVALUE"):
        set_option("minimum", _number(parser))
    elif parser.accept("MAXVALUE"):
        set_option("maximum", _number(parser))
    elif parser.accept("START"):
        parser.accept("WITH")
        set_option("start", _number(parser))
    elif parser.accept("RESTART"):
        has_number = parser.accept("WITH") or _sees_number(parser)
        set_option("restart", _number(parser) if has_number else True)
    elif parser.accept("CACHE"):
        set_option("cache", _number(parser))
    elif parser.accept("CYCLE"):
        set_option("is_cyclic", True)
    elif parser.accept("SEQUENCE", "NAME"):
        set_option("name", parser.object_name())
    elif parser.accept("OWNED", "BY", "NONE"):
        set_option("is_free", True)
    elif parser.accept("OWNED", "BY"):
        set_option("owner", _owner(parser))
    else:
        return False
    return True


def _owner(parser: StatementParser) -> SequenceOwner:
    table, column = parser.column_name()
    return SequenceOwner(this=table, column=column)


def _sees_number(parser: StatementParser) -> bool:
    return bool(parser.token) and (parser.token.text == "-" or parser.token.text.isdigit())


def _number(parser: StatementParser) -> exp.Expr:
    sign = "-" if parser.accept("-") else ""
    number = parser.number() or parser.missing()
    return exp.Literal(this=f"{sign}{number.name}", is_string=False)


@generates(SequenceOptions)
def _write_options(write: Generator, node: exp.Expression) -> str:
    def bound(name: str, word: str) -> str:
        value = node.args.get(name)
        return f"NO {word}" if value is False else clause(write, word, node, name)

    cyclic = node.args.get("is_cyclic")
    restart = node.args.get("restart")
    return joined(
        clause(write, "SEQUENCE NAME", node, "name"),
        clause(write, "AS", node, "type"),
        clause(write, "START WITH", node, "start"),
        clause(write, "INCREMENT BY", node, "increment"),
        bound("minimum", "MINVALUE"),
        bound("maximum", "MAXVALUE"),
        clause(write, "CACHE", node, "cache"),
        "" if cyclic is None else "CYCLE" if cyclic else "NO CYCLE",
        "RESTART" if restart is True else clause(write, "RESTART WITH", node, "restart"),
        clause(write, "OWNED BY", node, "owner"),
        when(node, "is_free", "OWNED BY NONE"),
    )
