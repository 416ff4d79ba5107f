"""Compaction merges times nobody may read apart any more, and changes nothing else; vacuum takes
only what nobody needs."""

import itertools
import os
import random
import time
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from fixtures.lakes import FLIGHTS, put, rows_of, update, updates_of, updates_table

from reclock.algebra.error_intervals import ErrorInterval, with_error
from reclock.algebra.timestamps import MAXIMUM, Clock, Timestamp
from reclock.collections import compaction, selection
from reclock.collections.collection import Collection
from reclock.collections.compaction import Compaction, compact, vacuum
from reclock.collections.lake import Lake
from reclock.errors import EvaluationError, VersionGone

LONG_AGO = Timestamp(0)
NO_CLAIMS: frozenset[str] = frozenset()


def at(moment: int) -> Clock:
    return lambda: Timestamp(moment)


def data_files(collection: Collection) -> set[str]:
    root = Path(collection.uri)
    return {
        str(path.relative_to(root))
        for folder in ("data", "_staging")
        for path in (root / folder).rglob("*")
        if path.is_file()
    }


def needed_files(collection: Collection) -> set[str]:
    return {file.path for file in collection.pin().all_files}


def fill(collection: Collection, times: int = 6) -> None:
    for moment in range(times):
        put(
            collection,
            update("a", moment % 2, moment),
            update("b", 1, moment, -1 if moment % 2 else 1),
            to=moment + 1,
        )


def test_times_below_since_are_merged_and_later_ones_kept_apart(collection: Collection) -> None:
    fill(collection)
    assert compact(collection, Timestamp(4)) == Compaction(
        files_removed=4, files_added=1, rows_before=8, rows_after=2
    )
    assert collection.upper() == 6
    merged = updates_of(collection.pin().changes(Timestamp(0), Timestamp(5)))
    assert sorted(merged, key=lambda u: u.row) == [
        update("a", 0, 4, 3),
        update("a", 1, 4, 2),
        update("b", 1, 4),
    ]
    assert rows_of(collection.pin().snapshot(Timestamp(5))) == {("a", 0): 3, ("a", 1): 3}
    assert {file.min_time for file in collection.pin().all_files} == {4, 5}


def test_a_collection_without_changes_shows_that_after_compaction(collection: Collection) -> None:
    """Its updates are summed at its last time, not at a since that is long after it."""
    fill(collection)
    before = rows_of(collection.pin().snapshot(Timestamp(5)))
    put(collection, to=20)
    assert compact(collection, Timestamp(12)) is not None
    version = collection.pin()
    assert {(file.min_time, file.max_time) for file in version.all_files} == {(5, 5)}
    assert rows_of(version.snapshot(Timestamp(12))) == before
    assert updates_of(version.changes(Timestamp(6), Timestamp(20))) == []


def row_groups_with(collection: Collection, name: str) -> tuple[int, int]:
    """Of how many row groups the statistics admit this name, and how many there are."""
    version = collection.pin()
    fragments = list(version.dataset(list(version.all_files)).get_fragments())
    admitting = [fragment.subset(pc.field("name") == name) for fragment in fragments]
    admitted, all_of_them = (
        sum(len(fragment.row_groups) for fragment in listed) for listed in (admitting, fragments)
    )
    return admitted, all_of_them


