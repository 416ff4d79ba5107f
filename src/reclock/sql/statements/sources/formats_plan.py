"""The columns and formats that a source's or sink's clauses describe."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from reclock.algebra.relations import BYTEA, TEXT, Column
from reclock.definitions.connections import SCHEMA_REGISTRY
from reclock.definitions.formats import (
    BytesFormat,
    CsvFormat,
    Format,
    JsonFormat,
    ParquetFormat,
    SchemaFormat,
    TextFormat,
)
from reclock.errors import InvalidOption, SqlSyntaxError
from reclock.sql.names import fold
from reclock.sql.queries.columns import check_columns, check_stored, check_types, declared_column
from reclock.sql.queries.type_names import reject_domain
from reclock.sql.statements.sources.formats_syntax import (
    JsonFormatClause,
    KeyValueFormat,
    ParquetFormatClause,
    PlainFormatClause,
)
from reclock.sql.statements.sources.name_resolver import NameResolver
from reclock.sql.statements.sources.schema_formats import (
    SCHEMA_CLAUSES,
    schema_columns,
    schema_format,
)
from reclock.sql.statements.sources.syntax import CreateSourceStatement

_PLAIN = {TextFormat(): Column("text", TEXT), BytesFormat(): Column("data", BYTEA)}
"""The default name of the column of a format with only one."""


def reject_clauses(node: CreateSourceStatement, subject: str, *arguments: str) -> None:
    clauses = {
        "columns": "columns of its own",
        "include": "INCLUDE",
        "all_tables": "FOR ALL TABLES",
        "tables": "FOR TABLES",
    }
    for argument in arguments:
        if node.args.get(argument):
            raise InvalidOption(f"{subject} has no {clauses.get(argument, argument.upper())}")


def declared_columns(node: exp.Expression) -> tuple[Column, ...]:
    for column in node.args.get("columns") or ():
        reject_domain(column.args["kind"], "a source")
    columns = tuple(
        declared_column(fold(column.this), column.args["kind"], not column.args.get("not_null"))
        for column in node.args.get("columns") or ()
    )
    check_columns([column.name for column in columns])
    check_stored(columns)
    check_types(columns, "a source", lambda type: not type.is_list_or_map)
    return columns


def format_with_schema(clause: exp.Expression, names: NameResolver) -> SchemaFormat:
    return schema_format(clause, names.connection_in(clause, SCHEMA_REGISTRY))


def key_format(
    clause: exp.Expression, names: NameResolver
) -> TextFormat | BytesFormat | SchemaFormat:
    if isinstance(clause, SCHEMA_CLAUSES):
        return replace(format_with_schema(clause, names), is_document=True)
    key = plain_format(clause, 1)
    if not isinstance(key, TextFormat | BytesFormat):
        raise InvalidOption("KEY FORMAT is TEXT, BYTES, AVRO or PROTOBUF")
    return key


def value_columns(
    clause: exp.Expression | None,
    node: CreateSourceStatement,
    names: NameResolver | None = None,
    *,
    of_objects: bool = False,
) -> tuple[Format, tuple[Column, ...]]:
    if isinstance(clause, SCHEMA_CLAUSES):
        reject_clauses(node, "a format with a schema", "columns")
        if names is None:
            raise InvalidOption("a format with a schema is of topics alone")
        of_schema = format_with_schema(clause, names)
        return of_schema, schema_columns(of_schema, node.args.get("envelope"))
    declared = declared_columns(node) if node.args.get("columns") else ()
    if isinstance(clause, ParquetFormatClause) and of_objects:
        return ParquetFormat(), declared
    format = plain_format(clause, len(declared))
    if format not in _PLAIN:
        if isinstance(format, CsvFormat) and format.has_header and not of_objects:
            raise InvalidOption("messages have no header", hint="write FORMAT CSV WITH n COLUMNS")
        return format, declared or declared_columns(node)
    if not declared:
        return format, (_PLAIN[format],)
    if len(declared) != 1 or declared[0].type != _PLAIN[format].type:
        raise InvalidOption(f"this format has one column, of type {_PLAIN[format].type}")
    return format, declared


def plain_format(clause: exp.Expression | None, width: int) -> Format:
    match clause:
        case None:
            raise SqlSyntaxError("a source needs a FORMAT")
        case JsonFormatClause():
            return JsonFormat()
        case PlainFormatClause():
            return TextFormat() if clause.args["kind"] == "TEXT" else BytesFormat()
        case KeyValueFormat():
            raise InvalidOption("only messages have a key and a value")
        case ParquetFormatClause():
            raise InvalidOption("messages cannot be Parquet files")
    counted, delimiter, null_text = (
        clause.args.get(name) for name in ("columns", "delimiter", "null_text")
    )
    if counted is not None and int(counted.name[:9]) != width:
        raise InvalidOption(
            f"FORMAT CSV WITH {counted.name} COLUMNS, but {width} columns are declared"
        )
    mark = delimiter.name if delimiter is not None else ","
    if len(mark) != 1 or not mark.isascii() or mark in '"\r\n':
        raise InvalidOption(
            "the CSV delimiter must be one ASCII character, and no quote or end of line",
            hint="for example DELIMITED BY ';'",
        )
    return CsvFormat(
        bool(clause.args.get("header")), mark, null_text.name if null_text is not None else ""
    )
