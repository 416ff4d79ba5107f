"""The FROM clauses of CREATE SOURCE: what a source reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import TokenType

from reclock.definitions.sources import COMPRESSIONS
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.writing import (
    clause,
    comma_list,
    generates,
    joined,
    list_clause,
    written_as,
)


@written_as(
    "S3 [CONNECTION {connection}] DISCOVER OBJECTS [MATCHING {pattern}] "
    "USING BUCKET SCAN {bucket}[, SQS NOTIFICATIONS {queue}] [COMPRESSION {compression}]"
)
class ObjectsFrom(exp.Expression):
    """``FROM S3 CONNECTION connection DISCOVER OBJECTS MATCHING pattern USING BUCKET SCAN bucket,
    SQS NOTIFICATIONS queue``."""

    arg_types: ClassVar[dict[str, bool]] = {
        "connection": False,
        "pattern": False,
        "bucket": True,
        "queue": False,
        "compression": False,
    }


class LoadGeneratorFrom(exp.Expression):
    """``FROM LOAD GENERATOR kind (TICK INTERVAL …, MAX CARDINALITY …, SCALE FACTOR …)``."""

    arg_types: ClassVar[dict[str, bool]] = {
        "kind": True,
        "tick_interval": False,
        "max_cardinality": False,
        "scale_factor": False,
    }


class KafkaFrom(exp.Expression):
    """``FROM KAFKA BROKER … TOPIC …`` or ``CONNECTION c (TOPIC … | TRANSACTION TOPIC …)``, from
    ``start_offset`` of each partition, or from a time, in milliseconds, and up to an end of either
    kind."""

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


@written_as("PUBNUB SUBSCRIBE KEY {subscribe_key} CHANNEL {channel} [ORIGIN {origin}]")
class PubNubFrom(exp.Expression):
    """``FROM PUBNUB SUBSCRIBE KEY … CHANNEL …``."""

    arg_types: ClassVar[dict[str, bool]] = {"subscribe_key": True, "channel": True, "origin": False}


@written_as("START {kind} {timestamp} [SEQUENCE NUMBER ({numbers})]")
class StreamStart(exp.Expression):
    """``START kind``: ``TRIM HORIZON``, ``LATEST``, ``TIMESTAMP`` and milliseconds, ``AT`` or
    ``AFTER`` sequence numbers."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "timestamp": False, "numbers": False}


