"""The FROM clauses of CREATE SOURCE: what a source reads."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.writing import clause, joined, listed, writes


class ObjectsFrom(exp.Expression):
    """``FROM S3 CONNECTION connection DISCOVER OBJECTS MATCHING pattern USING BUCKET SCAN bucket, SQS NOTIFICATIONS queue``."""

    arg_types: ClassVar[dict[str, bool]] = {
        "connection": False,
        "pattern": False,
        "bucket": True,
        "queue": False,
        "compression": False,
    }


class LoadGeneratorFrom(exp.Expression):
    """``FROM LOAD GENERATOR kind (TICK INTERVAL …, MAX CARDINALITY …, SCALE FACTOR …)``."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "tick_interval": False, "max_cardinality": False, "scale_factor": False}


class KafkaFrom(exp.Expression):
    """``FROM KAFKA BROKER … TOPIC …`` or ``CONNECTION c (TOPIC … | TRANSACTION TOPIC …)``, from ``start_offset`` of each partition,
    or from a time, in milliseconds, and up to an end of either kind."""

    arg_types: ClassVar[dict[str, bool]] = {
        "broker": False,
        "connection": False,
        "topic": False,
        "transactions": False,
        "start_offset": False,
        "start_timestamp": False,
        "end_offset": False,
        "end_timestamp": False,
        "group": False,
    }


class KinesisFrom(exp.Expression):
    """``FROM KINESIS CONNECTION … ARN …``, or ``(STREAM …, REGION …)``; from ``start`` on."""

    arg_types: ClassVar[dict[str, bool]] = {
        "connection": False,
        "arn": False,
        "stream": False,
        "region": False,
        "endpoint": False,
        "start": False,
    }


class PubNubFrom(exp.Expression):
    """``FROM PUBNUB SUBSCRIBE KEY … CHANNEL …``."""

    arg_types: ClassVar[dict[str, bool]] = {"subscribe_key": True, "channel": True, "origin": False}


class StreamStart(exp.Expression):
    """``START kind``: ``TRIM HORIZON``, ``LATEST``, ``TIMESTAMP`` and milliseconds, ``AT`` or ``AFTER`` sequence numbers."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "timestamp": False, "numbers": False}


class ShardStart(exp.Expression):
    """The sequence number of a shard, called by its number."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "number": True}


class PostgresFrom(exp.Expression):
    """``FROM POSTGRES CONNECTION … PUBLICATION …``, read through the replication slot ``slot``. ``connection`` is libpq's
    text, or the name of a connection: then what follows stands in parentheses. ``text_columns`` and ``exclude_columns`` are gone
    once the tables have their columns."""

    arg_types: ClassVar[dict[str, bool]] = {
        "connection": True,
        "publication": True,
        "slot": False,
        "text_columns": False,
        "exclude_columns": False,
    }


@writes(LoadGeneratorFrom)
def _write_load_generator_from(write: Generator, node: exp.Expression) -> str:
    clauses = (
        clause(write, "TICK INTERVAL", node, "tick_interval"),
        clause(write, "MAX CARDINALITY", node, "max_cardinality"),
        clause(write, "SCALE FACTOR", node, "scale_factor"),
    )
    options = ", ".join(clause for clause in clauses if clause)
    return joined("LOAD GENERATOR", node.args["kind"], f"({options})" if options else "")


@writes(KafkaFrom)
def _write_kafka_from(write: Generator, node: exp.Expression) -> str:
    options = (
        clause(write, "TOPIC", node, "topic"),
        clause(write, "TRANSACTION TOPIC", node, "transactions"),
        f"START OFFSET ({listed(write, node, 'start_offset')})" if node.args.get("start_offset") else "",
        clause(write, "START TIMESTAMP", node, "start_timestamp"),
        f"END OFFSET ({listed(write, node, 'end_offset')})" if node.args.get("end_offset") else "",
        clause(write, "END TIMESTAMP", node, "end_timestamp"),
        clause(write, "GROUP ID", node, "group"),
    )
    if node.args.get("connection"):
        return f"KAFKA CONNECTION {write.sql(node, 'connection')} ({', '.join(option for option in options if option)})"
    return joined(f"KAFKA BROKER {write.sql(node, 'broker')}", *options)


@writes(PostgresFrom)
def _write_postgres_from(write: Generator, node: exp.Expression) -> str:
    connection = f"POSTGRES CONNECTION {write.sql(node, 'connection')}"
    columns = [
        f"{kind} COLUMNS ({listed(write, node, name)})" if node.args.get(name) else ""
        for kind, name in (("TEXT", "text_columns"), ("EXCLUDE", "exclude_columns"))
    ]
    options = (f"PUBLICATION {write.sql(node, 'publication')}", clause(write, "SLOT", node, "slot"), *columns)
    if isinstance(node.args["connection"], exp.Table):
        return f"{connection} ({', '.join(option for option in options if option)})"
    return joined(connection, *options)


@writes(ObjectsFrom)
def _write_objects_from(write: Generator, node: exp.Expression) -> str:
    queue = f", SQS NOTIFICATIONS {write.sql(node, 'queue')}" if node.args.get("queue") else ""
    return joined(
        "S3",
        clause(write, "CONNECTION", node, "connection"),
        "DISCOVER OBJECTS",
        clause(write, "MATCHING", node, "pattern"),
        f"USING BUCKET SCAN {write.sql(node, 'bucket')}{queue}",
        f"COMPRESSION {node.args['compression']}" if node.args.get("compression") else "",
    )


@writes(KinesisFrom)
def _write_kinesis_from(write: Generator, node: exp.Expression) -> str:
    connection = clause(write, "CONNECTION", node, "connection")
    if node.args.get("arn"):
        named = (clause(write, "ARN", node, "arn"), clause(write, "ENDPOINT", node, "endpoint"))
        return joined("KINESIS", connection, *named, write.sql(node, "start"))
    options = [clause(write, name.upper(), node, name) for name in ("stream", "region", "endpoint")]
    return joined("KINESIS", connection, f"({', '.join(option for option in options if option)})", write.sql(node, "start"))


@writes(PubNubFrom)
def _write_pubnub_from(write: Generator, node: exp.Expression) -> str:
    named = f"PUBNUB SUBSCRIBE KEY {write.sql(node, 'subscribe_key')} CHANNEL {write.sql(node, 'channel')}"
    return joined(named, clause(write, "ORIGIN", node, "origin"))


@writes(StreamStart)
def _write_stream_start(write: Generator, node: exp.Expression) -> str:
    numbers = f"SEQUENCE NUMBER ({listed(write, node, 'numbers')})" if node.args.get("numbers") else ""
    return joined("START", node.args["kind"], write.sql(node, "timestamp"), numbers)


@writes(ShardStart)
def _write_shard_start(write: Generator, node: exp.Expression) -> str:
    return f"{write.sql(node, 'this')} = {write.sql(node, 'number')}"
