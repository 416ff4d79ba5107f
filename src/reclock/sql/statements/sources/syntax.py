"""CREATE SOURCE and ALTER SOURCE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import TokenType

from reclock.errors import UnsupportedSql
from reclock.sql.statements.sources.formats_syntax import (
    ParquetFormatClause,
    PlainFormatClause,
    formats,
)
from reclock.sql.statements.sources.upstreams_syntax import ObjectsFrom, upstream
from reclock.sql.statements.tables.constraints_syntax import (
    TableConstraint,
    column_constraint,
    constraint_name,
    is_table_constraint,
    table_constraint,
)
from reclock.sql.syntax import nodes
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import alters, parses
from reclock.sql.syntax.writing import generates, written_as


@written_as("RETAIN HISTORY FOR {this}")
class RetainHistoryClause(exp.Expression):
    """``RETAIN HISTORY FOR this`` among the options of a source."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


@written_as("{this} {kind} [not_null: NOT NULL]")
class SourceColumn(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True, "not_null": False}


@written_as("{kind} [AS {alias}]")
class Metadata(exp.Expression):
    """A column of ``INCLUDE``: ``kind`` is ``KEY``, ``PARTITION``, ``OFFSET``, ``TIMESTAMP`` or
    ``HEADERS``."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "alias": False}


@written_as(
    "[{schema}.]{this} [AS {alias}] [({columns})] [KEY ({key})] [OID {oid}] [ENTRY ({entries})]"
)
class SubsourceOf(exp.Expression):
    """A table of the upstream in ``FOR TABLES``; the name of its subsource, if it is another; its
    columns, and the key by which it is replicated, its number there, and those of its entries in
    the publication, once they are known."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "schema": False,
        "alias": False,
        "columns": False,
        "key": False,
        "oid": False,
        "entries": False,
    }


@written_as(
    "CREATE [materialized: MATERIALIZED] SOURCE [exists: IF NOT EXISTS] {this} "
    "[IN CLUSTER {cluster}] [({columns}[, {constraints}])] FROM {connector} {format} [INCLUDE {include}] "
    "[ENVELOPE {envelope}] [all_tables: FOR ALL TABLES] [FOR TABLES ({tables})] "
    "[EXPOSE PROGRESS AS {progress}] [WITH ({options})]"
)
class CreateSourceStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "exists": False,
        "materialized": False,
        "cluster": False,
        "columns": False,
        "constraints": False,
        "connector": True,
        "format": False,
        "include": False,
        "envelope": False,
        "all_tables": False,
        "tables": False,
        "progress": False,
        "options": False,
    }


@written_as("CREATE SUBSOURCE {this} FROM SOURCE {source} TABLE {table}")
class CreateSubsourceStatement(Statement):
    """The text of a subsource in the catalog: ``table`` is its name upstream."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "source": True, "table": True}


@written_as("ALTER SOURCE {this} RETRY")
class AlterSourceRetryStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True}


@written_as("ALTER SOURCE {this} RESNAPSHOT")
class AlterSourceResnapshotStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True}


@written_as("ALTER SOURCE {this} WAIVE {check}")
class AlterSourceWaiveStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "check": True}


@written_as("FROM {this} TO {upper}")
class SkippedOffsets(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "upper": True}


@written_as("{this} [{ranges}]")
class SkippedPartition(exp.Expression):
    """A partition in ``SKIP``, with its ``SkippedOffsets``; without any, all of it."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "ranges": False}


@written_as("ALTER SOURCE {this} SKIP {partitions}")
class AlterSourceSkipStatement(Statement):
    """``partitions`` are ``SkippedPartition``s."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "partitions": True}


@written_as("ALTER SOURCE {this} RESTART {partitions}")
class AlterSourceRestartStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "partitions": True}


def option_name(option: exp.Expression) -> str:
    """The words of an option of a source, in upper case."""
    return "RETAIN HISTORY" if isinstance(option, RetainHistoryClause) else option.name.upper()


class AlterSourceOptionStatement(Statement):
    """``option`` is a ``RetainHistoryClause`` or ``WithOption``, or nothing to reset the option
    ``name``, whose words are in upper case."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "name": True, "option": False}


_METADATA = ("KEY", "PARTITION", "OFFSET", "TIMESTAMP", "HEADERS")


