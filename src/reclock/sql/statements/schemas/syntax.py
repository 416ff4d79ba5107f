"""CREATE SCHEMA, ALTER SCHEMA and DROP SCHEMA."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.statements.objects.syntax import AlterOwnerStatement
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import generates, joined, listed, when


class CreateSchemaStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False}


class RenameSchemaStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "to": True}


class DropSchemasStatement(Statement):
    """``behavior`` is ``CASCADE``, ``RESTRICT`` or absent."""

    arg_types: ClassVar[dict[str, bool]] = {"names": True, "exists": False, "behavior": False}


@parses("CREATE SCHEMA")
def create_schema(parser: StatementParser, words: tuple[str, ...]) -> CreateSchemaStatement:
    exists = parser.if_not_exists()
    return CreateSchemaStatement(this=_schema_name(parser), exists=exists)


@parses("ALTER SCHEMA")
def alter_schema(
    parser: StatementParser, words: tuple[str, ...]
) -> RenameSchemaStatement | AlterOwnerStatement:
    name = _schema_name(parser)
    if parser.accept("OWNER", "TO"):
        return AlterOwnerStatement(kind="SCHEMA", this=name, to=parser.role_name())
    if not parser.accept("RENAME", "TO"):
        parser.raise_error("Expected RENAME TO or OWNER TO")
    return RenameSchemaStatement(this=name, to=parser.name())


@parses("DROP SCHEMA")
def drop_schemas(parser: StatementParser, words: tuple[str, ...]) -> DropSchemasStatement:
    exists = parser.if_exists()
    names = parser.comma_list(_schema_name)
    return DropSchemasStatement(names=names, exists=exists, behavior=parser.drop_behavior())


def _schema_name(parser: StatementParser) -> exp.Table:
    name = parser.object_name()
    if name.args.get("catalog"):
        parser.raise_error("The name of a schema has at most two parts", parser.last_token)
    return name


@generates(CreateSchemaStatement)
def _write_create_schema(write: Generator, node: exp.Expression) -> str:
    return joined("CREATE SCHEMA", when(node, "exists", "IF NOT EXISTS"), write.sql(node, "this"))


@generates(RenameSchemaStatement)
def _write_rename_schema(write: Generator, node: exp.Expression) -> str:
    return f"ALTER SCHEMA {write.sql(node, 'this')} RENAME TO {write.sql(node, 'to')}"


@generates(DropSchemasStatement)
def _write_drop_schemas(write: Generator, node: exp.Expression) -> str:
    return joined(
        "DROP SCHEMA",
        when(node, "exists", "IF EXISTS"),
        listed(write, node, "names"),
        node.args.get("behavior") or "",
    )
