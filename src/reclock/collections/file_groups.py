"""The division of a collection's files among readers that work apart from each other."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from reclock.algebra.timestamps import Timestamp
from reclock.collections.files import DataFile

GROUP_BYTES = 128 << 20
"""About how many bytes a group has if nobody says how many groups there are. As in Spark."""

OPEN_COST_BYTES = 4 << 20
"""The bytes that could be read in the time that it takes to open a file. As in Spark."""


def may_delete(file: DataFile) -> bool:
    """Whether it may hold an update with a negative diff."""
    return file.min_diff is None or file.min_diff < 0


def group_files(
    files: Sequence[DataFile], lower: Timestamp, upper: Timestamp, count: int | None = None
) -> list[list[DataFile]]:
    """The files in groups such that no update of one group cancels an update of another, where
    times before ``lower`` count as ``lower``, and nothing is read from ``upper`` on.

    There are at most ``count`` groups, of about equal size; without it, as many as groups of about
    ``GROUP_BYTES`` need. No group is empty.
    """
    units = list(_inseparable(files, lower, upper))
    if count is None:
        count = -(-sum(map(_cost, units)) // GROUP_BYTES)
    groups: list[list[DataFile]] = [[] for _ in range(min(count, len(units)))]
    lightest = [(0, number) for number in range(len(groups))]
    for unit in sorted(units, key=_cost, reverse=True):
        cost, number = lightest[0]
        groups[number] += unit
        heapq.heapreplace(lightest, (cost + _cost(unit), number))
    return groups


def _inseparable(
    files: Sequence[DataFile], lower: Timestamp, upper: Timestamp
) -> Iterator[list[DataFile]]:
    """Files that share times are together if one of them may have deletions, since these cancel
    inserts at their time. All other files are by themselves."""
    sharing: list[DataFile] = []
    last = lower - 1
    for file in sorted(files, key=lambda file: file.min_time):
        if max(file.min_time, lower) > last:
            yield from _separated(sharing)
            sharing = []
        sharing.append(file)
        last = max(last, min(Timestamp(upper - 1), file.max_time), lower)
    yield from _separated(sharing)


def _separated(sharing: list[DataFile]) -> Iterator[list[DataFile]]:
    if any(map(may_delete, sharing)):
        yield sharing
    else:
        yield from ([file] for file in sharing)


def _cost(files: Sequence[DataFile]) -> int:
    return sum(file.size_bytes + OPEN_COST_BYTES for file in files)
