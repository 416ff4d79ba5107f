"""Files that a job stages: described without reading them, invisible until they are appended,
refused if they do not fit."""

import json
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fixtures.lakes import DESC, put, rows_of, update, updates_table

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import TEXT, TIMESTAMPTZ, Column, RelationDesc
from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.algebra.updates import Update
from reclock.collections.collection import Collection
from reclock.collections.files import StagedFile
from reclock.collections.lake import Lake
from reclock.errors import InternalError, UpperMismatch

ZERO, TEN = Timestamp(0), Timestamp(10)


def stage(collection: Collection, name: str, file: str, *updates: Update) -> Path:
    """What a job does, with the litter that Spark leaves."""
    folder = Path(collection.staging_uri(name))
    (folder / "_temporary" / "0").mkdir(parents=True, exist_ok=True)
    (folder / "_SUCCESS").touch()
    (folder / f".{file}.crc").write_bytes(b"crc")
    (folder / "_temporary" / "0" / file).write_bytes(b"half a file")
    pq.write_table(updates_table(updates, collection.desc), folder / file)
    return folder / file


def test_staged_files_are_described_by_their_footers(collection: Collection) -> None:
    path = stage(
        collection, "job-1", "part-1.snappy.parquet", update("b", None, 7, 2), update("a", 5, 3, -1)
    )
    stage(collection, "job-1", "part-0.snappy.parquet")
    (staged,) = collection.staged("job-1")
    assert staged == StagedFile(
        path="_staging/job-1/part-1.snappy.parquet",
        size_bytes=path.stat().st_size,
        rows=2,
        min_time=Timestamp(3),
        max_time=Timestamp(7),
        min_diff=-1,
        null_counts={"name": 0, "number": 1, "mz_timestamp": 0, "mz_diff": 0},
        stats=staged.stats,
    )
    assert json.loads(staged.stats) == {
        "numRecords": 2,
        "minValues": {"mz_timestamp": 3, "mz_diff": -1},
        "maxValues": {"mz_timestamp": 7, "mz_diff": 2},
        "nullCount": {"mz_timestamp": 0, "mz_diff": 0},
    }
    assert collection.staged("job-2") == []


def test_staged_files_go_through_json(collection: Collection) -> None:
    stage(collection, "job-1", "part-0.parquet", update("a", 1, 3))
    staged = collection.staged("job-1")
    assert [StagedFile(**json.loads(json.dumps(asdict(file)))) for file in staged] == staged


def test_staged_files_show_only_once_appended(collection: Collection) -> None:
    stage(collection, "job-1", "part-0.parquet", update("a", 1, 3))
    stage(collection, "job-1", "part-1.parquet", update("b", 1, 9))
    assert collection.pin().all_files == ()
    collection.append_files(collection.staged("job-1"), expected_upper=ZERO, new_upper=TEN)
    assert rows_of(collection.pin().snapshot(TEN)) == {("a", 1): 1, ("b", 1): 1}
    with pytest.raises(UpperMismatch):
        collection.append_files(collection.staged("job-1"), expected_upper=ZERO, new_upper=TEN)


def test_discarding_makes_the_name_free_and_keeps_what_was_appended(collection: Collection) -> None:
    stage(collection, "job-1", "part-0.parquet", update("a", 1, 3))
    collection.append_files(collection.staged("job-1"), expected_upper=ZERO, new_upper=TEN)
    stage(collection, "job-1", "part-1.parquet", update("b", 1, 3))
    stage(collection, "job-2", "part-0.parquet", update("c", 1, 3))
    for name in ("job-1", "job-2", "job-3"):
        collection.discard_staged(name)
    assert not Path(collection.staging_uri("job-2")).exists()
    assert not Path(collection.staging_uri("job-1"), "part-1.parquet").exists()
    assert rows_of(collection.pin().snapshot(TEN)) == {("a", 1): 1}


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../u5", "a/b", "/tmp", "_delta_log", "a b", "ä", "a%2fb"]
)
def test_staging_names_are_plain(collection: Collection, name: str) -> None:
    for use in (collection.staging_uri, collection.staged, collection.discard_staged):
        with pytest.raises(InternalError, match="is not plain"):
            use(name)


