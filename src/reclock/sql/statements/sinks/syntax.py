"""CREATE SINK and ALTER SINK: which relation, into what, and how its changes are written."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import TokenType

from reclock.definitions.sinks import FILE_FORMATS
from reclock.sql.statements.sources.formats_syntax import formats, one_format
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import alters, parses
from reclock.sql.syntax.templates import template
from reclock.sql.syntax.writing import clause, comma_list, generates, joined, written_as


class KafkaInto(exp.Expression):
    """``INTO KAFKA CONNECTION … (…)`` or ``KAFKA BROKER … TOPIC …``; ``is_not_enforced`` takes the
    user's word that no two rows share a key. ``headers`` is a column."""

    arg_types: ClassVar[dict[str, bool]] = {
        "connection": False,
        "broker": False,
        "topic": False,
        "progress_topic": False,
        "partitions": False,
        "replicas": False,
        "compression": False,
        "key": False,
        "is_not_enforced": False,
        "headers": False,
        "format": True,
        "envelope": True,
    }


class DeltaInto(exp.Expression):
    """``INTO DELTA 'path' [CATALOG CONNECTION … [(NAMESPACE …, TABLE …)]]``."""

    arg_types: ClassVar[dict[str, bool]] = {
        "path": True,
        "connection": False,
        "namespace": False,
        "table": False,
    }


@written_as("FILES {path} FORMAT {format}")
class FilesInto(exp.Expression):
    """``INTO FILES 'path' FORMAT …``. ``format`` is ``PARQUET``, ``CSV`` or ``JSON``."""

    arg_types: ClassVar[dict[str, bool]] = {"path": True, "format": True}


@written_as(
    "POSTGRES CONNECTION {connection} (TABLE {table}[, SCHEMA {schema}]) "
    "[KEY ({key}) [is_not_enforced: NOT ENFORCED]]"
)
class PostgresInto(exp.Expression):
    """``INTO POSTGRES CONNECTION … (TABLE …, SCHEMA …) KEY (…)``."""

    arg_types: ClassVar[dict[str, bool]] = {
        "connection": True,
        "table": True,
        "schema": False,
        "key": True,
        "is_not_enforced": False,
    }


@written_as("ICEBERG [CATALOG CONNECTION {connection}] (NAMESPACE {namespace}, TABLE {table})")
class IcebergInto(exp.Expression):
    """``INTO ICEBERG [CATALOG CONNECTION …] (NAMESPACE …, TABLE …)``."""

    arg_types: ClassVar[dict[str, bool]] = {"connection": False, "namespace": True, "table": True}


@written_as("CONTINUING {this} [REPLACING {replaced}] [FROM {previous}]")
class Continuation(exp.Expression):
    """``CONTINUING 'id' [REPLACING 'id' FROM relation]``, which only the catalog has. The target
    was created by the first sink. It holds the rows of ``relation``, which the second sink read,
    until this sink has switched."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "replaced": False, "previous": False}


@written_as(
    "CREATE SINK [exists: IF NOT EXISTS] {this} [IN CLUSTER {cluster}] FROM {on} INTO {target} "
    "[WITH ({options})] {continuation} {as_of}"
)
class CreateSinkStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "exists": False,
        "cluster": False,
        "on": True,
        "target": True,
        "options": False,
        "continuation": False,
        "as_of": False,
    }


@written_as("ALTER SINK [exists: IF EXISTS] {this} SET FROM {on}")
class AlterSinkStatement(Statement):
    """``ALTER SINK … SET FROM``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False, "on": True}


@parses("CREATE SINK")
def create_sink(parser: StatementParser) -> CreateSinkStatement:
    exists = parser.if_not_exists()
    name = parser.object_name()
    cluster = parser.in_cluster()
    parser.expect("FROM")
    on = parser.object_name()
    parser.expect("INTO")
    return CreateSinkStatement(
        this=name,
        exists=exists,
        cluster=cluster,
        on=on,
        target=_target(parser),
        options=parser.wrapped_list(StatementParser.with_option) if parser.accept("WITH") else None,
        continuation=_continuation(parser) if parser.accept("CONTINUING") else None,
        as_of=parser.as_of() if parser.is_as_of() else None,
    )


@alters("SINK")
def alter_sink(parser: StatementParser, name: exp.Table, exists: bool) -> AlterSinkStatement:
    if not parser.accept("SET", "FROM"):
        parser.unsupported("ALTER SINK")
    return AlterSinkStatement(this=name, exists=exists, on=parser.object_name())


def _continuation(parser: StatementParser) -> Continuation:
    creator = parser.text()
    if not parser.accept("REPLACING"):
        return Continuation(this=creator)
    replaced = parser.text()
    parser.expect("FROM")
    return Continuation(this=creator, replaced=replaced, previous=parser.object_name())


