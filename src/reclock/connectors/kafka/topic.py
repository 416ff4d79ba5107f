"""Requests to a broker about one topic. Offsets are the topic's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import (
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec

from reclock.algebra.timestamps import Timestamp
from reclock.errors import SourceError, UpstreamUnavailable

REQUEST_S = 10


@dataclass(frozen=True, slots=True)
class Topic:
    """The topic ``name``, over one client. Its requests raise ``UpstreamUnavailable``."""

    name: str
    client: Mapping[str, str] = field(repr=False)
    """librdkafka's settings for reaching the broker."""
    _admin: AdminClient = field(repr=False)

    @classmethod
    def open(cls, name: str, client: Mapping[str, str]) -> Topic:
        return cls(name, client, AdminClient(request_settings(client)))

    def describe(self, *, timeout_s: int = REQUEST_S) -> tuple[str, list[int]] | None:
        """The topic's id and its partitions; None if there is no such topic."""
        try:
            future = self._admin.describe_topics(
                TopicCollection([self.name]), request_timeout=timeout_s
            )[self.name]
            description = future.result(timeout_s + 5)
        except (KafkaException, TimeoutError) as error:
            code = error.args[0].code() if isinstance(error, KafkaException) else None
            if code == KafkaError.UNKNOWN_TOPIC_OR_PART:
                return None
            raise unavailable(self.name, self.client, error) from error
        return str(description.topic_id), sorted(
            partition.id for partition in description.partitions
        )

    def offsets(self, partitions: Sequence[int], at: OffsetSpec) -> Mapping[int, int]:
        """An offset of each partition; the latest one is the last stable offset."""
        request = {TopicPartition(self.name, partition): at for partition in partitions}
        if not request:
            return {}
        try:
            offsets = self._admin.list_offsets(
                request, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=REQUEST_S
            )
            return {
                place.partition: future.result(REQUEST_S + 5).offset
                for place, future in offsets.items()
            }
        except (KafkaException, TimeoutError) as error:
            raise unavailable(self.name, self.client, error) from error

    def first(self, partitions: Sequence[int]) -> Mapping[int, int]:
        return self.offsets(partitions, OffsetSpec.earliest())

    def end(self, partitions: Sequence[int]) -> Mapping[int, int]:
        return self.offsets(partitions, OffsetSpec.latest())

    def offsets_at(self, moment: Timestamp, end: Mapping[int, int]) -> dict[int, int]:
        """Each partition's offset of its first message at ``moment`` or later, else its ``end``."""
        offsets = self.offsets(list(end), OffsetSpec.for_timestamp(moment))
        return {p: min(offsets[p], end[p]) if offsets[p] >= 0 else end[p] for p in end}

    def cleanup_policy(self) -> str:
        resource = ConfigResource(ConfigResource.Type.TOPIC, self.name)
        try:
            config = self._admin.describe_configs([resource], request_timeout=REQUEST_S)[
                resource
            ].result(REQUEST_S + 5)
        except (KafkaException, TimeoutError) as error:
            raise unavailable(self.name, self.client, error) from error
        return str(config["cleanup.policy"].value)


def request_settings(client: Mapping[str, str]) -> dict[str, Any]:
    """librdkafka's settings with the bound of a request."""
    return {**client, "socket.timeout.ms": REQUEST_S * 1000, "log_level": 0}


def unavailable(topic: str, client: Mapping[str, str], error: Exception) -> SourceError:
    """The error of a source whose broker refuses, or does not answer."""
    detail = error.args[0].str() if isinstance(error, KafkaException) else "no answer in time"
    return UpstreamUnavailable(
        f'cannot read topic "{topic}" at "{client["bootstrap.servers"]}"', detail=detail
    )
