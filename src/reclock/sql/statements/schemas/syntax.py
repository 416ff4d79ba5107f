"""CREATE SCHEMA, ALTER SCHEMA and DROP SCHEMA."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp

from reclock.sql.statements.objects.syntax import AlterOwnerStatement
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import written_as


@written_as("CREATE SCHEMA [exists: IF NOT EXISTS] {this}")
class CreateSchemaStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False}


@written_as("ALTER SCHEMA {this} RENAME TO {to}")
class RenameSchemaStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "to": True}


@written_as("ALTER SCHEMA {this} SWAP WITH {other}")
class SwapSchemasStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "other": True}


@written_as("DROP SCHEMA [exists: IF EXISTS] {names} {behavior}")
class DropSchemasStatement(Statement):
    """``behavior`` is ``CASCADE``, ``RESTRICT`` or absent."""

    arg_types: ClassVar[dict[str, bool]] = {"names": True, "exists": False, "behavior": False}


@parses("CREATE SCHEMA")
def create_schema(parser: StatementParser) -> CreateSchemaStatement:
    exists = parser.if_not_exists()
    return CreateSchemaStatement(this=_schema_name(parser), exists=exists)


@parses("ALTER SCHEMA")
def alter_schema(
    parser: StatementParser,
) -> RenameSchemaStatement | SwapSchemasStatement | AlterOwnerStatement:
    name = _schema_name(parser)
    if parser.accept("OWNER", "TO"):
        return AlterOwnerStatement(kind="SCHEMA", this=name, to=parser.role_name())
    if parser.accept("SWAP", "WITH"):
        return SwapSchemasStatement(this=name, other=parser.name())
    if not parser.accept("RENAME", "TO"):
        parser.raise_error("Expected RENAME TO, SWAP WITH or OWNER TO")
    return RenameSchemaStatement(this=name, to=parser.name())


@parses("DROP SCHEMA")
def drop_schemas(parser: StatementParser) -> DropSchemasStatement:
    exists = parser.if_exists()
    names = parser.comma_list(_schema_name)
    return DropSchemasStatement(names=names, exists=exists, behavior=parser.drop_behavior())


def _schema_name(parser: StatementParser) -> exp.Table:
    name = parser.object_name()
    if name.args.get("catalog"):
        parser.raise_error("The name of a schema has at most two parts", parser.last_token)
    return name
