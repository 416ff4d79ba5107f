"""CREATE SINK: which relation, into what, and how its changes are written."""

from __future__ import annotations

from typing import ClassVar, NoReturn

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.statements.sources.formats_syntax import formats, one_format, write_formats
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import alters, parses
from reclock.sql.syntax.writing import clause, generates, joined, listed, when


class KafkaInto(exp.Expression):
    """``INTO KAFKA CONNECTION … (…)`` or ``KAFKA BROKER … TOPIC …``; ``is_not_enforced`` takes the
    user's word that no two rows share a key."""

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
        "format": True,
        "envelope": True,
    }


class DeltaInto(exp.Expression):
    """``INTO DELTA 'path'``."""

    arg_types: ClassVar[dict[str, bool]] = {"path": True}


class CreateSinkStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "exists": False,
        "cluster": False,
        "on": True,
        "target": True,
        "options": False,
        "as_of": False,
    }


@parses("CREATE SINK")
def create_sink(parser: StatementParser, words: tuple[str, ...]) -> CreateSinkStatement:
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
        as_of=parser.as_of() if parser.is_as_of() else None,
    )


@alters("SINK")
def alter_sink(parser: StatementParser, name: exp.Table, exists: bool) -> NoReturn:
    parser.unsupported("ALTER SINK")


def _target(parser: StatementParser) -> exp.Expression:
    if parser.accept("DELTA"):
        return DeltaInto(path=parser.text())
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
    key, is_not_enforced = None, False
    if parser.sees("KEY", "("):
        parser.expect("KEY")
        key = parser.wrapped_list(StatementParser.name)
        is_not_enforced = bool(parser.accept("NOT", "ENFORCED"))
    if parser.sees("HEADERS"):
        parser.unsupported("CREATE SINK")
    format = formats(parser) or one_format(parser)
    parser.expect("ENVELOPE")
    if not parser.accept_any(("DEBEZIUM", "UPSERT")):
        parser.raise_error("Expected DEBEZIUM or UPSERT")
    return KafkaInto(
        **options,
        key=key,
        is_not_enforced=is_not_enforced,
        format=format,
        envelope=parser.last_word,
    )


@generates(KafkaInto)
def _write_kafka_into(write: Generator, node: exp.Expression) -> str:
    topics = [f"TOPIC {write.sql(node, 'topic')}"]
    if node.args.get("progress_topic"):
        topics.append(clause(write, "PROGRESS TOPIC", node, "progress_topic"))
    topics += [
        clause(write, "TOPIC PARTITION COUNT", node, "partitions"),
        clause(write, "TOPIC REPLICATION FACTOR", node, "replicas"),
        clause(write, "COMPRESSION TYPE", node, "compression"),
    ]
    topics = [topic for topic in topics if topic]
    if node.args.get("connection"):
        where = f"CONNECTION {write.sql(node, 'connection')} ({', '.join(topics)})"
    else:
        where = joined(f"BROKER {write.sql(node, 'broker')}", *topics)
    return joined(
        f"KAFKA {where}",
        f"KEY ({listed(write, node, 'key')})" if node.args.get("key") else "",
        when(node, "is_not_enforced", "NOT ENFORCED"),
        write_formats(write, node),
        f"ENVELOPE {node.args['envelope']}",
    )


@generates(DeltaInto)
def _write_delta_into(write: Generator, node: exp.Expression) -> str:
    return f"DELTA {write.sql(node, 'path')}"


@generates(CreateSinkStatement)
def _write_create_sink(write: Generator, node: exp.Expression) -> str:
    return joined(
        "CREATE SINK",
        when(node, "exists", "IF NOT EXISTS"),
        write.sql(node, "this"),
        clause(write, "IN CLUSTER", node, "cluster"),
        f"FROM {write.sql(node, 'on')} INTO {write.sql(node, 'target')}",
        f"WITH ({listed(write, node, 'options')})" if node.args.get("options") else "",
        write.sql(node, "as_of"),
    )
