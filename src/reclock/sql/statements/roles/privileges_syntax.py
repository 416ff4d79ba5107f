"""GRANT and REVOKE, default privileges, and what a role owns."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import TokenType

from reclock.catalog.acl import Privilege
from reclock.errors import SqlSyntaxError, UnsupportedSql
from reclock.sql.statements.functions.names_syntax import object_name
from reclock.sql.syntax import nodes
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.templates import template
from reclock.sql.syntax.writing import generates, joined, listed, written_as


@written_as("REASSIGN OWNED BY {roles} TO {to}")
class ReassignOwnedStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"roles": True, "to": True}


@written_as("DROP OWNED BY {roles} {behavior}")
class DropOwnedStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"roles": True, "behavior": False}


class PrivilegesStatement(Statement):
    """``verb`` is ``GRANT`` or ``REVOKE``; without ``privileges``, ALL of them. ``kind`` is
    ``TABLE`` (any relation), ``ALL TABLES IN SCHEMA``, ``SCHEMA``, ``DATABASE``, ``CLUSTER``, or
    ``SYSTEM``, which has no ``names``."""

    arg_types: ClassVar[dict[str, bool]] = {
        "verb": True,
        "privileges": False,
        "kind": True,
        "names": False,
        "grantees": True,
    }


class MembershipStatement(Statement):
    """``verb`` is ``GRANT`` or ``REVOKE``."""

    arg_types: ClassVar[dict[str, bool]] = {"verb": True, "roles": True, "members": True}


class DefaultPrivilegesStatement(Statement):
    """Without ``owners`` it is about the current role's objects; ``within`` is ``SCHEMA``,
    ``DATABASE`` or absent."""

    arg_types: ClassVar[dict[str, bool]] = {
        "owners": False,
        "is_for_all": False,
        "within": False,
        "names": False,
        "verb": True,
        "privileges": False,
        "kind": True,
        "grantees": True,
    }


_WITH_DEFAULTS = ("TABLE", "SECRET", "CONNECTION", "SEQUENCE", "SCHEMA", "DATABASE", "CLUSTER")
_GRANTED = (*_WITH_DEFAULTS, "FUNCTION")
PLURALS = {f"{kind}S": kind for kind in _WITH_DEFAULTS}
_OPEN_TO_ALL = ("CONNECT", "TEMPORARY", "TEMP")
"""Privileges of PostgreSQL that nobody needs here."""
_UNSUPPORTED = ("REFERENCES", "TRIGGER", "TRUNCATE", "MAINTAIN", "SET")
"""Privileges of PostgreSQL for what does not exist here, or what takes ownership."""
_UNSUPPORTED_PLURALS = ("TYPES", "FUNCTIONS", "ROUTINES")


@parses("REASSIGN")
def reassign_owned(parser: StatementParser) -> ReassignOwnedStatement:
    parser.expect("OWNED", "BY")
    roles = parser.comma_list(StatementParser.role_name)
    parser.expect("TO")
    return ReassignOwnedStatement(roles=roles, to=parser.role_name())


@parses("DROP OWNED BY")
def drop_owned(parser: StatementParser) -> DropOwnedStatement:
    roles = parser.comma_list(StatementParser.role_name)
    behavior = parser.drop_behavior()
    return DropOwnedStatement(roles=roles, behavior=behavior)


@parses("GRANT")
def grant(parser: StatementParser) -> nodes.Statement:
    return _change_of_privileges(parser, "GRANT")


@parses("REVOKE")
def revoke(parser: StatementParser) -> nodes.Statement:
    if (
        parser.token
        and parser.token.text.upper() in ("GRANT", "ADMIN")
        and parser.next_token
        and parser.next_token.text.upper() == "OPTION"
    ):
        raise UnsupportedSql(f"{parser.token.text.upper()} OPTION is not supported")
    return _change_of_privileges(parser, "REVOKE")


def _change_of_privileges(parser: StatementParser, verb: str) -> nodes.Statement:
    if _is_all(parser):
        privileges = None
    else:
        named = parser.comma_list(_privilege_or_role)
        if not parser.sees("ON"):
            return MembershipStatement(verb=verb, roles=named, members=_grantees(parser, verb))
        privileges = [_privilege(parser, name) for name in named]
    parser.expect("ON")
    kind, names = _targets(parser)
    return PrivilegesStatement(
        verb=verb, privileges=privileges, kind=kind, names=names, grantees=_grantees(parser, verb)
    )


def _is_all(parser: StatementParser) -> bool:
    if not parser.accept("ALL"):
        return False
    parser.accept("PRIVILEGES")
    return True


def _privilege_or_role(parser: StatementParser) -> exp.Identifier:
    is_select = parser.accept_token(TokenType.SELECT)
    name = (
        exp.to_identifier("select")
        if is_select
        else parser.word("a privilege or the name of a role")
    )
    if parser.sees_token(TokenType.L_PAREN):
        raise UnsupportedSql("a privilege on columns is not supported")
    return name


def _privilege(parser: StatementParser, name: exp.Identifier) -> exp.Var:
    privilege = name.name.upper()
    if not name.args.get("quoted") and privilege in Privilege.__members__:
        return exp.Var(this=privilege)
    if privilege in _OPEN_TO_ALL:
        raise UnsupportedSql(
            f"the privilege {privilege} is not supported",
            hint="roles with LOGIN may connect, and every role may create temporary objects",
        )
    hint = f"privileges are {', '.join(Privilege.__members__)}"
    if privilege in _UNSUPPORTED:
        raise UnsupportedSql(f"the privilege {privilege} is not supported", hint=hint)
    raise SqlSyntaxError(f'unrecognized privilege "{name.name}"', hint=hint)


def _targets(parser: StatementParser) -> tuple[str, list[exp.Expression] | None]:
    """The kind of what privileges are on, and its names."""
    if parser.accept("SYSTEM"):
        return "SYSTEM", None
    if parser.accept("ALL"):
        if not parser.accept("TABLES", "IN", "SCHEMA"):
            parser.raise_error("Expected TABLES IN SCHEMA")
        return "ALL TABLES IN SCHEMA", parser.comma_list(StatementParser.object_name)
    after = parser.next_token.text.upper() if parser.next_token else ""
    is_name = after in (".", ",", "TO", "FROM")
    if not is_name and parser.accept_any(("TYPE", "DOMAIN")):
        raise UnsupportedSql(
            "privileges on types are not supported", hint="every role may use them"
        )
    kind = parser.last_word if not is_name and parser.accept_any(_GRANTED) else "TABLE"
    if kind == "CLUSTER":
        return kind, parser.comma_list(lambda parser: parser.word("the name of a cluster"))
    return kind, parser.comma_list(lambda parser: object_name(parser, kind))


def _grantees(parser: StatementParser, verb: str) -> list[exp.Identifier]:
    parser.expect("TO" if verb == "GRANT" else "FROM")
    grantees = parser.comma_list(_grantee)
    if parser.accept("WITH"):
        raise UnsupportedSql(f"WITH {parser.token.text.upper()} OPTION is not supported")
    return grantees


def _grantee(parser: StatementParser) -> exp.Identifier:
    parser.accept("GROUP")
    return parser.role_name()


@parses("ALTER DEFAULT PRIVILEGES")
def alter_default_privileges(parser: StatementParser) -> DefaultPrivilegesStatement:
    owners, is_for_all = None, False
    if parser.accept("FOR"):
        if parser.accept("ALL", "ROLES"):
            is_for_all = True
        elif parser.accept_any(("ROLE", "USER")):
            owners = parser.comma_list(StatementParser.role_name)
        else:
            parser.raise_error("Expected ROLE or ALL ROLES")
    within, names = None, None
    if parser.accept("IN"):
        if not parser.accept_any(("SCHEMA", "DATABASE")):
            parser.raise_error("Expected SCHEMA or DATABASE")
        within = parser.last_word
        names = parser.comma_list(StatementParser.object_name)
    if not parser.accept_any(("GRANT", "REVOKE")):
        parser.raise_error("Expected GRANT or REVOKE")
    verb = parser.last_word
    privileges = (
        None
        if _is_all(parser)
        else [_privilege(parser, name) for name in parser.comma_list(_privilege_or_role)]
    )
    parser.expect("ON")
    if parser.accept_any(_UNSUPPORTED_PLURALS):
        raise UnsupportedSql(f"default privileges on {parser.last_word} are not supported")
    if not parser.accept_any(PLURALS):
        parser.raise_error(f"Expected {', '.join(PLURALS)}")
    kind = PLURALS[parser.last_word]
    return DefaultPrivilegesStatement(
        owners=owners,
        is_for_all=is_for_all,
        within=within,
        names=names,
        verb=verb,
        privileges=privileges,
        kind=kind,
        grantees=_grantees(parser, verb),
    )


def _write_grantees(write: Generator, node: exp.Expression, name: str) -> str:
    return f"{'TO' if node.args['verb'] == 'GRANT' else 'FROM'} {listed(write, node, name)}"


@generates(PrivilegesStatement)
def _write_privileges(write: Generator, node: exp.Expression) -> str:
    return joined(_PRIVILEGES(write, node), _write_grantees(write, node, "grantees"))


_PRIVILEGES = template("{verb} {privileges|ALL PRIVILEGES} ON {kind} {names}")


@generates(MembershipStatement)
def _write_membership(write: Generator, node: exp.Expression) -> str:
    return joined(
        node.args["verb"], listed(write, node, "roles"), _write_grantees(write, node, "members")
    )


@generates(DefaultPrivilegesStatement)
def _write_default_privileges(write: Generator, node: exp.Expression) -> str:
    return joined(_DEFAULT_PRIVILEGES(write, node), _write_grantees(write, node, "grantees"))


_DEFAULT_PRIVILEGES = template(
    "ALTER DEFAULT PRIVILEGES [FOR ROLE {owners}] [is_for_all: FOR ALL ROLES] "
    "[IN {within} {names}] {verb} {privileges|ALL PRIVILEGES} ON {kind}S"
)