def test_a_clustered_collection_is_read_by_key_from_few_row_groups(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after a further rewrite; the rows are the same."""
    monkeypatch.setattr(compaction, "CLUSTERED_ROWS", 10)
    names = [f"name {number:03}" for number in range(200)]
    random.Random(1).shuffle(names)
    put(collection, *(update(name, 1, 0) for name in names[:150]), to=1)
    put(collection, *(update(name, 1, 1) for name in names[150:]), to=2)
    for later in (2, 3):
        put(collection, update("name 007", 1, later), to=later + 1)
    contents = rows_of(collection.pin().snapshot(Timestamp(3)))
    assert compact(collection, Timestamp(2), cluster_by=["name"]) is not None
    assert row_groups_with(collection, "name 008") == (1, 22)
    assert compact(collection, Timestamp(3), cluster_by=["name"]) is not None
    assert row_groups_with(collection, "name 008") == (1, 21)
    # the newest update is in a file of its own
    assert row_groups_with(collection, "name 007") == (2, 21)
    assert rows_of(collection.pin().snapshot(Timestamp(3))) == contents


def test_a_large_file_that_was_appended_is_clustered_once(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "LARGE_FILE_BYTES", 1)
    put(collection, *(update(name, 1, 0) for name in "cab"), to=1)
    put(collection, to=5)
    assert compact(collection, Timestamp(3)) is None
    assert compact(collection, Timestamp(3), cluster_by=["name"]) is not None
    [file] = collection.pin().all_files
    assert pq.read_table(Path(collection.uri, file.path))["name"].to_pylist() == ["a", "b", "c"]
    assert compact(collection, Timestamp(4), cluster_by=["name"]) is None


def test_compacting_to_the_same_since_again_does_nothing(collection: Collection) -> None:
    fill(collection)
    compact(collection, Timestamp(4))
    number = collection.pin().number
    assert compact(collection, Timestamp(4)) is None
    assert compact(collection, Timestamp(2)) is None
    assert collection.pin().number == number


def test_a_since_beyond_the_upper_leaves_no_time_at_or_past_it(collection: Collection) -> None:
    """The published upper may be ahead of the physical one, and since with it."""
    fill(collection)
    assert compact(collection, Timestamp(1000)) is not None
    assert {file.max_time for file in collection.pin().all_files} == {5}
    put(collection, update("c", 1, 1000), to=1001)
    assert rows_of(collection.pin().snapshot(Timestamp(1000))) == {
        ("a", 0): 3,
        ("a", 1): 3,
        ("c", 1): 1,
    }


def test_a_collection_that_sums_to_nothing_compacts_to_no_file(collection: Collection) -> None:
    put(collection, update("a", 1, 0), to=1)
    put(collection, update("a", 1, 1, -1), to=5)
    assert compact(collection, Timestamp(3)) == Compaction(
        files_removed=2, files_added=0, rows_before=2, rows_after=0
    )
    assert (collection.pin().all_files, collection.upper()) == ((), 5)


def test_an_empty_collection_has_nothing_to_compact(collection: Collection) -> None:
    assert compact(collection, Timestamp(10)) is None
    assert vacuum(collection, before=MAXIMUM, claimed_staging=NO_CLAIMS).files == 0


def test_large_rewrites_are_split_into_files_in_order_of_time(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "TARGET_FILE_BYTES", 1)
    rows = 300_000
    put(collection, *(update("a", number, number * 10 // rows) for number in range(rows)), to=10)
    report = compact(collection, Timestamp(5))
    assert report is not None
    assert report.rows_after == rows
    assert report.files_added > 1
    files = sorted(collection.pin().all_files, key=lambda file: (file.min_time, file.max_time))
    assert all(left.max_time <= right.min_time for left, right in itertools.pairwise(files))
    assert collection.pin().snapshot(Timestamp(9)).num_rows == rows


def test_an_append_between_reading_and_committing_is_kept(
    lake: Lake, collection: Collection
) -> None:
    fill(collection)
    elsewhere = Lake(lake.root).open(FLIGHTS)

    def append_first() -> Timestamp:
        put(elsewhere, update("late", 1, 6), to=7)
        return Timestamp(0)

    assert compact(collection, Timestamp(5), clock=append_first) is not None
    assert rows_of(collection.pin().snapshot(Timestamp(6))) == {
        ("a", 0): 3,
        ("a", 1): 3,
        ("late", 1): 1,
    }


def test_of_two_compactions_the_later_starts_again(lake: Lake, collection: Collection) -> None:
    fill(collection)
    elsewhere = Lake(lake.root).open(FLIGHTS)
    rivals = []

    def rival_first() -> Timestamp:
        if not rivals:
            rivals.append(compact(elsewhere, Timestamp(3), clock=at(0)))
        return Timestamp(0)

    assert compact(collection, Timestamp(5), clock=rival_first) is not None
    assert rivals != [None]
    assert rows_of(collection.pin().snapshot(Timestamp(5))) == {("a", 0): 3, ("a", 1): 3}
    assert vacuum(collection, before=MAXIMUM, claimed_staging=NO_CLAIMS).files
    assert data_files(collection) == needed_files(collection)


def test_a_pinned_reader_goes_on_until_vacuum_may_take_its_files(collection: Collection) -> None:
    fill(collection)
    reader = collection.pin()
    before = rows_of(reader.snapshot(Timestamp(2)))
    compact(collection, Timestamp(5), clock=at(500))
    assert vacuum(collection, before=Timestamp(500), claimed_staging=NO_CLAIMS).files == 0
    assert rows_of(reader.snapshot(Timestamp(2))) == before
    report = vacuum(collection, before=Timestamp(501), claimed_staging=NO_CLAIMS)
    assert report.files == 5
    assert report.size_bytes > 0
    assert data_files(collection) == needed_files(collection)
    with pytest.raises(VersionGone, match='of "u4/reclocked" is gone'):
        reader.snapshot(Timestamp(2))
    assert rows_of(collection.pin().snapshot(Timestamp(5))) == {("a", 0): 3, ("a", 1): 3}


def test_vacuum_leaves_staged_files_of_standing_claims_and_of_jobs_that_just_began(
    collection: Collection,
) -> None:
    for name in ("claimed", "abandoned", "new"):
        folder = Path(collection.staging_uri(name))
        folder.mkdir(parents=True)
        for litter in ("part-0.parquet", ".part-0.parquet.crc", "_SUCCESS"):
            pq.write_table(updates_table([update("a", 1, 0)]), folder / litter)
            if name != "new":
                os.utime(folder / litter, (1_000, 1_000))
    vacuum(collection, before=Timestamp(1_000_001), claimed_staging=frozenset({"claimed"}))
    assert {path.split("/")[1] for path in data_files(collection)} == {"claimed", "new"}
    assert not Path(collection.staging_uri("abandoned")).exists()
    assert [len(collection.staged(name)) for name in ("claimed", "abandoned", "new")] == [1, 0, 1]


def test_vacuum_keeps_appended_staged_files_though_nobody_claims_them(
    collection: Collection,
) -> None:
    folder = Path(collection.staging_uri("job-1"))
    folder.mkdir(parents=True)
    for name in ("part-0.parquet", ".part-0.parquet.crc", "_SUCCESS"):
        pq.write_table(updates_table([update("a", 1, 0)]), folder / name)
    collection.append_files(
        collection.staged("job-1"), expected_upper=Timestamp(0), new_upper=Timestamp(9)
    )
    vacuum(collection, before=MAXIMUM, claimed_staging=NO_CLAIMS)
    assert data_files(collection) == {
        "_staging/job-1/part-0.parquet",
        "_staging/job-1/.part-0.parquet.crc",
    }
    assert rows_of(collection.pin().snapshot(Timestamp(0))) == {("a", 1): 1}


def test_vacuum_takes_an_appends_orphan_only_when_it_can_never_be_committed(
    collection: Collection,
) -> None:
    put(collection, update("a", 1, 0), to=5)
    data = Path(collection.uri, "data")
    for upper in (0, 5, 9):
        pq.write_table(updates_table([update("a", 1, 0)]), data / f"append-{upper}-abc.parquet")
    (data / "notes.txt").write_text("not ours")
    vacuum(collection, before=MAXIMUM, claimed_staging=NO_CLAIMS)
    assert data_files(collection) - needed_files(collection) == {
        "data/append-5-abc.parquet",
        "data/append-9-abc.parquet",
        "data/notes.txt",
    }


def test_vacuum_takes_lists_of_errors_that_no_version_needs(collection: Collection) -> None:
    nothing = updates_table([])
    errors: tuple[ErrorInterval, ...] = ()
    for at in (1, 2, 3):
        errors = with_error(errors, Timestamp(at), EvaluationError(f"at {at}"), is_first=False)
        collection.append(
            nothing, expected_upper=Timestamp(at - 1), new_upper=Timestamp(at), errors=errors
        )
    vacuum(collection, before=Timestamp(0), claimed_staging=frozenset())
    assert len(collection.folder.walk("_errors")) == 3, (
        "a read may have begun before the newest was written"
    )
    vacuum(collection, before=MAXIMUM, claimed_staging=frozenset())
    assert [info.path for info in collection.folder.walk("_errors")] == ["_errors/3.json"]
    assert Lake(str(Path(collection.uri).parent.parent)).open(collection.id).pin().errors == errors


def test_vacuum_fences_a_rewrite_before_it_takes_its_files(collection: Collection) -> None:
    """The rewrite was only asleep; it finds its number taken and starts again."""
    fill(collection)
    vacuums = []

    def vacuum_first() -> Timestamp:
        if not vacuums:
            now = Timestamp(time.time_ns() // 1_000_000 + 60_000)
            vacuums.append(vacuum(collection, before=now, claimed_staging=NO_CLAIMS))
        return Timestamp(0)

    assert compact(collection, Timestamp(5), clock=vacuum_first) is not None
    assert vacuums[0].files == 1
    assert rows_of(collection.pin().snapshot(Timestamp(5))) == {("a", 0): 3, ("a", 1): 3}


def test_vacuum_leaves_a_rewrite_alone_that_has_just_begun(collection: Collection) -> None:
    fill(collection)
    vacuums = []

    def vacuum_first() -> Timestamp:
        vacuums.append(vacuum(collection, before=LONG_AGO, claimed_staging=NO_CLAIMS))
        return Timestamp(0)

    compact(collection, Timestamp(5), clock=vacuum_first)
    assert len(vacuums) == 1
    assert vacuums[0].files == 0
