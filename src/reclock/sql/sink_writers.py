"""How statements about sinks are written."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql import nodes
from reclock.sql.writing import clause, formats, joined, listed, when, writes


@writes(nodes.KafkaInto)
def _kafka_into(write: Generator, node: exp.Expression) -> str:
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
        formats(write, node),
        f"ENVELOPE {node.args['envelope']}",
    )


@writes(nodes.DeltaInto)
def _delta_into(write: Generator, node: exp.Expression) -> str:
    return f"DELTA {write.sql(node, 'path')}"


@writes(nodes.CreateSinkStatement)
def _create_sink(write: Generator, node: exp.Expression) -> str:
    return joined(
        "CREATE SINK",
        when(node, "exists", "IF NOT EXISTS"),
        write.sql(node, "this"),
        clause(write, "IN CLUSTER", node, "cluster"),
        f"FROM {write.sql(node, 'on')} INTO {write.sql(node, 'target')}",
        f"WITH ({listed(write, node, 'options')})" if node.args.get("options") else "",
        write.sql(node, "as_of"),
    )
