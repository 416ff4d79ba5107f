"""What is acknowledged survives a loss of power: files before the commit that names them, the
commit before the answer."""

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from fixtures.lakes import DESC, FLIGHTS, put, rows_of, update, updates_table

from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.collections.collection import Collection
from reclock.collections.compaction import checkpoint, compact
from reclock.collections.delta_log import COMMITS_PER_CHECKPOINT
from reclock.collections.lake import Lake


class Flushes(list[str]):
    """The paths flushed so far, and what the log held at each flush."""

    def __init__(self) -> None:
        super().__init__()
        self.commits_at: dict[str, int] = {}

    def of(self, folder: str) -> set[str]:
        return {os.path.relpath(path, folder) for path in self}


@pytest.fixture
def flushes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Flushes]:
    flushes, flush = Flushes(), os.fsync

    def record(descriptor: int) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        flushes.append(path)
        flushes.commits_at.setdefault(path, len(list(tmp_path.rglob("_delta_log/*.json"))))
        flush(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", record)
        yield flushes


def test_creating_flushes_the_first_log_entry_and_every_new_folder(
    tmp_path: Path, flushes: Flushes
) -> None:
    lake = Lake(str(tmp_path / "new" / "lake"))
    lake.create(FLIGHTS, DESC)
    table = f"{lake.root}/u4/reclocked"
    assert {
        "_delta_log/00000000000000000000.json",
        "_delta_log",
        ".",
        "..",
        "../..",
        "../../..",
    } <= flushes.of(table)
    assert str(tmp_path) in flushes


def test_an_append_flushes_its_data_then_its_log_entry(
    collection: Collection, flushes: Flushes
) -> None:
    put(collection, update("a", 1, 0), to=1)
    (file,) = collection.pin().all_files
    assert {
        file.path,
        "data",
        ".",
        "_delta_log/00000000000000000001.json",
        "_delta_log",
    } <= flushes.of(collection.uri)
    assert flushes.commits_at[file.uri] == flushes.commits_at[f"{collection.uri}/data"] == 1
    assert flushes.index(file.uri) < flushes.index(
        f"{collection.uri}/_delta_log/00000000000000000001.json"
    )


def test_an_upper_is_not_told_before_the_commit_behind_it_is_flushed(
    lake: Lake, collection: Collection, flushes: Flushes
) -> None:
    elsewhere = Lake(lake.root).open(FLIGHTS)
    put(collection, update("a", 1, 0), to=1)
    put(collection, update("a", 1, 1), to=2)
    flushes.clear()
    assert elsewhere.upper() == 2
    assert flushes.of(collection.uri) >= {"_delta_log/00000000000000000002.json", "_delta_log"}
    flushes.clear()
    assert elsewhere.upper() == 2
    assert flushes == []


def test_staged_files_are_flushed_when_they_are_told_of(
    collection: Collection, flushes: Flushes
) -> None:
    folder = Path(collection.staging_uri("job-1"))
    folder.mkdir(parents=True)
    pq.write_table(updates_table([update("a", 1, 0)]), folder / "part-0.parquet")
    collection.staged("job-1")
    assert flushes.of(collection.uri) >= {
        "_staging/job-1/part-0.parquet",
        "_staging/job-1",
        "_staging",
        ".",
    }


def test_a_compaction_and_a_checkpoint_are_flushed(
    collection: Collection, flushes: Flushes
) -> None:
    put(collection, update("a", 1, 0), to=1)
    put(collection, update("b", 1, 1), to=5)
    compact(collection, Timestamp(4))
    (file,) = collection.pin().all_files
    assert flushes.index(file.uri) < flushes.index(
        f"{collection.uri}/_delta_log/00000000000000000003.json"
    )
    checkpoint(collection)
    assert flushes.of(collection.uri) >= {
        "_delta_log/_last_checkpoint",
        "_delta_log/00000000000000000003.checkpoint.parquet",
    }


def test_an_empty_log_entry_that_a_loss_of_power_left_is_passed_over(
    lake: Lake, collection: Collection
) -> None:
    put(collection, update("a", 1, 0), to=1)
    Path(collection.uri, "_delta_log", f"{collection.pin().number + 1:020}.json").touch()
    reopened = Lake(lake.root).open(FLIGHTS)
    assert reopened.upper() == 1
    put(reopened, update("b", 1, 1), to=2)
    assert rows_of(Lake(lake.root).open(FLIGHTS).pin().snapshot(MAXIMUM)) == {
        ("a", 1): 1,
        ("b", 1): 1,
    }


def test_the_log_is_checkpointed_as_it_grows_and_the_upper_outlives_its_entries(
    lake: Lake, collection: Collection
) -> None:
    put(collection, update("a", 1, 0), to=1)
    for upper in range(1, COMMITS_PER_CHECKPOINT):
        collection.seal(expected_upper=Timestamp(upper), new_upper=Timestamp(upper + 1))
    log = Path(collection.uri, "_delta_log")
    assert (log / f"{COMMITS_PER_CHECKPOINT:020}.checkpoint.parquet").exists()
    for version in range(COMMITS_PER_CHECKPOINT):
        (log / f"{version:020}.json").unlink()
    reopened = Lake(lake.root).open(FLIGHTS)
    assert (reopened.upper(), reopened.desc) == (COMMITS_PER_CHECKPOINT, DESC)
    assert rows_of(reopened.pin().snapshot(MAXIMUM)) == {("a", 1): 1}
