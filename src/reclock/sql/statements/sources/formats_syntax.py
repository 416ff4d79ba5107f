"""The FORMAT clauses of sources and sinks."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import TokenType

from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.writing import clause, comma_list, generates, joined, when, written_as


@written_as(
    "FORMAT CSV [header: WITH HEADER] [WITH {columns} COLUMNS] [DELIMITED BY {delimiter}] "
    "[NULL AS {null_text}]"
)
class CsvFormatClause(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {
        "header": False,
        "columns": False,
        "delimiter": False,
        "null_text": False,
    }


@written_as("FORMAT JSON")
class JsonFormatClause(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {}


@written_as("FORMAT PARQUET")
class ParquetFormatClause(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {}


@written_as("FORMAT {kind}")
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


@written_as("FORMAT PROTOBUF MESSAGE {message} USING SCHEMA {schema}")
class ProtobufFormatClause(exp.Expression):
    """``FORMAT PROTOBUF MESSAGE … USING SCHEMA …``: a schema as protoc compiles it, or the text of
    one."""

    arg_types: ClassVar[dict[str, bool]] = {"message": True, "schema": True}


@written_as("KEY {key} VALUE {value}")
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


@generates(RegistryFormatClause)
def _write_registry_format(write: Generator, node: exp.Expression) -> str:
    options = comma_list(
        clause(write, "AVRO KEY FULLNAME", node, "key_name"),
        clause(write, "AVRO VALUE FULLNAME", node, "value_name"),
        when(node, "null_defaults", "NULL DEFAULTS"),
    )
    return joined(
        f"FORMAT {node.args['kind']}",
        clause(write, "MESSAGE", node, "message"),
        f"USING CONFLUENT SCHEMA REGISTRY CONNECTION {write.sql(node, 'connection')}",
        options and f"({options})",
        clause(write, "SEED SCHEMA", node, "seed"),
    )
