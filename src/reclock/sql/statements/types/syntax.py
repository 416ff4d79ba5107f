"""CREATE TYPE, and what ALTER TYPE changes besides name and owner."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.errors import SqlSyntaxError, UnsupportedSql
from reclock.sql.syntax.collations import collated_type
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import alters, parses
from reclock.sql.syntax.writing import written_as


@written_as("CREATE TYPE {this} AS ENUM ({labels})")
class CreateTypeStatement(Statement):
    """``labels`` are strings."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "labels": False}


@written_as("CREATE TYPE {this} AS LIST (ELEMENT TYPE = {element})")
class CreateListStatement(Statement):
    """CREATE TYPE … AS LIST."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "element": True}


@written_as("CREATE TYPE {this} AS MAP (KEY TYPE = {key}, VALUE TYPE = {value})")
class CreateMapStatement(Statement):
    """CREATE TYPE … AS MAP."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "key": True, "value": True}


@written_as("CREATE TYPE {this} AS ({fields})")
class CreateCompositeStatement(Statement):
    """CREATE TYPE … AS (…). ``fields`` are names with types."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "fields": False}


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
def create_type(parser: StatementParser) -> Statement:
    name = parser.object_name()
    if parser.accept("AS", "LIST"):
        return CreateListStatement(this=name, **_part_types(parser, "ELEMENT"))
    if parser.accept("AS", "MAP"):
        return CreateMapStatement(this=name, **_part_types(parser, "KEY", "VALUE"))
    if parser.accept("AS", "("):
        return CreateCompositeStatement(this=name, fields=_fields(parser))
    if not parser.accept("AS", "ENUM"):
        raise UnsupportedSql(
            "types other than composite types, enums, lists and maps are not supported",
            hint="write AS (…), AS ENUM (…), AS LIST (…) or AS MAP (…)",
        )
    parser.open_parenthesis()
    labels: list[exp.Expr] = []
    if not parser.accept_token(TokenType.R_PAREN):
        labels = parser.comma_list(_label)
        parser.close_parenthesis()
    return CreateTypeStatement(this=name, labels=labels)


def _fields(parser: StatementParser) -> list[exp.Expr]:
    """The fields of a composite type, up to the closing parenthesis."""
    if parser.accept_token(TokenType.R_PAREN):
        return []
    fields = parser.comma_list(_field)
    parser.close_parenthesis()
    return fields


def _field(parser: StatementParser) -> exp.Expr:
    name = parser.name()
    return exp.ColumnDef(this=name, kind=collated_type(parser) or parser.missing())


def _part_types(parser: StatementParser, *parts: str) -> dict[str, exp.Expr]:
    """The types of the parts, in parentheses and in any order, by the parts' names in lower
    case."""
    types: dict[str, exp.Expr] = {}
    parser.open_parenthesis()

    def option(parser: StatementParser) -> str:
        part = parser.accept_first(*(part for part in parts if part.lower() not in types))
        if part is None:
            parser.raise_error(f"Expected {' or '.join(parts)} TYPE")
        parser.expect("TYPE")
        parser.accept_token(TokenType.EQ)
        types[part.lower()] = parser.data_type() or parser.missing()
        return part

    parser.comma_list(option)
    parser.close_parenthesis()
    for part in parts:
        if part.lower() not in types:
            raise SqlSyntaxError(f"{part} TYPE option is required")
    return types


def _label(parser: StatementParser) -> exp.Expr:
    return parser.string() or parser.missing()


@alters("TYPE")
def alter_type(parser: StatementParser, name: exp.Table, exists: bool) -> Statement:
    for action in ("ADD", "DROP", "ALTER"):
        if parser.accept(action, "ATTRIBUTE"):
            raise _attributes_are_fixed(action)
    if not parser.accept("ADD", "VALUE"):
        raise UnsupportedSql("ALTER TYPE changes an enum by ADD VALUE and RENAME only")
    exists = parser.if_not_exists()
    label = _label(parser)
    side = parser.accept_first("BEFORE", "AFTER")
    return AddValueStatement(
        this=name, label=label, exists=exists, side=side, beside=_label(parser) if side else None
    )


def rename_value(parser: StatementParser, name: exp.Table) -> RenameValueStatement:
    """What follows ``ALTER TYPE name RENAME``, if that is not TO."""
    if parser.accept("ATTRIBUTE"):
        raise _attributes_are_fixed("RENAME")
    parser.expect("VALUE")
    label = _label(parser)
    parser.expect("TO")
    return RenameValueStatement(this=name, label=label, to=_label(parser))


def _attributes_are_fixed(action: str) -> UnsupportedSql:
    return UnsupportedSql(
        f"ALTER TYPE … {action} ATTRIBUTE is not supported",
        hint="create another type, and assign the fields to a column of it",
    )
