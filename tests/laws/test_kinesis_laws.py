"""The laws of reclocking over streams: whatever is put, split, merged or expires between probes,
and whichever probes are lost."""

from __future__ import annotations

from itertools import pairwise

import pytest
from fixtures.kinesis_model import Model
from hypothesis import given
from hypothesis import strategies as st

from reclock.algebra.relations import TEXT, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.algebra.updates import Update, advance
from reclock.connectors.kinesis.connector import Kinesis
from reclock.definitions.formats import TextFormat
from reclock.definitions.sources import KinesisConnector
from reclock.errors import UpstreamChanged, UpstreamReplaced
from reclock.reclocking.digits import digits, place_value
from reclock.reclocking.mint import Binding, mint
from reclock.reclocking.remap import Remap

HOUR_MS = 3_600_000
DESC = RelationDesc((Column("text", TEXT),))

puts = st.tuples(st.just("put"), st.integers(0, 9), st.integers(1, 8))
splits = st.tuples(st.just("split"), st.integers(0, 9), st.just(0))
merges = st.tuples(st.just("merge"), st.integers(0, 9), st.integers(1, 3))
probes = st.tuples(st.just("probe"), st.booleans(), st.just(0))
histories = st.lists(puts | puts | splits | merges | probes | probes, max_size=25)


class Run:
    """A stream and what was bound and read of it so far; each probe knows nothing but the bindings,
    as after a restart."""

    def __init__(self, model: Model) -> None:
        self.model, self.time = model, 0
        self.bindings: list[Binding] = []
        self.bound: dict = {}
        self.read: dict[int, list[tuple[int, int]]] = {}
        """By shard, the records in the order of reading: number, time."""

    def opened(self) -> Kinesis:
        upstream = KinesisConnector("s", "us-east-1")
        return Kinesis(
            upstream,
            TextFormat(),
            DESC,
            Timestamp(self.model.now),
            lambda region, endpoint: self.model,
        )

    def step(self, *, is_lost: bool = False, skips=(), anew: bool = False) -> bool:
        """A probe, and what follows; if it ``is_lost``, nothing does. Whether there was anything
        new."""
        self.time += 1
        connector = self.opened()
        increments = (connector.probe_anew if anew else connector.probe)(self.bound, skips)
        if is_lost:
            return True
        frontier = Remap.of(self.bindings).frontier_at(Timestamp(self.time))
        self.bindings += mint(
            {increment.partition: increment.upper for increment in increments},
            frontier,
            Timestamp(self.time),
        )
        for increment in increments:
            assert increment.lower == frontier.get(increment.partition, 0)
            self.bound[increment.partition] = (increment.upper, *increment.evidence)
        reader = self.opened()
        for task in reader.tasks(increments, skips):
            for _, table in reader.read(task):
                numbers = [int(text) for text in table["text"].to_pylist()]
                self.read.setdefault(task.shard, []).extend(
                    (number, self.time) for number in numbers
                )
        return any(increment.size for increment in increments)

    def play(self, operation: str, first: int, second: int) -> None:
        shards = self.model.open
        match operation:
            case "put":
                self.model.put(shards[first % len(shards)], second)
            case "split":
                self.model.close((shards[first % len(shards)],), 2)
            case "merge" if len(shards) > 1:
                one = first % len(shards)
                self.model.close((shards[one], shards[(one + 1) % len(shards)]), 1)
            case "probe":
                self.step(is_lost=bool(first))
        self.model.now += 1_000

    def settle(self) -> None:
        for _ in range(200):
            before = dict(self.bound)
            if not self.step() and self.bound == before:
                return
            self.model.now += 1
        raise AssertionError("it never came to an end")


@given(histories)
def test_every_record_has_one_time_in_order_of_its_shard_and_after_those_of_its_parents(history):
    run = Run(Model())
    for operation in history:
        run.play(*operation)
    run.settle()
    remap = Remap.of(run.bindings)
    for number, shard in enumerate(run.model.shards):
        read = run.read.get(number, [])
        assert [record for record, _ in read] == [
            record_of_shard.number for record_of_shard in shard.records
        ]
        assert [time for _, time in read] == [
            remap.time_of(number, record_of_shard.number) for record_of_shard in shard.records
        ]
        times = [time for _, time in read]
        assert times == sorted(times)
        earlier = [time for parent in shard.parents for _, time in run.read.get(parent, [])]
        assert max(earlier, default=0) <= min(times, default=run.time)
        if shard.ending is not None:
            assert run.bound[number][0] == shard.ending + 1


