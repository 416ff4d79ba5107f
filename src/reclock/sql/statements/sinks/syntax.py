"""CREATE SINK: which relation, into what, and how its changes are written."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.statements.sources.formats_syntax import write_formats
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.writing import clause, joined, listed, when, writes


class KafkaInto(exp.Expression):
    """``INTO KAFKA CONNECTION … (…)`` or ``KAFKA BROKER … TOPIC …``; ``is_not_enforced`` takes the user's word that no two rows
    share a key."""

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


@writes(KafkaInto)
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


@writes(DeltaInto)
def _write_delta_into(write: Generator, node: exp.Expression) -> str:
    return f"DELTA {write.sql(node, 'path')}"


@writes(CreateSinkStatement)
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
