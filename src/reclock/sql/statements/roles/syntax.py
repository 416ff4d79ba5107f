"""Roles."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.errors import SqlSyntaxError, UnsupportedSql
from reclock.sql.statements.session.syntax import SetDefaultStatement, assignment, variable_or_all
from reclock.sql.syntax import nodes
from reclock.sql.syntax.nodes import HIDDEN, Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import written_as


@written_as("CREATE ROLE {this} {*attributes} [PASSWORD {password}]")
class CreateRoleStatement(Statement):
    """``attributes`` are words as they were written, upper case; ``password`` is NULL to have
    none."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "attributes": False, "password": False}


@written_as("ALTER ROLE {this} {*attributes} [PASSWORD {password}]")
class AlterRoleStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "attributes": False, "password": False}


@written_as("ALTER ROLE {this} RENAME TO {to}")
class AlterRoleRenameStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "to": True}


@written_as("DROP ROLE [exists: IF EXISTS] {names}")
class DropRolesStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"names": True, "exists": False}


_ATTRIBUTES = ("SUPERUSER", "NOSUPERUSER", "LOGIN", "NOLOGIN", "INHERIT")
_SYSTEM_PRIVILEGES = ("CREATEDB", "CREATEROLE", "CREATECLUSTER")
_OTHER_ATTRIBUTES = frozenset(
    {
        "NOINHERIT",
        "NOCREATEDB",
        "NOCREATEROLE",
        "NOCREATECLUSTER",
        "REPLICATION",
        "NOREPLICATION",
        "BYPASSRLS",
        "NOBYPASSRLS",
        "CONNECTION",
        "VALID",
        "IN",
        "ROLE",
        "ADMIN",
    }
)


@parses("CREATE ROLE|USER")
def create_role(parser: StatementParser) -> CreateRoleStatement:
    is_user = parser.last_word == "USER"
    name = parser.role_name()
    attributes, password = _options(parser)
    if is_user and not {"LOGIN", "NOLOGIN"} & {attribute.name for attribute in attributes}:
        attributes = [exp.Var(this="LOGIN"), *attributes]
    return CreateRoleStatement(this=name, attributes=attributes, password=password)


def _options(parser: StatementParser) -> tuple[list[exp.Var], exp.Expr | None]:
    attributes: dict[str, exp.Var] = {}
    password: exp.Expr | None = None
    parser.accept("WITH")
    while parser.token:
        word = parser.token.text.upper()
        if parser.accept("ENCRYPTED", "PASSWORD") or parser.accept("PASSWORD"):
            if password is not None:
                raise SqlSyntaxError(
                    "conflicting or redundant attributes", position=parser.last_token.start + 1
                )
            password = _password(parser)
            continue
        if word in _SYSTEM_PRIVILEGES:
            raise UnsupportedSql(
                f"{word} is a privilege, not an attribute",
                hint=f"GRANT {word} ON SYSTEM TO the role",
            )
        if word in _OTHER_ATTRIBUTES:
            raise UnsupportedSql(
                f"the attribute {word} is not supported",
                hint=f"attributes are {', '.join(_ATTRIBUTES)}",
            )
        if not parser.accept_any(_ATTRIBUTES):
            parser.raise_error("Expected an attribute of a role")
        if word.removeprefix("NO") in {attribute.removeprefix("NO") for attribute in attributes}:
            raise SqlSyntaxError(
                "conflicting or redundant attributes", position=parser.last_token.start + 1
            )
        attributes[word] = exp.Var(this=word)
    return list(attributes.values()), password


def _password(parser: StatementParser) -> exp.Expr:
    """NULL, or an empty string that hides the password. No error repeats what is written here."""
    if parser.accept_token(TokenType.NULL):
        return exp.Null()
    if parser.token.token_type not in (TokenType.STRING, TokenType.RAW_STRING):
        raise SqlSyntaxError("a password is a string or NULL", position=parser.last_token.start + 1)
    password, hidden = exp.Literal.string(""), parser.text().name
    if hidden:
        password.meta[HIDDEN] = hidden
    return password


@parses("ALTER ROLE|USER")
def alter_role(parser: StatementParser) -> nodes.Statement:
    role = parser.role_name()
    if parser.accept("RENAME"):
        parser.expect("TO")
        return AlterRoleRenameStatement(this=role, to=parser.role_name())
    if parser.accept("SET"):
        variable, values = assignment(parser)
        return SetDefaultStatement(this=variable, role=role, values=values)
    if parser.accept("RESET"):
        return SetDefaultStatement(this=variable_or_all(parser), role=role)
    attributes, password = _options(parser)
    if not attributes and password is None:
        parser.raise_error("Expected SET, RESET, RENAME TO or an attribute of a role")
    return AlterRoleStatement(this=role, attributes=attributes, password=password)


@parses("DROP ROLE|USER")
def drop_roles(parser: StatementParser) -> DropRolesStatement:
    exists = parser.if_exists()
    return DropRolesStatement(names=parser.comma_list(StatementParser.role_name), exists=exists)