@given(histories, st.lists(st.integers(1, 40), min_size=1, max_size=4))
def test_nothing_expires_unread_without_an_error(history, hours):
    """After any history come pauses; whatever was not read before it expired is an error, until it
    is given up."""
    run = Run(Model())
    for operation in history:
        run.play(*operation)
    before: set[int] = set()
    for pause in hours:
        run.model.put(run.model.open[0], 1)
        run.model.now += pause * HOUR_MS
        run.model.put(run.model.open[-1], 1)
        read_numbers = {number for read in run.read.values() for number, _ in read}
        expired = {
            record.number
            for number, shard in enumerate(run.model.shards)
            for record in shard.records
            if record.number not in read_numbers and record not in run.model.alive(number)
        }
        if not run.bound:
            before |= expired  # the source begins with what there is
        try:
            run.settle()
        except UpstreamChanged:
            assert pause >= 18  # of a day; less is not even suspected
            return
        assert expired <= before


def test_an_error_of_expiry_says_what_to_give_up():
    run = Run(Model())
    run.model.put(0, 1)
    run.settle()
    run.model.put(0, 1)
    run.model.now += 25 * HOUR_MS
    run.model.put(0, 1)
    skips: list[tuple[str, int, int]] = []
    # one of each shard: nothing is known of the other, which was not looked at for as long
    for _ in range(2):
        with pytest.raises(UpstreamChanged) as failure:
            run.step(skips=skips)
        assert failure.value.upper is not None
        skips.append((failure.value.partition, failure.value.offset, failure.value.upper))
    run.step(skips=skips)
    assert [number for number, _ in run.read[0]] == [
        record.number for record in (run.model.shards[0].records[0], run.model.alive(0)[0])
    ]


def test_resnapshot_goes_on_with_what_a_stream_has_left():
    run = Run(Model())
    for shard in (0, 1):
        run.model.put(shard, 1)
    run.settle()
    run.model.put(0, 1)
    run.model.now += 25 * HOUR_MS
    for shard in (0, 1):
        run.model.put(shard, 1)
    assert run.opened().is_replaced(run.bound)
    run.step(anew=True)
    assert not run.opened().is_replaced(run.bound)
    run.settle()
    oldest_numbers = [run.model.alive(shard)[0].number for shard in (0, 1)]
    first = [run.model.shards[shard].records[0].number for shard in (0, 1)]
    assert [[number for number, _ in run.read[shard]] for shard in (0, 1)] == [
        [first[0], oldest_numbers[0]],
        [first[1], oldest_numbers[1]],
    ]


@given(st.lists(st.tuples(histories, st.integers(1, 3)), min_size=1, max_size=4))
def test_every_record_of_every_stream_of_a_name_is_read_once(streams):
    """Each stream is read to its end before it is created again; RESNAPSHOT comes twice."""
    run = Run(Model())
    written: dict[int, list[int]] = {}
    for history, shards in streams:
        for operation in history:
            run.play(*operation)
        run.settle()
        for number, shard in enumerate(run.model.shards):
            written.setdefault(number, []).extend(record.number for record in shard.records)
        assert not run.opened().is_replaced(run.bound)
        run.model.create_again(shards)
        run.model.put(0, 2)
        if run.bound:
            with pytest.raises(UpstreamReplaced, match="created again"):
                run.step()
            assert run.opened().is_replaced(run.bound)
        for _ in range(2):
            run.step(anew=True)
    run.settle()
    for number, shard in enumerate(run.model.shards):
        written.setdefault(number, []).extend(record.number for record in shard.records)
    read = {shard: [number for number, _ in records] for shard, records in run.read.items()}
    assert read == {shard: numbers for shard, numbers in written.items() if numbers}


@given(st.lists(st.integers(0, 2**200), min_size=1, max_size=20), st.integers(0, 20))
def test_digits_sum_to_what_the_numbers_do_compacted_or_not(increments, since):
    updates = [
        Update((place,), Timestamp(at), digit)
        for at, number in enumerate(increments)
        for place, digit in digits(number)
    ]
    assert all(0 < update.diff < 2**63 for update in updates)
    for compacted in (updates, advance(updates, Timestamp(since))):
        assert sum(update.diff * place_value(*update.row) for update in compacted) == sum(
            increments
        )
        assert all(one.time <= other.time for one, other in pairwise(compacted))
