"""DROP, RENAME TO, SET SCHEMA and OWNER TO, of objects of any kind."""

from __future__ import annotations

from typing import ClassVar

from reclock.errors import UnsupportedSql
from reclock.sql.statements.functions.names_syntax import object_name
from reclock.sql.statements.tables.alter_syntax import rename_part
from reclock.sql.statements.types.domains_syntax import rename_constraint
from reclock.sql.statements.types.syntax import rename_value
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import alteration_of, parses
from reclock.sql.syntax.writing import written_as


@written_as("DROP {kind} [exists: IF EXISTS] {names} {behavior}")
class DropStatement(Statement):
    """``kind`` is ``SOURCE``, ``TABLE``, ``VIEW``, ``MATERIALIZED VIEW``, ``INDEX``, ``SINK``,
    ``SECRET``, ``CONNECTION``, ``SEQUENCE``, ``FUNCTION``, ``TYPE`` or
    ``DOMAIN``.

    ``behavior`` is ``CASCADE``, ``RESTRICT`` or absent.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "kind": True,
        "names": True,
        "exists": False,
        "behavior": False,
    }


@written_as("ALTER {kind} [exists: IF EXISTS] {this} RENAME TO {to}")
class AlterRenameStatement(Statement):
    """``kind`` is ``SOURCE``, ``TABLE``, ``SECRET``, ``CONNECTION``, ``SEQUENCE``, ``FUNCTION``,
    ``TYPE`` or ``DOMAIN``."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "this": True, "exists": False, "to": True}


@written_as("ALTER {kind} [exists: IF EXISTS] {this} SET SCHEMA {to}")
class AlterSchemaStatement(Statement):
    """SET SCHEMA. ``kind`` is ``TABLE``, ``VIEW``, ``MATERIALIZED VIEW``, ``SEQUENCE``, ``FUNCTION``,
    ``TYPE`` or ``DOMAIN``."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "this": True, "exists": False, "to": True}


@written_as("ALTER {kind} {this} OWNER TO {to}")
class AlterOwnerStatement(Statement):
    """``kind`` is ``SOURCE``, ``VIEW``, ``MATERIALIZED VIEW``, ``INDEX``, ``SCHEMA``, ``DATABASE``
    or ``CLUSTER``."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "this": True, "to": True}


_MOVABLE = ("TABLE", "VIEW", "MATERIALIZED VIEW", "SEQUENCE", "FUNCTION", "TYPE", "DOMAIN")
_KINDS = "SOURCE|TABLE|VIEW|INDEX|SINK|SECRET|CONNECTION|SEQUENCE|FUNCTION|TYPE|DOMAIN"


@parses(f"DROP {_KINDS}", "DROP MATERIALIZED VIEW")
def drop(parser: StatementParser) -> DropStatement:
    kind = " ".join(parser.phrase[1:])
    if kind == "INDEX":
        parser.accept("CONCURRENTLY")  # nothing waits for the drop of an index
    exists = parser.if_exists()
    names = parser.comma_list(lambda parser: object_name(parser, kind))
    return DropStatement(kind=kind, names=names, exists=exists, behavior=parser.drop_behavior())


@parses(f"ALTER {_KINDS}", "ALTER MATERIALIZED VIEW")
def alter(parser: StatementParser) -> Statement:
    """RENAME TO, SET SCHEMA and OWNER TO; the family of the kind has what else can be altered."""
    kind = " ".join(parser.phrase[1:])
    exists = parser.if_exists()
    name = parser.table_name() if kind == "TABLE" else object_name(parser, kind)
    if not exists and parser.accept("OWNER", "TO"):
        return AlterOwnerStatement(kind=kind, this=name, to=parser.role_name())
    if parser.accept("RENAME"):
        if kind == "TABLE" and not parser.sees("TO"):
            return rename_part(parser, name, exists)
        if kind == "TYPE" and not parser.sees("TO"):
            return rename_value(parser, name)
        if kind == "DOMAIN" and parser.sees("CONSTRAINT"):
            return rename_constraint(parser, name)
        parser.expect("TO")
        return AlterRenameStatement(kind=kind, this=name, exists=exists, to=parser.name())
    if parser.accept("SET", "SCHEMA"):
        if kind not in _MOVABLE:
            raise UnsupportedSql(f"ALTER {kind} … SET SCHEMA is not supported")
        return AlterSchemaStatement(kind=kind, this=name, exists=exists, to=parser.name())
    alteration = alteration_of(kind)
    if alteration is None:
        parser.raise_error("Expected RENAME TO")
    return alteration(parser, name, exists)
