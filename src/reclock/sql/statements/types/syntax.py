"""CREATE TYPE, and what ALTER TYPE changes besides name and owner."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.errors import UnsupportedSql
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import alters, parses
from reclock.sql.syntax.writing import written_as


@written_as("CREATE TYPE {this} AS ENUM ({labels})")
class CreateTypeStatement(Statement):
    """``labels`` are strings."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "labels": False}


@written_as("ALTER TYPE {this} ADD VALUE [exists: IF NOT EXISTS] {label} [{side} {beside}]")
class AddValueStatement(Statement):
    """ALTER TYPE … ADD VALUE. ``side`` is ``BEFORE`` or ``AFTER`` the label ``beside``, or
    absent."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "label": True,
        "exists": False,
        "side": False,
        "beside": False,
    }


@written_as("ALTER TYPE {this} RENAME VALUE {label} TO {to}")
class RenameValueStatement(Statement):
    """ALTER TYPE … RENAME VALUE."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "label": True, "to": True}


@parses("CREATE TYPE")
def create_type(parser: StatementParser) -> CreateTypeStatement:
    name = parser.object_name()
    if not parser.accept("AS", "ENUM"):
        raise UnsupportedSql("types other than enums are not supported", hint="write AS ENUM (…)")
    parser.open_parenthesis()
    labels: list[exp.Expr] = []
    if not parser.accept_token(TokenType.R_PAREN):
        labels = parser.comma_list(_label)
        parser.close_parenthesis()
    return CreateTypeStatement(this=name, labels=labels)


def _label(parser: StatementParser) -> exp.Expr:
    return parser.string() or parser.missing()


@alters("TYPE")
def alter_type(parser: StatementParser, name: exp.Table, exists: bool) -> Statement:
    if not parser.accept("ADD", "VALUE"):
        raise UnsupportedSql("ALTER TYPE changes an enum by ADD VALUE and RENAME only")
    exists = parser.if_not_exists()
    label = _label(parser)
    side = parser.accept_first("BEFORE", "AFTER")
    return AddValueStatement(
        this=name, label=label, exists=exists, side=side, beside=_label(parser) if side else None
    )


def rename_value(parser: StatementParser, name: exp.Table) -> RenameValueStatement:
    """What follows ``ALTER TYPE name RENAME``, if that is VALUE."""
    parser.expect("VALUE")
    label = _label(parser)
    parser.expect("TO")
    return RenameValueStatement(this=name, label=label, to=_label(parser))