@parses("CREATE [MATERIALIZED] SOURCE")
def create_source(parser: StatementParser) -> CreateSourceStatement:
    materialized = "MATERIALIZED" in parser.phrase
    exists = parser.if_not_exists()
    name = parser.object_name()
    cluster = parser.in_cluster() if materialized else None
    columns, constraints = _columns_and_constraints(parser)
    place = parser.token
    parser.expect("FROM")
    created = CreateSourceStatement(
        this=name,
        exists=exists,
        materialized=materialized,
        cluster=cluster,
        columns=columns,
        constraints=constraints,
        connector=upstream(parser),
        format=formats(parser),
        include=parser.comma_list(_metadata) if parser.accept("INCLUDE") else None,
        envelope=_envelope(parser),
        **_subsources(parser),
        progress=parser.object_name() if parser.accept("EXPOSE", "PROGRESS", "AS") else None,
        options=parser.wrapped_list(_option) if parser.accept("WITH") else None,
    )
    has_columns = isinstance(created.args["format"], PlainFormatClause | ParquetFormatClause)
    if columns is None and isinstance(created.args["connector"], ObjectsFrom) and not has_columns:
        parser.raise_error("Expected the list of columns", place)
    return created


@parses("CREATE SUBSOURCE")
def create_subsource(parser: StatementParser) -> CreateSubsourceStatement:
    name = parser.object_name()
    parser.expect("FROM", "SOURCE")
    source = parser.object_name()
    parser.expect("TABLE")
    return CreateSubsourceStatement(this=name, source=source, table=parser.text())


def _columns_and_constraints(
    parser: StatementParser,
) -> tuple[list[SourceColumn] | None, list[TableConstraint] | None]:
    if not parser.sees_token(TokenType.L_PAREN):
        return None, None
    place = parser.token
    elements = [element for several in parser.wrapped_list(_elements) for element in several]
    columns = [element for element in elements if isinstance(element, SourceColumn)]
    constraints = [element for element in elements if isinstance(element, TableConstraint)]
    if constraints and not columns:
        raise UnsupportedSql(
            "CHECK constraints of a source are over columns that it declares",
            hint="list the columns with their types before the constraints",
        )
    if not columns:
        parser.raise_error("Expected a column", place)
    return columns, constraints or None


def _elements(parser: StatementParser) -> Sequence[SourceColumn | TableConstraint]:
    """A column and its constraints, or a constraint of the source."""
    if is_table_constraint(parser):
        return [_check(table_constraint(parser))]
    column = _typed_column(parser)
    constraints = []
    is_null_declared = False
    while parser.token and parser.token.token_type not in (TokenType.COMMA, TokenType.R_PAREN):
        name = constraint_name(parser)
        if name is None and not is_null_declared and _accept_null(parser, column):
            is_null_declared = True
        elif (constraint := column_constraint(parser, name, column.this)) is not None:
            constraints.append(_check(constraint))
        else:
            parser.raise_error("Expected NOT NULL, NULL, CHECK, a comma or the end of the columns")
    return [column, *constraints]


def _check(constraint: TableConstraint) -> TableConstraint:
    if constraint.args["kind"] != "CHECK":
        raise UnsupportedSql(f"{constraint.args['kind']} constraints of sources are not supported")
    return constraint


def _column(parser: StatementParser) -> SourceColumn:
    """A column of a subsource."""
    column = _typed_column(parser)
    _accept_null(parser, column)
    if parser.accept("CHECK") or constraint_name(parser) is not None:
        raise UnsupportedSql("constraints on the tables of a source are not supported")
    return column


def _typed_column(parser: StatementParser) -> SourceColumn:
    name = parser.name()
    kind = parser.data_type()
    if kind is None:
        parser.raise_error("Expected a type")
    return SourceColumn(this=name, kind=kind, not_null=False)


def _accept_null(parser: StatementParser, column: SourceColumn) -> bool:
    """Whether NOT NULL or NULL is next. It is read into the column."""
    if parser.accept("NOT", "NULL"):
        column.set("not_null", True)
        return True
    return bool(parser.accept("NULL"))


def _metadata(parser: StatementParser) -> Metadata:
    if not parser.accept_any(_METADATA):
        parser.raise_error(f"Expected {', '.join(_METADATA[:-1])} or {_METADATA[-1]}")
    kind = parser.last_word
    return Metadata(
        kind=kind, alias=parser.name() if parser.accept_token(TokenType.ALIAS) else None
    )


def _envelope(parser: StatementParser) -> str | None:
    if not parser.accept("ENVELOPE"):
        return None
    if not parser.accept_any(("NONE", "UPSERT", "DEBEZIUM")):
        parser.unsupported("ENVELOPE")
    return parser.last_word


