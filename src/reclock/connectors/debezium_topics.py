"""Debezium's topics: the transaction topic, and one topic per table, as one connector writes them.

Offsets here are the source's, except where a docstring says that they are the topic's own
(`reclock.connectors.kafka.incarnations`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Message

from reclock.algebra.relations import RelationDesc
from reclock.connectors.connector import Bound, Evidence, Increment, Skip, skipped_ranges
from reclock.connectors.debezium_transactions import event_at, transaction_end
from reclock.connectors.kafka.connector import Kafka
from reclock.connectors.kafka.incarnations import Incarnation
from reclock.connectors.kafka.tasks import TopicReadTask
from reclock.definitions.formats import BytesFormat, Format
from reclock.definitions.sources import DebeziumConnector, KafkaConnector
from reclock.errors import UpstreamChanged
from reclock.reclocking.frontiers import Partition
from reclock.reclocking.transactions import (
    KNOWN_TRANSACTIONS,
    Event,
    Stretch,
    TransactionEnd,
    fresh,
)

LOG_ENTRIES = 2 * KNOWN_TRANSACTIONS
"""How many entries of the transaction topic are in memory at once: each transaction has two."""

STEP_EVENTS = 200_000
"""About how many events one step binds, and at least one transaction."""


@dataclass(frozen=True, slots=True)
class DebeziumTopics:
    """Reads the topics of the tables ``outputs`` and of their transactions."""

    upstream: DebeziumConnector
    outputs: Collection[str]
    format: Format
    client: Mapping[str, str] = field(repr=False)

    def name(self, output: str) -> str:
        """The part of its partitions' names before the slash: its topic, and ``@guest``, if any."""
        return f"{self.upstream.prefix}.{output}"

    def topic(self, name: str) -> Kafka:
        topic, _, _ = name.partition("@")
        return Kafka(
            KafkaConnector(self.upstream.connection, topic),
            BytesFormat(),
            RelationDesc(()),
            self.client,
            f"{name}/",
        )

    def bound_of(self, name: str, bound: Bound) -> dict[Partition, Evidence]:
        """What is bound of a topic, by the topic's own partitions."""
        prefix = f"{name}/"
        return {
            int(str(partition).removeprefix(prefix)): evidence
            for partition, evidence in bound.items()
            if is_of(partition, prefix)
        }

    def probe(self, name: str, bound: Bound, skips: Sequence[Skip]) -> list[Increment]:
        prefix = f"{name}/"
        skips_here = [
            (name.removeprefix(prefix), *range_) for name, *range_ in skips if is_of(name, prefix)
        ]
        increments = self.topic(name).probe(self.bound_of(name, bound), skips_here)  # type: ignore[arg-type]
        return [
            Increment(f"{prefix}{i.partition}", i.lower, i.upper, i.covered, i.evidence, i.detail)
            for i in increments
        ]

    def new_in_log(self, reached: Increment) -> tuple[set[str], list[TransactionEnd], bool]:
        """The recent bound transactions, which may be repeated; the next transactions to bind; and
        whether retention has trimmed the topic's beginning."""
        first, base = self.log_begins(), Incarnation.of(reached.evidence[0]).base
        before = self._transaction_ends(
            reached, max(base + first, reached.lower - LOG_ENTRIES), reached.lower
        )
        known = {ended.id for ended in before}
        new = (fresh(part, known) for part in self.parts(reached))
        return known, next(filter(None, new), []), first > 0

    def log_begins(self) -> int:
        """The log's own first offset."""
        [first] = self.topic(self.upstream.transaction_topic).first_offsets([0]).values()
        return first

    def parts(self, log: Increment) -> Iterator[list[TransactionEnd]]:
        """The transactions that end in the log, in parts about as large as one step."""
        for at in range(log.detail["begin"], log.upper, LOG_ENTRIES):
            part: list[TransactionEnd] = []
            events = 0
            for ended in self._transaction_ends(log, at, min(at + LOG_ENTRIES, log.upper)):
                part.append(ended)
                events += sum(ended.counts.values())
                if events >= STEP_EVENTS:
                    yield part
                    part, events = [], 0
            if part:
                yield part

    def _transaction_ends(self, log: Increment, lower: int, upper: int) -> list[TransactionEnd]:
        """The transactions that end in these offsets of the log."""
        messages = self._read(log, lower, upper)
        ends = (
            transaction_end(message.value(), self.format, log.name, offset, self.outputs)
            for offset, message in messages
        )
        return [ended for ended in ends if ended is not None]

    def read_events(
        self,
        reached: Increment,
        known_ids: Set[str],
        new_ids: Set[str],
        is_trimmed: bool,
        skips: Sequence[Skip],
    ) -> Stretch:
        """The events up to the first one whose transaction has neither a known id nor a new one:
        that event and all later ones wait.

        Raises ``UpstreamChanged`` if they would wait forever, because the trimmed log no longer has
        the end of that transaction: then events of new transactions follow. This can happen only
        where a partition begins.
        """
        name = reached.name.rpartition("/")[0]
        ranges, skipped_events = skipped_ranges(reached.partition, skips), 0
        begins_here = reached.lower == Incarnation.of(reached.evidence[0]).base
        ended = new_ids if is_trimmed and begins_here else frozenset()
        events: list[Event] = []
        unknown: Event | None = None
        read_orders: set[tuple[str | None, int]] = set()
        messages = self._read(reached, reached.detail["begin"], reached.upper)
        for offset, message in messages:
            is_skipped = any(lower <= offset < upper for lower, upper in ranges)
            event = (
                Event(offset)
                if is_skipped
                else event_at(message.value(), self.format, reached.name, offset)
            )
            if unknown is None:
                skipped_events += is_skipped
                events.append(event)
                if (
                    event.transaction is not None
                    and event.transaction not in known_ids
                    and event.transaction not in new_ids
                ):
                    if not ended or event.transaction in ended:
                        break
                    unknown, read_orders = (
                        event,
                        {(earlier.transaction, earlier.order) for earlier in events},
                    )
            elif event.transaction in ended and (event.transaction, event.order) not in read_orders:
                raise self._untracked_transaction(reached.name, unknown, event.offset)
        return Stretch(
            name.removeprefix(f"{self.upstream.prefix}."), events, reached.upper, skipped_events
        )

    def _untracked_transaction(self, partition: str, event: Event, before: int) -> UpstreamChanged:
        topic = self.upstream.transaction_topic
        message = (
            f'transaction "{event.transaction}" of "{partition}" ended before topic '
            f'"{topic}" begins'
        )
        return UpstreamChanged(
            partition,
            event.offset,
            message=message,
            detail=f"its events lie at {event.offset} to {before - 1}",
        )

    def _read(self, reached: Increment, lower: int, upper: int) -> Iterator[tuple[int, Message]]:
        """The messages at these offsets, each with its offset."""
        name, _, partition = reached.name.rpartition("/")
        if lower < upper:
            incarnation = Incarnation.of(reached.evidence[0])
            base = incarnation.base
            piece = TopicReadTask(int(partition), lower - base, upper - base, incarnation)
            for messages in self.topic(name).messages(piece):
                yield from ((base + message.offset(), message) for message in messages)


def is_of(partition: Any, prefix: str) -> bool:
    return str(partition).startswith(prefix) and str(partition).removeprefix(prefix).isdigit()
