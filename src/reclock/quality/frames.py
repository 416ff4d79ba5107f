"""The small tables over which the checks run. Pure: from a slice to pandas frames."""

from __future__ import annotations

import pandas as pd

from reclock.quality.slice import AuditSlice


def bindings_frame(slice_: AuditSlice) -> pd.DataFrame:
    """One row for each binding, in the order of binding, with the group's ``upper``. It binds the
    offsets from ``previous`` to ``frontier``. A partition that is bound twice continues where its
    earlier row ended."""
    reached = dict(slice_.previous)
    rows: list[tuple[str, int, int, int, int, int]] = []
    for partition, increment in slice_.bindings:
        previous = reached.get(partition, 0)
        reached[partition] = previous + increment
        rows.append((partition, slice_.at, slice_.upper, previous, increment, reached[partition]))
    return pd.DataFrame(
        rows, columns=["partition", "mz_timestamp", "upper", "previous", "increment", "frontier"]
    )


def ranges_frame(slice_: AuditSlice) -> pd.DataFrame:
    """One row for each partition that was bound or read: the number of bound offsets, and of
    offsets read."""
    bound: dict[str, int] = {}
    for partition, increment in slice_.bindings:
        bound[partition] = bound.get(partition, 0) + increment
    partitions = sorted(bound.keys() | slice_.covered.keys())
    rows = [
        (partition, bound.get(partition, 0), slice_.covered.get(partition, 0))
        for partition in partitions
    ]
    return pd.DataFrame(rows, columns=["partition", "bound_offsets", "read_offsets"])


def staged_frame(slice_: AuditSlice) -> pd.DataFrame:
    """One row: the aggregates of the staged files, beside what the claim says about them."""
    return pd.DataFrame(
        [
            {
                "at": slice_.at,
                "rows": slice_.rows,
                "min_time": slice_.min_time,
                "max_time": slice_.max_time,
                "null_diffs": slice_.null_diffs,
                "read_offsets": sum(slice_.covered.values()),
                "rows_limit": slice_.rows_limit,
                "staged_files": len(slice_.staged_files),
            }
        ]
    )
