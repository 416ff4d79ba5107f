"""The notice of CREATE SOURCE that its topic does not exist: the source waits for it."""

from __future__ import annotations

from importlib.util import find_spec

from reclock.connectors.clients import kafka_client
from reclock.definitions.connections import SecretResolver
from reclock.definitions.sources import KafkaConnector
from reclock.errors import SourceError

_PATIENCE_S = 2


def missing_topic(connector: object, resolve_secret: SecretResolver) -> str | None:
    """A notice if the broker of a Kafka source says that it has no such topic. A broker that does
    not answer within seconds, or refuses, is left to the first tick."""
    if not isinstance(connector, KafkaConnector) or find_spec("confluent_kafka") is None:
        return None
    from confluent_kafka import KafkaException

    from reclock.connectors.kafka.topic import Topic

    try:
        client = kafka_client(connector.connection, resolve_secret)
        topic = Topic.open(connector.topic, client)
        if topic.describe(timeout_s=_PATIENCE_S) is not None:
            return None
    except (SourceError, KafkaException):
        return None
    return (
        f'the broker at "{client["bootstrap.servers"]}" has no topic "{topic.name}" yet; '
        "the source stalls until there is one"
    )