@written_as("{this} = {number}")
class ShardStart(exp.Expression):
    """The sequence number of a shard, called by its number."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "number": True}


class PostgresFrom(exp.Expression):
    """``FROM POSTGRES CONNECTION … PUBLICATION …``, read through the replication slot ``slot``.
    ``connection`` is libpq's text, or the name of a connection: then what follows stands in
    parentheses. ``text_columns`` and ``exclude_columns`` are gone once the tables have their
    columns."""

    arg_types: ClassVar[dict[str, bool]] = {
        "connection": True,
        "publication": True,
        "slot": False,
        "text_columns": False,
        "exclude_columns": False,
    }


def _objects(parser: StatementParser) -> ObjectsFrom:
    connection = parser.object_name() if parser.accept("CONNECTION") else None
    parser.expect("DISCOVER", "OBJECTS")
    pattern = parser.text() if parser.accept("MATCHING") else None
    parser.expect("USING")
    options: dict[str, object] = {}
    while True:
        word = "bucket" if parser.accept("BUCKET", "SCAN") else "queue"
        if word == "queue":
            parser.expect("SQS", "NOTIFICATIONS")
        if word in options:
            parser.raise_error(
                "Expected one BUCKET SCAN, and one SQS NOTIFICATIONS at most", parser.last_token
            )
        options[word] = parser.text()
        if not parser.accept_token(TokenType.COMMA):
            break
    if "bucket" not in options:
        parser.raise_error("Expected BUCKET SCAN")
    compression = None
    if parser.accept("COMPRESSION"):
        if not parser.accept_any(COMPRESSIONS):
            parser.raise_error(f"Expected {', '.join(COMPRESSIONS)}")
        compression = parser.last_word
    return ObjectsFrom(connection=connection, pattern=pattern, **options, compression=compression)


def _kinesis(parser: StatementParser) -> KinesisFrom:
    options: dict[str, object] = {}
    if parser.accept("CONNECTION"):
        options["connection"] = parser.object_name()
    if parser.accept("ARN"):
        options["arn"] = parser.text()
        if parser.accept("ENDPOINT"):
            options["endpoint"] = parser.text()
    else:
        if not parser.accept_token(TokenType.L_PAREN):
            parser.raise_error("Expected ARN, or STREAM and REGION in parentheses")
        while True:
            if not parser.accept_any(("STREAM", "REGION", "ENDPOINT")):
                parser.raise_error("Expected STREAM, REGION or ENDPOINT")
            word = parser.last_token.text.lower()
            if word in options:
                parser.raise_error(f"{word.upper()} is given twice", parser.last_token)
            options[word] = parser.text()
            if not parser.accept_token(TokenType.COMMA):
                break
        parser.close_parenthesis()
    return KinesisFrom(**options, start=_stream_start(parser))


def _pubnub(parser: StatementParser) -> PubNubFrom:
    parser.expect("SUBSCRIBE", "KEY")
    key = parser.text()
    parser.expect("CHANNEL")
    channel = parser.text()
    origin = parser.text() if parser.accept("ORIGIN") else None
    return PubNubFrom(subscribe_key=key, channel=channel, origin=origin)


def _stream_start(parser: StatementParser) -> StreamStart | None:
    if not parser.accept("START"):
        return None
    if parser.accept("TRIM", "HORIZON"):
        return StreamStart(kind="TRIM HORIZON")
    if parser.accept("LATEST"):
        return StreamStart(kind="LATEST")
    if parser.accept("TIMESTAMP"):
        return StreamStart(kind="TIMESTAMP", timestamp=parser.integer())
    if not parser.accept_any(("AT", "AFTER")):
        parser.raise_error("Expected TRIM HORIZON, LATEST, TIMESTAMP, AT or AFTER")
    kind = parser.last_word
    parser.expect("SEQUENCE", "NUMBER")
    return StreamStart(kind=kind, numbers=parser.wrapped_list(_shard_start))


def _shard_start(parser: StatementParser) -> ShardStart:
    shard = parser.integer()
    if not parser.accept_token(TokenType.EQ):
        parser.raise_error("Expected =")
    return ShardStart(this=shard, number=parser.integer())


_GENERATORS = ("COUNTER", "AUCTION", "TPCH")


def _load_generator(parser: StatementParser) -> LoadGeneratorFrom:
    if not parser.accept_any(_GENERATORS):
        parser.unsupported("LOAD GENERATOR")
    options: dict[str, exp.Expr | str] = {"kind": parser.last_word}
    if parser.accept_token(TokenType.L_PAREN):
        while True:
            if parser.accept("TICK", "INTERVAL"):
                options["tick_interval"] = parser.text()
            elif parser.accept("MAX", "CARDINALITY"):
                options["max_cardinality"] = parser.integer()
            elif parser.accept("SCALE", "FACTOR"):
                options["scale_factor"] = parser.number() or parser.missing()
            else:
                parser.raise_error("Expected TICK INTERVAL, MAX CARDINALITY or SCALE FACTOR")
            if not parser.accept_token(TokenType.COMMA):
                break
        parser.close_parenthesis()
    return LoadGeneratorFrom(**options)


def _kafka(parser: StatementParser) -> KafkaFrom:
    if parser.accept("CONNECTION"):
        return _kafka_connection(parser)
    parser.expect("BROKER")
    broker = parser.text()
    parser.expect("TOPIC")
    options: dict[str, object] = {"broker": broker, "topic": parser.text()}
    for bound in ("START", "END"):
        if parser.accept(bound, "OFFSET"):
            options[f"{bound.lower()}_offset"] = parser.wrapped_list(StatementParser.integer)
        elif parser.accept(bound, "TIMESTAMP"):
            options[f"{bound.lower()}_timestamp"] = parser.integer()
    if parser.accept("GROUP", "ID"):
        options["group"] = parser.text()
    return KafkaFrom(**options)


def _kafka_connection(parser: StatementParser) -> KafkaFrom:
    options: dict[str, object] = {"connection": parser.object_name()}
    parser.options(
        {
            "TOPIC": lambda: options.update(topic=parser.text()),
            "TRANSACTION TOPIC": lambda: options.update(transactions=parser.text()),
            "START OFFSET": lambda: options.update(
                start_offset=parser.wrapped_list(StatementParser.integer)
            ),
            "START TIMESTAMP": lambda: options.update(start_timestamp=parser.integer()),
            "END OFFSET": lambda: options.update(
                end_offset=parser.wrapped_list(StatementParser.integer)
            ),
            "END TIMESTAMP": lambda: options.update(end_timestamp=parser.integer()),
            "GROUP ID": lambda: options.update(group=parser.text()),
        }
    )
    return KafkaFrom(**options)


def _postgres(parser: StatementParser) -> PostgresFrom:
    parser.expect("CONNECTION")
    if not parser.is_string():
        named: dict[str, object] = {"connection": parser.object_name()}
        parser.options(
            {
                "PUBLICATION": lambda: named.update(publication=parser.text()),
                "SLOT": lambda: named.update(slot=parser.text()),
                "TEXT COLUMNS": lambda: named.update(text_columns=_upstream_columns(parser)),
                "EXCLUDE COLUMNS": lambda: named.update(exclude_columns=_upstream_columns(parser)),
            }
        )
        return PostgresFrom(**named)
    connection = parser.text()
    parser.expect("PUBLICATION")
    publication = parser.text()
    return PostgresFrom(
        connection=connection,
        publication=publication,
        slot=parser.text() if parser.accept("SLOT") else None,
        text_columns=_upstream_columns(parser) if parser.accept("TEXT", "COLUMNS") else None,
        exclude_columns=_upstream_columns(parser) if parser.accept("EXCLUDE", "COLUMNS") else None,
    )


def _upstream_columns(parser: StatementParser) -> list[exp.Column]:
    """``([schema.]table.column, …)``"""
    return list(parser.wrapped_list(_upstream_column))


def _upstream_column(parser: StatementParser) -> exp.Column:
    names = [parser.name()]
    while parser.accept_token(TokenType.DOT):
        names.append(parser.name())
    if not 2 <= len(names) <= 3:
        parser.raise_error("Expected table.column or schema.table.column")
    return exp.Column(this=names[-1], table=names[-2], db=names[0] if len(names) == 3 else None)


_UPSTREAMS: Mapping[str, Callable[[StatementParser], exp.Expression]] = {
    "S3": _objects,
    "KAFKA": _kafka,
    "KINESIS": _kinesis,
    "POSTGRES": _postgres,
    "PUBNUB": _pubnub,
}


def upstream(parser: StatementParser) -> exp.Expression:
    if parser.accept("LOAD", "GENERATOR"):
        return _load_generator(parser)
    if not parser.accept_any(_UPSTREAMS):
        parser.unsupported(
            "CREATE SOURCE FROM",
            hint=f"what follows FROM is {', '.join(_UPSTREAMS)} or LOAD GENERATOR; S3 also reads "
            "files in folders of this machine",
        )
    return _UPSTREAMS[parser.last_word](parser)


@generates(LoadGeneratorFrom)
def _write_load_generator_from(write: Generator, node: exp.Expression) -> str:
    options = comma_list(
        clause(write, "TICK INTERVAL", node, "tick_interval"),
        clause(write, "MAX CARDINALITY", node, "max_cardinality"),
        clause(write, "SCALE FACTOR", node, "scale_factor"),
    )
    return joined("LOAD GENERATOR", node.args["kind"], options and f"({options})")


@generates(KafkaFrom)
def _write_kafka_from(write: Generator, node: exp.Expression) -> str:
    options = (
        clause(write, "TOPIC", node, "topic"),
        clause(write, "TRANSACTION TOPIC", node, "transactions"),
        list_clause(write, "START OFFSET", node, "start_offset"),
        clause(write, "START TIMESTAMP", node, "start_timestamp"),
        list_clause(write, "END OFFSET", node, "end_offset"),
        clause(write, "END TIMESTAMP", node, "end_timestamp"),
        clause(write, "GROUP ID", node, "group"),
    )
    if node.args.get("connection"):
        return f"KAFKA CONNECTION {write.sql(node, 'connection')} ({comma_list(*options)})"
    return joined(f"KAFKA BROKER {write.sql(node, 'broker')}", *options)


@generates(PostgresFrom)
def _write_postgres_from(write: Generator, node: exp.Expression) -> str:
    connection = f"POSTGRES CONNECTION {write.sql(node, 'connection')}"
    options = (
        clause(write, "PUBLICATION", node, "publication"),
        clause(write, "SLOT", node, "slot"),
        list_clause(write, "TEXT COLUMNS", node, "text_columns"),
        list_clause(write, "EXCLUDE COLUMNS", node, "exclude_columns"),
    )
    if isinstance(node.args["connection"], exp.Table):
        return f"{connection} ({comma_list(*options)})"
    return joined(connection, *options)


@generates(KinesisFrom)
def _write_kinesis_from(write: Generator, node: exp.Expression) -> str:
    connection = clause(write, "KINESIS CONNECTION", node, "connection") or "KINESIS"
    endpoint = clause(write, "ENDPOINT", node, "endpoint")
    if node.args.get("arn"):
        stream = joined(clause(write, "ARN", node, "arn"), endpoint)
    else:
        names = clause(write, "STREAM", node, "stream"), clause(write, "REGION", node, "region")
        stream = f"({comma_list(*names, endpoint)})"
    return joined(connection, stream, write.sql(node, "start"))
