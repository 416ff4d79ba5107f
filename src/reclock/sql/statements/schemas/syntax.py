"""CREATE SCHEMA and DROP SCHEMA."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import generates, joined, listed, when


class CreateSchemaStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False}


class DropSchemasStatement(Statement):
    """``behavior`` is ``CASCADE``, ``RESTRICT`` or absent."""

    arg_types: ClassVar[dict[str, bool]] = {"names": True, "exists": False, "behavior": False}


@parses("CREATE SCHEMA")
def create_schema(parser: StatementParser, words: tuple[str, ...]) -> CreateSchemaStatement:
    exists = parser.if_not_exists()
    return CreateSchemaStatement(this=_schema_name(parser), exists=exists)


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


@generates(DropSchemasStatement)
def _write_drop_schemas(write: Generator, node: exp.Expression) -> str:
    return joined(
        "DROP SCHEMA",
        when(node, "exists", "IF EXISTS"),
        listed(write, node, "names"),
        node.args.get("behavior") or "",
    )
