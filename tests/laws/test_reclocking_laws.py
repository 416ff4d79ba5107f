"""The laws of reclocking, over any upstream that only grows and any times at which it is looked
at."""

import itertools

from fixtures.lakes import updates_of as updates_of_table
from fixtures.lakes import updates_table
from hypothesis import given
from hypothesis import strategies as st

from reclock.algebra.relations import TEXT, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.algebra.updates import Update, advance, consolidate
from reclock.collections.consolidate import settle_updates
from reclock.collections.schema import arrow_schema
from reclock.reclocking.frontiers import is_at_least
from reclock.reclocking.mint import Binding, bindings_of, mint, updates_of
from reclock.reclocking.progress import progress_updates
from reclock.reclocking.remap import Remap

partitions = st.sampled_from(["a", "b", "c"])
increments = st.integers(0, 5)

# what is newly reached, step by step; the times of the steps rise by any amount
growth = st.lists(
    st.tuples(st.integers(1, 10), st.dictionaries(partitions, increments)), max_size=8
)


def run(steps, bindings=()):
    """Mint step by step, each from nothing but the bindings before, as a restart would."""
    bindings = list(bindings)
    for time, reached in steps:
        bindings += mint(reached, Remap.of(bindings).frontier_at(time), time)
    return bindings


def reached_at(steps):
    """The absolute frontier at each step's time."""
    time, frontier, absolute = 0, {}, []
    for gap, grown in steps:
        time += gap
        frontier = {**frontier, **{p: frontier.get(p, 0) + n for p, n in grown.items()}}
        absolute.append((Timestamp(time), frontier))
    return absolute


histories = growth.map(reached_at)


@given(histories)
def test_frontiers_only_grow_with_time(steps):
    remap = Remap.of(run(steps))
    times = [Timestamp(0), *(time for time, _ in steps)]
    for earlier, later in itertools.pairwise(times):
        assert is_at_least(remap.frontier_at(later), remap.frontier_at(earlier))
    for time, reached in steps:
        assert remap.frontier_at(time) == {p: n for p, n in reached.items() if n}


@given(histories)
def test_every_offset_is_mapped_to_exactly_one_time_and_no_later_offset_to_an_earlier_one(steps):
    remap = Remap.of(run(steps))
    final = steps[-1][1] if steps else {}
    for partition, upper in final.items():
        by_ranges = {
            offset: r.time
            for r in remap.ranges(Timestamp(0))
            if r.partition == partition
            for offset in range(r.lower, r.upper)
        }
        assert sorted(by_ranges) == list(range(upper))
        assert sum(r.size for r in remap.ranges(Timestamp(0)) if r.partition == partition) == upper
        assert by_ranges == {offset: remap.time_of(partition, offset) for offset in range(upper)}
        assert [by_ranges[o] for o in range(upper)] == sorted(by_ranges.values())
        assert remap.time_of(partition, upper) is None


@given(st.lists(st.lists(st.integers(1, 4), max_size=6), max_size=3), st.data())
def test_all_of_one_upstream_transaction_has_one_time(lengths, data):
    """Reached anywhere, even inside a transaction, bound only at the end of one."""
    boundaries = {
        p: [sum(sizes[: i + 1]) for i in range(len(sizes))] for p, sizes in enumerate(lengths)
    }
    looks = sorted(data.draw(st.lists(st.integers(0, 24), max_size=6)))
    steps = [
        (
            Timestamp(10 * i),
            {
                p: max((end for end in sizes if end <= look), default=0)
                for p, sizes in boundaries.items()
            },
        )
        for i, look in enumerate(looks)
    ]
    remap = Remap.of(run(steps))
    for p, sizes in boundaries.items():
        for lower, upper in zip([0, *sizes], sizes, strict=False):
            assert len({remap.time_of(p, offset) for offset in range(lower, upper)}) == 1


@given(histories, st.data())
def test_a_restart_at_any_point_gives_the_same_mapping(steps, data):
    restart_at = data.draw(st.integers(0, len(steps)))
    before = run(steps[:restart_at])
    stored = data.draw(st.permutations(before))
    repeated = steps[restart_at - 1 : restart_at] if data.draw(st.booleans()) else []
    assert Remap.of(run([*repeated, *steps[restart_at:]], stored)) == Remap.of(run(steps))


DESC = RelationDesc((Column("object_key", TEXT, False),))


def compacted(bindings, since):
    """The bindings as they are stored after compaction."""
    schema = arrow_schema(DESC, with_updates=True)
    stored = settle_updates(updates_table(updates_of(bindings), DESC), schema, since).read_all()
    return bindings_of(updates_of_table(stored))


def progress(bindings):
    """The progress relation as a changelog."""
    return [
        Update(change.row.row, change.time, change.diff)
        for change in progress_updates(Remap.of(bindings))
    ]


@given(histories, st.integers(0, 80).map(Timestamp))
def test_compaction_changes_no_progress_and_no_frontier_from_since_on(steps, since):
    bindings = run(steps)
    remaining = compacted(bindings, since)
    assert len({binding.partition for binding in remaining if binding.time <= since}) == sum(
        b.time <= since for b in remaining
    )
    final = steps[-1][1] if steps else {}
    later = [
        (Timestamp(time + 200), {p: n + final.get(p, 0) for p, n in reached.items()})
        for time, reached in steps
    ]
    for before, after in ((bindings, remaining), (run(later, bindings), run(later, remaining))):
        assert advance(progress(after), since) == advance(progress(before), since)
        for time in range(since, since + 90):
            assert Remap.of(after).frontier_at(Timestamp(time)) == Remap.of(before).frontier_at(
                Timestamp(time)
            )


@given(histories)
def test_progress_has_one_row_a_partition_at_each_time_the_last_that_was_bound(steps):
    remap = Remap.of(run(steps))
    changes = progress(run(steps))
    for time, _ in steps:
        contents = consolidate(
            Update(change.row, time, change.diff) for change in changes if change.time <= time
        )
        assert {change.row[1]: change.row[2] for change in contents} == remap.frontier_at(time)
        assert all(change.diff == 1 for change in contents)
        assert all(
            change.row[0] == max(t for t in remap.partitions[change.row[1]].times if t <= time)
            for change in contents
        )


@given(histories, partitions)
def test_one_partitions_bindings_never_affect_anothers(steps, gone):
    without = [(time, {p: n for p, n in reached.items() if p != gone}) for time, reached in steps]
    whole, part = Remap.of(run(steps)), Remap.of(run(without))
    assert part.partitions == {p: stairs for p, stairs in whole.partitions.items() if p != gone}


@given(histories)
def test_bindings_survive_being_read_back(steps):
    bindings = run(steps)
    assert Remap.of(Remap.of(bindings).bindings) == Remap.of(bindings)
    assert all(isinstance(b, Binding) and b.increment > 0 for b in bindings)
