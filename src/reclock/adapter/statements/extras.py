"""The extras that a created object needs and that are not installed here, told before a tick fails for
want of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from importlib.util import find_spec

from reclock.definitions.connections import (
    AWS,
    HIVE,
    ICEBERG,
    KAFKA,
    SCHEMA_REGISTRY,
    Connection,
)
from reclock.definitions.sinks import DeltaTarget, IcebergTarget, KafkaTarget
from reclock.definitions.sources import KinesisConnector, PubNubConnector
from reclock.errors import ExtraNotInstalled
from reclock.sql.planning.registry import PlannedStatement
from reclock.sql.statements.connections.plan import CreateConnection
from reclock.sql.statements.sinks.plan import CreateSink
from reclock.sql.statements.sources.plan import CreateSource

_OF_CONNECTIONS = {
    KAFKA: "confluent_kafka",
    SCHEMA_REGISTRY: "confluent_kafka",
    AWS: "boto3",
    ICEBERG: "pyiceberg",
    HIVE: "pymetastore",
}


def missing_extras(statement: PlannedStatement) -> Iterator[str]:
    """A notice for each extra that the created connection, source or sink needs, and that is not
    installed in this process."""
    match statement:
        case CreateConnection():
            defined: object = statement.connection
        case CreateSource():
            defined = statement.source.connector
        case CreateSink():
            defined = statement.sink.target
        case _:
            return
    for package in sorted(set(packages(defined))):
        if find_spec(package) is None:
            missing = ExtraNotInstalled(package)
            yield f"{missing.message}, which this needs where it is used: {missing.hint}"


@singledispatch
def packages(defined: object) -> Iterator[str]:
    """The packages of extras that a connection, an upstream or a target needs."""
    if (connection := getattr(defined, "connection", None)) is not None:
        yield from packages(connection)


@packages.register
def _(connection: Connection) -> Iterator[str]:
    if connection.kind in _OF_CONNECTIONS:
        yield _OF_CONNECTIONS[connection.kind]


@packages.register
def _(connector: KinesisConnector) -> Iterator[str]:
    yield "boto3"


@packages.register
def _(connector: PubNubConnector) -> Iterator[str]:
    yield "pubnub"


@packages.register
def _(target: KafkaTarget) -> Iterator[str]:
    yield "confluent_kafka"


@packages.register
def _(target: IcebergTarget) -> Iterator[str]:
    yield "pyiceberg"


@packages.register
def _(target: DeltaTarget) -> Iterator[str]:
    if target.registration is not None:
        yield from packages(target.registration.connection)
