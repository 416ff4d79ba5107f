"""Refreshes take the cheaper way: whatever the two ways cost, they lose little against one who
knows the costs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reclock.algebra.ids import GlobalId
from reclock.compute.costs import RefreshCosts, RefreshWork
from reclock.compute.maintenance import MaintenanceMode

INDEX = GlobalId("u1")
CHANGES, RECOMPUTED = MaintenanceMode.FROM_CHANGES, MaintenanceMode.RECOMPUTED
WORK = RefreshWork(all_bytes=20_000_000, changed_bytes=20_000)


def run(
    costs: RefreshCosts, work: RefreshWork, seconds: dict[MaintenanceMode, float], count: int
) -> list[MaintenanceMode]:
    """The ways that so many refreshes take, if each takes always as long."""
    chosen = []
    for _ in range(count):
        mode = costs.choose(INDEX, work).mode
        costs.record(INDEX, mode, work, seconds[mode])
        chosen.append(mode)
    return chosen


@given(st.floats(0.001, 100), st.floats(0.001, 100))
def test_many_refreshes_take_little_longer_than_the_cheaper_way(
    from_changes: float, recomputed: float
) -> None:
    seconds = {CHANGES: from_changes, RECOMPUTED: recomputed}
    costs = RefreshCosts(0)
    run(costs, WORK, seconds, 3000)  # it has learned
    took = sum(seconds[mode] for mode in run(costs, WORK, seconds, 300))
    assert took <= 1.25 * 300 * min(seconds.values()) + max(seconds.values())


@given(st.floats(0.1, 10))
def test_recomputing_that_takes_much_longer_is_not_tried(from_changes: float) -> None:
    costs = RefreshCosts(0)
    work = RefreshWork(all_bytes=int(from_changes * 1e9), changed_bytes=1000)
    assert set(run(costs, work, {CHANGES: from_changes, RECOMPUTED: 1e6}, 1000)) == {CHANGES}


def test_the_way_follows_the_size_of_the_change() -> None:
    """What is learned from small changes does not mislead when half of the input changes, and the
    other way round."""
    costs = RefreshCosts(0)
    small, large = RefreshWork(50_000_000, 5_000), RefreshWork(50_000_000, 25_000_000)

    def took(mode: MaintenanceMode, work: RefreshWork) -> float:
        return {CHANGES: 0.1 + work.changed_bytes / 2e6, RECOMPUTED: 0.1 + work.all_bytes / 5e7}[
            mode
        ]

    def most(work: RefreshWork) -> MaintenanceMode:
        chosen = run(costs, work, {mode: took(mode, work) for mode in MaintenanceMode}, 50)
        return max(MaintenanceMode, key=chosen.count)

    assert [most(work) for work in (small, large, small, large)] == [
        CHANGES,
        RECOMPUTED,
        CHANGES,
        RECOMPUTED,
    ]


def test_trials_become_rare_as_they_confirm_what_is_known() -> None:
    """And a way that has become cheaper is found all the same."""
    costs = RefreshCosts(0)
    seconds = {CHANGES: 0.1, RECOMPUTED: 0.2}
    assert 2 < run(costs, WORK, seconds, 1000).count(RECOMPUTED) < 20
    later = run(costs, WORK, {CHANGES: 0.1, RECOMPUTED: 0.02}, 1000)
    assert later[-500:].count(RECOMPUTED) > 450


def test_one_disturbed_measurement_changes_nothing() -> None:
    costs, seconds = RefreshCosts(0), {CHANGES: 0.2, RECOMPUTED: 0.6}
    run(costs, WORK, seconds, 100)
    costs.record(INDEX, CHANGES, WORK, 30)  # the machine was busy
    assert costs.estimate(INDEX, WORK)[CHANGES] == pytest.approx(0.2)


def test_refreshes_that_build_state_are_not_taken_for_what_later_ones_cost() -> None:
    """Whatever they took, maintaining from changes goes on; and recomputing is not tried for the
    price of building it all again."""
    costs = RefreshCosts(0)
    for seconds in (6.0, 19.0):
        assert costs.choose(INDEX, WORK).mode is CHANGES
        costs.record(INDEX, CHANGES, WORK, seconds, is_warm=False)
    assert set(run(costs, WORK, {CHANGES: 0.1, RECOMPUTED: 0.3}, 100)) == {CHANGES}


def test_the_first_refresh_of_a_process_that_may_end_builds_no_state_for_large_inputs() -> None:
    """It reads them twice without it, so recomputing is cheaper. A refresh that needs only changes
    does not recompute."""
    searching = RefreshWork(200_000_000, 20_000, searched_bytes=200_000_000)
    seconds = {CHANGES: 0.1, RECOMPUTED: 3.0}
    assert run(RefreshCosts(0), searching, seconds, 3) == [RECOMPUTED, CHANGES, CHANGES]
    lasting = RefreshCosts(0, builds_state_at_once=True)
    assert run(lasting, searching, seconds, 3) == [CHANGES] * 3
    linear = RefreshWork(200_000_000, 20_000)
    assert run(RefreshCosts(0), linear, seconds, 3) == [CHANGES] * 3


def test_two_refreshes_that_took_longer_than_recomputing_suffice() -> None:
    work, seconds = RefreshWork(100_000_000, 20_000), {CHANGES: 3.3, RECOMPUTED: 1.0}
    assert run(RefreshCosts(0), work, seconds, 4) == [CHANGES, CHANGES, RECOMPUTED, RECOMPUTED]


def test_state_that_does_not_last_counts() -> None:
    costs = RefreshCosts(0)
    for _ in range(10):
        costs.record(INDEX, CHANGES, WORK, 9.0, is_warm=False)
    assert costs.choose(INDEX, WORK).mode is RECOMPUTED


@pytest.mark.parametrize(("size", "expected"), [(999, {CHANGES}), (1000, {CHANGES, RECOMPUTED})])
def test_small_inputs_are_not_recomputed(size: int, expected: set[MaintenanceMode]) -> None:
    work = RefreshWork(size, 10)
    assert set(run(RefreshCosts(1000), work, {CHANGES: 0.9, RECOMPUTED: 0.1}, 100)) == expected


def test_a_query_that_is_costly_over_small_inputs_is_recomputed() -> None:
    """Such as a join of eighteen tables with itself, whose rules are hundreds of joins."""
    chosen = run(RefreshCosts(1000), RefreshWork(999, 10), {CHANGES: 4.0, RECOMPUTED: 0.5}, 20)
    assert chosen[2:] == [RECOMPUTED] * 18


def test_a_dropped_index_leaves_nothing() -> None:
    costs = RefreshCosts(0)
    before = costs.estimate(INDEX, WORK)
    run(costs, WORK, {CHANGES: 5, RECOMPUTED: 0.1}, 10)
    assert costs.estimate(INDEX, WORK) != before
    costs.forget(INDEX)
    assert costs.estimate(INDEX, WORK) == before
