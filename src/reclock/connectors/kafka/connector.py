"""The connector of Kafka topics: it uses the topic's own partitions and offsets.

It binds up to the last stable offset: it does not read open transactions, and aborted transactions
yield no rows. Compaction and transaction markers leave gaps between offsets; it binds these offsets
too. The evidence is the topic's id, because the offsets of a recreated topic start at 0 again; see
``reclock.connectors.kafka.incarnations``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.connectors.connector import (
    Bound,
    CheckResult,
    Evidence,
    Increment,
    Skip,
    remaining_ranges,
)
from reclock.connectors.kafka.incarnations import (
    Incarnation,
    bound_incarnations,
    current_incarnations,
    follow_from_end,
    follow_from_start,
)
from reclock.connectors.kafka.messages import decode
from reclock.connectors.kafka.tasks import TASK_OFFSETS, ReplaceRows, TopicReadTask
from reclock.connectors.kafka.topic import Topic, request_settings, unavailable
from reclock.definitions.formats import Format
from reclock.definitions.sources import KafkaConnector, cannot_resnapshot
from reclock.errors import (
    SourceError,
    UpstreamChanged,
    UpstreamLost,
    UpstreamReplaced,
    UpstreamUnavailable,
    skip_statement,
)
from reclock.formats.bad_records import decoded_in_turn
from reclock.reclocking.remap import BoundRange

BATCH_MESSAGES = 25_000
"""How many messages are decoded at once."""

ALL_TOPICS_HINT = (
    "once all topics of the source are created again, the transaction topic too, ALTER SOURCE … "
    "RESNAPSHOT goes on with them; or DROP the source and create it again"
)
"""The way out of a source over several topics: each transaction has events in all of them."""

_SILENCE_S = 60
"""How long a task waits for a silent broker before it fails."""


@dataclass(frozen=True, slots=True)
class Kafka:
    """One topic, as a ``reclock.connectors.connector.Connector``."""

    upstream: KafkaConnector
    format: Format
    desc: RelationDesc
    client: Mapping[str, str] = field(repr=False)
    """librdkafka's settings for reaching the broker."""
    prefix: str = ""
    """What precedes a partition's number in errors, if the source reads other topics too."""

    # --- in the driver ---

    def probe(self, bound: Bound, skips: Sequence[Skip] = ()) -> list[Increment]:
        return self._probe(bound, skips, None)

    def probe_until(
        self, bound: Bound, moment: Timestamp, skips: Sequence[Skip] = ()
    ) -> list[Increment]:
        """The messages of each partition before its first message at ``moment`` or later."""
        try:
            return self._probe(bound, skips, moment)
        except (
            UpstreamReplaced
        ) as error:  # what another topic had at that moment is not the history
            raise UpstreamLost(
                error.partition, error.offset, message=error.message, detail=error.detail
            ) from error

    def _probe(
        self, bound: Bound, skips: Sequence[Skip], until: Timestamp | None
    ) -> list[Increment]:
        ends = self.upstream.end_offsets
        if ends and all(bound.get(partition, (0,))[0] >= end for partition, end in enumerate(ends)):
            return []  # the source is complete, so its topic may be deleted
        topic = self._topic()
        topic_id, partitions = self._describe(topic, bound)
        if ends:
            partitions = [partition for partition in partitions if partition < len(ends)]
        self._check_same(bound, topic_id)
        incarnations = current_incarnations(bound, topic_id, partitions)
        first = topic.first(partitions)
        end = topic.end(partitions)
        reached = end if until is None else topic.offsets_at(until, end)
        begin = self._begin(topic, incarnations, [p for p in partitions if p not in bound], end)
        increments = []
        for partition, incarnation in incarnations.items():
            base, lower = incarnation.base, bound[partition][0] if partition in bound else 0
            upper = min(reached[partition], ends[partition]) if ends else reached[partition]
            upper += base
            if end[partition] + base < lower:
                raise self._shortened(partition, end[partition] + base, lower)
            begins = first[partition] + base
            if (
                partition in bound
                and upper > lower
                and begins > lower
                and remaining_ranges(partition, lower, begins, skips)
            ):
                problem = f"begins at offset {begins}"
                detail = f"retention took messages from {lower} on before they were read"
                raise self._changed(partition, lower, problem, detail, begins)
            if upper > lower:
                start = min(max(lower, begin[partition] + base, begins), upper)
                evidence = (str(incarnation),)
                increments.append(
                    Increment(partition, lower, upper, upper - lower, evidence, {"begin": start})
                )
        return increments

    def is_replaced(self, bound: Bound) -> bool:
        topic = self._topic()
        topic_id, partitions = self._describe(topic, bound)
        return _is_other(bound, topic_id) or bool(self._missing(topic, bound, partitions))

    def replacing_id(self, bound: Bound) -> str | None:
        """The topic's id if it is not the one that is bound. Raises a ``SourceError``."""
        topic_id, _ = self._describe(self._topic(), bound)
        return topic_id if _is_other(bound, topic_id) else None

    def probe_anew(self, bound: Bound, skips: Sequence[Skip] = ()) -> list[Increment]:
        """Another topic is read from its start. A topic that lost its last messages is read from
        its start if rows replace each other; otherwise reading goes on at its end, because the
        source has the rows of what is left."""
        topic = self._topic()
        topic_id, partitions = self._describe(topic, bound)
        missing = self._missing(topic, bound, partitions)
        keeps_rows = self.upstream.envelope == "NONE"
        if not _is_other(bound, topic_id):
            if not missing:
                return self.probe(bound, skips)
            if keeps_rows:
                return follow_from_end(bound, missing)
        first = topic.first(partitions)
        end = topic.end(partitions)
        following = {p: Incarnation(topic_id, follows=True) for p in partitions}
        begin = self._begin(topic, following, partitions, end)
        start = {p: max(first[p], begin[p]) for p in partitions}
        increments = follow_from_start(bound, topic_id, start, end)
        return [
            replace(increment, detail={**increment.detail, "replaces_rows": not keeps_rows})
            for increment in increments
        ]

    def _missing(self, topic: Topic, bound: Bound, partitions: Sequence[int]) -> dict[int, int]:
        """The end offsets of the partitions that end before what is bound."""
        end = topic.end([p for p in partitions if p in bound])
        known = bound_incarnations(bound)
        return {p: offset for p, offset in end.items() if offset + known[p].base < bound[p][0]}

    def recall(
        self, ranges: Sequence[BoundRange], bound: Bound, skips: Sequence[Skip] = ()
    ) -> list[Increment]:
        """Only for a topic that still has all messages from the source's start on. Messages that
        were lost before the source was created cannot be told from those lost since."""
        topic = self._topic()
        topic_id, _ = self._describe(topic, bound)
        partitions = sorted(int(str(partition)) for partition in bound)
        self._check_same(bound, topic_id)
        incarnations = current_incarnations(bound, topic_id, partitions)
        for partition, incarnation in incarnations.items():
            if incarnation.follows:
                raise self._changed(
                    partition,
                    0,
                    "follows an earlier one since ALTER SOURCE … RESNAPSHOT",
                    "the messages of the earlier one cannot be read again",
                )
        first, end = topic.first(partitions), topic.end(partitions)
        begin = self._begin(topic, incarnations, partitions, end)
        for partition in partitions:
            upper = bound[partition][0]
            if end[partition] < upper:
                raise self._shortened(partition, end[partition], upper)
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
        if "compact" in topic.cleanup_policy():
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

    def tasks(
        self, increments: Sequence[Increment], skips: Sequence[Skip]
    ) -> list[TopicReadTask | ReplaceRows]:
        replaces = any(increment.detail.get("replaces_rows") for increment in increments)
        pieces: list[TopicReadTask | ReplaceRows] = [ReplaceRows()] if replaces else []
        for increment in increments:
            incarnation = Incarnation.of(increment.evidence[0])
            for lower, upper in remaining_ranges(
                increment.partition, increment.detail["begin"], increment.upper, skips
            ):
                own_upper = upper - incarnation.base
                for at in range(lower - incarnation.base, own_upper, TASK_OFFSETS):
                    end = min(at + TASK_OFFSETS, own_upper)
                    pieces.append(TopicReadTask(int(increment.name), at, end, incarnation))
        return pieces

    def size_bytes(self, task: TopicReadTask | ReplaceRows) -> int:
        return task.size_bytes

    def acknowledge(self, published: Sequence[Increment]) -> None:
        """Commit the consumer group's offsets for monitoring tools; Reclock does not read them."""
        if self.upstream.group is None:
            return
        consumer = Consumer(
            {
                **request_settings(self.client),
                "group.id": self.upstream.group,
                "enable.auto.commit": False,
            }
        )
        try:
            offsets = [
                TopicPartition(
                    self.upstream.topic,
                    int(increment.name),
                    increment.upper - Incarnation.of(increment.evidence[0]).base,
                )
                for increment in published
                if increment.size
            ]
            if offsets:
                consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            raise unavailable(self.upstream.topic, self.client, error) from error
        finally:
            consumer.close()

    def check(self, bound: Bound) -> Iterator[CheckResult]:
        topic = self._topic()
        user = self.client.get("sasl.username")
        topic_id, partitions = self._describe(topic, {})
        security = self.client.get("security.protocol", "plaintext")
        identity = f'as "{user}"' if user else "as nobody in particular"
        yield CheckResult(
            "broker", True, f"{self.client['bootstrap.servers']} over {security}, {identity}"
        )
        yield CheckResult(
            "topic",
            True,
            f'"{self.upstream.topic}" has {len(partitions)} partitions and the id {topic_id}',
        )
        first = topic.first(partitions)
        end = topic.end(partitions)
        yield CheckResult(
            "messages", True, ", ".join(f"{p}: offsets {first[p]} to {end[p]}" for p in partitions)
        )

    # --- in executors ---

    def read(self, task: TopicReadTask | ReplaceRows) -> Iterator[tuple[str, pa.Table | None]]:
        if isinstance(task, ReplaceRows):
            yield task.output, None
            return
        partition, base = str(task.partition), task.incarnation.base

        def rows_of(messages: list[Message]) -> pa.Table:
            return decode(
                messages, self.upstream, self.format, self.desc, partition=partition, base=base
            )

        for rows in decoded_in_turn(partial(rows_of, messages) for messages in self.messages(task)):
            yield "", rows

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
        consumer = Consumer({**request_settings(self.client), **settings})
        try:
            consumer.assign([TopicPartition(self.upstream.topic, task.partition, task.lower)])
            yield from self._messages(consumer, task)
        except KafkaException as error:
            raise unavailable(self.upstream.topic, self.client, error) from error
        finally:
            consumer.close()
        bound: Bound = {task.partition: (task.lower + task.incarnation.base, str(task.incarnation))}
        topic_id, _ = self._describe(self._topic(), bound)
        self._check_same(bound, topic_id)  # else the messages may be of either topic

    def _messages(self, consumer: Consumer, task: TopicReadTask) -> Iterator[list[Message]]:
        """The task's messages in batches, until one is beyond it or the partition ends."""
        last_answer_at = time.monotonic()
        base = task.incarnation.base
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
                        raise self._shortened(
                            task.partition, message.offset() + base, task.upper + base
                        )
                    return
                elif error.code() in (
                    KafkaError._AUTO_OFFSET_RESET,
                    KafkaError.OFFSET_OUT_OF_RANGE,
                ):
                    raise self._changed(
                        task.partition,
                        task.lower + base,
                        f"no longer has offset {task.lower + base}",
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

    # --- both ---

    def _topic(self) -> Topic:
        return Topic.open(self.upstream.topic, self.client)

    def _describe(self, topic: Topic, bound: Bound) -> tuple[str, list[int]]:
        """The topic's id and its partitions."""
        described = topic.describe()
        if described is not None:
            return described
        if not bound:
            raise UpstreamUnavailable(
                f'cannot read topic "{topic.name}" at "{self.client["bootstrap.servers"]}"',
                detail="the broker has no such topic",
                hint="create the topic; if it has another name, drop the source and create it again",
            )
        partition, evidence = min(bound.items())
        raise self._lost(
            partition,
            evidence[0],
            "is gone",
            f"it is bound up to {evidence[0]}",
            "once the topic is there again, ALTER SOURCE … RESNAPSHOT goes on with it",
        )

    def partitions(self) -> list[int]:
        """All partitions of the topic. Raises ``UpstreamUnavailable``."""
        return self._describe(self._topic(), {})[1]

    def offsets_at(self, moment: Timestamp) -> list[int]:
        """Each partition's offset of its first message at ``moment`` or later, else its end. Raises
        ``SourceError``."""
        topic = self._topic()
        _, partitions = self._describe(topic, {})
        offsets = topic.offsets_at(moment, topic.end(partitions))
        return [offsets[partition] for partition in partitions]

    def first_offsets(self, partitions: Sequence[int]) -> Mapping[int, int]:
        """The offset of each partition's oldest message. Raises ``UpstreamUnavailable``."""
        return self._topic().first(partitions)

    def _check_same(self, bound: Bound, topic_id: str) -> None:
        for partition, evidence in sorted(bound.items()):
            bound_id = Incarnation.of(evidence[1]).topic_id
            if bound_id != topic_id:
                raise self._lost(
                    partition,
                    evidence[0],
                    "was deleted and created again",
                    f"its id was {bound_id}, now {topic_id}",
                    "ALTER SOURCE … RESNAPSHOT goes on with the topic that is there now",
                )

    def _begin(
        self,
        topic: Topic,
        incarnations: Mapping[int, Incarnation],
        timed: Sequence[int],
        end: Mapping[int, int],
    ) -> dict[int, int]:
        """Where the source begins in each partition, in the topic's own offsets. START OFFSET is
        for the source's first topic, START TIMESTAMP for the ``timed`` partitions."""
        starts = self.upstream.start_offsets
        begin = {
            p: starts[p] if p < len(starts) and not incarnation.follows else 0
            for p, incarnation in incarnations.items()
        }
        if self.upstream.start_timestamp is not None and timed:
            moment = Timestamp(self.upstream.start_timestamp)
            begin |= topic.offsets_at(moment, {p: end[p] for p in timed})
        return begin

    def _changed(
        self, partition: Any, offset: int, what: str, detail: str, upper: int | None = None
    ) -> SourceError:
        """``upper``: where the messages begin that are not lost."""
        message = f'partition {partition} of topic "{self.upstream.topic}" {what}'
        name = f"{self.prefix}{partition}"
        hint = (
            f"{skip_statement((name, offset, upper))} gives them up" if upper is not None else None
        )
        return UpstreamChanged(name, offset, message=message, detail=detail, hint=hint, upper=upper)

    def _shortened(self, partition: int, end: int, upper: int) -> SourceError:
        return self._lost(
            partition,
            end,
            f"ends at offset {end}",
            f"it is bound up to {upper}",
            "ALTER SOURCE … RESNAPSHOT goes on with what the topic has now",
        )

    def _lost(self, partition: Any, offset: int, what: str, detail: str, hint: str) -> UpstreamLost:
        """``hint`` is the way out where the source can follow another topic."""
        message = f'partition {partition} of topic "{self.upstream.topic}" {what}'
        name = f"{self.prefix}{partition}"
        if cannot_resnapshot(self.upstream):
            return UpstreamLost(name, offset, message=message, detail=detail)
        hint = ALL_TOPICS_HINT if self.prefix else hint
        return UpstreamReplaced(name, offset, message=message, detail=detail, hint=hint)


def _is_other(bound: Bound, topic_id: str) -> bool:
    """Whether the topic with this id is not the one that is bound."""
    return any(
        incarnation.topic_id != topic_id for incarnation in bound_incarnations(bound).values()
    )
