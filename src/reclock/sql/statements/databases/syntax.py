"""CREATE DATABASE, ALTER DATABASE and DROP DATABASE."""

from __future__ import annotations

from typing import ClassVar

from sqlglot.tokenizer_core import TokenType

from reclock.errors import UnsupportedSql
from reclock.sql.statements.objects.syntax import AlterOwnerStatement
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import written_as


@written_as("CREATE DATABASE [exists: IF NOT EXISTS] {this}")
class CreateDatabaseStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False}


@written_as("ALTER DATABASE {this} RENAME TO {to}")
class RenameDatabaseStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "to": True}


@written_as("DROP DATABASE [exists: IF EXISTS] {this} {behavior}")
class DropDatabaseStatement(Statement):
    """``behavior`` is ``CASCADE``, ``RESTRICT`` or absent."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False, "behavior": False}


@parses("CREATE DATABASE")
def create_database(parser: StatementParser) -> CreateDatabaseStatement:
    exists = parser.if_not_exists()
    statement = CreateDatabaseStatement(this=parser.name(), exists=exists)
    if parser.token:
        raise UnsupportedSql(
            "options of CREATE DATABASE are not supported",
            detail="Text is UTF-8, and is ordered by its bytes.",
            hint="ALTER DATABASE … OWNER TO gives a database to another role",
        )
    return statement


@parses("ALTER DATABASE")
def alter_database(parser: StatementParser) -> RenameDatabaseStatement | AlterOwnerStatement:
    name = parser.object_name()
    if parser.accept("OWNER", "TO"):
        return AlterOwnerStatement(kind="DATABASE", this=name, to=parser.role_name())
    if not parser.accept("RENAME", "TO"):
        parser.raise_error("Expected RENAME TO or OWNER TO")
    return RenameDatabaseStatement(this=name.this, to=parser.name())


@parses("DROP DATABASE")
def drop_database(parser: StatementParser) -> DropDatabaseStatement:
    exists = parser.if_exists()
    name, behavior = parser.name(), parser.drop_behavior()
    parser.accept("WITH")
    if parser.sees_token(TokenType.L_PAREN):  # sessions in the database never hold up its drop
        parser.wrapped(lambda parser: parser.expect("FORCE"))
    return DropDatabaseStatement(this=name, exists=exists, behavior=behavior)
