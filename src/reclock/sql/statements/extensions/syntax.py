"""CREATE EXTENSION, COMMENT ON EXTENSION, DROP EXTENSION, and DROP of the parts of tables that there are none of."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import written_as


@written_as("CREATE EXTENSION {this}")
class CreateExtensionStatement(Statement):
    """``this`` is the name of the extension."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


@written_as("COMMENT ON EXTENSION {this} IS {text}")
class CommentOnExtensionStatement(Statement):
    """``text`` is a string or NULL."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "text": True}


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
def create_extension(parser: StatementParser) -> CreateExtensionStatement:
    """Where the extension goes, and its version, are read and say nothing."""
    parser.if_not_exists()
    name = parser.word("the name of an extension")
    parser.accept_token(TokenType.WITH)
    while not parser.accept("CASCADE") and parser.accept_any(("SCHEMA", "VERSION")):
        if not parser.string():
            parser.name()
    return CreateExtensionStatement(this=name)


@parses("COMMENT ON EXTENSION")
def comment_on_extension(parser: StatementParser) -> CommentOnExtensionStatement:
    name = parser.word("the name of an extension")
    parser.expect("IS")
    text = exp.Null() if parser.accept("NULL") else parser.string() or parser.missing()
    return CommentOnExtensionStatement(this=name, text=text)


@parses("DROP EXTENSION")
def drop_extensions(parser: StatementParser) -> DropExtensionsStatement:
    exists = parser.if_exists()
    names = parser.comma_list(lambda parser: parser.word("the name of an extension"))
    return DropExtensionsStatement(names=names, exists=exists, behavior=parser.drop_behavior())