@pytest.mark.parametrize(
    "path",
    ["../u5/reclocked/data/x.parquet", "/etc/x.parquet", "_staging/../x.parquet", "data/x.csv"],
)
def test_files_outside_the_tables_folder_are_refused(collection: Collection, path: str) -> None:
    stage(collection, "job-1", "part-0.parquet", update("a", 1, 3))
    (file,) = collection.staged("job-1")
    with pytest.raises(InternalError, match="is not a data file"):
        collection.append_files(
            [StagedFile(**{**asdict(file), "path": path})], expected_upper=ZERO, new_upper=TEN
        )


def test_files_that_are_gone_or_cut_are_refused(collection: Collection) -> None:
    path = stage(collection, "job-1", "part-0.parquet", update("a", 1, 3))
    staged = collection.staged("job-1")
    for damage in (lambda: path.write_bytes(path.read_bytes()[:-1]), path.unlink):
        damage()
        with pytest.raises(InternalError, match="is missing or cut"):
            collection.append_files(staged, expected_upper=ZERO, new_upper=TEN)
    assert collection.upper() == 0


def test_files_with_other_columns_or_nulls_are_refused(lake: Lake, collection: Collection) -> None:
    path = stage(collection, "job-1", "part-0.parquet", update("a", 1, 3))
    pq.write_table(
        updates_table([update("a", 1, 3)]).rename_columns(
            ["name", "count", "mz_timestamp", "mz_diff"]
        ),
        path,
    )
    with pytest.raises(InternalError, match="does not have the columns"):
        collection.staged("job-1")
    strict = lake.create(
        StorageCollectionId(GlobalId("u5")),
        RelationDesc((Column("name", TEXT, is_nullable=False),)),
    )
    folder = Path(strict.staging_uri("job-1"))
    folder.mkdir(parents=True)
    nulls = pa.table({"name": pa.array([None], pa.string()), "mz_timestamp": [0], "mz_diff": [1]})
    pq.write_table(nulls, folder / "part-0.parquet")
    with pytest.raises(InternalError) as refused:
        strict.staged("job-1")
    assert refused.value.detail == 'column "name" may have NULLs'


def test_timestamps_in_the_form_that_has_no_statistics_are_refused(lake: Lake) -> None:
    desc = RelationDesc((Column("at", TIMESTAMPTZ),))
    flown = lake.create(StorageCollectionId(GlobalId("u5")), desc)
    folder = Path(flown.staging_uri("job-1"))
    folder.mkdir(parents=True)
    table = updates_table([Update((None,), ZERO, 1)], desc)
    pq.write_table(table, folder / "part-0.parquet", use_deprecated_int96_timestamps=True)
    with pytest.raises(InternalError, match="does not have the columns") as refused:
        flown.staged("job-1")
    assert "TIMESTAMP_MICROS" in (refused.value.hint or "")


def test_a_monotonic_collection_refuses_staged_deletions(lake: Lake) -> None:
    facts = lake.create(StorageCollectionId(GlobalId("u6")), DESC, is_monotonic=True)
    stage(facts, "job-1", "part-0.parquet", update("a", 1, 0), update("a", 1, 0, -1))
    with pytest.raises(InternalError):
        facts.staged("job-1")


def test_a_half_written_file_is_refused_and_does_not_disturb_appends(
    collection: Collection,
) -> None:
    Path(collection.staging_uri("job-1")).mkdir(parents=True)
    Path(collection.staging_uri("job-1"), "part-0.parquet").write_bytes(b"not parquet")
    with pytest.raises(InternalError, match="is not a whole Parquet file"):
        collection.staged("job-1")
    put(collection, update("a", 1, 0), to=1)
    assert rows_of(collection.pin().snapshot(MAXIMUM)) == {("a", 1): 1}
