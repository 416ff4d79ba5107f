"""Debezium's change events: one topic per table, bound by transaction with the transaction topic.

A source has one relation per table and one frontier. Its partitions are those of all topics, as
``topic/partition``. A probe reads new events for their transaction ids; executors read their rows.

A guest's table joins late. It is read from the beginning, in partitions of its own: one step binds
all of its events that belong to bound transactions, and nothing else. From then on transactions
wait for its events too.

If all topics are created again, RESNAPSHOT follows them, as
``reclock.connectors.kafka.incarnations`` describes. Offsets here are the source's, except where a
docstring says that they are the topic's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa
from confluent_kafka import Message

from reclock.algebra.relations import RelationDesc
from reclock.connectors.connector import (
    BlockedReason,
    Bound,
    Evidence,
    Increment,
    Skip,
    remaining_ranges,
)
from reclock.connectors.debezium_topics import DebeziumTopics, is_of
from reclock.connectors.kafka.connector import ALL_TOPICS_HINT
from reclock.connectors.kafka.incarnations import Incarnation
from reclock.connectors.kafka.tasks import TASK_OFFSETS, ReplaceRows, TopicReadTask
from reclock.definitions.formats import Format
from reclock.definitions.sources import DebeziumConnector
from reclock.errors import (
    DecodeFailed,
    SourceError,
    UpstreamChanged,
    UpstreamReplaced,
    UpstreamUnavailable,
)
from reclock.formats.bad_records import decoded_in_turn
from reclock.formats.envelope import changes
from reclock.reclocking.frontiers import Partition
from reclock.reclocking.transactions import Missing, Stretch, caught_up, cut


@dataclass(frozen=True, slots=True)
class TablePiece:
    """A part of a table's topic without the ``dropped`` offsets: they repeat earlier events."""

    table: str
    piece: TopicReadTask
    dropped: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Debezium:
    """Tables with their transactions, as a ``reclock.connectors.connector.Connector``."""

    upstream: DebeziumConnector
    outputs: Mapping[str, RelationDesc]
    """By ``schema.table``, or ``schema.table@guest`` for a guest's table."""
    format: Format
    client: Mapping[str, str] = field(repr=False)

    @property
    def _topics(self) -> DebeziumTopics:
        return DebeziumTopics(self.upstream, self.outputs, self.format, self.client)

    # --- in the driver ---

    def with_outputs(self, outputs: Mapping[str, RelationDesc]) -> Debezium:
        return replace(self, outputs=outputs)

    def probe(self, bound: Bound, skips: Sequence[Skip] = ()) -> list[Increment]:
        begun = {
            output: desc for output, desc in self.outputs.items() if not _is_late(output, bound)
        }
        return self.with_outputs(begun)._probe_outputs(bound, skips)

    def begin(
        self, bound: Bound, skips: Sequence[Skip] = ()
    ) -> tuple[list[Increment], Mapping[str, BlockedReason]]:
        """Begin the late tables whose topics have all events of the bound transactions."""
        increments: list[Increment] = []
        blocked: dict[str, BlockedReason] = {}
        for output in self.outputs:
            if not _is_late(output, bound):
                continue
            try:
                increments += self.with_outputs({output: self.outputs[output]})._catch_up(
                    output, bound, skips
                )
            except _EventsMissing as missing:  # transactions do not wait for it before it begins
                blocked[output] = str(missing)
            except UpstreamUnavailable as error:  # Debezium creates a topic with its first event
                blocked[output] = ": ".join(filter(None, (error.message, error.detail)))
            except SourceError as error:
                if isinstance(error, DecodeFailed | UpstreamChanged):
                    error.hint = _RECREATE_HINT  # there is no claim yet whose error SKIP could name
                blocked[output] = error
        return increments, blocked

    def _catch_up(self, output: str, bound: Bound, skips: Sequence[Skip]) -> list[Increment]:
        name = self._topics.name(output)
        reached = {
            increment.partition: increment for increment in self._topics.probe(name, {}, skips)
        }
        empty = {
            f"{name}/{partition}": Stretch(output, (), 0)
            for partition in self._topics.topic(name).partitions()
        }
        upper, evidence = bound.get(log_name := f"{self.upstream.transaction_topic}/0", (0, ""))
        base = Incarnation.of(evidence).base
        first = self._topics.log_begins() if upper > base else 0
        log = Increment(log_name, base, upper, upper - base, (evidence,), {"begin": base + first})

        def read(
            uppers: Mapping[Partition, int], known_ids: Set[str], new_ids: Set[str]
        ) -> Mapping[Partition, Stretch]:
            unread = (
                _from(increment, uppers.get(partition, 0))
                for partition, increment in reached.items()
            )
            return empty | {
                increment.partition: self._topics.read_events(
                    increment, known_ids, new_ids, first > 0, skips
                )
                for increment in unread
            }

        complete = caught_up(self._topics.parts(log), read)
        if isinstance(complete, Missing):
            raise _not_caught_up(complete, name.partition("@")[0], reached.values())
        increments = [
            _truncated(i, complete.uppers[i.partition], complete.dropped[i.partition])
            for i in reached.values()
        ]
        return [
            Increment(output, 0, 0, 0, ("",)),
            *(increment for increment in increments if increment.size),
        ]

    def _probe_outputs(self, bound: Bound, skips: Sequence[Skip]) -> list[Increment]:
        reached = {
            increment.partition: increment
            for topic in (self.upstream.transaction_topic, *map(self._topics.name, self.outputs))
            for increment in self._topics.probe(topic, bound, skips)
        }
        log_reached = reached.pop(f"{self.upstream.transaction_topic}/0", None)
        if any(is_of(partition, f"{self.upstream.transaction_topic}/") for partition in reached):
            raise UpstreamUnavailable(
                f'topic "{self.upstream.transaction_topic}" has several partitions',
                detail="they have no order",
            )
        known_ids, log, is_trimmed = (
            self._topics.new_in_log(log_reached) if log_reached is not None else (set(), [], False)
        )
        new_ids = {ended.id for ended in log}
        read = {
            partition: self._topics.read_events(increment, known_ids, new_ids, is_trimmed, skips)
            for partition, increment in reached.items()
        }
        nothing_new = set(self.outputs) - {stretch.collection for stretch in read.values()}
        # transactions also wait for the events of tables that have none yet
        unread: dict[Partition, Stretch] = {table: Stretch(table, (), 0) for table in nothing_new}
        bindable = cut(log, known_ids, {**read, **unread})
        increments = [
            _truncated(increment, bindable.uppers[partition], bindable.dropped[partition])
            for partition, increment in sorted(reached.items())
            if bindable.uppers[partition] > increment.lower
        ]
        if log_reached is not None and bindable.bound:
            increments.append(_truncated(log_reached, bindable.bound[-1].offset + 1, ()))
        return sorted(increments, key=lambda increment: increment.name)

    def is_replaced(self, bound: Bound) -> bool:
        """Raises ``UpstreamReplaced`` if only some topics are other ones: a transaction cannot be
        whole if some of its events were in a topic that is gone."""
        return bool(self._replacing(bound))

    def _replacing(self, bound: Bound) -> Mapping[str, str]:
        """The ids of the topics that are bound and were created again, by name: of all or none."""
        ids: dict[str, str] = {}
        kept_topics: list[str] = []
        for name in (self.upstream.transaction_topic, *map(self._topics.name, self.outputs)):
            topic, bound_here = self._topics.topic(name), self._topics.bound_of(name, bound)
            if not bound_here:
                continue
            if (id := topic.replacing_id(bound_here)) is not None:
                ids[name] = id
            else:
                kept_topics.append(name)
                if topic.is_replaced(bound_here):
                    ids.setdefault(name, "")
        if ids and kept_topics:
            named = ", ".join(f'"{name.partition("@")[0]}"' for name in sorted(kept_topics))
            partition, evidence = min(self._topics.bound_of(kept_topics[0], bound).items())
            raise UpstreamReplaced(
                f"{kept_topics[0]}/{partition}",
                evidence[0],
                message="not all topics of the source were created again",
                detail=f"{named} is still the one that the source reads"
                if len(kept_topics) == 1
                else f"{named} are still those that the source reads",
                hint=ALL_TOPICS_HINT,
            )
        return ids

    def probe_anew(self, bound: Bound, skips: Sequence[Skip] = ()) -> list[Increment]:
        """The new topics are bound from their beginnings by transaction, as at the source's own
        beginning. Every table becomes what its new topic tells."""
        following: dict[Partition, Evidence] = {
            f"{name}/{partition}": (offset, str(Incarnation(id, offset, follows=True)))
            for name, id in self._replacing(bound).items()
            for partition, (offset, _) in self._topics.bound_of(name, bound).items()
        }
        increments = self.probe({**bound, **following}, skips)
        if not following:
            return increments
        reached = {increment.name for increment in increments}
        for partition, (offset, evidence) in following.items():
            if partition not in reached:  # it is empty so far, or the new topic lacks it
                detail = {"begin": offset, "dropped": []}
                increments.append(Increment(partition, offset, offset, 0, (evidence,), detail))
        replaced = [output for output in self.outputs if not _is_late(output, bound)]
        [first, *rest] = sorted(increments, key=lambda increment: increment.name)
        return [replace(first, detail={**first.detail, "replaced": replaced}), *rest]

    def reread(self, claimed: Increment, before: Evidence | None) -> Increment:
        """Messages never change."""
        return claimed

    def tasks(
        self, increments: Sequence[Increment], skips: Sequence[Skip]
    ) -> list[TablePiece | ReplaceRows]:
        tables = {self._topics.name(output): output for output in self.outputs}
        pieces: list[TablePiece | ReplaceRows] = [
            ReplaceRows(output)
            for increment in increments
            for output in increment.detail.get("replaced", ())
            if output in self.outputs
        ]
        for increment in increments:
            topic, _, partition = increment.name.rpartition("/")
            if topic not in tables:
                continue
            incarnation = Incarnation.of(increment.evidence[0])
            for lower, upper in remaining_ranges(
                increment.partition, increment.detail["begin"], increment.upper, skips
            ):
                for at in range(lower, upper, TASK_OFFSETS):
                    end = min(at + TASK_OFFSETS, upper)
                    dropped = tuple(
                        offset for offset in increment.detail["dropped"] if at <= offset < end
                    )
                    own_range = at - incarnation.base, end - incarnation.base
                    piece = TopicReadTask(int(partition), *own_range, incarnation)
                    pieces.append(TablePiece(tables[topic], piece, dropped))
        return pieces

    def size_bytes(self, task: TablePiece | ReplaceRows) -> int:
        return task.piece.size_bytes if isinstance(task, TablePiece) else task.size_bytes

    def acknowledge(self, published: Sequence[Increment]) -> None:
        """Debezium's topics need no acknowledgement."""

    # --- in executors ---

    def read(self, task: TablePiece | ReplaceRows) -> Iterator[tuple[str, pa.Table | None]]:
        if isinstance(task, ReplaceRows):
            yield task.output, None
            return
        dropped, base = set(task.dropped), task.piece.incarnation.base
        name, desc = self._topics.name(task.table), self.outputs[task.table]
        partition = f"{name}/{task.piece.partition}"

        def decode(messages: Sequence[Message]) -> pa.Table:
            values = {base + message.offset(): message.value() for message in messages}
            offsets = [offset for offset in values if offset not in dropped]
            fresh_values = [values[offset] for offset in offsets]
            return changes(fresh_values, self.format, desc, partition=partition, offsets=offsets)

        batches = self._topics.topic(name).messages(task.piece)
        for rows in decoded_in_turn(partial(decode, messages) for messages in batches):
            yield task.table, rows


