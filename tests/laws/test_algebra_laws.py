"""Laws of updates: what consolidating and advancing may change, and what they may not."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from reclock.algebra.timestamps import Timestamp
from reclock.algebra.updates import Update, advance, consolidate, snapshot

times = st.integers(0, 12).map(Timestamp)
update_lists = st.lists(
    st.builds(Update, st.tuples(st.sampled_from("abc")), times, st.integers(-2, 2)), max_size=30
)


def as_multiset(updates: list[Update]) -> Counter[Update]:
    return Counter(updates)


@given(update_lists)
def test_consolidated_updates_are_distinct_nonzero_and_in_order_of_time(
    updates: list[Update],
) -> None:
    result = consolidate(updates)
    assert len({(u.row, u.time) for u in result}) == len(result)
    assert all(u.diff for u in result)
    assert [u.time for u in result] == sorted(u.time for u in result)


@given(update_lists, times)
def test_consolidating_keeps_every_snapshot(updates: list[Update], at: Timestamp) -> None:
    assert snapshot(consolidate(updates), at) == snapshot(updates, at)


@given(update_lists)
def test_consolidating_again_changes_nothing(updates: list[Update]) -> None:
    assert consolidate(consolidate(updates)) == consolidate(updates)


@given(update_lists.flatmap(lambda updates: st.tuples(st.just(updates), st.permutations(updates))))
def test_the_order_of_updates_means_nothing(pair: tuple[list[Update], list[Update]]) -> None:
    updates, shuffled = pair
    assert as_multiset(consolidate(updates)) == as_multiset(consolidate(shuffled))


@given(update_lists, update_lists)
def test_consolidating_parts_first_changes_nothing(left: list[Update], right: list[Update]) -> None:
    assert as_multiset(consolidate(consolidate(left) + consolidate(right))) == as_multiset(
        consolidate(left + right)
    )


@given(update_lists)
def test_updates_and_their_negation_are_nothing(updates: list[Update]) -> None:
    assert consolidate(updates + [Update(u.row, u.time, -u.diff) for u in updates]) == []


@given(update_lists, times, times)
def test_advancing_keeps_every_snapshot_from_since_on(
    updates: list[Update], since: Timestamp, at: Timestamp
) -> None:
    later = Timestamp(max(since, at))
    assert snapshot(advance(updates, since), later) == snapshot(updates, later)
    assert all(u.time >= since for u in advance(updates, since))


@given(update_lists, times, times)
def test_advancing_twice_is_advancing_to_the_later(
    updates: list[Update], first: Timestamp, second: Timestamp
) -> None:
    both = advance(advance(updates, first), second)
    assert as_multiset(both) == as_multiset(advance(updates, Timestamp(max(first, second))))


@given(update_lists, times)
def test_a_snapshot_is_the_one_before_plus_the_changes_since(
    updates: list[Update], at: Timestamp
) -> None:
    before = [Update(row, at, diff) for row, diff in snapshot(updates, Timestamp(at - 1)).items()]
    now = [u for u in updates if u.time == at]
    assert snapshot(before + now, at) == snapshot(updates, at)
