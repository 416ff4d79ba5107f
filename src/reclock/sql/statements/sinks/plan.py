"""CREATE SINK: the described target, checked against the relation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from pathlib import PurePosixPath

from sqlglot import exp

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import Column, TypeName
from reclock.algebra.timestamps import Timestamp
from reclock.catalog.objects import Item, ItemType
from reclock.definitions.connections import (
    HIVE,
    ICEBERG,
    KAFKA,
    POSTGRES,
    SCHEMA_REGISTRY,
    broker,
)
from reclock.definitions.sinks import (
    COMPRESSIONS,
    ROW,
    Avro,
    DeltaTarget,
    Envelope,
    FilesTarget,
    IcebergTarget,
    Json,
    KafkaTarget,
    Plain,
    PostgresTarget,
    TableRegistration,
    Target,
)
from reclock.errors import InvalidOption, UnsupportedSql, quoted_name
from reclock.plan.relational import Get, collections
from reclock.plan.temporal import check_maintainable
from reclock.sql.catalog.definitions import Continued, SinkDefinition
from reclock.sql.catalog.entries import RelationEntry, SinkEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName, SessionNames, cluster_identifier, fold, nearest, parts
from reclock.sql.planning.definitions import chosen_cluster, definition_text, skip_existing
from reclock.sql.planning.registry import Skipped, plans, plans_item
from reclock.sql.queries.index_keys import column_positions
from reclock.sql.queries.session_views import check_shared
from reclock.sql.queries.views import expand
from reclock.sql.statements.query.as_of import plan_as_of
from reclock.sql.statements.sinks.column_types import check_column_types
from reclock.sql.statements.sinks.syntax import (
    CreateSinkStatement,
    DeltaInto,
    FilesInto,
    IcebergInto,
    KafkaInto,
    PostgresInto,
)
from reclock.sql.statements.sources.formats_syntax import (
    JsonFormatClause,
    KeyValueFormat,
    PlainFormatClause,
    RegistryFormatClause,
)
from reclock.sql.statements.sources.name_resolver import NameResolver
from reclock.sql.syntax.consumption import tracked_copy

SINK_OPTIONS = frozenset({"snapshot"})
"""The options of a sink in WITH."""

_PROGRESS = "reclock-progress"

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
"""A name in a path of the warehouse."""

_HIVE_NAME = re.compile(r"[a-z0-9_]+", re.ASCII)
"""A name in a Hive metastore, which folds the others."""

_FULL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*", re.ASCII)


@plans(CreateSinkStatement)
def create_sink(
    node: CreateSinkStatement, catalog: PlannerCatalog, session: SessionNames
) -> CreateSink | Skipped:
    name = catalog.locate(parts(node.this), session)
    skipped = skip_existing(node, name, ItemType.SINK, catalog)
    if skipped is not None:
        return skipped
    if node.args.get("continuation") is not None:
        raise UnsupportedSql(
            "CONTINUING is not supported in a statement",
            hint="leave it out: it describes what ALTER SINK did to another sink",
        )
    on, groups = sink_input(node.args["on"], catalog, session)
    cluster_id = chosen_cluster(node, catalog, session)
    normal = tracked_copy(node)
    sink = define_sink(normal, on, catalog, session)
    for existing_sink in catalog.sinks():
        if _overlap(existing_sink.sink.target, sink.target):
            raise InvalidOption(
                f"sink {quoted_name(existing_sink.name)} writes there already",
                hint="drop it, or write somewhere else",
            )
    as_of = (
        plan_as_of(node.args["as_of"], session.parameters)
        if node.args.get("as_of") is not None
        else None
    )
    if as_of is not None and as_of.is_at_least:
        raise UnsupportedSql(
            "AS OF AT LEAST is not supported for a sink", hint="without AS OF it begins now"
        )
    normal.set("exists", None)
    normal.set("as_of", None)
    normal.set("this", name.to_table())
    normal.set("on", on.name.to_table())
    normal.set("cluster", cluster_identifier(catalog.cluster_name(cluster_id)))
    if isinstance(sink.target, KafkaTarget):
        normal.args["target"].set("progress_topic", exp.Literal.string(sink.target.progress_topic))
    begins = as_of.at if as_of is not None else None
    return CreateSink(
        name,
        definition_text(normal),
        on.id,
        sink,
        cluster_id,
        frozenset({on.id}) | sink.uses,
        begins,
        groups,
    )


def sink_input(
    name: exp.Table, catalog: PlannerCatalog, session: SessionNames
) -> tuple[RelationEntry, frozenset[str]]:
    """The relation that a sink is to read, and the frontier groups of its inputs. Raises
    ``UnsupportedSql`` if no sink can read it."""
    on = catalog.resolve(parts(name), session)
    if on.is_system:
        raise UnsupportedSql("a sink from a system relation is not supported")
    plan = expand(Get(on.collection, str(on.name), on.desc), catalog)
    check_shared(plan)
    check_maintainable(plan)
    inputs = collections(plan)
    if any((entry := catalog.entry(id.source_id)) is None or entry.is_system for id in inputs):
        raise UnsupportedSql("a sink from a view over system relations is not supported")
    return on, frozenset(id.group for id in inputs)


def define_sink(
    node: CreateSinkStatement, on: RelationEntry, catalog: PlannerCatalog, session: SessionNames
) -> SinkDefinition:
    """The target, and whether the existing rows come first. Qualifies the connection that ``node``
    names.

    Raises for invalid keys, paths and options.
    """
    names = NameResolver(catalog, session)
    target = _target(node.args["target"], on, names)
    check_column_types(on.desc.exported.columns, target)
    with_snapshot = True
    for option in node.args.get("options") or ():
        name, value = fold(option.this), option.args["value"]
        if name not in SINK_OPTIONS:
            raise InvalidOption(
                f'unknown option "{name}"',
                hint=nearest(name, SINK_OPTIONS) or "the option of a sink is snapshot",
            )
        if not isinstance(value, exp.Boolean):
            raise InvalidOption("SNAPSHOT is true or false")
        with_snapshot = bool(value.this)
    if not with_snapshot and not isinstance(target, KafkaTarget | FilesTarget):
        raise InvalidOption("a table holds every row: its sink begins with a snapshot")
    return SinkDefinition(target, with_snapshot, frozenset(names.used), _continued(node, catalog))


def _continued(node: CreateSinkStatement, catalog: PlannerCatalog) -> Continued | None:
    continuation = node.args.get("continuation")
    if continuation is None:
        return None
    creator = GlobalId(continuation.this.name)
    if continuation.args.get("replaced") is None:
        return Continued(creator)
    previous = catalog.resolve(parts(continuation.args["previous"]), SessionNames())
    return Continued(creator, GlobalId(continuation.args["replaced"].name), previous.id)


def _overlap(first_target: Target, second_target: Target) -> bool:
    """Whether two targets overlap. A topic takes any number of sinks, but a table only one."""
    folders = DeltaTarget | FilesTarget
    if isinstance(first_target, folders) and isinstance(second_target, folders):
        first, second = sorted(
            (PurePosixPath(first_target.path), PurePosixPath(second_target.path)),
            key=lambda path: len(path.parts),
        )
        return second.is_relative_to(first)
    if isinstance(first_target, PostgresTarget) and isinstance(second_target, PostgresTarget):
        return replace(first_target, key=()) == replace(second_target, key=())
    if isinstance(first_target, IcebergTarget) and isinstance(second_target, IcebergTarget):
        return first_target == second_target
    return False


@singledispatch
def _target(into: exp.Expression, on: RelationEntry, names: NameResolver) -> Target:
    raise NotImplementedError(type(into).__name__)


@_target.register
def _(into: DeltaInto, on: RelationEntry, names: NameResolver) -> Target:
    path = relative_path(into.args["path"].name, "Delta table", "sinks")
    if not on.desc.columns:
        raise InvalidOption("a Delta table has at least one column")
    connection = names.connection_in(into, HIVE)
    if connection is None:
        return DeltaTarget(path)
    namespace, table = (
        into.args[part].name if into.args.get(part) is not None else None
        for part in ("namespace", "table")
    )
    for name in (namespace, table):
        if name is not None and not _HIVE_NAME.fullmatch(name):
            raise InvalidOption(
                f'"{name}" is no name of a table or namespace in a metastore',
                hint="small letters, digits and _",
            )
    return DeltaTarget(path, TableRegistration(connection, namespace or "", table or ""))


@_target.register
def _(into: FilesInto, on: RelationEntry, names: NameResolver) -> Target:
    path = relative_path(into.args["path"].name, "folder", "sinks")
    return FilesTarget(path, into.args["format"])


def relative_path(path_text: str, kind: str, setting: str) -> str:
    """The path of a target below the folder that ``setting`` names. Raises ``InvalidOption``."""
    path = PurePosixPath(path_text)
    if (
        not path_text
        or "://" in path_text
        or "\\" in path_text
        or path.is_absolute()
        or ".." in path.parts
        or str(path) in ("", ".")
    ):
        raise InvalidOption(
            f'"{path_text}" is no path of a {kind}',
            hint=f"a relative path, such as 'reports/daily': it lies below the setting {setting}",
        )
    return str(path)


@_target.register
def _(into: KafkaInto, on: RelationEntry, names: NameResolver) -> Target:
    addresses, topic, progress_name = (
        into.args[name].name if into.args.get(name) is not None else ""
        for name in ("broker", "topic", "progress_topic")
    )
    progress_topic = (
        progress_name if into.args.get("progress_topic") is not None else f"{topic}-{_PROGRESS}"
    )
    has_broker = into.args.get("connection") or addresses
    if not has_broker or not topic or progress_topic in ("", topic):
        raise InvalidOption(
            "the broker and the topic cannot be empty, and progress has a topic of its own"
        )
    envelope, key = Envelope(into.args["envelope"]), _key(into, on)
    if envelope is Envelope.UPSERT and not key:
        raise InvalidOption(
            "ENVELOPE UPSERT needs a KEY", hint="KEY (…) names the columns that tell the rows apart"
        )
    connection = names.connection_in(into, KAFKA) or broker(addresses)
    format, key_format = _formats(into, names)
    if isinstance(key_format, Plain):
        _check_plain([column for column in on.desc.columns if column.name in key], key_format.kind)
    if (
        isinstance(format, Avro)
        and envelope is Envelope.DEBEZIUM
        and format.name.rpartition(".")[2] == ROW
    ):
        raise InvalidOption(
            f'the record inside an event is called "{ROW}"',
            hint="AVRO VALUE FULLNAME names that around it",
        )
    partitions, replicas = (_count(into, name) for name in ("partitions", "replicas"))
    compression = (
        into.args["compression"].name.lower() if into.args.get("compression") is not None else "lz4"
    )
    if compression not in COMPRESSIONS:
        raise InvalidOption(
            f'unknown compression type "{compression}"', hint=f"one of {', '.join(COMPRESSIONS)}"
        )
    return KafkaTarget(
        connection,
        topic,
        progress_topic,
        key,
        envelope,
        format,
        key_format,
        partitions,
        replicas,
        compression=compression,
        headers=_headers(into, on, key),
    )


@_target.register
def _(into: PostgresInto, on: RelationEntry, names: NameResolver) -> Target:
    schema = into.args["schema"].name if into.args.get("schema") is not None else "public"
    table = into.args["table"].name
    if not schema or not table:
        raise InvalidOption("the names of the table and its schema cannot be empty")
    key = _key(into, on)
    return PostgresTarget(names.connection(into.args["connection"], POSTGRES), schema, table, key)


@_target.register
def _(into: IcebergInto, on: RelationEntry, names: NameResolver) -> Target:
    namespace, table = into.args["namespace"].name, into.args["table"].name
    for name in (namespace, table):
        if not _PLAIN_NAME.fullmatch(name):
            raise InvalidOption(
                f'"{name}" is no name of an Iceberg table or namespace',
                hint="letters, digits, - and _",
            )
    if not on.desc.columns:
        raise InvalidOption("an Iceberg table has at least one column")
    return IcebergTarget(names.connection_in(into, ICEBERG), namespace, table)


def _key(into: KafkaInto | PostgresInto, on: RelationEntry) -> tuple[str, ...]:
    """The columns in KEY. Raises ``InvalidOption`` if rows may agree in them."""
    columns = [fold(column) for column in into.args.get("key") or ()]
    key = tuple(on.desc.names[index] for index in column_positions(columns, on.desc))
    is_unique = bool(on.desc.key is not None and set(on.desc.key) <= set(key))
    if key and not is_unique and not into.args.get("is_not_enforced"):
        raise InvalidOption(
            f"rows of {quoted_name(on.name)} may agree in ({', '.join(key)})",
            hint=(
                "if they never do, write KEY (…) NOT ENFORCED: the sink stalls should two "
                "meet at one time"
            ),
        )
    return key


def _headers(into: KafkaInto, on: RelationEntry, key: Sequence[str]) -> str:
    """The column of HEADERS, or ``""``."""
    if into.args.get("headers") is None:
        return ""
    [index] = column_positions([fold(into.args["headers"])], on.desc)
    column = on.desc.columns[index]
    if column.type.name not in (TypeName.TEXT, TypeName.JSONB):
        raise InvalidOption(
            f'the column of HEADERS is text or jsonb, and "{column.name}" is {column.type}',
            hint="such as jsonb_build_object('trace', trace_id)",
        )
    if column.name in key or len(on.desc.columns) == 1:
        raise InvalidOption(
            f'column "{column.name}" cannot be HEADERS and also the key or the value'
        )
    return column.name


def _count(into: KafkaInto, name: str) -> int:
    """A positive number, or -1 for the broker's default."""
    if into.args.get(name) is None:
        return -1
    digits = into.args[name].name
    if not 0 < int(digits[:9]) < 2**15 or len(digits) > 9:
        raise InvalidOption(f"{digits} is no number of {name}")
    return int(digits)


