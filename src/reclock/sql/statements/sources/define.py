"""The upstream that CREATE SOURCE describes, as values. One function for each connector."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import singledispatch

from sqlglot import exp

from reclock.algebra.relations import BIGINT, NAME, TEXT, TIMESTAMP, Column, RelationDesc
from reclock.algebra.timestamps import moment
from reclock.connectors.objects.patterns import compile_pattern
from reclock.definitions.connections import AWS, POSTGRES
from reclock.definitions.formats import ObjectFormat, ParquetFormat
from reclock.definitions.load_generators import GENERATED
from reclock.definitions.sources import (
    KafkaConnector,
    KinesisConnector,
    LoadGenerator,
    ObjectsConnector,
    PostgresConnector,
    PublishedTable,
    Upstream,
)
from reclock.errors import FOUND_RECORDS, InvalidOption, UnsupportedSql
from reclock.sql.catalog.definitions import SourceDefinition
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, fold, nearest
from reclock.sql.queries.columns import check_columns
from reclock.sql.statements.sources.formats_plan import (
    declared_columns,
    reject_clauses,
    value_columns,
)
from reclock.sql.statements.sources.guests import host_of
from reclock.sql.statements.sources.name_resolver import NameResolver
from reclock.sql.statements.sources.streams import kinesis_connector, pubnub_connector
from reclock.sql.statements.sources.syntax import CreateSourceStatement, RetainHistoryClause
from reclock.sql.statements.sources.topics import define_topic, define_transactions
from reclock.sql.statements.sources.upstream_tables import upstream_name
from reclock.sql.statements.sources.upstreams_syntax import (
    KafkaFrom,
    KinesisFrom,
    LoadGeneratorFrom,
    ObjectsFrom,
    PostgresFrom,
    PubNubFrom,
)
from reclock.sql.syntax.dialect import to_sql

SOURCE_OPTIONS = frozenset({"start", "reject_limit"})
"""The options of a source in WITH."""


_QUEUE = re.compile(r"[A-Za-z0-9_-]{0,80}")

_STREAM_METADATA = {
    "KEY": Column("key", TEXT, is_nullable=False),
    "PARTITION": Column("shard_id", BIGINT, is_nullable=False),
    "OFFSET": Column("sequence_number", TEXT, is_nullable=False),
    "TIMESTAMP": Column("timestamp", TIMESTAMP, is_nullable=False),
}


def define_source(
    node: CreateSourceStatement, catalog: PlannerCatalog, session: SessionNames
) -> SourceDefinition:
    """The described source. Qualifies the connection that ``node`` names. Raises for invalid
    columns, formats and options."""
    options: dict[str, str] = {}
    retain_ms = None
    for option in node.args.get("options") or ():
        if isinstance(option, RetainHistoryClause):
            if retain_ms is not None:
                raise InvalidOption("option RETAIN HISTORY is given twice")
            retain_ms = duration_ms(option.this.name)
            continue
        name = fold(option.this)
        if name not in SOURCE_OPTIONS:
            known_options = (
                f"options are {', '.join(sorted(SOURCE_OPTIONS)).upper()} and RETAIN HISTORY"
            )
            raise InvalidOption(
                f'unknown option "{name}"', hint=nearest(name, SOURCE_OPTIONS) or known_options
            )
        if name in options:
            raise InvalidOption(f'option "{name}" is given twice')
        options[name] = option.args["value"].name or to_sql(option.args["value"])
    names = NameResolver(catalog, session)
    definition = _define(node.args["connector"], node, names)
    host = host_of(definition.connector, definition.format, catalog)
    source = replace(definition, depends_on=frozenset(names.used), retain_ms=retain_ms, host=host)
    if "reject_limit" in options:
        source = replace(
            source, reject_limit=reject_limit(source.connector, options["reject_limit"])
        )
    if "start" not in options:
        return source
    if source.connector.lacks_history:
        raise InvalidOption(
            "this source cannot START in the past", detail=source.connector.lacks_history
        )
    return replace(source, start=moment(options["start"]))


def reject_limit(connector: Upstream, text: str) -> int:
    """The value of REJECT_LIMIT. Raises ``InvalidOption``."""
    has_changes = isinstance(connector, KafkaConnector) and connector.envelope == "DEBEZIUM"
    if has_changes or not isinstance(
        connector, ObjectsConnector | KafkaConnector | KinesisConnector
    ):
        raise InvalidOption(
            "this source cannot have a REJECT_LIMIT",
            detail="it is possible for objects, Kafka and Kinesis, without ENVELOPE DEBEZIUM",
        )
    if not text.isdecimal() or not 1 <= int(text) <= FOUND_RECORDS:
        raise InvalidOption(f"REJECT_LIMIT must be a number from 1 to {FOUND_RECORDS}")
    return int(text)


@singledispatch
def _define(
    connector: exp.Expression, node: CreateSourceStatement, names: NameResolver
) -> SourceDefinition:
    raise NotImplementedError(type(connector).__name__)


@_define.register
def _(connector: ObjectsFrom, node: CreateSourceStatement, names: NameResolver) -> SourceDefinition:
    reject_clauses(node, "a source over objects", "include", "envelope", "all_tables", "tables")
    format, columns = value_columns(node.args.get("format"), node, of_objects=True)
    if not isinstance(format, ObjectFormat):
        raise InvalidOption("a source over objects is of FORMAT CSV, JSON, PARQUET, TEXT or BYTES")
    is_parquet = isinstance(format, ParquetFormat)
    if is_parquet and connector.args.get("compression"):
        raise InvalidOption(
            "Parquet files have no COMPRESSION around them",
            hint="leave COMPRESSION out: the pages within a file may be compressed",
        )
    pattern = connector.args["pattern"].name if connector.args.get("pattern") else "**"
    compile_pattern(pattern)
    if not connector.args["bucket"].name:
        raise InvalidOption("the name of a bucket cannot be empty")
    queue = _queue(connector)
    upstream = ObjectsConnector(
        connector.args["bucket"].name,
        pattern,
        "NONE" if is_parquet else connector.args.get("compression") or "AUTO",
        names.connection_in(connector, AWS),
        queue,
        has_row_offsets=is_parquet,
    )
    return SourceDefinition(RelationDesc(columns), upstream, format)


def _queue(connector: ObjectsFrom) -> str:
    """The queue of notifications about new objects; empty without one."""
    queue = connector.args["queue"].name if connector.args.get("queue") else ""
    if queue and connector.args.get("connection") is None:
        raise InvalidOption(
            "notifications are read over a connection",
            hint="FROM S3 CONNECTION c DISCOVER OBJECTS …",
        )
    if not _QUEUE.fullmatch(queue):
        raise InvalidOption(
            f'"{queue}" is not the name of a queue', hint="its name, not its URL or ARN"
        )
    return str(queue)


@_define.register
def _(
    connector: LoadGeneratorFrom, node: CreateSourceStatement, names: NameResolver
) -> SourceDefinition:
    reject_clauses(node, "a load generator", "columns", "format", "include", "envelope")
    kind, interval, most = (
        connector.args.get(name) for name in ("kind", "tick_interval", "max_cardinality")
    )
    if most is not None and (kind != "COUNTER" or not int(most.name[:19]) > 0):
        raise InvalidOption("MAX CARDINALITY is of COUNTER alone, and greater than 0")
    scale = connector.args.get("scale_factor")
    if scale is not None and (kind != "TPCH" or not 0 < float(scale.name[:19]) <= 100):
        raise InvalidOption("SCALE FACTOR is of TPCH alone, greater than 0 and at most 100")
    upstream = LoadGenerator(
        str(kind),
        duration_ms(interval.name) if interval is not None else 0 if kind == "TPCH" else 1000,
        int(most.name) if most is not None else None,
        float(scale.name) if scale is not None else 0.01,
    )
    tables = GENERATED[upstream.kind]
    if "" in tables:
        reject_clauses(node, f"LOAD GENERATOR {kind}", "all_tables", "tables")
        return SourceDefinition(tables[""], upstream, None)
    table_names = (
        list(tables)
        if node.args.get("all_tables")
        else [fold(table.this) for table in node.args.get("tables") or ()]
    )
    if not table_names:
        raise InvalidOption(
            f"LOAD GENERATOR {kind} has several tables", hint="add FOR ALL TABLES or FOR TABLES (…)"
        )
    for i, table in enumerate(table_names):
        if table not in tables or table in table_names[:i]:
            raise InvalidOption(
                f'table "{table}" is not there, or named twice', hint=nearest(table, tables)
            )
    return SourceDefinition(
        RelationDesc(()), upstream, None, {table: tables[table] for table in table_names}
    )


@_define.register
def _(connector: KafkaFrom, node: CreateSourceStatement, names: NameResolver) -> SourceDefinition:
    if connector.args.get("transactions") is not None:
        return define_transactions(connector, node, names)
    return define_topic(connector, node, names)


@_define.register
def _(connector: KinesisFrom, node: CreateSourceStatement, names: NameResolver) -> SourceDefinition:
    reject_clauses(node, "a source over a stream", "all_tables", "tables")
    if node.args.get("envelope") not in (None, "NONE"):
        raise InvalidOption("records of a stream do not replace each other", hint="ENVELOPE NONE")
    value, columns = value_columns(node.args.get("format"), node)
    included = []
    for clause in node.args.get("include") or ():
        plain = _STREAM_METADATA.get(clause.args["kind"])
        if plain is None:
            raise InvalidOption(f"records of a stream have no {clause.args['kind']}")
        name = fold(clause.args["alias"]) if clause.args.get("alias") is not None else plain.name
        included.append((clause.args["kind"], Column(name, plain.type, plain.is_nullable)))
    all_columns = (*columns, *(column for _, column in included))
    check_columns([column.name for column in all_columns])
    upstream = kinesis_connector(
        connector,
        tuple((kind, column.name) for kind, column in included),
        names.connection_in(connector, AWS),
    )
    return SourceDefinition(RelationDesc(all_columns), upstream, value)


@_define.register
def _(connector: PubNubFrom, node: CreateSourceStatement, names: NameResolver) -> SourceDefinition:
    reject_clauses(
        node, "a channel", "columns", "format", "include", "envelope", "all_tables", "tables"
    )
    return SourceDefinition(
        RelationDesc((Column("text", TEXT, is_nullable=False),)), pubnub_connector(connector), None
    )


@_define.register
def _(
    connector: PostgresFrom, node: CreateSourceStatement, names: NameResolver
) -> SourceDefinition:
    """Before it is carried out, the slot and every table with its columns are written into the
    statement (``adapter.purify``)."""
    reject_clauses(node, "a publication", "columns", "format", "include", "envelope")
    tables: dict[str, RelationDesc] = {}
    for table in node.args.get("tables") or ():
        name = upstream_name(table)
        if name in tables:
            raise InvalidOption(f'table "{name}" is named twice')
        key = tuple(fold(column) for column in table.args.get("key") or ()) or None
        columns = declared_columns(table) if table.args.get("columns") else ()
        if any(column.limit not in (None, NAME) for column in columns):
            raise UnsupportedSql(
                "the columns of a publication have no lengths",
                hint="use text: its server checks them",
            )
        tables[name] = RelationDesc(columns, key)
    if not tables and not node.args.get("all_tables"):
        raise InvalidOption(
            "a publication has several tables", hint="add FOR ALL TABLES or FOR TABLES (…)"
        )
    if connector.args.get("publication") is None:
        raise InvalidOption(
            "the name of a publication is missing",
            hint="FROM POSTGRES CONNECTION c (PUBLICATION '…')",
        )
    connection_node, publication = connector.args["connection"], connector.args["publication"].name
    connection = (
        names.connection(connection_node, POSTGRES)
        if isinstance(connection_node, exp.Table)
        else connection_node.name
    )
    slot = connector.args["slot"].name if connector.args.get("slot") is not None else ""
    known_tables = tuple(
        PublishedTable(
            upstream_name(table),
            int(table.args["oid"].name),
            tuple(int(n.name) for n in table.args["entries"] or ()),
        )
        for table in node.args.get("tables") or ()
        if table.args.get("oid")
    )
    return SourceDefinition(
        RelationDesc(()),
        PostgresConnector(connection, publication, slot, known_tables),
        None,
        tables,
    )


# --- what they have in common ---


_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_UNITS_MS |= {
    "second": 1000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 7 * 86_400_000,
}


def duration_ms(text: str) -> int:
    """``1s``, ``500ms``, ``2 min``, ``30 days``. Raises ``InvalidOption``."""
    digits = text.strip().rstrip("abcdefghijklmnopqrstuvwxyz ")
    unit = text.strip()[len(digits) :].strip()
    unit_ms = _UNITS_MS.get(unit) or _UNITS_MS.get(unit.removesuffix("s"))
    if not (digits.isascii() and digits.isdigit()) or unit_ms is None or not int(digits[:12]) > 0:
        raise InvalidOption(
            f'invalid interval "{text}"', hint="for example '500ms', '1s', '5m' or '30 days'"
        )
    return int(digits[:12]) * unit_ms
