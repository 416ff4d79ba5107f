"""The lineage of sources, views and sinks, from the catalog: datasets, and columns from the
plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import singledispatch
from typing import Any
from urllib.parse import urlsplit

import structlog

from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.relations import RelationDesc
from reclock.config import Settings
from reclock.controllers.implied import sink_spec, source_spec
from reclock.definitions.connections import Connection
from reclock.definitions.lineage import Dataset, InputField, JobLineage, Output
from reclock.definitions.sinks import (
    DeltaTarget,
    FilesTarget,
    IcebergTarget,
    KafkaTarget,
    PostgresTarget,
)
from reclock.definitions.sources import (
    DebeziumConnector,
    KafkaConnector,
    KinesisConnector,
    ObjectsConnector,
    PostgresConnector,
    PubNubConnector,
)
from reclock.plan.lineage import Origin, lineage
from reclock.plan.relational import Get, Plan, collections
from reclock.runtime.environment import Environment
from reclock.sql.catalog.entries import IndexEntry, RelationEntry, SinkEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.queries.views import expand

_logger = structlog.get_logger(__name__)

_KAFKA_PORT, _POSTGRES_PORT = "9092", "5432"


def lineage_of(environment: Environment, rows: Mapping[str, int]) -> dict[str, JobLineage]:
    """The lineage of these sources, views (or indexes of views) and sinks, by the given names, with
    their numbers of new rows or changes. What was dropped is left out."""
    describer = _Describer(environment, environment.stores.planner_catalog())
    entries = {str(entry.name): entry for entry in describer.catalog.entries()}
    jobs: dict[str, JobLineage] = {}
    for name, count in rows.items():
        entry = entries.get(name)
        if isinstance(entry, IndexEntry):
            entry = describer.catalog.relation(entry.on)
        match entry:
            case RelationEntry() if entry.source is not None:
                job = describer.ingestion(entry, count)
            case RelationEntry() if entry.query is not None:
                job = describer.refresh(entry, count)
            case SinkEntry():
                job = describer.emission(entry, count)
            case _:
                continue
        jobs[name] = job
    return jobs


def described(environment: Environment, rows: Mapping[str, int]) -> list[dict[str, Any]]:
    """What ``lineage_of`` returns, as JSON. If that fails, it is logged, and the list is empty:
    work does not fail because it cannot be described."""
    try:
        return [asdict(job) for job in lineage_of(environment, rows).values()]
    except Exception as error:
        _logger.warning("what was read and written cannot be described", error=str(error))
        return []


@dataclass(frozen=True, slots=True)
class _Describer:
    environment: Environment
    catalog: PlannerCatalog

    @property
    def settings(self) -> Settings:
        return self.environment.stores.settings

    def ingestion(self, entry: RelationEntry, rows: int) -> JobLineage:
        spec = source_spec(self.catalog, entry)
        inputs: list[Dataset] = []
        outputs: list[Output] = []
        for name in spec.outputs:
            upstream = upstream_dataset(spec.connector, name, self.settings)
            inputs += [upstream] if upstream is not None and upstream not in inputs else []
            filled = self.catalog.kept_in(spec.output(name))
            if isinstance(filled, RelationEntry):
                count = None if spec.subsources else rows
                outputs.append(Output(self.relation(filled), count))
        return JobLineage(
            str(entry.name), "INGESTION", tuple(inputs), tuple(outputs), entry.create_sql or ""
        )

    def refresh(self, entry: RelationEntry, rows: int) -> JobLineage:
        assert entry.query is not None
        plan = expand(entry.query, self.catalog, self._materialized)
        output = self._derived(self.relation(entry), plan, rows)
        sql = entry.create_sql or ""
        return JobLineage(str(entry.name), "REFRESH", self._read(plan), (output,), sql)

    def emission(self, entry: SinkEntry, rows: int) -> JobLineage:
        on = self.catalog.relation(entry.on)
        target = target_dataset(sink_spec(self.catalog, entry.id).target, on.desc, self.settings)
        plan = Get(on.collection, str(on.name), on.desc)
        output = self._derived(target, plan, rows)
        return JobLineage(
            str(entry.name), "SINK", (self.relation(on),), (output,), entry.create_sql
        )

    def relation(self, entry: RelationEntry) -> Dataset:
        folder = self.environment.stores.lake.folder_of(entry.collection)
        is_stored = entry.query is None
        return Dataset(
            self.settings.lineage_namespace,
            str(entry.name),
            _columns(entry.desc),
            folder.uri if is_stored else "",
        )

    def _read(self, plan: Plan) -> tuple[Dataset, ...]:
        read = (self._kept_in(collection) for collection in sorted(collections(plan), key=str))
        return tuple(dict.fromkeys(self.relation(entry) for entry in read if entry is not None))

    def _derived(self, dataset: Dataset, plan: Plan, rows: int) -> Output:
        traced = lineage(plan)
        columns = zip(dataset.columns, traced.columns, strict=True)
        fields = tuple((name, self._fields(origins)) for (name, _), origins in columns)
        return Output(dataset, rows, fields, self._fields(traced.rows))

    def _fields(self, origins: Iterable[Origin]) -> tuple[InputField, ...]:
        namespace = self.settings.lineage_namespace
        return tuple(
            InputField(namespace, str(entry.name), origin.column, origin.use.name)
            for origin in sorted(
                origins, key=lambda origin: (str(origin.collection), *_order(origin))
            )
            if (entry := self._kept_in(origin.collection)) is not None
        )

    def _materialized(self, collection: StorageCollectionId) -> StorageCollectionId | None:
        """The same collection if it is a view's with an index: a job of its own refreshes that."""
        entry = self._kept_in(collection)
        is_view = entry is not None and entry.query is not None
        return collection if is_view and self.catalog.indexes_on(collection.source_id) else None

    def _kept_in(self, collection: StorageCollectionId) -> RelationEntry | None:
        entry = self.catalog.kept_in(collection)
        return entry if isinstance(entry, RelationEntry) else None


