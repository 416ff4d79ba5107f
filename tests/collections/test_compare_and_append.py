"""An append moves the upper it was decided on, whole or not at all, and never takes what does not
fit."""

import pyarrow as pa
import pytest
from fixtures.lakes import DESC, FLIGHTS, put, rows_of, update, updates_of, updates_table

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import TEXT, Column, RelationDesc
from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.algebra.updates import Update
from reclock.collections.collection import Collection
from reclock.collections.compaction import compact
from reclock.collections.lake import Lake
from reclock.errors import InternalError, UpperMismatch

ZERO, TEN = Timestamp(0), Timestamp(10)


def test_an_append_moves_the_upper_and_its_updates_are_there(collection: Collection) -> None:
    assert collection.upper() == 0
    put(collection, update("a", 1, 3, 2), update("a", 1, 9, -1), to=10)
    assert collection.upper() == 10
    assert rows_of(collection.pin().snapshot(Timestamp(3))) == {("a", 1): 2}
    assert rows_of(collection.pin().snapshot(Timestamp(9))) == {("a", 1): 1}
    assert updates_of(collection.pin().changes(Timestamp(4), TEN)) == [update("a", 1, 9, -1)]


def test_a_stale_append_is_told_the_upper_and_changes_nothing(
    lake: Lake, collection: Collection
) -> None:
    stale = Lake(lake.root).open(FLIGHTS)
    put(collection, update("a", 1, 0), to=10)
    for handle in (collection, stale):
        with pytest.raises(
            UpperMismatch, match='upper of "u4/reclocked" is 10, expected 0'
        ) as mismatch:
            handle.append(updates_table([update("b", 2, 0)]), expected_upper=ZERO, new_upper=TEN)
        assert (mismatch.value.expected, mismatch.value.found) == (0, 10)
    assert rows_of(stale.pin().snapshot(TEN)) == {("a", 1): 1}


def test_repeating_an_append_that_landed_is_told_so(collection: Collection) -> None:
    put(collection, update("a", 1, 0), to=10)
    with pytest.raises(UpperMismatch) as mismatch:
        collection.append(updates_table([update("a", 1, 0)]), expected_upper=ZERO, new_upper=TEN)
    assert mismatch.value.found == TEN
    assert rows_of(collection.pin().snapshot(TEN)) == {("a", 1): 1}


def test_sealing_moves_the_upper_and_adds_nothing(collection: Collection) -> None:
    collection.seal(expected_upper=ZERO, new_upper=TEN)
    collection.append(
        updates_table([update("a", 1, 10, 0)]), expected_upper=TEN, new_upper=Timestamp(11)
    )
    assert collection.upper() == 11
    assert collection.pin().all_files == ()
    assert rows_of(collection.pin().snapshot(TEN)) == {}
    assert updates_of(collection.pin().changes(ZERO, MAXIMUM)) == []


def test_a_rewrite_in_between_does_not_disturb_an_append(
    lake: Lake, collection: Collection
) -> None:
    writer = Lake(lake.root).open(FLIGHTS)
    put(writer, update("a", 1, 0), to=5)
    put(collection, update("a", 1, 5), to=10)
    assert compact(collection, Timestamp(9)) is not None
    writer.append(updates_table([update("b", 1, 10)]), expected_upper=TEN, new_upper=Timestamp(11))
    assert rows_of(collection.pin().snapshot(TEN)) == {("a", 1): 2, ("b", 1): 1}


@pytest.mark.parametrize(("expected", "new"), [(0, 0), (5, 4), (-1, 3)])
def test_the_upper_only_grows(collection: Collection, expected: int, new: int) -> None:
    with pytest.raises(InternalError):
        collection.seal(expected_upper=Timestamp(expected), new_upper=Timestamp(new))


@pytest.mark.parametrize("time", [4, 10])
def test_times_outside_the_append_are_refused(collection: Collection, time: int) -> None:
    collection.seal(expected_upper=ZERO, new_upper=Timestamp(5))
    with pytest.raises(InternalError, match="times that an append"):
        collection.append(
            updates_table([update("a", 1, time)]), expected_upper=Timestamp(5), new_upper=TEN
        )
    assert collection.upper() == 5
    assert collection.pin().all_files == ()


