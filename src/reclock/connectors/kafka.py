"""The connector of Kafka topics: it uses the topic's own partitions and offsets.

It binds up to the last stable offset: it does not read open transactions, and aborted transactions
yield no rows. Compaction and transaction markers leave gaps between offsets; it binds these offsets
too. The evidence is the topic's id, because the offsets of a recreated topic start at 0 again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec

from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.connectors.connector import (
    DELETED_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    Bound,
    CheckResult,
    Evidence,
    Increment,
    Skip,
    remaining_ranges,
)
from reclock.definitions.sources import Format, KafkaConnector
from reclock.errors import SourceError, UpstreamChanged, UpstreamLost, UpstreamUnavailable
from reclock.formats.envelope import changes
from reclock.formats.messages import decode_messages
from reclock.reclocking.frontiers import SourceFrontier
from reclock.reclocking.remap import BoundRange

TASK_OFFSETS = 250_000
"""About how many messages one task reads."""

BATCH_MESSAGES = 25_000
"""How many messages are decoded at once."""

_REQUEST_S = 10
_SILENCE_S = 60
"""How long a task waits for a silent broker before it fails."""


@dataclass(frozen=True, slots=True)
class TopicReadTask:
    """The offsets ``[lower, upper)`` of one partition of the topic with this id."""

    partition: int
    lower: int
    upper: int
    topic_id: str


@dataclass(frozen=True, slots=True)
class Kafka:
    """One topic, as a ``reclock.connectors.connector.Connector``."""

    upstream: KafkaConnector
    format: Format
    desc: RelationDesc
    client: Mapping[str, str] = field(repr=False)
    """librdkafka's settings for reaching the broker."""

    # --- in the driver ---

    def probe(self, bound: Bound, skips: Sequence[Skip] = ()) -> list[Increment]:
        return self._probe(bound, skips, None)

    def probe_until(
        self, bound: Bound, moment: Timestamp, skips: Sequence[Skip] = ()
    ) -> list[Increment]:
        """The messages of each partition before its first message at ``moment`` or later."""
        return self._probe(bound, skips, moment)

    def _probe(
        self, bound: Bound, skips: Sequence[Skip], until: Timestamp | None
    ) -> list[Increment]:
        ends = self.upstream.end_offsets
        if ends and all(bound.get(partition, (0,))[0] >= end for partition, end in enumerate(ends)):
            return []  # the source is complete, so its topic may be deleted
        admin = self._admin()
        topic_id, partitions = self._describe(admin, bound)
        if ends:
            partitions = [partition for partition in partitions if partition < len(ends)]
        self._check_same(bound, topic_id, partitions)
        first = self._list(admin, partitions, OffsetSpec.earliest())
        end = self._list(admin, partitions, OffsetSpec.latest())
        reached = end if until is None else self._before(admin, until, end)
        begin = self._begin(admin, partitions, [p for p in partitions if p not in bound], end)
        increments = []
        for partition in partitions:
            lower = bound[partition][0] if partition in bound else 0
            upper = min(reached[partition], ends[partition]) if ends else reached[partition]
            if end[partition] < lower:
                raise self._changed(
                    partition,
                    end[partition],
                    f"ends at offset {end[partition]}",
                    f"it is bound up to {lower}",
                )
            if (
                partition in bound
                and upper > lower
                and first[partition] > lower
                and remaining_ranges(partition, lower, first[partition], skips)
            ):
                raise self._changed(
                    partition,
                    lower,
                    f"begins at offset {first[partition]}",
                    f"retention took messages from {lower} on before they were read",
                )
            if upper > lower:
                start = min(max(lower, begin[partition], first[partition]), upper)
                increments.append(
                    Increment(partition, lower, upper, upper - lower, (topic_id,), {"begin": start})
                )
        return increments

    def recall(
        self, ranges: Sequence[BoundRange], bound: Bound, skips: Sequence[Skip] = ()
    ) -> list[Increment]:
        """Only for a topic that still has all messages from the source's start on. Messages that
        were lost before the source was created cannot be told from those lost since."""
        admin = self._admin()
        topic_id, _ = self._describe(admin, bound)
        partitions = sorted(int(str(partition)) for partition in bound)
        self._check_same(bound, topic_id, partitions)
        first, end = (
            self._list(admin, partitions, spec)
            for spec in (OffsetSpec.earliest(), OffsetSpec.latest())
        )
        begin = self._begin(admin, partitions, partitions, end)
        for partition in partitions:
            upper = bound[partition][0]
            if end[partition] < upper:
                raise self._changed(
                    partition,
                    end[partition],
                    f"ends at offset {end[partition]}",
                    f"it is bound up to {upper}",
                )
            lost = min(first[partition], upper)
            if lost > begin[partition] and remaining_ranges(
                partition, begin[partition], lost, skips
            ):
                raise self._changed(
                    partition,
                    begin[partition],
                    f"begins at offset {first[partition]}",
                    "retention took messages before it",
                )
        if "compact" in self._cleanup_policy(admin):
            raise self._changed(
                min(partitions, default=0),
                0,
                "is compacted",
                "which messages it had at earlier times cannot be told",
            )
        increments = [
            Increment(
                increment.partition, increment.lower, increment.upper, increment.size, (topic_id,)
            )
            for increment in ranges
        ]
        return [
            replace(increment, detail={"begin": max(increment.lower, begin[int(increment.name)])})
            for increment in increments
        ]

    def reread(self, claimed: Increment, before: Evidence | None) -> Increment:
        """Messages never change. The reading fails if some were lost meanwhile."""
        return claimed

    def tasks(self, increments: Sequence[Increment], skips: Sequence[Skip]) -> list[TopicReadTask]:
        pieces = []
        for increment in increments:
            for lower, upper in remaining_ranges(
                increment.partition, increment.detail["begin"], increment.upper, skips
            ):
                for at in range(lower, upper, TASK_OFFSETS):
                    pieces.append(
                        TopicReadTask(
                            int(increment.name),
                            at,
                            min(at + TASK_OFFSETS, upper),
                            increment.evidence[0],
                        )
                    )
        return pieces

    def acknowledge(self, frontier: SourceFrontier) -> None:
        """Commit the consumer group's offsets for monitoring tools; Reclock does not read them."""
        if self.upstream.group is None:
            return
        consumer = Consumer(
            {**self._settings(), "group.id": self.upstream.group, "enable.auto.commit": False}
        )
        try:
            offsets = [
                TopicPartition(self.upstream.topic, int(p), offset)
                for p, offset in frontier.items()
            ]
            consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            raise self._unavailable(error) from error
        finally:
            consumer.close()

    def check(self) -> Iterator[CheckResult]:
        admin = self._admin()
        user = self.client.get("sasl.username")
        topic_id, partitions = self._describe(admin, {})
        security = self.client.get("security.protocol", "plaintext")
        who = f'as "{user}"' if user else "as nobody in particular"
        yield CheckResult(
            "broker", True, f"{self.client['bootstrap.servers']} over {security}, {who}"
        )
        yield CheckResult(
            "topic",
            True,
            f'"{self.upstream.topic}" has {len(partitions)} partitions and the id {topic_id}',
        )
        first = self._list(admin, partitions, OffsetSpec.earliest())
        end = self._list(admin, partitions, OffsetSpec.latest())
        yield CheckResult(
            "messages", True, ", ".join(f"{p}: offsets {first[p]} to {end[p]}" for p in partitions)
        )

    # --- in executors ---

    def read(self, task: TopicReadTask) -> Iterator[tuple[str, pa.Table]]:
        for messages in self.messages(task):
            yield "", self._decode(messages, str(task.partition))

    def messages(self, task: TopicReadTask) -> Iterator[list[Message]]:
        """The task's messages, in order. Only a caller that reads to the end knows that the topic
        was not recreated meanwhile. Raises like ``read``."""
        settings = {
            # a name is required; without commits and subscriptions it stays unused
            "group.id": "reclock",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
            "queued.min.messages": 200_000,
            "check.crcs": True,
        }
        consumer = Consumer({**self._settings(), **settings})
        try:
            consumer.assign([TopicPartition(self.upstream.topic, task.partition, task.lower)])
            yield from self._messages(consumer, task)
        except KafkaException as error:
            raise self._unavailable(error) from error
        finally:
            consumer.close()
        topic_id, _ = self._describe(self._admin(), {task.partition: (task.lower,)})
        if topic_id != task.topic_id:  # the messages may be of either topic
            raise self._lost(
                task.partition,
                task.lower,
                "was deleted and created again",
                f"its id was {task.topic_id}",
            )

    def _messages(self, consumer: Consumer, task: TopicReadTask) -> Iterator[list[Message]]:
        """The task's messages in batches, until one is beyond it or the partition ends."""
        last_answer_at = time.monotonic()
        messages: list[Message] = []
        while True:
            batch = consumer.consume(BATCH_MESSAGES, 0.1)
            if batch:
                last_answer_at = time.monotonic()
            elif time.monotonic() - last_answer_at > _SILENCE_S:
                raise UpstreamUnavailable(
                    f'partition {task.partition} of topic "{self.upstream.topic}" is silent',
                    detail=f"for {_SILENCE_S} seconds",
                )
            for message in batch:
                error = message.error()
                if error is None:
                    offset = message.offset()
                    if offset < task.upper:
                        messages.append(message)
                    if offset >= task.upper - 1:
                        yield messages
                        return
                elif error.code() == KafkaError._PARTITION_EOF:
                    yield messages
                    if message.offset() < task.upper:
                        ends = f"ends at offset {message.offset()}"
                        raise self._changed(
                            task.partition,
                            message.offset(),
                            ends,
                            f"it is bound up to {task.upper}",
                        )
                    return
                elif error.code() in (
                    KafkaError._AUTO_OFFSET_RESET,
                    KafkaError.OFFSET_OUT_OF_RANGE,
                ):
                    raise self._changed(
                        task.partition,
                        task.lower,
                        f"no longer has offset {task.lower}",
                        error.str(),
                    )
                elif not error.retriable() and error.code() not in (
                    KafkaError._TRANSPORT,
                    KafkaError._ALL_BROKERS_DOWN,
                ):
                    raise KafkaException(error)
            if len(messages) >= BATCH_MESSAGES:
                yield messages
                messages = []

    def _decode(self, messages: Sequence[Message], partition: str) -> pa.Table:
        offsets = [message.offset() for message in messages]
        width = len(self.desc) - len(self.upstream.include)
        value_desc = RelationDesc(self.desc.columns[:width])
        values = [message.value() for message in messages]
        if self.upstream.envelope == "DEBEZIUM":
            return changes(values, self.format, self.desc, partition=partition, offsets=offsets)
        is_upsert = self.upstream.envelope == "UPSERT"
        rows = decode_messages(
            values,
            self.format,
            value_desc,
            partition=partition,
            offsets=offsets,
            may_lack_values=is_upsert,
        )
        for (kind, name), column in zip(
            self.upstream.include, self.desc.columns[width:], strict=True
        ):
            if kind == "KEY":
                assert self.upstream.key_format is not None
                keys = [message.key() for message in messages]
                key_desc = RelationDesc((column,))
                array = decode_messages(
                    keys, self.upstream.key_format, key_desc, partition=partition, offsets=offsets
                ).column(0)
            else:
                array = _METADATA[kind](messages)
            rows = rows.append_column(name, array)
        if is_upsert:
            rows = rows.append_column(PARTITION_COLUMN, _METADATA["PARTITION"](messages))
            rows = rows.append_column(OFFSET_COLUMN, pa.array(offsets, pa.int64()))
            rows = rows.append_column(DELETED_COLUMN, pa.array([value is None for value in values]))
        return rows

    # --- both ---

    def _settings(self) -> dict[str, Any]:
        return {**self.client, "socket.timeout.ms": _REQUEST_S * 1000, "log_level": 0}

    def _admin(self) -> AdminClient:
        return AdminClient(self._settings())

    def _describe(self, admin: AdminClient, bound: Bound) -> tuple[str, list[int]]:
        """The topic's id and its partitions."""
        topic = self.upstream.topic
        try:
            future = admin.describe_topics(TopicCollection([topic]), request_timeout=_REQUEST_S)[
                topic
            ]
            description = future.result(_REQUEST_S + 5)
        except (KafkaException, TimeoutError) as error:
            code = error.args[0].code() if isinstance(error, KafkaException) else None
            if code == KafkaError.UNKNOWN_TOPIC_OR_PART and bound:
                partition, evidence = min(bound.items())
                raise self._lost(
                    partition, evidence[0], "is gone", f"it is bound up to {evidence[0]}"
                ) from error
            raise self._unavailable(error) from error
        return str(description.topic_id), sorted(
            partition.id for partition in description.partitions
        )

    def partitions(self) -> list[int]:
        """All partitions of the topic. Raises ``UpstreamUnavailable``."""
        return self._describe(self._admin(), {})[1]

    def offsets_at(self, moment: Timestamp) -> list[int]:
        """Each partition's offset of its first message at ``moment`` or later, else its end. Raises
        ``SourceError``."""
        admin = self._admin()
        _, partitions = self._describe(admin, {})
        offsets = self._before(admin, moment, self._list(admin, partitions, OffsetSpec.latest()))
        return [offsets[partition] for partition in partitions]

    def _before(
        self, admin: AdminClient, moment: Timestamp, end: Mapping[int, int]
    ) -> Mapping[int, int]:
        """Each partition's offset of its first message at ``moment`` or later, else its end."""
        offsets = self._list(admin, list(end), OffsetSpec.for_timestamp(moment))
        return {p: min(offsets[p], end[p]) if offsets[p] >= 0 else end[p] for p in end}

    def list_offsets(self, partitions: Sequence[int], at: OffsetSpec) -> Mapping[int, int]:
        """An offset of each partition. Raises ``UpstreamUnavailable``."""
        return self._list(self._admin(), partitions, at)

    def _check_same(self, bound: Bound, topic_id: str, partitions: Sequence[int]) -> None:
        for partition, evidence in sorted(bound.items()):
            if evidence[1] != topic_id or partition not in partitions:
                raise self._lost(
                    partition,
                    evidence[0],
                    "was deleted and created again",
                    f"its id was {evidence[1]}, now {topic_id}",
                )

    def _begin(
        self,
        admin: AdminClient,
        partitions: Sequence[int],
        timed: Sequence[int],
        end: Mapping[int, int],
    ) -> dict[int, int]:
        """Where the source begins in each partition. START TIMESTAMP is for the ``timed`` ones."""
        begin = {
            p: self.upstream.start_offsets[p] if p < len(self.upstream.start_offsets) else 0
            for p in partitions
        }
        if self.upstream.start_timestamp is not None and timed:
            offsets = self._list(
                admin, timed, OffsetSpec.for_timestamp(self.upstream.start_timestamp)
            )
            begin |= {p: offset if offset >= 0 else end[p] for p, offset in offsets.items()}
        return begin

    def _cleanup_policy(self, admin: AdminClient) -> str:
        resource = ConfigResource(ConfigResource.Type.TOPIC, self.upstream.topic)
        try:
            config = admin.describe_configs([resource], request_timeout=_REQUEST_S)[
                resource
            ].result(_REQUEST_S + 5)
        except (KafkaException, TimeoutError) as error:
            raise self._unavailable(error) from error
        return str(config["cleanup.policy"].value)

    def _list(
        self, admin: AdminClient, partitions: Sequence[int], at: OffsetSpec
    ) -> Mapping[int, int]:
        """An offset of each partition; the latest one is the last stable offset."""
        request = {TopicPartition(self.upstream.topic, partition): at for partition in partitions}
        if not request:
            return {}
        try:
            offsets = admin.list_offsets(
                request, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=_REQUEST_S
            )
            return {
                place.partition: future.result(_REQUEST_S + 5).offset
                for place, future in offsets.items()
            }
        except (KafkaException, TimeoutError) as error:
            raise self._unavailable(error) from error

    def _changed(self, partition: Any, offset: int, what: str, detail: str) -> SourceError:
        message = f'partition {partition} of topic "{self.upstream.topic}" {what}'
        return UpstreamChanged(str(partition), offset, message=message, detail=detail)

    def _lost(self, partition: Any, offset: int, what: str, detail: str) -> UpstreamLost:
        message = f'partition {partition} of topic "{self.upstream.topic}" {what}'
        return UpstreamLost(str(partition), offset, message=message, detail=detail)

    def _unavailable(self, error: Exception) -> SourceError:
        detail = error.args[0].str() if isinstance(error, KafkaException) else "no answer in time"
        return UpstreamUnavailable(
            f'cannot read topic "{self.upstream.topic}" at "{self.client["bootstrap.servers"]}"',
            detail=detail,
        )


def _timestamps(messages: Sequence[Message]) -> pa.Array:
    moments = np.array([message.timestamp()[1] for message in messages], np.int64)
    return pa.array(moments).cast(pa.timestamp("ms")).cast(pa.timestamp("us"))


def _headers(messages: Sequence[Message]) -> pa.Array:
    """JSON: a list of names and values. The values are in PostgreSQL's hexadecimal form."""
    headers = [
        json.dumps(
            [
                [name, None if value is None else f"\\x{value.hex()}"]
                for name, value in message.headers() or ()
            ]
        )
        for message in messages
    ]
    return pa.array(headers, pa.string())


_METADATA = {
    "PARTITION": lambda messages: pa.array(
        [message.partition() for message in messages], pa.int32()
    ),
    "OFFSET": lambda messages: pa.array([message.offset() for message in messages], pa.int64()),
    "TIMESTAMP": _timestamps,
    "HEADERS": _headers,
}
