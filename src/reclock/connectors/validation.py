"""Checks that a connection works, by one cheap request to the other end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from reclock.connectors import hive_metastore
from reclock.connectors.clients import (
    aws_client,
    iceberg_rest_client,
    kafka_client,
    postgres_parameters,
    registry_client,
)
from reclock.definitions.connections import (
    AWS,
    HIVE,
    ICEBERG,
    KAFKA,
    POSTGRES,
    SCHEMA_REGISTRY,
    Connection,
    SecretResolver,
)
from reclock.errors import UpstreamUnavailable
from reclock.formats import schema_registry

_PATIENCE_S = 10


def validate(connection: Connection, resolve_secret: SecretResolver) -> None:
    """Raises ``UpstreamUnavailable`` with the reason if the other end cannot be reached or refuses
    the connection, and ``SecretUnavailable``."""
    _VALIDATORS[connection.kind](connection, resolve_secret)


def _kafka(connection: Connection, resolve_secret: SecretResolver) -> None:
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import AdminClient

    errors: list[KafkaError] = []
    client = kafka_client(connection, resolve_secret)
    admin = AdminClient({**client, "log_level": 0, "error_cb": errors.append})
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            admin.list_topics(timeout=1)
            return
        except KafkaException as error:
            admin.poll(0)  # delivers the reasons to error_cb
            is_refused = any(
                reason.code() in (KafkaError._AUTHENTICATION, KafkaError._SSL) for reason in errors
            )
            if is_refused or time.monotonic() > until:
                reasons = [
                    reason.str()
                    for reason in errors
                    if reason.code() != KafkaError._ALL_BROKERS_DOWN
                ]
                raise UpstreamUnavailable(
                    f'cannot reach the brokers at "{client["bootstrap.servers"]}"',
                    detail=(reasons or [error.args[0].str()])[0],
                ) from error


def _postgres(connection: Connection, resolve_secret: SecretResolver) -> None:
    import psycopg
    from psycopg.conninfo import make_conninfo

    parameters = postgres_parameters(connection, resolve_secret)
    try:
        psycopg.connect(make_conninfo("", **parameters), connect_timeout=_PATIENCE_S).close()
    except psycopg.Error as error:
        detail = str(error).splitlines()[0] if str(error) else None
        raise UpstreamUnavailable(
            f'cannot reach the server at "{parameters["host"]}"', detail=detail
        ) from error


def _registry(connection: Connection, resolve_secret: SecretResolver) -> None:
    schema_registry.subjects(registry_client(connection, resolve_secret))


def _aws(connection: Connection, resolve_secret: SecretResolver) -> None:
    import boto3
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        boto3.client(
            "sts", **{"region_name": "us-east-1", **aws_client(connection, resolve_secret)}
        ).get_caller_identity()
    except (BotoCoreError, ClientError) as error:
        raise UpstreamUnavailable("AWS does not take the connection", detail=str(error)) from error


def _iceberg(connection: Connection, resolve_secret: SecretResolver) -> None:
    from pyiceberg.catalog.rest import RestCatalog
    from pyiceberg.exceptions import RESTError

    properties = iceberg_rest_client(connection, resolve_secret)
    try:
        RestCatalog("reclock", **properties).list_namespaces()
    except (OSError, RESTError) as error:
        raise UpstreamUnavailable(
            f'cannot reach the catalog at "{properties["uri"]}"', detail=str(error)
        ) from error


def _hive(connection: Connection, resolve_secret: SecretResolver) -> None:
    hive_metastore.validate(str(dict(connection.options)["URL"]))


_VALIDATORS: Mapping[str, Callable[[Connection, SecretResolver], None]] = {
    KAFKA: _kafka,
    POSTGRES: _postgres,
    SCHEMA_REGISTRY: _registry,
    AWS: _aws,
    ICEBERG: _iceberg,
    HIVE: _hive,
}
