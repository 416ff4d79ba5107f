"""Sources over Kafka, as CREATE SOURCE describes them: over one topic, or over the topics of a
connector that tells its transactions."""

from __future__ import annotations

import re
from typing import TypeAlias

from reclock.algebra.relations import BIGINT, BYTEA, INTEGER, TEXT, TIMESTAMP, Column, RelationDesc
from reclock.definitions.connections import KAFKA, broker
from reclock.definitions.formats import (
    AvroFormat,
    BytesFormat,
    Format,
    JsonFormat,
    SchemaFormat,
    TextFormat,
)
from reclock.definitions.sources import DebeziumConnector, KafkaConnector
from reclock.errors import InvalidOption
from reclock.sql.catalog.definitions import SourceDefinition
from reclock.sql.names import fold
from reclock.sql.queries.columns import check_columns
from reclock.sql.statements.sources.formats_plan import (
    declared_columns,
    format_with_schema,
    key_format,
    reject_clauses,
    value_columns,
)
from reclock.sql.statements.sources.formats_syntax import (
    JsonFormatClause,
    KeyValueFormat,
    RegistryFormatClause,
)
from reclock.sql.statements.sources.name_resolver import NameResolver
from reclock.sql.statements.sources.syntax import CreateSourceStatement
from reclock.sql.statements.sources.upstream_tables import upstream_name
from reclock.sql.statements.sources.upstreams_syntax import KafkaFrom

KeyFormat: TypeAlias = TextFormat | BytesFormat | SchemaFormat

_TOPIC = re.compile(r"[A-Za-z0-9._-]+")

_METADATA = {
    "PARTITION": Column("partition", INTEGER, is_nullable=False),
    "OFFSET": Column("offset", BIGINT, is_nullable=False),
    "TIMESTAMP": Column("timestamp", TIMESTAMP, is_nullable=False),
    "HEADERS": Column("headers", TEXT, is_nullable=False),
}


def define_topic(
    connector: KafkaFrom, node: CreateSourceStatement, names: NameResolver
) -> SourceDefinition:
    """A source over one topic."""
    reject_clauses(node, "a source over a topic", "all_tables", "tables")
    format = node.args.get("format")
    key_node, value_node = (
        (format.args["key"], format.args["value"])
        if isinstance(format, KeyValueFormat)
        else (None, format)
    )
    value, columns = value_columns(value_node, node, names)
    key = key_format(key_node, names) if key_node is not None else None
    envelope = node.args.get("envelope") or "NONE"
    if envelope == "DEBEZIUM":
        reject_clauses(node, "ENVELOPE DEBEZIUM", "include")
        if not isinstance(value, JsonFormat | AvroFormat):
            raise InvalidOption("ENVELOPE DEBEZIUM is of FORMAT JSON or AVRO")
    included = _included(node, key, envelope)
    all_columns = (*columns, *(column for _, column in included))
    # else the columns are yet to come
    if columns or not isinstance(value, SchemaFormat) or value.schema:
        check_columns([column.name for column in all_columns])
    metadata = tuple((kind, column.name) for kind, column in included)
    keys = tuple(name for kind, name in metadata if kind == "KEY")
    return SourceDefinition(
        RelationDesc(all_columns, key=keys if envelope == "UPSERT" else None),
        _upstream(connector, names, key, metadata, envelope),
        value,
    )


def _included(
    node: CreateSourceStatement, key: KeyFormat | None, envelope: str
) -> list[tuple[str, Column]]:
    """The columns of INCLUDE, each with what it has of a message. UPSERT always has the key."""
    clauses = [
        (clause.args["kind"], clause.args.get("alias")) for clause in node.args.get("include") or ()
    ]
    if envelope == "UPSERT" and "KEY" not in [kind for kind, _ in clauses]:
        clauses.insert(0, ("KEY", None))
    included = []
    for kind, alias in clauses:
        if kind == "KEY" and key is None:
            raise InvalidOption(
                "a key is of no use without its format", hint="write KEY FORMAT TEXT VALUE FORMAT …"
            )
        plain = (
            Column("key", BYTEA if isinstance(key, BytesFormat) else TEXT, envelope != "UPSERT")
            if kind == "KEY"
            else _METADATA[kind]
        )
        name = fold(alias) if alias is not None else plain.name
        included.append((kind, Column(name, plain.type, plain.is_nullable)))
    return included


