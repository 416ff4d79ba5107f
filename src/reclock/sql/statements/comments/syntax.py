"""COMMENT ON."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp

from reclock.sql.statements.functions.names_syntax import object_name
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import written_as

_ITEMS = "SOURCE|TABLE|VIEW|INDEX|SINK|SECRET|CONNECTION|SEQUENCE|FUNCTION|TYPE|DOMAIN"


@written_as("COMMENT ON {kind} {this}[.{column}] IS {text}")
class CommentStatement(Statement):
    """``kind`` is ``TABLE``, ``MATERIALIZED VIEW``, …, ``COLUMN``, ``SCHEMA``, ``DATABASE``,
    ``CLUSTER`` or ``ROLE``. ``column`` is the name after the relation's. ``text`` is a string or
    NULL."""

    arg_types: ClassVar[dict[str, bool]] = {
        "kind": True,
        "this": True,
        "column": False,
        "text": True,
    }


@written_as("COMMENT ON CONSTRAINT {this} ON [is_of_domain: DOMAIN] {on} IS {text}")
class ConstraintCommentStatement(Statement):
    """``on`` is the table or domain that has the constraint. ``text`` is a string or NULL."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "is_of_domain": False,
        "on": True,
        "text": True,
    }


@parses(f"COMMENT ON {_ITEMS}", "COMMENT ON MATERIALIZED VIEW", "COMMENT ON SCHEMA|DATABASE")
def comment_on(parser: StatementParser) -> CommentStatement:
    kind = " ".join(parser.phrase[2:])
    return _comment(parser, kind, object_name(parser, kind))


@parses("COMMENT ON CLUSTER|ROLE")
def comment_on_name(parser: StatementParser) -> CommentStatement:
    is_cluster = parser.phrase[2] == "CLUSTER"
    name = parser.cluster_name() if is_cluster else parser.role_name()
    return _comment(parser, parser.phrase[2], name)


@parses("COMMENT ON COLUMN")
def comment_on_column(parser: StatementParser) -> CommentStatement:
    relation, column = parser.column_name()
    return _comment(parser, "COLUMN", relation, column)


@parses("COMMENT ON CONSTRAINT")
def comment_on_constraint(parser: StatementParser) -> ConstraintCommentStatement:
    name = parser.name()
    parser.expect("ON")
    is_of_domain = parser.accept("DOMAIN")
    return ConstraintCommentStatement(
        this=name, is_of_domain=is_of_domain, on=parser.object_name(), text=_text(parser)
    )


def _comment(
    parser: StatementParser, kind: str, name: exp.Expr, column: exp.Identifier | None = None
) -> CommentStatement:
    return CommentStatement(kind=kind, this=name, column=column, text=_text(parser))


def _text(parser: StatementParser) -> exp.Expr:
    parser.expect("IS")
    return exp.Null() if parser.accept("NULL") else parser.string() or parser.missing()
