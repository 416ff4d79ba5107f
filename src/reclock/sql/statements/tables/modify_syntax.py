"""INSERT, UPDATE, DELETE and TRUNCATE."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.sql.statements.tables.assignments_syntax import assignments, inserted_column
from reclock.sql.statements.tables.on_conflict_syntax import on_conflict
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import written_as


@written_as(
    "INSERT INTO {this} [({columns})] [OVERRIDING {overriding} VALUE] {query|DEFAULT VALUES} "
    "{on_conflict} [RETURNING {returning}]"
)
class InsertStatement(Statement):
    """Without ``query`` it is ``DEFAULT VALUES``. ``overriding`` is ``SYSTEM`` or ``USER``."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "columns": False,
        "overriding": False,
        "query": False,
        "on_conflict": False,
        "returning": False,
    }


@written_as(
    "UPDATE {this} SET {assignments} [FROM {relations}] [WHERE {where}] [RETURNING {returning}]"
)
class UpdateStatement(Statement):
    """``relations`` are the relations of FROM."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "assignments": True,
        "relations": False,
        "where": False,
        "returning": False,
    }


@written_as("DELETE FROM {this} [USING {relations}] [WHERE {where}] [RETURNING {returning}]")
class DeleteStatement(Statement):
    """``relations`` are the relations of USING."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "relations": False,
        "where": False,
        "returning": False,
    }


@written_as("TRUNCATE TABLE {names} {identity} {behavior}")
class TruncateStatement(Statement):
    """``identity`` is ``RESTART IDENTITY``, ``CONTINUE IDENTITY`` or absent; ``behavior`` is
    ``CASCADE``, ``RESTRICT`` or absent."""

    arg_types: ClassVar[dict[str, bool]] = {"names": True, "identity": False, "behavior": False}


def changed_table(parser: StatementParser) -> exp.Table:
    """The table to change, and its alias."""
    table = parser.table_name()
    if parser.accept_token(TokenType.ALIAS) or _is_alias(parser):
        table.set("alias", exp.TableAlias(this=parser.name()))
    return table


def _is_alias(parser: StatementParser) -> bool:
    if parser.token.token_type == TokenType.IDENTIFIER:
        return True
    word = parser.token.text.upper()
    return parser.token.token_type in parser.ID_VAR_TOKENS and word not in ("SET", "RETURNING")


def _is_query_next(parser: StatementParser) -> bool:
    """Whether the parenthesis that is next begins a query, and no list of columns."""
    parenthesis = parser.index
    parser.advance()
    is_query = (
        parser.token.token_type in (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN)
        or parser.sees("VALUES", "(")
        or (parser.sees("TABLE") and parser.next_token.token_type is not TokenType.R_PAREN)
    )
    parser.retreat(parenthesis)
    return is_query


@parses("INSERT")
def insert(parser: StatementParser) -> InsertStatement:
    parser.expect("INTO")
    table = parser.object_name()
    if parser.accept_token(TokenType.ALIAS):
        table.set("alias", exp.TableAlias(this=parser.name()))
    columns = None
    if parser.sees_token(TokenType.L_PAREN) and not _is_query_next(parser):
        columns = parser.wrapped_list(inserted_column)
    overriding = None
    if parser.accept("OVERRIDING"):
        overriding = parser.accept_first("SYSTEM", "USER") or parser.raise_error(
            "Expected SYSTEM or USER"
        )
        parser.expect("VALUE")
    has_defaults = columns is None and parser.accept("DEFAULT", "VALUES")
    query = None if has_defaults else parser.query()
    conflict = on_conflict(parser)
    return InsertStatement(
        this=table,
        columns=columns,
        overriding=overriding,
        query=query,
        on_conflict=conflict,
        returning=returning(parser),
    )


@parses("UPDATE")
def update(parser: StatementParser) -> UpdateStatement:
    table = changed_table(parser)
    parser.expect("SET")
    changes = assignments(parser)
    relations = _other_relations(parser) if parser.accept_token(TokenType.FROM) else None
    return UpdateStatement(
        this=table,
        assignments=changes,
        relations=relations,
        where=_condition(parser),
        returning=returning(parser),
    )


@parses("DELETE")
def delete(parser: StatementParser) -> DeleteStatement:
    parser.expect("FROM")
    table = changed_table(parser)
    relations = _other_relations(parser) if parser.accept_token(TokenType.USING) else None
    return DeleteStatement(
        this=table, relations=relations, where=_condition(parser), returning=returning(parser)
    )


def _other_relations(parser: StatementParser) -> list[exp.Expr]:
    """The other relations of the condition and the assigned values."""
    return parser.comma_list(lambda parser: parser.table() or parser.missing())


def _condition(parser: StatementParser) -> exp.Expr | None:
    return (parser.value()) if parser.accept_token(TokenType.WHERE) else None


def returning(parser: StatementParser) -> list[exp.Expr] | None:
    return (
        parser.comma_list(StatementParser.select_item) or [parser.missing()]
        if parser.accept("RETURNING")
        else None
    )


@parses("TRUNCATE")
def truncate(parser: StatementParser) -> TruncateStatement:
    parser.accept("TABLE")
    names = parser.comma_list(StatementParser.table_name)
    identity = parser.accept_first("RESTART IDENTITY", "CONTINUE IDENTITY")
    return TruncateStatement(names=names, identity=identity, behavior=parser.drop_behavior())