def _upstream(
    connector: KafkaFrom,
    names: NameResolver,
    key: KeyFormat | None,
    metadata: tuple[tuple[str, str], ...],
    envelope: str,
) -> KafkaConnector:
    topic, address = connector.args.get("topic"), connector.text("broker")
    if topic is None or not topic.name or not (connector.args.get("connection") or address):
        raise InvalidOption("the broker and the topic cannot be empty")
    group = connector.args.get("group")
    starts, start_timestamp = _bounds(connector, "start")
    ends, end_timestamp = _bounds(connector, "end")
    if any(start > end for start, end in zip(starts, ends, strict=False)):
        raise InvalidOption("a partition cannot end before it starts")
    return KafkaConnector(
        names.connection_in(connector, KAFKA) or broker(address),
        topic.name,
        starts,
        start_timestamp,
        key,
        metadata,
        envelope,
        group.name if group is not None else None,
        ends,
        end_timestamp,
    )


def _bounds(connector: KafkaFrom, bound: str) -> tuple[tuple[int, ...], int | None]:
    """The offsets by partition, or the time in milliseconds, from which or up to which the topic is
    read."""
    offsets = connector.args.get(f"{bound}_offset") or ()
    timestamp = connector.args.get(f"{bound}_timestamp")
    if offsets and timestamp is not None:
        raise InvalidOption(
            f"{bound.upper()} OFFSET and {bound.upper()} TIMESTAMP exclude each other"
        )
    return tuple(int(offset.name[:19]) for offset in offsets), int(
        timestamp.name[:19]
    ) if timestamp is not None else None


def define_transactions(
    connector: KafkaFrom, node: CreateSourceStatement, names: NameResolver
) -> SourceDefinition:
    """The tables of a connector that tells its transactions."""
    reject_clauses(node, "a transaction topic", "columns", "include", "all_tables")
    topic = connector.args["transactions"].name
    for argument in (
        "topic",
        "start_offset",
        "start_timestamp",
        "end_offset",
        "end_timestamp",
        "group",
    ):
        if connector.args.get(argument):
            raise InvalidOption(
                f"a TRANSACTION TOPIC does not go with {argument.replace('_', ' ').upper()}"
            )
    if "." not in topic:
        raise InvalidOption(
            f'"{topic}" is not the name of a transaction topic', hint="it is <prefix>.transaction"
        )
    format = _transactions_format(node, names)
    tables: dict[str, RelationDesc] = {}
    for table in node.args.get("tables") or ():
        name = upstream_name(table)
        if not _TOPIC.fullmatch(name):
            raise InvalidOption(f'table "{name}" cannot have a topic')
        if name in tables:
            raise InvalidOption(f'table "{name}" is named twice')
        # the registry has them
        is_open = isinstance(format, AvroFormat) and not table.args.get("columns")
        tables[name] = RelationDesc(() if is_open else declared_columns(table))
    if not tables:
        raise InvalidOption(
            "a connector has several tables", hint="add FOR TABLES (schema.table (columns), …)"
        )
    connection = names.connection(connector.args["connection"], KAFKA)
    return SourceDefinition(RelationDesc(()), DebeziumConnector(connection, topic), format, tables)


def _transactions_format(
    node: CreateSourceStatement, names: NameResolver
) -> JsonFormat | AvroFormat:
    clause = node.args.get("format")
    format: Format | None = JsonFormat()
    if isinstance(clause, RegistryFormatClause):
        format = format_with_schema(clause, names)
    elif not isinstance(clause, JsonFormatClause):
        format = None
    if node.args.get("envelope") != "DEBEZIUM" or not isinstance(format, JsonFormat | AvroFormat):
        raise InvalidOption("transactions are told in FORMAT JSON or AVRO, ENVELOPE DEBEZIUM")
    if isinstance(format, AvroFormat) and format.schema:
        raise InvalidOption(
            "the topics of a connector have a schema each", hint="leave SEED SCHEMA out"
        )
    return format
