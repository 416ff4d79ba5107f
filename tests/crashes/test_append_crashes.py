"""A process is killed at every named point of a write to the lake; then the write is repeated, and
has happened once."""

from pathlib import Path

import pytest
from crashes import storage_worker
from fixtures.forks import die_at
from fixtures.lakes import DESC, FLIGHTS, put, rows_of, update, updates_table

from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.collections.collection import Collection
from reclock.collections.compaction import compact, vacuum
from reclock.collections.lake import Lake
from reclock.errors import UpperMismatch


def append_once(collection: Collection) -> None:
    """What a writer does that does not know whether its append landed."""
    if collection.upper() == 10:
        return
    collection.append(
        updates_table([update("b", 1, 5)]), expected_upper=Timestamp(5), new_upper=Timestamp(10)
    )


@pytest.mark.parametrize(
    ("killed_at", "has_landed"),
    [
        ("collections.append.before_write", False),
        ("collections.append.before_commit", False),
        ("collections.commit.landed", True),
        ("collections.append.after_commit", True),
    ],
)
def test_an_append_killed_anywhere_and_repeated_has_happened_once(
    tmp_path: Path, killed_at: str, has_landed: bool
) -> None:
    collection = Lake(str(tmp_path)).create(FLIGHTS, DESC)
    put(collection, update("a", 1, 0), to=5)
    die_at(killed_at, storage_worker.append, str(tmp_path))
    assert collection.upper() == (10 if has_landed else 5)
    assert rows_of(collection.pin().snapshot(MAXIMUM)) == (
        {("a", 1): 1, ("b", 1): 1} if has_landed else {("a", 1): 1}
    )
    for _ in range(2):
        append_once(collection)
        assert rows_of(collection.pin().snapshot(MAXIMUM)) == {("a", 1): 1, ("b", 1): 1}
    vacuum(collection, before=MAXIMUM, claimed_staging=frozenset())
    on_disk = {f"data/{path.name}" for path in Path(collection.uri, "data").iterdir()}
    assert on_disk == {file.path for file in collection.pin().all_files}


def test_a_writer_that_was_only_asleep_fails_after_its_append_was_carried_out(
    tmp_path: Path,
) -> None:
    sleeper = Lake(str(tmp_path)).create(FLIGHTS, DESC)
    sleeper.seal(expected_upper=Timestamp(0), new_upper=Timestamp(5))
    append_once(Lake(str(tmp_path)).open(FLIGHTS))
    with pytest.raises(UpperMismatch) as mismatch:
        sleeper.append(
            updates_table([update("b", 1, 5)]), expected_upper=Timestamp(5), new_upper=Timestamp(10)
        )
    assert mismatch.value.found == 10
    assert rows_of(sleeper.pin().snapshot(MAXIMUM)) == {("b", 1): 1}


@pytest.mark.parametrize("killed_at", ["collections.create.landed"])
def test_a_creation_killed_before_its_answer_is_repeated(tmp_path: Path, killed_at: str) -> None:
    die_at(killed_at, storage_worker.create, str(tmp_path))
    put(Lake(str(tmp_path)).create(FLIGHTS, DESC), update("a", 1, 0), to=5)


@pytest.mark.parametrize("killed_at", ["collections.drop.hidden"])
def test_a_drop_killed_halfway_is_gone_for_readers_and_finished_by_repeating(
    tmp_path: Path, killed_at: str
) -> None:
    lake = Lake(str(tmp_path))
    put(lake.create(FLIGHTS, DESC), update("a", 1, 0), to=5)
    die_at(killed_at, storage_worker.drop, str(tmp_path))
    assert not lake.exists(FLIGHTS)
    assert Path(lake.root, str(FLIGHTS)).exists()
    lake.drop(FLIGHTS)
    assert not Path(lake.root, str(FLIGHTS)).exists()


@pytest.mark.parametrize(
    "killed_at",
    [
        "collections.compact.before_commit",
        "collections.commit.landed",
        "collections.compact.after_commit",
    ],
)
def test_a_compaction_killed_anywhere_changes_no_answer_and_leaves_nothing_for_good(
    tmp_path: Path, killed_at: str
) -> None:
    collection = Lake(str(tmp_path)).create(FLIGHTS, DESC)
    for time in range(4):
        put(collection, update("a", time % 2, time), to=time + 1)
    die_at(killed_at, storage_worker.compact, str(tmp_path))
    expected = {("a", 0): 2, ("a", 1): 2}
    assert rows_of(collection.pin().snapshot(Timestamp(3))) == expected
    vacuum(collection, before=MAXIMUM, claimed_staging=frozenset())
    compact(collection, Timestamp(3))
    vacuum(collection, before=MAXIMUM, claimed_staging=frozenset())
    assert (rows_of(collection.pin().snapshot(Timestamp(3))), collection.upper()) == (expected, 4)
    on_disk = {f"data/{path.name}" for path in Path(collection.uri, "data").iterdir()}
    assert on_disk == {file.path for file in collection.pin().all_files}
