"""CREATE DOMAIN, and what ALTER DOMAIN changes besides name and owner."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.errors import InvalidConstraint, UnsupportedSql
from reclock.sql.statements.tables.constraints_syntax import (
    TableConstraint,
    column_constraint,
    commented,
    constraint_name,
)
from reclock.sql.syntax.collations import collated_type
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import alters, parses
from reclock.sql.syntax.writing import written_as


@written_as(
    "CREATE DOMAIN {this} AS {kind} [DEFAULT {default}] [not_null: NOT NULL] {*constraints}"
)
class CreateDomainStatement(Statement):
    """``kind`` is the base type; ``constraints`` are CHECKs, in which ``value`` is a column."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "kind": True,
        "default": False,
        "not_null": False,
        "constraints": False,
    }


@written_as("ALTER DOMAIN {this} {action} [exists: IF EXISTS] {value} [TO {to}] {behavior}")
class AlterDomainStatement(Statement):
    """``action`` are the words after the domain's name. ``value`` is a default, a constraint, or
    the name of one; ``exists`` and ``behavior`` are of DROP CONSTRAINT. ``comment`` is of COMMENT
    ON CONSTRAINT, which is planned as a change of the domain."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "action": True,
        "value": False,
        "exists": False,
        "behavior": False,
        "to": False,
        "comment": False,
    }


@parses("CREATE DOMAIN")
def create_domain(parser: StatementParser) -> CreateDomainStatement:
    name = parser.object_name()
    parser.accept_token(TokenType.ALIAS)
    kind = collated_type(parser) or parser.missing()
    not_null, default = None, None
    constraints: list[TableConstraint] = []
    while parser.token and parser.token.token_type != TokenType.SEMICOLON:
        constraint = constraint_name(parser)
        if parser.accept("NOT", "NULL"):
            not_null = _once(parser, not_null, True)
        elif parser.accept("NULL"):
            not_null = _once(parser, not_null, False)
        elif parser.accept("DEFAULT"):
            if default is not None:
                parser.reject("multiple default expressions", parser.last_token)
            default = parser.operand() or parser.missing()
        else:
            constraints.append(_check(parser, constraint))
    return CreateDomainStatement(
        this=name, kind=kind, default=default, not_null=bool(not_null), constraints=constraints
    )


def _once(parser: StatementParser, before: bool | None, is_not_null: bool) -> bool:
    if before not in (None, is_not_null):
        parser.reject("conflicting NULL/NOT NULL constraints", parser.last_token)
    return is_not_null


def _check(parser: StatementParser, name: exp.Identifier | None) -> TableConstraint:
    constraint = column_constraint(parser, name, exp.Identifier(this="value"))
    if constraint is None:
        parser.raise_error("Expected DEFAULT, NOT NULL, NULL or CHECK")
    kind = constraint.args["kind"]
    if kind != "CHECK":
        raise InvalidConstraint(
            f"{kind.lower()} constraints not possible for domains", sqlstate="42601"
        )
    if constraint.args.get("is_not_enforced") or constraint.args.get("deferrable"):
        raise UnsupportedSql("a constraint of a domain is always enforced, and not deferrable")
    return commented(parser, constraint)


@alters("DOMAIN")
def alter_domain(parser: StatementParser, name: exp.Table, exists: bool) -> AlterDomainStatement:
    if parser.accept("SET", "DEFAULT"):
        default = parser.operand() or parser.missing()
        return AlterDomainStatement(this=name, action="SET DEFAULT", value=default)
    for action in ("DROP DEFAULT", "SET NOT NULL", "DROP NOT NULL"):
        if parser.accept(*action.split()):
            return AlterDomainStatement(this=name, action=action)
    if parser.accept("ADD"):
        constraint = constraint_name(parser)
        if constraint is None and parser.accept("NOT", "NULL"):
            return AlterDomainStatement(this=name, action="SET NOT NULL")
        return AlterDomainStatement(this=name, action="ADD", value=_check(parser, constraint))
    if parser.accept("VALIDATE", "CONSTRAINT"):
        return AlterDomainStatement(this=name, action="VALIDATE CONSTRAINT", value=parser.name())
    parser.expect("DROP", "CONSTRAINT")
    exists = parser.if_exists()
    return AlterDomainStatement(
        this=name,
        action="DROP CONSTRAINT",
        exists=exists,
        value=parser.name(),
        behavior=parser.drop_behavior(),
    )


def rename_constraint(parser: StatementParser, name: exp.Table) -> AlterDomainStatement:
    """What follows ``ALTER DOMAIN name RENAME``, if that is CONSTRAINT."""
    parser.expect("CONSTRAINT")
    constraint = parser.name()
    parser.expect("TO")
    return AlterDomainStatement(
        this=name, action="RENAME CONSTRAINT", value=constraint, to=parser.name()
    )
