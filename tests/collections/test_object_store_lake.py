"""The same collections on an S3 endpoint: conditional commits, staging, compaction, vacuum,
drop."""

from concurrent.futures import ThreadPoolExecutor

import pyarrow.parquet as pq
import pytest
from fixtures.lakes import DESC, FLIGHTS, put, rows_of, update, updates_table
from fixtures.s3 import options

from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.collections.compaction import checkpoint, compact, vacuum
from reclock.collections.folder import Folder
from reclock.collections.lake import Lake
from reclock.errors import CollectionExists, InternalError, UnknownCollection, UpperMismatch

__all__ = ["options"]


@pytest.fixture
def lake(options: dict[str, str], request: pytest.FixtureRequest) -> Lake:
    return Lake(f"s3://lake/{request.node.name}", options)


def test_of_several_writers_exactly_one_wins_each_upper(
    lake: Lake, options: dict[str, str]
) -> None:
    def write(name: str) -> int:
        collection = Lake(lake.root, options).create(FLIGHTS, DESC)
        won = 0
        while (upper := collection.upper()) < 12:
            try:
                put_at = Timestamp(upper + 1)
                collection.append(
                    updates_table([update(name, won, upper)]),
                    expected_upper=upper,
                    new_upper=put_at,
                )
                won += 1
            except UpperMismatch:
                continue
        return won

    with ThreadPoolExecutor(3) as threads:
        won = list(threads.map(write, "abc"))
    assert sum(won) == 12
    expected = {
        (name, step): 1 for name, count in zip("abc", won, strict=True) for step in range(count)
    }
    assert rows_of(lake.open(FLIGHTS).pin().snapshot(MAXIMUM)) == expected


def test_a_collection_lives_and_ends_there(lake: Lake, options: dict[str, str]) -> None:
    with pytest.raises(UnknownCollection):
        lake.open(FLIGHTS)
    collection = lake.create(FLIGHTS, DESC)
    with pytest.raises(CollectionExists):
        Lake(lake.root, options).create(FLIGHTS, DESC, is_monotonic=True)
    assert list(lake.list()) == [FLIGHTS]
    store = Folder(lake.root, options).filesystem
    for name in ("job-1", "job-2"):
        for file in ("part-0.parquet", "_SUCCESS"):
            pq.write_table(
                updates_table([update("a", 1, 3)]),
                f"{FLIGHTS}/_staging/{name}/{file}",
                filesystem=store,
            )
    (staged,) = collection.staged("job-1")
    collection.append_files([staged], expected_upper=Timestamp(0), new_upper=Timestamp(5))
    put(collection, update("a", 1, 5), to=7)
    assert compact(collection, Timestamp(6)) is not None
    checkpoint(collection)
    assert vacuum(collection, before=MAXIMUM, claimed_staging=frozenset({"job-2"})).files == 3
    assert [len(collection.staged(name)) for name in ("job-1", "job-2")] == [0, 1]
    collection.discard_staged("job-2")
    reopened = Lake(lake.root, options).open(FLIGHTS)
    assert reopened.upper() == 7
    assert rows_of(reopened.pin().snapshot(Timestamp(6))) == {("a", 1): 2}
    [data_file] = reopened.pin().all_files
    assert data_file.uri == f"{lake.root}/{FLIGHTS}/{data_file.path}"
    with pytest.raises(InternalError, match="is missing or cut"):
        collection.append_files([staged], expected_upper=Timestamp(7), new_upper=Timestamp(9))
    lake.drop(FLIGHTS)
    assert (lake.exists(FLIGHTS), list(lake.list())) == (False, [])