def test_updates_that_do_not_fit_are_refused(lake: Lake, collection: Collection) -> None:
    good = updates_table([update("a", 1, 0)])
    misfits = [
        good.drop_columns(["name"]),
        good.append_column("extra", pa.array([1])),
        good.set_column(1, "number", pa.array(["many"])),
        good.set_column(2, "mz_timestamp", pa.array([None], pa.int64())),
    ]
    for misfit in misfits:
        with pytest.raises(InternalError, match="do not fit"):
            collection.append(misfit, expected_upper=ZERO, new_upper=TEN)
    strict = lake.create(
        StorageCollectionId(GlobalId("u5")),
        RelationDesc((Column("name", TEXT, is_nullable=False),)),
    )
    nulls = pa.table({"name": pa.array([None], pa.string()), "mz_timestamp": [0], "mz_diff": [1]})
    with pytest.raises(InternalError, match="do not fit"):
        strict.append(nulls, expected_upper=ZERO, new_upper=TEN)
    assert collection.upper() == strict.upper() == 0


def test_columns_are_taken_by_name(collection: Collection) -> None:
    table = updates_table([update("a", 1, 0)]).select(["mz_diff", "number", "mz_timestamp", "name"])
    collection.append(table, expected_upper=ZERO, new_upper=TEN)
    assert rows_of(collection.pin().snapshot(ZERO)) == {("a", 1): 1}


def test_a_monotonic_collection_takes_no_deletions_and_is_read_as_written(lake: Lake) -> None:
    facts = lake.create(StorageCollectionId(GlobalId("u6")), DESC, is_monotonic=True)
    with pytest.raises(InternalError) as refused:
        facts.append(updates_table([update("a", 1, 0, -1)]), expected_upper=ZERO, new_upper=TEN)
    assert refused.value.detail == "it has deletions, the collection has none"
    put(facts, update("a", 1, 0), update("a", 1, 3, 2), update("b", None, 7), to=10)
    found = facts.pin().snapshot(Timestamp(3)).to_pylist()
    assert found == [
        {"name": "a", "number": 1, "mz_diff": 1},
        {"name": "a", "number": 1, "mz_diff": 2},
    ]
    compact(facts, Timestamp(9))
    assert rows_of(facts.pin().snapshot(Timestamp(9))) == {("a", 1): 3, ("b", None): 1}


def test_a_pinned_version_never_changes(collection: Collection) -> None:
    put(collection, update("a", 1, 0), to=1)
    before = collection.pin()
    assert collection.pin() is before
    put(collection, update("b", 1, 1), to=2)
    assert (before.upper, collection.pin().upper) == (1, 2)
    assert rows_of(before.snapshot(MAXIMUM)) == {("a", 1): 1}


def test_reads_skip_the_files_whose_times_do_not_matter(collection: Collection) -> None:
    for time in range(5):
        put(collection, update("a", time, time), to=time + 1)
    version = collection.pin()

    def times(**bounds: Timestamp) -> list[int]:
        return sorted(file.min_time for file in version.files(**bounds))

    assert times(upper=Timestamp(2)) == [0, 1]
    assert times(lower=Timestamp(2), upper=Timestamp(4)) == [2, 3]
    assert times(lower=Timestamp(5), upper=MAXIMUM) == []
    assert all(
        file.uri == f"{collection.uri}/{file.path}" and file.rows == 1 for file in version.all_files
    )


def test_a_diff_that_does_not_fit_64_bits_is_an_error_not_a_wrong_number(
    collection: Collection,
) -> None:
    put(collection, Update(("a", 1), ZERO, 2**63 - 1), Update(("a", 1), ZERO, 1), to=10)
    with pytest.raises(InternalError, match="exceeds 64 bits"):
        collection.pin().snapshot(ZERO)