def _formats(into: KafkaInto, names: NameResolver) -> tuple[Json | Avro, Json | Avro | Plain]:
    """The formats of values and of keys."""
    clause = into.args["format"]
    key, value = (
        (clause.args["key"], clause.args["value"])
        if isinstance(clause, KeyValueFormat)
        else (clause, clause)
    )
    if not into.args.get("key") and (key is not value or key.args.get("key_name") is not None):
        raise InvalidOption(
            "the messages of this sink have no key",
            hint="KEY (…) names the columns that tell the rows apart",
        )
    of_value = _format(value, "value_name", "envelope", names)
    if of_value is None:
        raise UnsupportedSql(
            "the format of a sink into Kafka is JSON or AVRO",
            hint="KEY FORMAT may also be TEXT or BYTES",
        )
    return of_value, _format(key, "key_name", ROW, names) or Plain(key.args["kind"])


def _format(
    clause: exp.Expression, name: str, default: str, names: NameResolver
) -> Json | Avro | None:
    """The format that the clause describes; None for a key without fields."""
    match clause:
        case JsonFormatClause():
            return Json()
        case PlainFormatClause():
            return None
        case RegistryFormatClause() if clause.args["kind"] == "AVRO":
            if clause.args.get("seed") is not None:
                raise InvalidOption(
                    "a sink has the schema of its relation", hint="leave out SEED SCHEMA"
                )
            full = clause.args[name].name if clause.args.get(name) is not None else default
            if not _FULL_NAME.fullmatch(full):
                raise InvalidOption(
                    f'"{full}" is no full name of Avro\'s', hint="such as 'shop.orders.Order'"
                )
            registry = names.connection(clause.args["connection"], SCHEMA_REGISTRY)
            return Avro(registry, full, bool(clause.args.get("null_defaults")))
        case _:
            raise UnsupportedSql(
                "the format of a sink into Kafka is JSON or AVRO",
                hint="KEY FORMAT may also be TEXT or BYTES",
            )


