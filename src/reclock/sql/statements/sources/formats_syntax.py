"""The FORMAT clauses of sources and sinks."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import TokenType

from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.writing import clause, generates, joined, when


class CsvFormatClause(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {
        "header": False,
        "columns": False,
        "delimiter": False,
        "null_text": False,
    }


class JsonFormatClause(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {}


class ParquetFormatClause(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {}


class PlainFormatClause(exp.Expression):
    """``kind`` is ``TEXT`` or ``BYTES``."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True}


class RegistryFormatClause(exp.Expression):
    """``kind`` is ``AVRO`` or ``PROTOBUF``, which has a ``message``; ``connection`` leads to the
    registry; ``seed`` is the schema, once it is known. What a sink writes has the full names
    ``key_name`` and ``value_name``, and, if it is said, NULL as default."""

    arg_types: ClassVar[dict[str, bool]] = {
        "kind": True,
        "connection": True,
        "seed": False,
        "message": False,
        "key_name": False,
        "value_name": False,
        "null_defaults": False,
    }


class ProtobufFormatClause(exp.Expression):
    """``FORMAT PROTOBUF MESSAGE … USING SCHEMA …``: a schema as protoc compiles it, or the text of
    one."""

    arg_types: ClassVar[dict[str, bool]] = {"message": True, "schema": True}


class KeyValueFormat(exp.Expression):
    """``KEY FORMAT … VALUE FORMAT …``."""

    arg_types: ClassVar[dict[str, bool]] = {"key": True, "value": True}


def formats(parser: StatementParser) -> exp.Expression | None:
    if parser.accept("KEY"):
        key = one_format(parser)
        parser.expect("VALUE")
        return KeyValueFormat(key=key, value=one_format(parser))
    return one_format(parser) if parser.sees("FORMAT") else None


def one_format(parser: StatementParser) -> exp.Expression:
    parser.expect("FORMAT")
    if parser.accept("JSON"):
        return JsonFormatClause()
    if parser.accept("PARQUET"):
        return ParquetFormatClause()
    if parser.accept_any(("TEXT", "BYTES")):
        return PlainFormatClause(kind=parser.last_word)
    if parser.accept_any(("AVRO", "PROTOBUF")):
        return _schema_format(parser, parser.last_word)
    if not parser.accept("CSV"):
        parser.unsupported(
            "FORMAT", hint="the formats are AVRO, BYTES, CSV, JSON, PARQUET, PROTOBUF and TEXT"
        )
    header, columns = False, None
    if parser.accept("WITH", "HEADER"):
        header = True
    elif parser.token.text.upper() == "WITH" and parser.next_token.token_type == TokenType.NUMBER:
        parser.advance()
        columns = parser.integer()
        parser.expect("COLUMNS")
    delimiter = parser.text() if parser.accept("DELIMITED", "BY") else None
    null_text = parser.text() if parser.accept("NULL", "AS") else None
    return CsvFormatClause(header=header, columns=columns, delimiter=delimiter, null_text=null_text)


def _schema_format(parser: StatementParser, kind: str) -> exp.Expression:
    message = parser.text() if kind == "PROTOBUF" and parser.accept("MESSAGE") else None
    parser.expect("USING")
    if message is not None and parser.accept("SCHEMA"):
        return ProtobufFormatClause(message=message, schema=parser.text())
    parser.expect("CONFLUENT", "SCHEMA", "REGISTRY", "CONNECTION")
    options: dict[str, object] = {"connection": parser.object_name()}
    if kind == "AVRO" and parser.sees_token(TokenType.L_PAREN):
        parser.options(
            {
                "AVRO KEY FULLNAME": lambda: options.update(key_name=parser.text()),
                "AVRO VALUE FULLNAME": lambda: options.update(value_name=parser.text()),
                "NULL DEFAULTS": lambda: options.update(null_defaults=_is_on(parser)),
            }
        )
    seed = parser.text() if parser.accept("SEED", "SCHEMA") else None
    return RegistryFormatClause(kind=kind, message=message, seed=seed, **options)


def _is_on(parser: StatementParser) -> bool:
    """A boolean option, which is on if it has no value."""
    return not (parser.accept_any(("TRUE", "FALSE")) and parser.last_word == "FALSE")


def write_formats(write: Generator, node: exp.Expression) -> str:
    """``FORMAT …``, or those of keys and values, if the node has it."""
    format_clause = node.args.get("format")
    return (
        write.sql(format_clause)
        if isinstance(format_clause, KeyValueFormat)
        else clause(write, "FORMAT", node, "format")
    )


@generates(CsvFormatClause)
def _write_csv_format(write: Generator, node: exp.Expression) -> str:
    columns = f"WITH {write.sql(node, 'columns')} COLUMNS" if node.args.get("columns") else ""
    return joined(
        "CSV",
        when(node, "header", "WITH HEADER"),
        columns,
        clause(write, "DELIMITED BY", node, "delimiter"),
        clause(write, "NULL AS", node, "null_text"),
    )


@generates(JsonFormatClause)
def _write_json_format(write: Generator, node: exp.Expression) -> str:
    return "JSON"


@generates(ParquetFormatClause)
def _write_parquet_format(write: Generator, node: exp.Expression) -> str:
    return "PARQUET"


@generates(PlainFormatClause)
def _write_plain_format(write: Generator, node: exp.Expression) -> str:
    return str(node.args["kind"])


@generates(KeyValueFormat)
def _write_key_value_format(write: Generator, node: exp.Expression) -> str:
    return f"KEY FORMAT {write.sql(node, 'key')} VALUE FORMAT {write.sql(node, 'value')}"


@generates(RegistryFormatClause)
def _write_registry_format(write: Generator, node: exp.Expression) -> str:
    kind = joined(node.args["kind"], clause(write, "MESSAGE", node, "message"))
    using = f"{kind} USING CONFLUENT SCHEMA REGISTRY CONNECTION {write.sql(node, 'connection')}"
    options = [
        clause(write, "AVRO KEY FULLNAME", node, "key_name"),
        clause(write, "AVRO VALUE FULLNAME", node, "value_name"),
        when(node, "null_defaults", "NULL DEFAULTS"),
    ]
    option_list = ", ".join(option for option in options if option)
    return joined(
        using, f"({option_list})" if option_list else "", clause(write, "SEED SCHEMA", node, "seed")
    )


@generates(ProtobufFormatClause)
def _write_protobuf_format(write: Generator, node: exp.Expression) -> str:
    return f"PROTOBUF MESSAGE {write.sql(node, 'message')} USING SCHEMA {write.sql(node, 'schema')}"
