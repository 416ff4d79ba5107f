"""CREATE EXTENSION, DROP EXTENSION, and DROP of the parts of tables that there are none of."""

from __future__ import annotations

from typing import ClassVar

from reclock.errors import UnsupportedSql
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import written_as


@written_as("DROP EXTENSION [exists: IF EXISTS] {names} {behavior}")
class DropExtensionsStatement(Statement):
    """``behavior`` is ``CASCADE``, ``RESTRICT`` or absent."""

    arg_types: ClassVar[dict[str, bool]] = {"names": True, "exists": False, "behavior": False}


@written_as("DROP {kind} [exists: IF EXISTS] {this} ON {on} {behavior}")
class DropTablePartStatement(Statement):
    """``kind`` is ``TRIGGER``, ``RULE`` or ``POLICY``, and ``on`` its table."""

    arg_types: ClassVar[dict[str, bool]] = {
        "kind": True,
        "this": True,
        "on": True,
        "exists": False,
        "behavior": False,
    }


@parses("DROP TRIGGER", "DROP RULE", "DROP POLICY")
def drop_table_part(parser: StatementParser) -> DropTablePartStatement:
    exists = parser.if_exists()
    name = parser.name()
    parser.expect("ON")
    return DropTablePartStatement(
        kind=parser.phrase[-1],
        this=name,
        on=parser.object_name(),
        exists=exists,
        behavior=parser.drop_behavior(),
    )


@parses("CREATE EXTENSION")
def create_extension(parser: StatementParser) -> Statement:
    """There are no extensions. The schema and the version that may follow the name are not read."""
    parser.if_not_exists()
    raise UnsupportedSql(
        f'extension "{parser.word("the name of an extension").name}" is not available',
        detail="Reclock has no extensions; all functions are built in.",
        hint="leave the statement out; uuid_generate_v4(), digest() and hmac() are there",
    )


@parses("DROP EXTENSION")
def drop_extensions(parser: StatementParser) -> DropExtensionsStatement:
    exists = parser.if_exists()
    names = parser.comma_list(lambda parser: parser.word("the name of an extension"))
    return DropExtensionsStatement(names=names, exists=exists, behavior=parser.drop_behavior())
