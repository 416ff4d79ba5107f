"""The Kafka target: the changes of each time are one transaction, together with the sink's
progress.

The transactional id belongs to the sink, so that the broker refuses an outdated writer. Progress is
a message of the progress topic, keyed by the sink. It has the id of the sink's topic, because a
recreated topic has another id.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from functools import cached_property
from typing import Any

import pyarrow as pa
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from reclock.algebra.timestamps import Timestamp
from reclock.definitions.sinks import KafkaTarget
from reclock.errors import ClaimConflict, SinkError, TargetChanged, TargetUnavailable
from reclock.failpoints import failpoint
from reclock.sinks.messages import Encoder
from reclock.sinks.target import Written

_REQUEST_S = 10
_TRANSACTION_MS = 300_000
"""How long the broker keeps an open transaction of a silent writer, unless the sink's next writer
ends it earlier."""

_FENCED = frozenset(
    {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH}
)


class KafkaWriter:
    """Writes to a Kafka topic (see ``reclock.sinks.target.Writer``). ``sink`` is unique among the
    sinks of all environments."""

    def __init__(
        self, target: KafkaTarget, sink: str, encoder: Encoder, client: dict[str, str]
    ) -> None:
        self._target, self._sink = target, sink
        self._client: dict[str, Any] = {
            **client,
            "log_level": 0,
            "socket.timeout.ms": _REQUEST_S * 1000,
        }
        self._encoder = encoder
        self._topic_id = ""

    def begin(self) -> Timestamp | None:
        """See ``reclock.sinks.target.Writer``. This fences earlier writers, and aborts their open
        transactions."""
        try:
            if self._find(self._target.progress_topic) is None:
                self._create(
                    self._target.progress_topic, {"cleanup.policy": "compact"}, partitions=1
                )
            self._producer.init_transactions(_REQUEST_S)
            progress = self._read_progress()
            topic_id = self._find(self._target.topic)
            if progress is not None and topic_id != progress["topic_id"]:
                problem = "is gone" if topic_id is None else "was deleted and created again"
                raise TargetChanged(
                    f'topic "{self._target.topic}" {problem}',
                    detail=f"its id was {progress['topic_id']}",
                )
            self._encoder.begin()
            self._topic_id = topic_id or self._create(
                self._target.topic, {}, self._target.partitions, self._target.replicas
            )
        except KafkaException as error:
            raise self._failure(error) from error
        return Timestamp(progress["progress"]) if progress is not None else None

    def emit(self, at: Timestamp, changes: pa.RecordBatchReader) -> Written:
        try:
            self._producer.begin_transaction()
            try:
                written = self._produce(at, changes)
                progress = json.dumps({"progress": at + 1, "topic_id": self._topic_id})
                self._producer.produce(
                    self._target.progress_topic, progress.encode(), self._sink.encode()
                )
                self._producer.flush()
                failpoint("sinks.kafka.before_commit")
                self._producer.commit_transaction(_TRANSACTION_MS / 1000)
                failpoint("sinks.kafka.after_commit")
            except BaseException:
                with suppress(KafkaException):  # or the next writer does
                    self._producer.abort_transaction(_REQUEST_S)
                raise
        except KafkaException as error:
            raise self._failure(error) from error
        return written

    def close(self) -> None:
        self._encoder.close()
        if "_producer" in vars(self):
            with suppress(KafkaException):  # it was fenced
                self._producer.purge()
                self._producer.close()

    def _produce(self, at: Timestamp, changes: pa.RecordBatchReader) -> Written:
        count = size = 0
        produce, topic, moment = self._producer.produce, self._target.topic, int(at)
        for batch in self._encoder.messages(at, changes):
            for key, value, headers in batch:
                while True:
                    try:
                        produce(topic, value, key, timestamp=moment, headers=headers)
                        break
                    except BufferError:  # the queue is full: what was delivered makes room
                        self._producer.poll(0.05)
            count += len(batch)
            size += sum(len(key or b"") + len(value or b"") for key, value, _ in batch)
            self._producer.poll(0)
        return Written(count, size)

    @cached_property
    def _producer(self) -> Producer:
        return Producer(
            {
                **self._client,
                "transactional.id": f"reclock-{self._sink}",
                "transaction.timeout.ms": _TRANSACTION_MS,
                "partitioner": "murmur2_random",  # as the clients in Java choose
                "compression.type": self._target.compression,
                "linger.ms": 5,
                "queue.buffering.max.messages": 500_000,
            }
        )

    @cached_property
    def _admin(self) -> AdminClient:
        return AdminClient(self._client)

    def _find(self, topic: str) -> str | None:
        """The id of the topic, or None if it does not exist."""
        try:
            future = self._admin.describe_topics(
                TopicCollection([topic]), request_timeout=_REQUEST_S
            )[topic]
            return str(future.result(_REQUEST_S + 5).topic_id)
        except TimeoutError as error:
            raise TargetUnavailable(f'no answer about topic "{topic}" in time') from error
        except KafkaException as error:
            if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                return None
            raise

    def _create(
        self, topic: str, config: dict[str, str], partitions: int, replicas: int = -1
    ) -> str:
        """Create the topic. Returns its id."""
        future = self._admin.create_topics(
            [NewTopic(topic, partitions, replicas, config=config)], request_timeout=_REQUEST_S
        )[topic]
        try:
            future.result(_REQUEST_S + 5)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
        deadline = time.monotonic() + _REQUEST_S
        while (id := self._find(topic)) is None:
            if time.monotonic() > deadline:
                raise TargetUnavailable(f'topic "{topic}" does not appear')
            time.sleep(0.05)
        return id

    def _read_progress(self) -> dict[str, Any] | None:
        """The last committed progress of this sink. Reads the topic to its end, past open
        transactions."""
        topic = self._target.progress_topic
        settings = {
            "group.id": "reclock",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
        consumer = Consumer(
            {
                **self._client,
                **settings,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
            }
        )
        progress = None
        try:
            partition = TopicPartition(topic, 0)
            latest = self._admin.list_offsets(
                {partition: OffsetSpec.latest()},
                isolation_level=IsolationLevel.READ_UNCOMMITTED,
                request_timeout=_REQUEST_S,
            )
            end = latest[partition].result(_REQUEST_S + 5).offset
            consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
            deadline = time.monotonic() + _REQUEST_S
            while time.monotonic() < deadline:
                for message in consumer.consume(1000, 0.1):
                    error = message.error()
                    if error is None:
                        if message.key() == self._sink.encode() and message.value() is not None:
                            progress = json.loads(message.value())
                    elif error.code() != KafkaError._PARTITION_EOF:
                        raise KafkaException(error)
                    elif message.offset() >= end:
                        return progress
            raise TargetUnavailable(
                f'progress topic "{topic}" cannot be read to its end',
                detail="another writer may have a transaction open",
                hint=(
                    "it ends by itself; sinks with progress topics of their own do not wait "
                    "for one another"
                ),
            )
        finally:
            consumer.close()

    def _failure(self, error: KafkaException) -> SinkError | ClaimConflict:
        cause = error.args[0]
        if cause.code() in _FENCED:
            return ClaimConflict(self._sink, detail="another writer of this sink has begun")
        return TargetUnavailable(f'cannot write topic "{self._target.topic}"', detail=cause.str())
