"""Transactions of a change stream: each is bound whole, once and in order, whatever comes when, and
comes again."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from reclock.reclocking.frontiers import Partition
from reclock.reclocking.transactions import (
    Event,
    Missing,
    Reading,
    Stretch,
    TransactionEnd,
    caught_up,
    cut,
)

COLLECTIONS = {"a/0": "a", "b/0": "b", "b/1": "b"}
"""Partitions of two collections that are read; a third one is not."""


@dataclass
class Upstream:
    """What a connector writes: a log, and events by partition; it may begin again from an earlier
    transaction."""

    log: list[TransactionEnd] = field(default_factory=list)
    events: dict[str, list[Event]] = field(
        default_factory=lambda: {partition: [] for partition in COLLECTIONS}
    )

    def write(self, id: int, places: list[str], upto: int | None = None) -> None:
        """One transaction, an event for each of ``places``; only some of them, and no end, if it is
        interrupted."""
        for order, place in enumerate(places[:upto]):
            if place in COLLECTIONS:
                self.events[place].append(Event(len(self.events[place]), f"t{id}", order))
        if upto is None:
            counts: dict[str, int] = {}
            for place in places:
                name = place.split("/")[0]
                counts[name] = counts.get(name, 0) + 1
            self.log.append(TransactionEnd(f"t{id}", len(self.log), counts))


transactions = st.lists(
    st.lists(st.sampled_from([*COLLECTIONS, "unread/0"]), max_size=5), max_size=6
)


@given(transactions, st.data())
def test_every_transaction_is_bound_whole_once_and_in_order(
    plan: list[list[str]], data: st.DataObject
) -> None:
    upstream = Upstream()
    at = 0
    for _ in range(2):  # restarts
        stop = data.draw(st.integers(at, len(plan)))
        for id in range(at, stop):
            upstream.write(id, plan[id])
        if stop < len(plan):
            upstream.write(stop, plan[stop], data.draw(st.integers(0, len(plan[stop]))))
        at = data.draw(st.integers(0, stop))
    for id in range(at, len(plan)):
        upstream.write(id, plan[id])

    log_lower, lower = 0, dict.fromkeys(COLLECTIONS, 0)
    bound: list[str] = []
    at_step: dict[tuple[str, str, int], int] = {}
    for step in range(6):
        is_last = step == 5
        log_end = (
            len(upstream.log) if is_last else data.draw(st.integers(log_lower, len(upstream.log)))
        )
        read: dict[Partition, Stretch] = {}
        for partition, name in COLLECTIONS.items():
            events = upstream.events[partition]
            end = len(events) if is_last else data.draw(st.integers(lower[partition], len(events)))
            read[partition] = Stretch(name, events[lower[partition] : end], end)
        cut_log = cut(
            upstream.log[log_lower:log_end], {ended.id for ended in upstream.log[:log_lower]}, read
        )
        bound += [ended.id for ended in cut_log.bound]
        for partition in COLLECTIONS:
            for event in read[partition].events:
                if (
                    event.offset < cut_log.uppers[partition]
                    and event.offset not in cut_log.dropped[partition]
                ):
                    key = (event.transaction or "", COLLECTIONS[partition], event.order)
                    assert key not in at_step, "twice"
                    at_step[key] = step
                    assert event.transaction in {ended.id for ended in cut_log.bound}, (
                        "not with its transaction"
                    )
            lower[partition] = cut_log.uppers[partition]
        if cut_log.bound:
            log_lower = cut_log.bound[-1].offset + 1

    assert bound == [f"t{id}" for id in range(len(plan))]
    expected = {
        (f"t{id}", place.split("/")[0], order)
        for id, places in enumerate(plan)
        for order, place in enumerate(places)
        if place in COLLECTIONS
    }
    assert at_step.keys() == expected
    assert lower == {partition: len(events) for partition, events in upstream.events.items()}


def reading(stretches: Mapping[Partition, Stretch]) -> Reading:
    """Reads what is there, no further than it has to."""

    def read(
        uppers: Mapping[Partition, int], known_ids: Set[str], new: Set[str]
    ) -> Mapping[Partition, Stretch]:
        parts_read = {}
        for partition, stretch in stretches.items():
            remaining = [
                event for event in stretch.events if event.offset >= uppers.get(partition, 0)
            ]
            end = next(
                (
                    n
                    for n, event in enumerate(remaining)
                    if event.transaction not in known_ids | new
                ),
                len(remaining),
            )
            parts_read[partition] = Stretch(stretch.collection, remaining[: end + 1], stretch.upper)
        return parts_read

    return read


@given(transactions, st.data())
def test_a_late_collection_has_its_part_of_the_log_or_waits(
    plan: list[list[str]], data: st.DataObject
) -> None:
    upstream = Upstream()
    for id, places in enumerate(plan):
        upstream.write(id, places)
    again = range(data.draw(st.integers(0, len(plan))), len(plan))
    for id in again:
        upstream.write(id, plan[id])  # the connector began again
    log = upstream.log[: data.draw(st.integers(0, len(upstream.log)))]
    # what is gone
    first = {
        p: 0 if again else data.draw(st.integers(0, len(upstream.events[p]))) for p in COLLECTIONS
    }
    known_ids = {ended.id for ended in log}
    ends = {p: data.draw(st.integers(first[p], len(upstream.events[p]))) for p in COLLECTIONS}

    def stretches_until(uppers: Mapping[str, int]) -> dict[Partition, Stretch]:
        return {
            p: Stretch(name, upstream.events[p][first[p] : uppers[p]], uppers[p])
            for p, name in COLLECTIONS.items()
        }

    read = stretches_until(ends)
    whole = stretches_until({p: len(upstream.events[p]) for p in COLLECTIONS})
    part = {
        (event.transaction, event.order)
        for events in upstream.events.values()
        for event in events
        if event.transaction in known_ids
    }
    stretches = {
        (event.transaction, event.order)
        for stretch in read.values()
        for event in stretch.events
        if event.transaction in known_ids
    }

    parts = [
        log[at : at + size]
        for size in [data.draw(st.integers(1, 4))]
        for at in range(0, len(log), size)
    ]
    caught = caught_up(parts, reading(read))
    if isinstance(caught, Missing):
        assert stretches < part
        assert caught.count
        in_the_end = caught_up(parts, reading(whole))
        assert not caught.are_gone or isinstance(in_the_end, Missing)
        assert ends != {p: len(upstream.events[p]) for p in COLLECTIONS} or any(first.values())
        return
    bound = [
        (event.transaction, event.order)
        for partition, stretch in read.items()
        for event in stretch.events
        if event.offset < caught.uppers[partition] and event.offset not in caught.dropped[partition]
    ]
    assert sorted(bound) == sorted(part)


def test_what_belongs_to_no_transaction_waits_for_none_but_for_what_is_before_it() -> None:
    found = cut([], set(), {"a/0": Stretch("a", [Event(0), Event(1), Event(2, "t"), Event(3)], 9)})
    assert (found.bound, found.uppers) == ((), {"a/0": 2})


def test_an_event_that_is_given_up_is_not_waited_for() -> None:
    log = [TransactionEnd("one", 0, {"a": 2}), TransactionEnd("two", 1, {"a": 2})]
    events = [Event(0, "one"), Event(1), Event(2, "two")]
    assert cut(log, set(), {"a/0": Stretch("a", events, 3)}).bound == ()
    found = cut(log, set(), {"a/0": Stretch("a", events, 3, skipped=1)})
    assert ([ended.id for ended in found.bound], found.uppers) == (["one"], {"a/0": 2})


def test_an_event_behind_one_that_waits_keeps_its_transaction_back() -> None:
    log = [TransactionEnd("one", 0, {"a": 1, "b": 1}), TransactionEnd("two", 1, {"b": 1})]
    read: dict[Partition, Stretch] = {
        "a/0": Stretch("a", [Event(0, "late"), Event(1, "one")], 2),
        "b/0": Stretch("b", [Event(0, "one"), Event(1, "two")], 2),
    }
    found = cut(log, set(), read)
    assert (found.bound, found.uppers) == ((), {"a/0": 0, "b/0": 0})