def _subsources(parser: StatementParser) -> dict[str, object]:
    if not parser.accept("FOR"):
        return {}
    if parser.accept("ALL"):
        parser.expect("TABLES")
        return {"all_tables": True}
    parser.expect("TABLES")
    return {"tables": parser.wrapped_list(_subsource)}


def _subsource(parser: StatementParser) -> SubsourceOf:
    schema, table = None, parser.name()
    if parser.accept_token(TokenType.DOT):
        schema, table = table, parser.name()
    alias = parser.object_name() if parser.accept_token(TokenType.ALIAS) else None
    columns = parser.wrapped_list(_column) if parser.sees_token(TokenType.L_PAREN) else None
    key = parser.wrapped_list(StatementParser.name) if columns and parser.accept("KEY") else None
    oid = parser.number() if columns and parser.accept("OID") else None
    entries = (
        parser.wrapped_list(StatementParser.number) if oid and parser.accept("ENTRY") else None
    )
    return SubsourceOf(
        this=table, schema=schema, alias=alias, columns=columns, key=key, oid=oid, entries=entries
    )


def _option(parser: StatementParser) -> nodes.WithOption | RetainHistoryClause:
    if parser.accept("RETAIN", "HISTORY"):
        return _retain_history(parser)
    return parser.with_option()


def _retain_history(parser: StatementParser) -> RetainHistoryClause:
    parser.accept_token(TokenType.EQ)
    parser.accept("FOR")
    return RetainHistoryClause(this=parser.text())


@alters("SOURCE")
def alter_source(parser: StatementParser, name: exp.Table, exists: bool) -> Statement:
    if exists:
        parser.raise_error("Expected RENAME TO")
    match parser.accept_first("RETRY", "RESNAPSHOT", "WAIVE", "RESTART", "SKIP", "SET", "RESET"):
        case "RETRY":
            return AlterSourceRetryStatement(this=name)
        case "RESNAPSHOT":
            return AlterSourceResnapshotStatement(this=name)
        case "WAIVE":
            return AlterSourceWaiveStatement(this=name, check=parser.text())
        case "RESTART":
            partitions = [parser.text()]
            while parser.accept_token(TokenType.COMMA):
                partitions.append(parser.text())
            return AlterSourceRestartStatement(this=name, partitions=partitions)
        case "SKIP":
            return _skip(parser, name)
        case "SET":
            return _alter_option(parser, name, is_set=True)
        case "RESET":
            return _alter_option(parser, name, is_set=False)
        case _:
            return parser.raise_error(
                "Expected RETRY, RESNAPSHOT, RESTART, WAIVE, SKIP, SET, RESET or RENAME TO"
            )


def _skip(parser: StatementParser, name: exp.Table) -> AlterSourceSkipStatement:
    """``SKIP 'a' FROM 1 TO 2, FROM 7 TO 9, 'b', …``: a range without a partition before it is one of
    the partition before."""
    partitions = [SkippedPartition(this=parser.text())]
    if parser.accept("FROM"):
        partitions[-1].append("ranges", _skipped_offsets(parser))
    while parser.accept_token(TokenType.COMMA):
        is_range = bool(partitions[-1].args.get("ranges")) and parser.accept("FROM")
        if not is_range:
            partitions.append(SkippedPartition(this=parser.text()))
        if is_range or parser.accept("FROM"):
            partitions[-1].append("ranges", _skipped_offsets(parser))
    return AlterSourceSkipStatement(this=name, partitions=partitions)


def _skipped_offsets(parser: StatementParser) -> SkippedOffsets:
    """What follows ``FROM``."""
    lower = parser.integer()
    parser.expect("TO")
    return SkippedOffsets(this=lower, upper=parser.integer())


def _alter_option(
    parser: StatementParser, name: exp.Table, *, is_set: bool
) -> AlterSourceOptionStatement:
    """``SET (RETAIN HISTORY FOR …)``, ``RESET (REJECT_LIMIT)``."""
    parser.open_parenthesis()
    option = _option(parser) if is_set else None
    if isinstance(option, nodes.WithOption):
        changed = option.name.upper()
    elif option is not None or parser.accept("RETAIN"):
        changed = "RETAIN HISTORY"
        if option is None:
            parser.expect("HISTORY")
    else:
        changed = parser.name().name.upper()
    parser.close_parenthesis()
    return AlterSourceOptionStatement(this=name, name=changed, option=option)


@generates(AlterSourceOptionStatement)
def _write_option(write: Generator, node: exp.Expression) -> str:
    option = write.sql(node, "option")
    change = f"SET ({option})" if option else f"RESET ({node.args['name']})"
    return f"ALTER SOURCE {write.sql(node, 'this')} {change}"
