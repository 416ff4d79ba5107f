"""CREATE SOURCE over streams that are services, as text."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql import nodes
from reclock.sql.writing import clause, joined, listed, writes


@writes(nodes.ObjectsFrom)
def _objects_from(write: Generator, node: exp.Expression) -> str:
    queue = f", SQS NOTIFICATIONS {write.sql(node, 'queue')}" if node.args.get("queue") else ""
    return joined(
        "S3",
        clause(write, "CONNECTION", node, "connection"),
        "DISCOVER OBJECTS",
        clause(write, "MATCHING", node, "pattern"),
        f"USING BUCKET SCAN {write.sql(node, 'bucket')}{queue}",
        f"COMPRESSION {node.args['compression']}" if node.args.get("compression") else "",
    )


@writes(nodes.KinesisFrom)
def _kinesis_from(write: Generator, node: exp.Expression) -> str:
    connection = clause(write, "CONNECTION", node, "connection")
    if node.args.get("arn"):
        named = (clause(write, "ARN", node, "arn"), clause(write, "ENDPOINT", node, "endpoint"))
        return joined("KINESIS", connection, *named, write.sql(node, "start"))
    options = [clause(write, name.upper(), node, name) for name in ("stream", "region", "endpoint")]
    return joined("KINESIS", connection, f"({', '.join(option for option in options if option)})", write.sql(node, "start"))


@writes(nodes.PubNubFrom)
def _pubnub_from(write: Generator, node: exp.Expression) -> str:
    named = f"PUBNUB SUBSCRIBE KEY {write.sql(node, 'subscribe_key')} CHANNEL {write.sql(node, 'channel')}"
    return joined(named, clause(write, "ORIGIN", node, "origin"))


@writes(nodes.StreamStart)
def _stream_start(write: Generator, node: exp.Expression) -> str:
    numbers = f"SEQUENCE NUMBER ({listed(write, node, 'numbers')})" if node.args.get("numbers") else ""
    return joined("START", node.args["kind"], write.sql(node, "timestamp"), numbers)


@writes(nodes.ShardStart)
def _shard_start(write: Generator, node: exp.Expression) -> str:
    return f"{write.sql(node, 'this')} = {write.sql(node, 'number')}"
