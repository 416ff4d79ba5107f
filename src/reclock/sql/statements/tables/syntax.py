"""CREATE TABLE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NoReturn

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import Token, TokenType

from reclock.errors import InvalidConstraint, UnsupportedSql
from reclock.sql.statements.sequences.syntax import SequenceOptions, sequence_options
from reclock.sql.statements.tables.constraints_syntax import (
    TableConstraint,
    column_constraint,
    constraint_name,
    is_table_constraint,
    table_constraint,
)
from reclock.sql.statements.tables.like_syntax import TableLike, table_like
from reclock.sql.syntax.collations import collated_type
from reclock.sql.syntax.nodes import CreateTableAsStatement, Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.storage_parameters import skip_storage_parameters
from reclock.sql.syntax.temporary import TEMPORARY, is_temporary, make_temporary
from reclock.sql.syntax.writing import (
    clause,
    comma_list,
    generates,
    joined,
    listed,
    when,
)


class TableColumn(exp.Expression):
    """``identity`` is ``ALWAYS`` or ``BY DEFAULT``, and ``options`` are of its sequence.
    ``computed`` is the expression of a generated column."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "kind": True,
        "not_null": False,
        "default": False,
        "identity": False,
        "options": False,
        "computed": False,
    }


class CreateTableStatement(Statement):
    """``columns`` are `TableColumn`s and, until it is planned, `TableLike`s."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "exists": False,
        "columns": True,
        "constraints": False,
        "on_commit": False,
    }


@parses("CREATE [OR REPLACE] LOCAL")
def create_local(parser: StatementParser) -> NoReturn:
    if not parser.accept_any(("TEMP", "TEMPORARY")):
        parser.raise_error("expected TEMPORARY")
    parser.unsupported("CREATE")


@parses("CREATE TABLE", f"CREATE {TEMPORARY} TABLE", "CREATE UNLOGGED TABLE")
def create_table(parser: StatementParser) -> CreateTableStatement | CreateTableAsStatement:
    exists = parser.if_not_exists()
    name = parser.object_name()
    if is_temporary(parser.phrase):
        make_temporary(name)
    if parser.sees_token(TokenType.L_PAREN) and not _is_name_list(parser):
        is_empty = bool(parser.accept("(", ")"))
        if is_empty and is_temporary(parser.phrase):
            raise UnsupportedSql("a temporary table without columns is not supported")
        parsed = [] if is_empty else parser.wrapped_list(_elements)
        elements = [element for several in parsed for element in several]
        columns = [element for element in elements if isinstance(element, TableColumn | TableLike)]
        constraints = [element for element in elements if isinstance(element, TableConstraint)]
        _reject_hierarchies(parser)
        return CreateTableStatement(
            this=name,
            exists=exists,
            columns=columns,
            constraints=constraints,
            on_commit=_storage(parser),
        )
    _reject_hierarchies(parser)
    names = (
        parser.wrapped_list(StatementParser.name) if parser.sees_token(TokenType.L_PAREN) else None
    )
    on_commit = _storage(parser)
    if not parser.accept_token(TokenType.ALIAS):
        parser.raise_error("Expected the list of columns, or AS")
    return CreateTableAsStatement(
        this=name,
        exists=exists,
        names=names,
        query=parser.query(),
        on_commit=on_commit,
        **_with_data(parser),
    )


def _storage(parser: StatementParser) -> str | None:
    """What ON COMMIT does to a temporary table: ``DROP`` or ``DELETE ROWS``; parameters of the
    storage are read before and after it, and say nothing."""
    skip_storage_parameters(parser)
    on_commit = None
    if parser.accept("ON", "COMMIT"):
        on_commit = parser.accept_first("DROP", "DELETE ROWS", "PRESERVE ROWS")
        if on_commit is None:
            parser.raise_error("Expected DROP, DELETE ROWS or PRESERVE ROWS")
        if not is_temporary(parser.phrase):
            raise InvalidConstraint("ON COMMIT can only be used on temporary tables")
    return None if on_commit == "PRESERVE ROWS" else on_commit


def _reject_hierarchies(parser: StatementParser) -> None:
    hint = "one table holds all rows; a view with UNION ALL shows those of several tables"
    if parser.sees_token(TokenType.PARTITION_BY) or parser.sees("PARTITION"):
        raise UnsupportedSql("partitioned tables are not supported", hint=hint)
    if parser.sees("INHERITS"):
        raise UnsupportedSql("tables that inherit from others are not supported", hint=hint)


def _is_name_list(parser: StatementParser) -> bool:
    """Whether a list in parentheses begins with a name that has no type."""
    following = parser.tokens[parser.index + 2] if parser.index + 2 < len(parser.tokens) else None
    return following is not None and following.token_type in (TokenType.COMMA, TokenType.R_PAREN)


def _with_data(parser: StatementParser) -> dict[str, bool]:
    if not parser.accept_token(TokenType.WITH):
        return {}
    is_empty = bool(parser.accept("NO"))
    parser.expect("DATA")
    return {"is_empty": is_empty}


def _elements(
    parser: StatementParser,
) -> Sequence[TableColumn | TableConstraint | TableLike]:
    return [table_like(parser)] if parser.accept("LIKE") else table_elements(parser)


def table_elements(parser: StatementParser) -> list[TableColumn | TableConstraint]:
    """A column and its constraints, or a constraint of the table."""
    if is_table_constraint(parser):
        return [table_constraint(parser)]
    name = parser.name()
    kind = collated_type(parser)
    if kind is None:
        parser.raise_error("Expected a type")
    not_null, default = None, None
    generated: dict[str, Any] = {}
    constraints: list[TableConstraint] = []
    while parser.token and parser.token.token_type not in (TokenType.COMMA, TokenType.R_PAREN):
        named = constraint_name(parser)
        word = parser.token
        if parser.accept("NOT", "NULL"):
            not_null = _consistent(parser, name, word, not_null, True)
        elif parser.accept("NULL"):
            not_null = _consistent(parser, name, word, not_null, False)
        elif parser.accept("DEFAULT"):
            if default is not None:
                parser.reject(f'multiple default values specified for column "{name.name}"', word)
            default = parser.operand() or parser.missing()
        elif parser.accept("GENERATED"):
            clauses = generated_values(parser)
            if clauses.keys() & generated.keys():
                parser.reject(f'multiple GENERATED clauses for column "{name.name}"')
            generated |= clauses
        elif (constraint := column_constraint(parser, named, name)) is not None:
            constraints.append(constraint)
        else:
            parser.raise_error(
                "Expected NOT NULL, NULL, DEFAULT, a constraint, a comma or the end of the columns"
            )
    if not_null is False and any(
        constraint.args["kind"] == "PRIMARY KEY" for constraint in constraints
    ):
        parser.reject(
            f'conflicting NULL/NOT NULL declarations for column "{name.name}"', parser.last_token
        )
    column = TableColumn(
        this=name, kind=kind, not_null=bool(not_null), default=default, **generated
    )
    if conflict := _conflict_of_values(column, allows_null=not_null is False):
        parser.reject(f'both {conflict} specified for column "{name.name}"', parser.last_token)
    return [column, *constraints]


def _consistent(
    parser: StatementParser, name: exp.Identifier, word: Token, before: bool | None, not_null: bool
) -> bool:
    if before not in (None, not_null):
        parser.reject(f'conflicting NULL/NOT NULL declarations for column "{name.name}"', word)
    return not_null


def generated_values(parser: StatementParser) -> dict[str, Any]:
    """The arguments of a `TableColumn` that describe what generates its values."""
    kind = parser.accept_first("ALWAYS", "BY DEFAULT")
    if kind is None:
        parser.raise_error("Expected ALWAYS or BY DEFAULT")
    parser.expect("AS")
    if parser.accept("IDENTITY"):
        has_options = parser.sees_token(TokenType.L_PAREN)
        options = parser.wrapped(sequence_options) if has_options else SequenceOptions()
        return {"identity": kind, "options": options}
    computed = parser.wrapped(StatementParser.value)
    if kind != "ALWAYS":
        parser.reject(
            "for a generated column, GENERATED ALWAYS must be specified", parser.last_token
        )
    if not parser.accept("STORED"):
        raise UnsupportedSql(
            "virtual generated columns are not supported", hint="write STORED after the expression"
        )
    return {"computed": computed}


def _conflict_of_values(column: TableColumn, *, allows_null: bool) -> str | None:
    """Which two clauses of the column say where its values come from, if there are two."""
    sources = {
        "default": column.args.get("default") is not None,
        "identity": column.args.get("identity") is not None,
        "generation expression": column.args.get("computed") is not None,
    }
    declared = [name for name, is_declared in sources.items() if is_declared]
    if allows_null and sources["identity"]:
        declared = ["NULL", "identity"]
    return " and ".join(declared) if len(declared) > 1 else None


@generates(TableColumn)
def _write_table_column(write: Generator, node: exp.Expression) -> str:
    not_null = when(node, "not_null", "NOT NULL")
    default = clause(write, "DEFAULT", node, "default")
    identity = node.args.get("identity")
    options = write.sql(node, "options") if identity else ""
    generated = f"GENERATED {identity} AS IDENTITY" if identity else ""
    computed = write.sql(node, "computed")
    return joined(
        write.sql(node, "this"),
        write.sql(node, "kind"),
        not_null,
        default,
        generated,
        f"({options})" if options else "",
        f"GENERATED ALWAYS AS ({computed}) STORED" if computed else "",
    )


@generates(CreateTableStatement)
def _write_create_table(write: Generator, node: exp.Expression) -> str:
    name = joined("CREATE TABLE", when(node, "exists", "IF NOT EXISTS"), write.sql(node, "this"))
    elements = comma_list(listed(write, node, "columns"), listed(write, node, "constraints"))
    on_commit = node.args.get("on_commit")
    return f"{name} ({elements})" + (f" ON COMMIT {on_commit}" if on_commit else "")
