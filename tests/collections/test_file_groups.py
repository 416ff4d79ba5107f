"""Files are divided so that each group can be consolidated by itself."""

from __future__ import annotations

import pytest

from reclock.algebra.timestamps import Timestamp
from reclock.collections.file_groups import GROUP_BYTES, OPEN_COST_BYTES, group_files
from reclock.collections.files import DataFile

MIB = 1 << 20


def data_file(
    name: str, first: int, last: int, *, min_diff: int | None = 1, size_bytes: int = MIB
) -> DataFile:
    times = Timestamp(first), Timestamp(last)
    return DataFile(name, f"file:///{name}", size_bytes, 10, *times, min_diff, 1)


def groups(
    files: list[DataFile], lower: int, upper: int, count: int | None = 9
) -> set[frozenset[str]]:
    grouped = group_files(files, Timestamp(lower), Timestamp(upper), count)
    return {frozenset(file.path for file in group) for group in grouped}


def test_inserts_are_apart_at_whatever_times() -> None:
    files = [data_file("a", 1, 5), data_file("b", 2, 3), data_file("c", 5, 9)]
    assert groups(files, 1, 10) == {frozenset("a"), frozenset("b"), frozenset("c")}


@pytest.mark.parametrize("min_diff", [-1, None])
def test_deletions_are_with_the_files_of_their_times(min_diff: int | None) -> None:
    files = [
        data_file("a", 1, 4),
        data_file("b", 4, 6, min_diff=min_diff),
        data_file("c", 6, 7),
        data_file("d", 8, 9),
        data_file("e", 8, 9),
    ]
    assert groups(files, 1, 10) == {frozenset("abc"), frozenset("d"), frozenset("e")}


def test_only_times_that_are_read_are_shared() -> None:
    files = [data_file("a", 1, 9, min_diff=-1), data_file("b", 6, 9), data_file("c", 3, 3)]
    assert groups(files, 3, 6) == {frozenset("ac"), frozenset("b")}
    assert groups(files, 9, 10) == {frozenset("abc")}  # all count as at time 9


def test_groups_are_of_about_equal_size() -> None:
    sizes = {"a": 40, "b": 30, "c": 20, "d": 10}
    files = [data_file(name, 1, 1, size_bytes=size * MIB) for name, size in sizes.items()]
    assert groups(files, 1, 2, 2) == {frozenset("ad"), frozenset("bc")}
    assert groups(files, 1, 2, 1) == {frozenset("abcd")}
    assert len(groups(files, 1, 2, 9)) == 4


def test_without_a_count_groups_have_a_size() -> None:
    size_bytes = GROUP_BYTES // 4 - OPEN_COST_BYTES
    files = [data_file(str(number), 1, 1, size_bytes=size_bytes) for number in range(8)]
    assert sorted(map(len, groups(files, 1, 2, None))) == [4, 4]
    assert groups([], 1, 2, None) == groups([], 1, 2, 3) == set()
