"""The offsets of topics that are created again: a source's offsets count on, and each of them is one
offset of one topic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reclock.algebra.relations import RelationDesc
from reclock.connectors.connector import Bound, Evidence, Increment
from reclock.connectors.kafka.connector import ALL_TOPICS_HINT, Kafka
from reclock.connectors.kafka.incarnations import (
    Incarnation,
    current_incarnations,
    follow_from_end,
    follow_from_start,
)
from reclock.connectors.kafka.tasks import ReplaceRows, TopicReadTask
from reclock.definitions.connections import broker
from reclock.definitions.formats import TextFormat
from reclock.definitions.sources import KafkaConnector
from reclock.errors import UpstreamLost, UpstreamReplaced
from reclock.reclocking.frontiers import Partition


def topic(envelope: str = "NONE", *, prefix: str = "", end: int | None = None) -> Kafka:
    ends = (end,) if end is not None else ()
    upstream = KafkaConnector(broker("127.0.0.1:1"), "t", envelope=envelope, end_offsets=ends)
    return Kafka(upstream, TextFormat(), RelationDesc(()), {}, prefix)


def bind(bound: Bound, increments: list[Increment]) -> dict[Partition, Evidence]:
    """The bound state after the increments, which continue where it ends."""
    for increment in increments:
        before = bound.get(increment.partition, (0,))[0]
        assert increment.lower == before
        assert increment.upper >= before
    return {**bound, **{i.partition: (i.upper, *i.evidence) for i in increments}}


ENDS = st.dictionaries(st.integers(0, 2), st.integers(0, 4), max_size=3)


@given(st.lists(ENDS, max_size=4))
def test_every_offset_of_every_incarnation_is_read_once(incarnations: list[dict[int, int]]) -> None:
    bound: dict[Partition, Evidence] = {}
    read: list[tuple[str, int, int]] = []
    sizes: dict[int, int] = {}
    for number, end in enumerate(incarnations):
        id = f"id-{number}"
        increments = follow_from_start(bound, id, {}, end)
        for task in topic().tasks(increments, []):
            assert isinstance(task, TopicReadTask)
            read += [
                (id, task.partition, message_offset)
                for message_offset in range(task.lower, task.upper)
            ]
        bound = bind(bound, increments)
        sizes = {p: sizes.get(p, 0) + end.get(p, 0) for p in {*sizes, *end}}
        current = current_incarnations(bound, id, end)
        # the next own offset follows what is bound
        assert all(
            current[p].base + message_offset == bound.get(p, (0,))[0]
            for p, message_offset in end.items()
        )
        assert {p: offset for p, (offset, _) in bound.items()} == {
            p: size for p, size in sizes.items() if size
        }
        # nothing of an earlier incarnation is left to be compared with the topic that is there
        assert {Incarnation.of(evidence).topic_id for _, evidence in bound.values()} <= {id}
    assert sorted(read) == [
        (f"id-{number}", partition, message_offset)
        for number, end in enumerate(incarnations)
        for partition in sorted(end)
        for message_offset in range(end[partition])
    ]


def test_reading_goes_on_at_the_end_of_a_topic_that_lost_messages() -> None:
    bound: Bound = {0: (10, "id"), 1: (5, "id@2")}
    increments = follow_from_end(bound, {0: 7, 1: 1})
    assert topic().tasks(increments, []) == []
    after = bind(bound, increments)
    assert after == {0: (10, "id@3"), 1: (5, "id@4")}


def test_rows_that_replace_each_other_are_replaced_by_the_new_topic_even_if_it_is_empty() -> None:
    [increment] = follow_from_start({0: (5, "a")}, "b", {}, {0: 0})
    assert (increment.size, increment.evidence) == (0, ("b@5",))
    replacing = Increment(0, 5, 5, 0, ("b@5",), {"begin": 5, "replaces_rows": True})
    assert topic("UPSERT").tasks([replacing], []) == [ReplaceRows()]
    assert list(topic("UPSERT").read(ReplaceRows())) == [("", None)]


def test_what_is_skipped_is_counted_as_the_source_counts() -> None:
    increments = follow_from_start({0: (5, "a")}, "b", {0: 1}, {0: 4})
    [first, last] = topic().tasks(increments, [("0", 7, 8)])
    assert isinstance(first, TopicReadTask)
    assert isinstance(last, TopicReadTask)
    assert [(task.lower, task.upper) for task in (first, last)] == [(1, 2), (3, 4)]


FOLLOWS = "ALTER SOURCE … RESNAPSHOT goes on with the topic that is there now"


@pytest.mark.parametrize(
    ("connector", "partition", "hint"),
    [
        (topic(), "0", FOLLOWS),
        (topic("UPSERT"), "0", FOLLOWS),
        (topic(prefix="t/"), "t/0", ALL_TOPICS_HINT),
        # an END OFFSET is one of the topic as it was
        (topic(end=9), "0", "DROP the source and create it again"),
    ],
)
def test_the_hint_is_the_statement_that_helps(connector: Kafka, partition: str, hint: str) -> None:
    with pytest.raises(UpstreamLost, match="deleted and created again") as lost:
        connector._check_same({0: (5, "a")}, "b")
    assert isinstance(lost.value, UpstreamReplaced) == ("RESNAPSHOT" in hint)
    assert (lost.value.partition, lost.value.hint) == (partition, hint)