def _target(parser: StatementParser) -> exp.Expression:
    if parser.accept("DELTA"):
        return _delta_into(parser)
    if parser.accept("FILES"):
        path = parser.text()
        parser.expect("FORMAT")
        if not parser.accept_any(FILE_FORMATS):
            parser.raise_error(f"Expected {', '.join(FILE_FORMATS)}")
        return FilesInto(path=path, format=parser.last_word)
    if parser.accept("POSTGRES", "CONNECTION"):
        return _postgres_into(parser)
    if parser.accept("ICEBERG"):
        return _iceberg_into(parser)
    if not parser.accept("KAFKA"):
        parser.unsupported("CREATE SINK INTO")
    options: dict[str, object] = {}
    if parser.accept("CONNECTION"):
        options["connection"] = parser.object_name()
        parser.options(
            {
                "TOPIC PARTITION COUNT": lambda: options.update(partitions=parser.integer()),
                "TOPIC REPLICATION FACTOR": lambda: options.update(replicas=parser.integer()),
                "COMPRESSION TYPE": lambda: options.update(compression=parser.text()),
                "TOPIC": lambda: options.update(topic=parser.text()),
                "PROGRESS TOPIC": lambda: options.update(progress_topic=parser.text()),
            }
        )
    else:
        parser.expect("BROKER")
        options["broker"] = parser.text()
        parser.expect("TOPIC")
        options["topic"] = parser.text()
        options["progress_topic"] = parser.text() if parser.accept("PROGRESS", "TOPIC") else None
    key = _key(parser) if parser.sees("KEY", "(") else {}
    headers = parser.name() if parser.accept("HEADERS") else None
    format = formats(parser) or one_format(parser)
    parser.expect("ENVELOPE")
    if not parser.accept_any(("DEBEZIUM", "UPSERT")):
        parser.raise_error("Expected DEBEZIUM or UPSERT")
    return KafkaInto(**options, **key, headers=headers, format=format, envelope=parser.last_word)


def _postgres_into(parser: StatementParser) -> PostgresInto:
    options: dict[str, object] = {"connection": parser.object_name()}
    parser.options(
        {
            "TABLE": lambda: options.update(table=parser.text()),
            "SCHEMA": lambda: options.update(schema=parser.text()),
        }
    )
    if "table" not in options:
        parser.raise_error("Expected TABLE")
    return PostgresInto(**options, **_key(parser))


def _delta_into(parser: StatementParser) -> DeltaInto:
    options: dict[str, object] = {"path": parser.text()}
    if parser.accept("CATALOG", "CONNECTION"):
        options["connection"] = parser.object_name()
        if parser.sees_token(TokenType.L_PAREN):
            _name_in_catalog(parser, options)
    return DeltaInto(**options)


def _name_in_catalog(parser: StatementParser, options: dict[str, object]) -> None:
    parser.options(
        {
            "NAMESPACE": lambda: options.update(namespace=parser.text()),
            "TABLE": lambda: options.update(table=parser.text()),
        }
    )


def _iceberg_into(parser: StatementParser) -> IcebergInto:
    options: dict[str, object] = {}
    if parser.accept("CATALOG", "CONNECTION"):
        options["connection"] = parser.object_name()
    _name_in_catalog(parser, options)
    if len(options.keys() & {"namespace", "table"}) < 2:
        parser.raise_error("Expected NAMESPACE and TABLE")
    return IcebergInto(**options)


def _key(parser: StatementParser) -> dict[str, object]:
    parser.expect("KEY")
    key = parser.wrapped_list(StatementParser.name)
    return {"key": key, "is_not_enforced": parser.accept("NOT", "ENFORCED")}


@generates(KafkaInto)
def _write_kafka_into(write: Generator, node: exp.Expression) -> str:
    topics = [
        clause(write, "TOPIC", node, "topic"),
        clause(write, "PROGRESS TOPIC", node, "progress_topic"),
        clause(write, "TOPIC PARTITION COUNT", node, "partitions"),
        clause(write, "TOPIC REPLICATION FACTOR", node, "replicas"),
        clause(write, "COMPRESSION TYPE", node, "compression"),
    ]
    if node.args.get("connection"):
        where = f"CONNECTION {write.sql(node, 'connection')} ({comma_list(*topics)})"
    else:
        where = joined(f"BROKER {write.sql(node, 'broker')}", *topics)
    return joined(
        f"KAFKA {where}",
        _KEY(write, node),
        clause(write, "HEADERS", node, "headers"),
        write.sql(node, "format"),
        f"ENVELOPE {node.args['envelope']}",
    )


_KEY = template("[KEY ({key}) [is_not_enforced: NOT ENFORCED]]")


@generates(DeltaInto)
def _write_delta_into(write: Generator, node: exp.Expression) -> str:
    name = comma_list(
        clause(write, "NAMESPACE", node, "namespace"), clause(write, "TABLE", node, "table")
    )
    return joined(
        f"DELTA {write.sql(node, 'path')}",
        clause(write, "CATALOG CONNECTION", node, "connection"),
        name and f"({name})",
    )