class _EventsMissing(Exception):
    """A table cannot begin before more of its events arrive."""


def _not_caught_up(
    missing: Missing, topic: str, reached: Iterable[Increment]
) -> UpstreamChanged | _EventsMissing:
    """Why a late table, whose topic was read to these ends, cannot begin."""
    transaction = f'transaction "{missing.transaction}"'
    if missing.are_gone:
        partition, end = max((str(part.partition), part.upper) for part in reached)
        return UpstreamChanged(
            partition,
            end,
            message=f'{missing.count} events of {transaction} are gone from topic "{topic}"',
            detail="those of later transactions are there",
        )
    missing_events = f"{missing.count} events of" if missing.count else "what lies before"
    return _EventsMissing(f'waits for {missing_events} {transaction} in topic "{topic}"')


_RECREATE_HINT = (
    "DROP the source; one over the topic alone, without TRANSACTION TOPIC, reads what is "
    "still there"
)


def _is_late(output: str, bound: Bound) -> bool:
    """Whether it is a guest's table that has not begun."""
    return "@" in output and output not in bound


def _from(reached: Increment, at: int) -> Increment:
    """The increment from offset ``at`` on; unchanged if it begins there or later."""
    if at <= reached.detail["begin"]:
        return reached
    return Increment(
        reached.partition,
        at,
        reached.upper,
        reached.upper - at,
        reached.evidence,
        {**reached.detail, "begin": at},
    )


def _truncated(reached: Increment, upper: int, dropped: Sequence[int]) -> Increment:
    detail = {"begin": min(reached.detail["begin"], upper), "dropped": list(dropped)}
    return Increment(
        reached.partition, reached.lower, upper, upper - reached.lower, reached.evidence, detail
    )
