"""CREATE SINK: what it says of its target, checked against the relation."""

from __future__ import annotations

from functools import singledispatch
from pathlib import PurePosixPath

from sqlglot import exp

from reclock.catalog.objects import ItemType
from reclock.compute.plan import Get, collections
from reclock.errors import InvalidOption, UnsupportedSql
from reclock.sinks.description import Avro, DeltaTarget, Envelope, Json, KafkaTarget, Target
from reclock.sources.connections import KAFKA, SCHEMA_REGISTRY, broker
from reclock.sql import nodes
from reclock.sql.catalog import PlannerCatalog, RelationEntry, nearest
from reclock.sql.names import SessionNames, cluster_identifier, fold, parts
from reclock.sql.planner.as_of import plan_as_of
from reclock.sql.planner.columns import check_stored
from reclock.sql.planner.create import chosen_cluster, skip_existing, stored
from reclock.sql.planner.index_keys import column_positions
from reclock.sql.planner.sources import Names
from reclock.sql.planner.views import expand
from reclock.sql.statements import CreateSink, SinkDefinition, Skipped

SINK_OPTIONS = frozenset({"snapshot"})
"""What WITH may say of a sink."""

_PROGRESS = "reclock-progress"


def create_sink(node: nodes.CreateSinkStatement, catalog: PlannerCatalog, session: SessionNames) -> CreateSink | Skipped:
    name = catalog.locate(parts(node.this), session)
    skipped = skip_existing(node, name, ItemType.SINK, catalog)
    if skipped is not None:
        return skipped
    on = catalog.resolve(parts(node.args["on"]), session)
    if on.is_system or on.type is ItemType.SOURCE_PROGRESS:
        raise UnsupportedSql("a sink from a system or progress relation is not supported")
    inputs = collections(expand(Get(on.collection, str(on.name), on.desc), catalog))
    if any((entry := catalog.entry(id.source_id)) is None or entry.is_system for id in inputs):
        raise UnsupportedSql("a sink from a view over system relations is not supported")
    check_stored(on.desc.columns)
    cluster_id = chosen_cluster(node, catalog, session)
    normal = node.copy()
    sink = define_sink(normal, on, catalog, session)
    for other in catalog.sinks():
        if _overlap(other.sink.target, sink.target):
            raise InvalidOption(f'sink "{other.name}" writes there already', hint="drop it, or write somewhere else")
    as_of = plan_as_of(node.args["as_of"], session.parameters) if node.args.get("as_of") is not None else None
    if as_of is not None and as_of.is_at_least:
        raise UnsupportedSql("AS OF AT LEAST is not supported for a sink", hint="without AS OF it begins now")
    normal.set("exists", None)
    normal.set("as_of", None)
    normal.set("this", name.to_table())
    normal.set("on", on.name.to_table())
    normal.set("cluster", cluster_identifier(catalog.cluster_name(cluster_id)))
    if isinstance(sink.target, KafkaTarget):
        normal.args["target"].set("progress_topic", exp.Literal.string(sink.target.progress_topic))
    groups = frozenset(id.group for id in inputs)
    begins = as_of.at if as_of is not None else None
    return CreateSink(name, stored(normal), on.id, sink, cluster_id, frozenset({on.id}) | sink.uses, begins, groups)


def define_sink(
    node: nodes.CreateSinkStatement, on: RelationEntry, catalog: PlannerCatalog, session: SessionNames
) -> SinkDefinition:
    """The target, and whether the rows there are come first. The connection that ``node`` names is then qualified in it.

    Raises for keys, paths or options that cannot be.
    """
    names = Names(catalog, session)
    target = _target(node.args["target"], on, names)
    with_snapshot = True
    for option in node.args.get("options") or ():
        name, value = fold(option.this), option.args["value"]
        if name not in SINK_OPTIONS:
            raise InvalidOption(f'unknown option "{name}"', hint=nearest(name, SINK_OPTIONS) or "the option of a sink is snapshot")
        if not isinstance(value, exp.Boolean):
            raise InvalidOption("SNAPSHOT is true or false")
        with_snapshot = bool(value.this)
    if not with_snapshot and isinstance(target, DeltaTarget):
        raise InvalidOption("a Delta table holds every row: its sink begins with a snapshot")
    return SinkDefinition(target, with_snapshot, frozenset(names.used))


def _overlap(one: Target, other: Target) -> bool:
    """A topic takes any number of sinks; the folder of a Delta table is its own, whole."""
    if isinstance(one, DeltaTarget) and isinstance(other, DeltaTarget):
        first, second = sorted((PurePosixPath(one.path), PurePosixPath(other.path)), key=lambda path: len(path.parts))
        return second.is_relative_to(first)
    return False


@singledispatch
def _target(into: exp.Expression, on: RelationEntry, names: Names) -> Target:
    raise NotImplementedError(type(into).__name__)


@_target.register
def _(into: nodes.DeltaInto, on: RelationEntry, names: Names) -> Target:
    written = into.args["path"].name
    path = PurePosixPath(written)
    if not written or "://" in written or "\\" in written or path.is_absolute() or ".." in path.parts or str(path) in ("", "."):
        raise InvalidOption(
            f'"{written}" is no path of a Delta table',
            hint="a relative path, such as 'reports/daily': it lies below the setting sinks",
        )
    if not on.desc.columns:
        raise InvalidOption("a Delta table has at least one column")
    return DeltaTarget(str(path))


@_target.register
def _(into: nodes.KafkaInto, on: RelationEntry, names: Names) -> Target:
    named = into.args.get("connection")
    addresses, topic, written = (
        into.args[name].name if into.args.get(name) is not None else "" for name in ("broker", "topic", "progress_topic")
    )
    progress_topic = written if into.args.get("progress_topic") is not None else f"{topic}-{_PROGRESS}"
    if not (named or addresses) or not topic or not progress_topic or progress_topic == topic:
        raise InvalidOption("the broker and the topic cannot be empty, and progress has a topic of its own")
    envelope = Envelope(into.args["envelope"])
    key = tuple(on.desc.names[i] for i in column_positions([fold(column) for column in into.args.get("key") or ()], on.desc))
    if envelope is Envelope.UPSERT and not key:
        raise InvalidOption("ENVELOPE UPSERT needs a KEY", hint="KEY (…) names the columns that tell the rows apart")
    is_unique = bool(on.desc.key is not None and set(on.desc.key) <= set(key))
    if key and not is_unique and not into.args.get("is_not_enforced"):
        raise InvalidOption(
            f'rows of "{on.name}" may agree in ({", ".join(key)})',
            hint="if they never do, write KEY (…) NOT ENFORCED: the sink stalls should two meet at one time",
        )
    connection = names.connection(named, KAFKA) if named is not None else broker(addresses)
    return KafkaTarget(connection, topic, progress_topic, key, envelope, _format(into.args["format"], names))


def _format(clause: exp.Expression, names: Names) -> Json | Avro:
    match clause:
        case nodes.JsonFormatClause():
            return Json()
        case nodes.RegistryFormatClause() if clause.args["kind"] == "AVRO":
            if clause.args.get("seed") is not None:
                raise InvalidOption("a sink has the schema of its relation", hint="leave out SEED SCHEMA")
            return Avro(names.connection(clause.args["connection"], SCHEMA_REGISTRY))
        case _:
            raise UnsupportedSql("the format of a sink into Kafka is JSON or AVRO")
