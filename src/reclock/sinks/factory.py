"""Opens the writer of a sink's target: one line for each type of target."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import TYPE_CHECKING

from reclock.algebra.timestamps import Clock
from reclock.collections.folder import Folder
from reclock.config import Settings
from reclock.config.stores import s3_store_options
from reclock.connectors.clients import (
    aws_client,
    kafka_client,
    postgres_parameters,
    registry_client,
)
from reclock.connectors.objects.object_store import s3_arguments, s3_client
from reclock.definitions.connections import Connection, SecretResolver, no_secrets
from reclock.definitions.sinks import (
    Avro,
    DeltaTarget,
    FilesTarget,
    IcebergTarget,
    Json,
    KafkaTarget,
    Plain,
    PostgresTarget,
    SinkSpec,
    Target,
)
from reclock.sinks.json_messages import JsonForm
from reclock.sinks.manifests import Manifests
from reclock.sinks.messages import Encoder, Form, KeyForm, key_columns, value_columns
from reclock.sinks.plain_messages import PlainForm
from reclock.sinks.target import Writer

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog  # imported only where there is such a sink


@dataclass(frozen=True, slots=True)
class SinkContext:
    """What an environment provides for connecting to targets. ``environment_id`` distinguishes its
    sinks from those of other environments."""

    settings: Settings
    environment_id: str
    clock: Clock
    resolve_secret: SecretResolver = no_secrets


def open_writer(sink: SinkSpec, context: SinkContext) -> Writer:
    """The sink's writer. It does not connect yet."""
    return _open(sink.target, replace(sink, desc=sink.desc.exported), context)


@singledispatch
def _open(target: Target, sink: SinkSpec, context: SinkContext) -> Writer:
    raise NotImplementedError(type(target).__name__)


@_open.register
def _(target: DeltaTarget, sink: SinkSpec, context: SinkContext) -> Writer:
    from reclock.sinks.delta import DeltaWriter

    root = context.settings.sinks_root
    folder = Folder(f"{root.rstrip('/')}/{target.path}", context.settings.store_options(root))
    return DeltaWriter(folder, f"{context.environment_id}/{sink.creator}", sink.desc, context.clock)


@_open.register
def _(target: FilesTarget, sink: SinkSpec, context: SinkContext) -> Writer:
    from reclock.sinks.files import FilesWriter

    folder, manifests = own_folder(context.settings.sinks_root, target.path, context.settings)
    name = f"{context.environment_id}/{sink.creator}"
    return FilesWriter(folder, target.format, name, sink.desc, manifests)


def own_folder(root: str, path: str, settings: Settings) -> tuple[Folder, Manifests]:
    """``path`` below ``root``, over the settings of the environment, with its manifests."""
    folder = Folder(f"{root.rstrip('/')}/{path}", settings.store_options(root))
    arguments = (
        settings.s3_endpoint,
        settings.s3_region,
        settings.s3_access_key_id,
        settings.s3_secret_access_key.get_secret_value(),
        "",
    )
    return folder, Manifests(folder, lambda: s3_client(*arguments))


def bucket_folder(
    uri: str, connection: Connection, resolve_secret: SecretResolver
) -> tuple[Folder, Manifests]:
    """The folder at ``s3://…``, over an AWS connection, with its manifests."""
    arguments = s3_arguments(aws_client(connection, resolve_secret))
    folder = Folder(uri, s3_store_options(*arguments))
    return folder, Manifests(folder, lambda: s3_client(*arguments))


@_open.register
def _(target: KafkaTarget, sink: SinkSpec, context: SinkContext) -> Writer:
    from reclock.sinks.kafka import KafkaWriter  # its client is a library that others need not load

    form, key_form = _form(target, sink, context), _key_form(target, sink, context)
    encoder = Encoder(sink.desc, target.key, target.envelope, form, key_form, target.headers)
    return KafkaWriter(
        target,
        f"{context.environment_id}/{sink.creator}",
        encoder,
        kafka_client(target.connection, context.resolve_secret),
    )


@_open.register
def _(target: PostgresTarget, sink: SinkSpec, context: SinkContext) -> Writer:
    from reclock.sinks.postgres import PostgresWriter

    parameters = postgres_parameters(target.connection, context.resolve_secret)
    return PostgresWriter(target, f"{context.environment_id}/{sink.creator}", sink.desc, parameters)


@_open.register
def _(target: IcebergTarget, sink: SinkSpec, context: SinkContext) -> Writer:
    from reclock.sinks.iceberg import IcebergWriter
    from reclock.sinks.iceberg_catalog import open_catalog

    def connect() -> Catalog:
        return open_catalog(target.connection, context.settings, context.resolve_secret)

    return IcebergWriter(target, f"{context.environment_id}/{sink.creator}", sink.desc, connect)


def _form(target: KafkaTarget, sink: SinkSpec, context: SinkContext) -> Form:
    if isinstance(target.format, Json):
        return JsonForm()
    from reclock.sinks.avro_messages import AvroForm, value_schema

    columns = value_columns(sink.desc, target.headers)
    schema = value_schema(columns, target.envelope, target.format)
    return AvroForm(
        f"{target.topic}-value",
        schema,
        registry_client(target.format.registry, context.resolve_secret),
    )


def _key_form(target: KafkaTarget, sink: SinkSpec, context: SinkContext) -> KeyForm:
    match target.key_format:
        case Json():
            return JsonForm()
        case Plain():
            return PlainForm()
        case Avro() as format:
            from reclock.sinks.avro_messages import AvroForm, record

            schema = record(key_columns(sink.desc, target.key), format)
            return AvroForm(
                f"{target.topic}-key",
                schema,
                registry_client(format.registry, context.resolve_secret),
            )
