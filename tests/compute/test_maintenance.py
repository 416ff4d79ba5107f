"""When an index is refreshed, and what a refresh writes."""

from pathlib import Path

import pytest
from fixtures.lakes import DESC, FLIGHTS, put, update, updates_of
from fixtures.plans import aggregate, desc_of, get
from hypothesis import given
from hypothesis import strategies as st

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import BIGINT, TEXT
from reclock.algebra.timestamps import Timestamp
from reclock.algebra.updates import Update
from reclock.collections.compaction import compact
from reclock.collections.lake import Lake
from reclock.compute.engines.duckdb import DuckDbEngine
from reclock.compute.engines.engine import CollectionInput
from reclock.compute.maintenance import (
    MaintenanceMode,
    RefreshTimes,
    change_times,
    maintainer,
    refresh,
    refresh_times,
)
from reclock.errors import InternalError
from reclock.plan.relational import Reduce
from reclock.plan.scalars import ColumnRef

INDEX = StorageCollectionId(GlobalId("u9"))


def times(
    upper: int,
    at: int,
    changes: list[int],
    *,
    is_new: bool = False,
    readable_from: int = 0,
    limit: int = 3,
) -> RefreshTimes:
    return refresh_times(
        upper=Timestamp(upper),
        at=Timestamp(at),
        changes=[Timestamp(change) for change in changes],
        is_new=is_new,
        readable_from=Timestamp(readable_from),
        limit=limit,
    )


def test_each_time_at_which_an_input_changed_is_kept_apart() -> None:
    assert times(10, 20, [12, 15, 12]) == RefreshTimes((Timestamp(12), Timestamp(15)))


def test_nothing_is_refreshed_where_nothing_changed_or_all_is_known() -> None:
    assert times(10, 20, []) == times(10, 20, [9, 21]) == times(21, 20, [12]) == RefreshTimes(())


def test_a_new_index_is_computed_at_its_beginning_too() -> None:
    assert times(10, 20, [12], is_new=True) == RefreshTimes((Timestamp(10), Timestamp(12)))
    assert times(10, 10, [], is_new=True) == RefreshTimes((Timestamp(10),))


def test_an_index_that_lags_too_far_jumps_to_the_last_change_and_forgets_what_was_between() -> None:
    jump = times(10, 99, [11, 12, 13, 14])
    assert jump == RefreshTimes((Timestamp(14),), since=Timestamp(14))
    assert jump.is_jump


def test_times_below_the_inputs_since_cannot_be_kept_apart() -> None:
    assert times(10, 99, [11, 20], readable_from=15) == RefreshTimes(
        (Timestamp(20),), since=Timestamp(20)
    )
    assert times(10, 99, [11], readable_from=15) == RefreshTimes(
        (Timestamp(15),), since=Timestamp(15)
    )
    with pytest.raises(InternalError):
        times(10, 14, [11], readable_from=15)


@given(
    st.integers(0, 50),
    st.integers(0, 50),
    st.sets(st.integers(0, 60)),
    st.booleans(),
    st.integers(0, 50),
    st.integers(1, 5),
)
def test_refreshes_cover_every_change_and_never_read_what_is_not_readable(
    upper: int, at: int, changes: set[int], is_new: bool, readable_from: int, limit: int
) -> None:
    if readable_from > at:
        return
    decided = times(
        upper, at, sorted(changes), is_new=is_new, readable_from=readable_from, limit=limit
    )
    due = {change for change in changes if upper <= change <= at} | (
        {upper} if is_new and upper <= at else set()
    )
    assert list(decided.times) == sorted(set(decided.times))
    assert all(max(upper, readable_from) <= time <= at for time in decided.times)
    assert len(decided.times) <= limit
    if decided.is_jump:
        assert decided.times == (decided.since,)
        assert due
        assert decided.times[0] >= max(due)
    else:
        assert set(decided.times) == due


def test_change_times_are_every_time_with_an_update(tmp_path: Path) -> None:
    collection = Lake(str(tmp_path)).create(FLIGHTS, DESC)
    put(collection, update("a", 1, 5), to=6)
    put(collection, update("b", 2, 7), update("c", 3, 9), to=12)
    version = collection.pin()
    assert change_times([version], Timestamp(0), Timestamp(99)) == [5, 7, 9]
    assert change_times([version, version], Timestamp(6), Timestamp(9)) == [7]
    compact(collection, Timestamp(8))
    assert change_times([collection.pin()], Timestamp(0), Timestamp(99)) == [8, 9]


def test_a_refresh_writes_only_what_changed_at_each_time(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    source = lake.create(FLIGHTS, DESC)
    put(source, update("a", 1, 5), update("b", 7, 5), to=6)
    put(source, update("a", 2, 8), to=9)
    put(source, update("a", 3, 9), update("a", 3, 10, -1), to=11)
    plan = Reduce(
        get(FLIGHTS, DESC), (0,), (aggregate("max", ColumnRef(1, BIGINT)),), desc_of(TEXT, BIGINT)
    )
    desc = DESC
    view = maintainer(plan, desc)
    assert view.mode is MaintenanceMode.FROM_CHANGES
    result = lake.create(INDEX, desc)
    engine = DuckDbEngine([str(tmp_path)])
    inputs = {FLIGHTS: CollectionInput(source.pin())}

    first = refresh(view, engine, inputs, None, None, [Timestamp(5), Timestamp(8)]).updates
    expected = [Update(("a", 1), Timestamp(5), 1), Update(("b", 7), Timestamp(5), 1)]
    expected += [Update(("a", 1), Timestamp(8), -1), Update(("a", 2), Timestamp(8), 1)]
    assert sorted(updates_of(first), key=repr) == sorted(expected, key=repr)
    result.append(first, expected_upper=Timestamp(0), new_upper=Timestamp(9))

    later = refresh(
        view, engine, inputs, result.pin(), Timestamp(8), [Timestamp(9), Timestamp(10)]
    ).updates
    assert [update.time for update in updates_of(later)] == [9, 9, 10, 10]
    changed = [Update(("a", 2), Timestamp(9), -1), Update(("a", 3), Timestamp(9), 1)]
    changed += [Update(("a", 3), Timestamp(10), -1), Update(("a", 2), Timestamp(10), 1)]
    assert sorted(updates_of(later), key=repr) == sorted(changed, key=repr)
    result.append(later, expected_upper=Timestamp(9), new_upper=Timestamp(11))
    idle = refresh(view, engine, inputs, result.pin(), Timestamp(10), [Timestamp(50)])
    assert idle.updates.num_rows == 0


def test_an_index_of_other_types_than_its_collection_is_refused() -> None:
    with pytest.raises(InternalError):
        maintainer(get(FLIGHTS, DESC), desc_of(BIGINT, TEXT))
