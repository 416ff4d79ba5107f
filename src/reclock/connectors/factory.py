"""Opens the connector of a source: one function per source type."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import TypeVar

from reclock.algebra.relations import Column, RelationDesc
from reclock.algebra.timestamps import Clock, system_clock
from reclock.connectors.clients import (
    aws_client,
    kafka_client,
    postgres_parameters,
    registry_client,
)
from reclock.connectors.connector import Connector
from reclock.connectors.load_generators.connector import Generator
from reclock.connectors.objects.compression import Unzipped
from reclock.connectors.objects.connector import Objects
from reclock.connectors.objects.notifications import NotificationQueue
from reclock.connectors.objects.object_store import ObjectStore, S3Buckets, s3_arguments
from reclock.connectors.objects.open_contents import open_contents
from reclock.connectors.objects.parquet_contents import ParquetContents, read_footer
from reclock.connectors.objects.patterns import literal_prefix
from reclock.connectors.objects.scan import matching
from reclock.definitions.connections import SecretResolver, no_secrets
from reclock.definitions.formats import Format, ObjectFormat, SchemaFormat
from reclock.definitions.sources import (
    DebeziumConnector,
    KafkaConnector,
    KinesisConnector,
    LoadGenerator,
    ObjectsConnector,
    PostgresConnector,
    PubNubConnector,
    SourceSpec,
    Upstream,
)
from reclock.errors import InvalidOption
from reclock.formats.parquet import source_columns

F = TypeVar("F", bound=Format | None)


@dataclass(frozen=True, slots=True)
class ConnectionContext:
    """What an environment provides for connecting to upstreams."""

    buckets: ObjectStore
    clock: Clock = system_clock
    resolve_secret: SecretResolver = no_secrets


def open_connector(source: SourceSpec, context: ConnectionContext) -> Connector:
    """The source's connector. It does not connect yet."""
    return _open(source.connector, source, context)


@singledispatch
def _open(upstream: Upstream, source: SourceSpec, context: ConnectionContext) -> Connector:
    raise NotImplementedError(type(upstream).__name__)


@_open.register
def _(upstream: ObjectsConnector, source: SourceSpec, context: ConnectionContext) -> Connector:
    assert isinstance(source.format, ObjectFormat)
    buckets, queue = _object_store(upstream, context), None
    if upstream.queue:
        assert upstream.connection is not None
        client = aws_client(upstream.connection, context.resolve_secret)
        queue = NotificationQueue(source.id, upstream.queue, client)
    store = Unzipped(buckets, upstream.compression)
    contents = open_contents(store, upstream.bucket, source.format, source.desc)
    return Objects(store, upstream, contents, queue)


def _object_store(upstream: ObjectsConnector, context: ConnectionContext) -> ObjectStore:
    if upstream.connection is None:
        return context.buckets
    client = aws_client(upstream.connection, context.resolve_secret)
    return S3Buckets(*s3_arguments(client))


def first_columns(upstream: ObjectsConnector, context: ConnectionContext) -> tuple[Column, ...]:
    """The columns of the first Parquet file of a source, in order of key. Raises ``InvalidOption``
    and a ``SourceError``."""
    store = Unzipped(_object_store(upstream, context), upstream.compression)
    contents = ParquetContents(store, upstream.bucket, RelationDesc(()))
    listed = store.list(upstream.bucket, literal_prefix(upstream.pattern))
    first = next(iter(matching(listed, upstream, contents)), None)
    if first is None:
        raise InvalidOption(
            "the columns are not given, and no object is there to take them from",
            detail=f'none of {len(listed)} objects in "{upstream.bucket}" is of the source',
            hint="CREATE SOURCE name (column type, …) FROM …",
        )
    footer = read_footer(store, upstream.bucket, first, first.key)
    try:
        return source_columns(footer.schema)
    except ValueError as error:
        raise InvalidOption(
            f'no column of a source can hold what object "{first.key}" has',
            detail=str(error),
            hint="declare the other columns: CREATE SOURCE name (column type, …) FROM …",
        ) from error


@_open.register
def _(upstream: LoadGenerator, source: SourceSpec, context: ConnectionContext) -> Connector:
    return Generator(upstream, source.outputs, source.created_at, context.clock())


@_open.register
def _(upstream: KafkaConnector, source: SourceSpec, context: ConnectionContext) -> Connector:
    from reclock.connectors.kafka.connector import Kafka  # only Kafka sources load its library

    assert source.format is not None
    upstream = replace(upstream, key_format=_reachable(upstream.key_format, context))
    client = kafka_client(upstream.connection, context.resolve_secret)
    return Kafka(upstream, _reachable(source.format, context), source.desc, client)


@_open.register
def _(upstream: DebeziumConnector, source: SourceSpec, context: ConnectionContext) -> Connector:
    from reclock.connectors.debezium import Debezium

    assert source.format is not None
    format = _reachable(source.format, context)
    return Debezium(
        upstream, source.outputs, format, kafka_client(upstream.connection, context.resolve_secret)
    )


def _reachable(format: F, context: ConnectionContext) -> F:
    """The format with the settings of its schema registry's client, if it has a registry."""
    if isinstance(format, SchemaFormat) and format.registry is not None:
        return replace(format, client=registry_client(format.registry, context.resolve_secret))
    return format


@_open.register
def _(upstream: KinesisConnector, source: SourceSpec, context: ConnectionContext) -> Connector:
    from reclock.connectors.kinesis.connector import Kinesis

    assert source.format is not None
    if upstream.start == "LATEST":
        upstream = replace(upstream, start="TIMESTAMP", start_timestamp=source.created_at)
    credentials = (
        aws_client(upstream.connection, context.resolve_secret)
        if upstream.connection is not None
        else {}
    )
    credentials = {name: value for name, value in credentials.items() if name.startswith("aws_")}
    return Kinesis(upstream, source.format, source.desc, context.clock(), credentials=credentials)


@_open.register
def _(upstream: PubNubConnector, source: SourceSpec, context: ConnectionContext) -> Connector:
    from reclock.connectors.pubnub import PubNub

    return PubNub(upstream, source.desc)


@_open.register
def _(upstream: PostgresConnector, source: SourceSpec, context: ConnectionContext) -> Connector:
    from reclock.connectors.postgres.connector import Postgres

    return Postgres(
        upstream, source.outputs, postgres_parameters(upstream.connection, context.resolve_secret)
    )
