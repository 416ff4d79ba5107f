"""Reclocking by example: the reference's own, and the questions that a history answers."""

import pytest

from reclock.algebra.timestamps import Timestamp
from reclock.algebra.updates import Update
from reclock.errors import InternalError
from reclock.reclocking.frontiers import is_at_least
from reclock.reclocking.mint import Binding, bindings_of, mint, updates_of
from reclock.reclocking.progress import progress_updates
from reclock.reclocking.remap import BoundRange, Remap, without

FIRST, SECOND = Timestamp(1649686076392), Timestamp(1649686079487)

# the reference's example, with exclusive bounds: its first entries bind offsets 0-42 and 0-40
EXAMPLE = Remap.of(
    [Binding(1, FIRST, 43), Binding(2, FIRST, 41), Binding(1, SECOND, 3), Binding(2, SECOND, 4)]
)


@pytest.mark.parametrize(
    ("partition", "offset", "time"),
    [
        *[(1, 0, FIRST), (1, 42, FIRST), (1, 43, SECOND), (1, 45, SECOND), (1, 46, None)],
        *[(2, 0, FIRST), (2, 40, FIRST), (2, 41, SECOND), (2, 44, SECOND), (2, 45, None)],
        (3, 0, None),
    ],
)
def test_the_references_example_maps_each_offset_to_its_time(partition, offset, time):
    assert EXAMPLE.time_of(partition, offset) == time


def test_the_frontier_at_a_time_sums_the_increments_up_to_it():
    assert EXAMPLE.frontier_at(Timestamp(FIRST - 1)) == {}
    assert EXAMPLE.frontier_at(FIRST) == {1: 43, 2: 41}
    assert EXAMPLE.frontier_at(Timestamp(SECOND - 1)) == {1: 43, 2: 41}
    assert EXAMPLE.frontier_at(SECOND) == {1: 46, 2: 45}


def test_the_example_is_minted_from_what_was_reached():
    first = mint({2: 41, 1: 43}, {}, FIRST)
    second = mint({1: 46, 2: 45}, EXAMPLE.frontier_at(FIRST), SECOND)
    assert first == [Binding(1, FIRST, 43), Binding(2, FIRST, 41)]
    assert second == [Binding(1, SECOND, 3), Binding(2, SECOND, 4)]
    assert Remap.of(first + second) == EXAMPLE


def test_a_partition_that_was_reached_less_far_than_bound_gets_no_binding():
    assert mint({1: 5, 2: 7, 3: 0}, {1: 6, 2: 7}, FIRST) == []


def test_a_frontier_below_zero_is_refused():
    with pytest.raises(InternalError):
        mint({1: -1}, {}, FIRST)


def test_a_step_reads_its_own_ranges_and_a_rebuild_reads_all():
    step = EXAMPLE.ranges(SECOND, Timestamp(SECOND + 1))
    assert step == [BoundRange(1, 43, 46, SECOND), BoundRange(2, 41, 45, SECOND)]
    assert EXAMPLE.ranges(Timestamp(0)) == [
        BoundRange(1, 0, 43, FIRST),
        step[0],
        BoundRange(2, 0, 41, FIRST),
        step[1],
    ]


def test_a_history_that_goes_backwards_is_refused():
    with pytest.raises(InternalError, match="backwards"):
        Remap.of([Binding("a", FIRST, 5), Binding("a", SECOND, -1)])


def test_one_nameless_partition_has_an_empty_row():
    lsn = [Binding((), FIRST, 100), Binding((), SECOND, 20)]
    assert updates_of(lsn) == [Update((), FIRST, 100), Update((), SECOND, 20)]
    assert bindings_of(updates_of(lsn)) == lsn
    assert Remap.of(lsn).time_of((), 100) == SECOND


def test_progress_replaces_the_row_of_a_partition_at_each_of_its_bindings():
    remap = Remap.of([Binding("a", FIRST, 5), Binding("b", FIRST, 7), Binding("a", SECOND, 1)])
    assert [(change.row.row, change.time, change.diff) for change in progress_updates(remap)] == [
        ((FIRST, "a", 5), FIRST, 1),
        ((FIRST, "a", 5), SECOND, -1),
        ((SECOND, "a", 6), SECOND, 1),
        ((FIRST, "b", 7), FIRST, 1),
    ]
    assert list(progress_updates(Remap.of([]))) == []


def test_what_is_given_up_is_cut_out_of_a_range():
    whole = BoundRange("a", 10, 20, FIRST)
    assert [
        (r.lower, r.upper) for r in without(whole, [(12, 14), (0, 11), (19, 99), (14, 14)])
    ] == [(11, 12), (14, 19)]
    assert without(whole, [(0, 15), (15, 20)]) == []
    assert without(whole, [(20, 30)]) == [whole]


def test_a_frontier_is_at_least_another_in_every_partition():
    assert is_at_least({"a": 9}, {"a": 9})
    assert not is_at_least({"a": 9}, {"a": 9, "b": 1})