def _order(origin: Origin) -> tuple[str, int]:
    return origin.column, origin.use


def _columns(desc: RelationDesc) -> tuple[tuple[str, str], ...]:
    return tuple((column.name, str(column.type)) for column in desc.columns)


# --- datasets of others, named as https://openlineage.io/docs/spec/naming says ---


@singledispatch
def upstream_dataset(connector: object, output: str, settings: Settings) -> Dataset | None:
    """What the output of a source is read from; None if the source generates it."""
    return None


@upstream_dataset.register
def _(connector: ObjectsConnector, output: str, settings: Settings) -> Dataset:
    if connector.connection is None and not settings.buckets_root.startswith("s3://"):
        folder = f"{settings.buckets_root}/{connector.bucket}"
        return Dataset("file", f"{folder}/{connector.pattern}", uri=folder)
    return Dataset(f"s3://{connector.bucket}", connector.pattern)


@upstream_dataset.register
def _(connector: KafkaConnector, output: str, settings: Settings) -> Dataset:
    return Dataset(_kafka(connector.connection), connector.topic)


@upstream_dataset.register
def _(connector: DebeziumConnector, output: str, settings: Settings) -> Dataset:
    return Dataset(_kafka(connector.connection), f"{connector.prefix}.{output}")


@upstream_dataset.register
def _(connector: KinesisConnector, output: str, settings: Settings) -> Dataset:
    return Dataset(f"kinesis://{connector.region}", connector.stream)


@upstream_dataset.register
def _(connector: PubNubConnector, output: str, settings: Settings) -> Dataset:
    return Dataset(f"pubnub://{connector.origin or 'ps.pndsn.com'}", connector.channel)


@upstream_dataset.register
def _(connector: PostgresConnector, output: str, settings: Settings) -> Dataset:
    if isinstance(connector.connection, Connection):
        options = {name.lower(): str(value) for name, value in connector.connection.options}
        database = options["database"]
    else:
        from psycopg.conninfo import conninfo_to_dict

        options = {
            name: str(value) for name, value in conninfo_to_dict(connector.connection).items()
        }
        database = options.get("dbname", "")
    return Dataset(_postgres(options), f"{database}.{output}")


@singledispatch
def target_dataset(target: object, desc: RelationDesc, settings: Settings) -> Dataset:
    """What a sink writes."""
    raise NotImplementedError(type(target))


@target_dataset.register
def _(target: KafkaTarget, desc: RelationDesc, settings: Settings) -> Dataset:
    return Dataset(_kafka(target.connection), target.topic, _columns(desc))


@target_dataset.register
def _(target: DeltaTarget | FilesTarget, desc: RelationDesc, settings: Settings) -> Dataset:
    return _file(f"{settings.sinks_root}/{target.path}", desc)


@target_dataset.register
def _(target: IcebergTarget, desc: RelationDesc, settings: Settings) -> Dataset:
    name = f"{target.namespace}.{target.table}"
    if target.connection is None:
        return Dataset(f"{settings.lineage_namespace}/iceberg", name, _columns(desc))
    return Dataset(str(dict(target.connection.options)["URL"]), name, _columns(desc))


@target_dataset.register
def _(target: PostgresTarget, desc: RelationDesc, settings: Settings) -> Dataset:
    options = {name.lower(): str(value) for name, value in target.connection.options}
    name = f"{options['database']}.{target.schema}.{target.table}"
    return Dataset(_postgres(options), name, _columns(desc))


def _file(path: str, desc: RelationDesc) -> Dataset:
    parts = urlsplit(path)
    if parts.scheme in ("", "file"):
        return Dataset("file", parts.path, _columns(desc), path)
    return Dataset(f"{parts.scheme}://{parts.netloc}", parts.path.lstrip("/"), _columns(desc), path)


def _kafka(connection: Connection) -> str:
    broker = str(dict(connection.options)["BROKER"]).split(",")[0].strip()
    return f"kafka://{broker if ':' in broker else f'{broker}:{_KAFKA_PORT}'}"


def _postgres(options: Mapping[str, str]) -> str:
    return f"postgres://{options.get('host', 'localhost')}:{options.get('port', _POSTGRES_PORT)}"