def _check_plain(key: Sequence[Column], kind: str) -> None:
    """Raises ``InvalidOption`` unless a key of these columns can be plain text or bytes."""
    if len(key) != 1 or (key[0].type.name is TypeName.BYTEA) != (kind == "BYTES"):
        of = "bytea" if kind == "BYTES" else "any type but bytea"
        raise InvalidOption(f"a KEY in FORMAT {kind} is one column of {of}")
    if key[0].is_nullable:
        raise InvalidOption(
            f'column "{key[0].name}" may be NULL, which no key in FORMAT {kind} can say',
            hint="KEY FORMAT JSON can",
        )


@dataclass(frozen=True, slots=True)
class CreateSink:
    name: QualifiedName
    create_sql: str
    on: GlobalId
    sink: SinkDefinition
    cluster_id: int
    depends_on: frozenset[GlobalId]
    as_of: Timestamp | None = None
    """The time at which it begins, if the statement has one."""
    inputs: frozenset[str] = frozenset()
    """The frontier groups of its inputs."""
    tag: str = "CREATE SINK"


@plans_item(CreateSinkStatement)
def sink_entry(
    node: CreateSinkStatement, item: Item, name: QualifiedName, catalog: PlannerCatalog
) -> SinkEntry:
    on = catalog.resolve(parts(node.args["on"]), SessionNames())
    cluster_id = catalog.cluster_id(fold(node.args["cluster"]))
    sink = define_sink(node, on, catalog, SessionNames())
    return SinkEntry(item.id, name, on.id, cluster_id, sink, item.create_sql or "")
