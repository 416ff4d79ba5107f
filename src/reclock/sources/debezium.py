"""Change events of Debezium: topics of tables, bound by transaction with the topic that says where transactions end.

The partitions are those of all topics, as ``topic/partition``, so that one source, with a relation a table, has one frontier. A
probe reads the events that are new, for the transactions they name; what they hold is read by executors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from confluent_kafka import Message
from confluent_kafka.admin import OffsetSpec

from reclock.algebra.relations import RelationDesc
from reclock.errors import DecodeFailed, UpstreamUnavailable
from reclock.reclocking.frontiers import SourceFrontier
from reclock.reclocking.transactions import Ended, Event, Stretch, cut, fresh
from reclock.sources.connector import Bound, Evidence, Increment, Skip, given_up, left
from reclock.sources.description import BytesFormat, DebeziumConnector, Format, KafkaConnector
from reclock.sources.envelope import changes, event_of
from reclock.sources.kafka import TASK_OFFSETS, Kafka, Piece

KNOWN_ENTRIES = 20_000
"""So many entries of the transaction topic before those that are bound are read again, to know what a connector sends twice."""

STEP_EVENTS = 200_000
"""About how many events one step binds; a larger transaction is bound alone."""


@dataclass(frozen=True, slots=True)
class TablePiece:
    """A part of a table's topic, without the offsets that are ``dropped``: they hold what was there before."""

    table: str
    piece: Piece
    dropped: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Debezium:
    """Tables with their transactions, as a ``reclock.sources.connector.Connector``."""

    upstream: DebeziumConnector
    outputs: Mapping[str, RelationDesc]
    """By ``schema.table``."""
    format: Format
    client: Mapping[str, str] = field(repr=False)

    # --- in the driver ---

    def probe(self, bound: Bound, skips: Sequence[Skip] = ()) -> list[Increment]:
        reached = {
            increment.partition: increment
            for topic in (self.upstream.transaction_topic, *map(self._name, self.outputs))
            for increment in self._probe_topic(topic, bound, skips)
        }
        log_reached = reached.pop(f"{self.upstream.transaction_topic}/0", None)
        if any(_is_of(partition, f"{self.upstream.transaction_topic}/") for partition in reached):
            raise UpstreamUnavailable(
                f'topic "{self.upstream.transaction_topic}" has several partitions', detail="they have no order"
            )
        known, log = self._read_log(log_reached) if log_reached is not None else (set(), [])
        log = _first(fresh(log, known), set(self.outputs))
        wanted = known | {ended.id for ended in log}
        read = {partition: self._read_events(increment, wanted, skips) for partition, increment in reached.items()}
        nothing_new = set(self.outputs) - {stretch.collection for stretch in read.values()}
        found = cut(log, known, {**read, **{table: Stretch(table, (), 0) for table in nothing_new}})  # their events are waited for
        increments = [
            _cut_to(increment, found.uppers[partition], found.dropped[partition])
            for partition, increment in sorted(reached.items())
            if found.uppers[partition] > increment.lower
        ]
        if log_reached is not None and found.bound:
            increments.append(_cut_to(log_reached, found.bound[-1].offset + 1, ()))
        return sorted(increments, key=lambda increment: increment.name)

    def reread(self, claimed: Increment, before: Evidence | None) -> Increment:
        """Messages never change."""
        return claimed

    def tasks(self, increments: Sequence[Increment], skips: Sequence[Skip]) -> list[TablePiece]:
        tables = {self._name(table): table for table in self.outputs}
        pieces = []
        for own in increments:
            topic, _, partition = own.name.rpartition("/")
            if topic not in tables:
                continue
            for lower, upper in left(own.partition, own.detail["begin"], own.upper, skips):
                for at in range(lower, upper, TASK_OFFSETS):
                    end = min(at + TASK_OFFSETS, upper)
                    dropped = tuple(offset for offset in own.detail["dropped"] if at <= offset < end)
                    pieces.append(TablePiece(tables[topic], Piece(int(partition), at, end, own.evidence[0]), dropped))
        return pieces

    def acknowledge(self, frontier: SourceFrontier) -> None:
        """Nobody is told."""

    # --- in executors ---

    def read(self, task: TablePiece) -> Iterator[tuple[str, pa.Table]]:
        dropped = set(task.dropped)
        partition = f"{self._name(task.table)}/{task.piece.partition}"
        for messages in self._topic(self._name(task.table)).messages(task.piece):
            kept = [message for message in messages if message.offset() not in dropped]
            values, offsets = [message.value() for message in kept], [message.offset() for message in kept]
            yield task.table, changes(values, self.format, self.outputs[task.table], partition=partition, offsets=offsets)

    # --- how ---

    def _name(self, table: str) -> str:
        return f"{self.upstream.prefix}.{table}"

    def _topic(self, topic: str) -> Kafka:
        return Kafka(KafkaConnector(self.upstream.connection, topic), BytesFormat(), RelationDesc(()), self.client)

    def _probe_topic(self, topic: str, bound: Bound, skips: Sequence[Skip]) -> list[Increment]:
        own = f"{topic}/"
        bound_here = {int(str(name).removeprefix(own)): kept for name, kept in bound.items() if _is_of(name, own)}
        skips_here = [(name.removeprefix(own), *range_) for name, *range_ in skips if _is_of(name, own)]
        found = self._topic(topic).probe(bound_here, skips_here)  # type: ignore[arg-type]
        return [Increment(f"{own}{i.partition}", i.lower, i.upper, i.covered, i.evidence, i.detail) for i in found]

    def _read_log(self, reached: Increment) -> tuple[set[str], list[Ended]]:
        """The transactions that ended before what is new in the log, as far as they may come again; and those that end in it."""
        topic = self._topic(self.upstream.transaction_topic)
        [first] = topic.list_offsets([0], OffsetSpec.earliest()).values()
        known, log = set(), []
        start = max(first, reached.lower - KNOWN_ENTRIES)
        for message in self._read_topic(reached, start):
            ended = self._ended(message)
            if ended is not None and ended.offset < reached.lower:
                known.add(ended.id)
            elif ended is not None:
                log.append(ended)
        return known, log

    def _ended(self, message: Message) -> Ended | None:
        partition = f"{self.upstream.transaction_topic}/{message.partition()}"
        entry = event_of(message.value(), self.format, partition, message.offset())
        try:
            if entry is None or entry["status"] != "END":
                return None
            counts = {each["data_collection"]: int(each["event_count"]) for each in entry.get("data_collections") or ()}
            return Ended(_stem(entry["id"]), message.offset(), {_table(name, self.outputs): n for name, n in counts.items()})
        except (KeyError, TypeError, ValueError) as error:
            raise DecodeFailed(
                partition, message.offset(), detail="it is no entry of a transaction topic", unit="offset"
            ) from error

    def _read_events(self, reached: Increment, wanted: set[str], skips: Sequence[Skip]) -> Stretch:
        """Up to the first event of a transaction that is not ``wanted``: it and all behind it wait."""
        topic = reached.name.rpartition("/")[0]
        ranges, given_up_events = given_up(reached.partition, skips), 0
        events = []
        for message in self._read_topic(reached, reached.detail["begin"]):
            is_given_up = any(lower <= message.offset() < upper for lower, upper in ranges)
            given_up_events += is_given_up
            event = Event(message.offset()) if is_given_up else self._event(message)
            events.append(event)
            if event.transaction is not None and event.transaction not in wanted:
                break
        return Stretch(topic.removeprefix(f"{self.upstream.prefix}."), events, reached.upper, given_up_events)

    def _event(self, message: Message) -> Event:
        partition = f"{message.topic()}/{message.partition()}"
        document = event_of(message.value(), self.format, partition, message.offset())
        transaction = document.get("transaction") if document is not None else None
        if transaction is None:
            return Event(message.offset())
        try:
            return Event(message.offset(), _stem(transaction["id"]), int(transaction["total_order"]))
        except (KeyError, TypeError, ValueError) as error:
            raise DecodeFailed(partition, message.offset(), detail="its transaction is not Debezium's", unit="offset") from error

    def _read_topic(self, reached: Increment, start: int) -> Iterator[Message]:
        topic, _, partition = reached.name.rpartition("/")
        if start < reached.upper:
            piece = Piece(int(partition), start, reached.upper, reached.evidence[0])
            for messages in self._topic(topic).messages(piece):
                yield from messages


def _is_of(partition: Any, prefix: str) -> bool:
    return str(partition).startswith(prefix) and str(partition).removeprefix(prefix).isdigit()


def _first(log: Sequence[Ended], tables: set[str]) -> list[Ended]:
    """As many transactions as one step should bind."""
    chosen: list[Ended] = []
    events = 0
    for ended in log:
        events += sum(count for table, count in ended.counts.items() if table in tables)
        if chosen and events > STEP_EVENTS:
            break
        chosen.append(ended)
    return chosen


def _cut_to(reached: Increment, upper: int, dropped: Sequence[int]) -> Increment:
    detail = {"begin": min(reached.detail["begin"], upper), "dropped": list(dropped)}
    return Increment(reached.partition, reached.lower, upper, upper - reached.lower, reached.evidence, detail)


def _stem(id: str) -> str:
    """What names a transaction both where it begins and where it ends: PostgreSQL's ids have an LSN behind it, which differs."""
    return str(id).partition(":")[0]


def _table(collection: str, tables: Mapping[str, RelationDesc]) -> str:
    """A data collection as the source calls it: SQL Server and others put the name of the database in front."""
    return next((table for table in tables if collection == table or collection.endswith(f".{table}")), collection)
