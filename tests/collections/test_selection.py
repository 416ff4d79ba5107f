"""What a compaction rewrites: enough that readers find few files, and not the same bytes again and
again."""

import itertools

from reclock.algebra.timestamps import Timestamp
from reclock.collections.files import DataFile
from reclock.collections.selection import LARGE_FILE_BYTES, SMALL_FILES, select_files_to_rewrite

LARGE = LARGE_FILE_BYTES
_numbers = itertools.count()


def file(low: int, high: int | None = None, size_bytes: int = 1000) -> DataFile:
    path = f"data/{next(_numbers)}.parquet"
    return DataFile(
        path, path, size_bytes, 1, Timestamp(low), Timestamp(low if high is None else high)
    )


def chosen(*files: DataFile, since: int, is_monotonic: bool = False) -> set[DataFile]:
    return set(select_files_to_rewrite(files, Timestamp(since), is_monotonic=is_monotonic))


def test_small_files_below_since_become_one() -> None:
    early, late, recent = file(1), file(2, 7), file(5)
    assert chosen(early, late, recent, since=5) == {early, late}


def test_one_file_with_one_time_is_left_alone() -> None:
    merged = file(3)
    assert chosen(merged, since=3) == chosen(merged, since=9) == set()
    assert chosen(file(3), (mixed := file(3, 4)), since=9) > {mixed}


def test_small_files_that_stay_apart_become_one_when_there_are_many() -> None:
    files = [file(time) for time in range(10, 10 + SMALL_FILES)]
    assert chosen(*files[1:], since=5) == set()
    assert chosen(*files, file(99, size_bytes=LARGE), since=5) == set(files)


def test_what_is_merged_is_merged_again_only_with_much_that_is_new() -> None:
    merged = file(1, size_bytes=LARGE)
    little = [file(2), file(3)]
    assert chosen(merged, *little, since=9) == set(little)
    much = file(2, 3, size_bytes=LARGE // 4)
    assert chosen(merged, much, since=9) == {merged, much}
    assert chosen(merged, much, since=9, is_monotonic=True) == {much}


def test_a_large_file_waits_until_all_its_times_are_below_since() -> None:
    large = file(1, 9, size_bytes=LARGE)
    assert chosen(large, file(1), since=5).isdisjoint({large})
    assert chosen(large, since=9) == {large}
    assert chosen(large, since=9, is_monotonic=True) == set()
