"""Progress relations: a source's bindings as users see them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from reclock.algebra.timestamps import Timestamp
from reclock.reclocking.frontiers import Partition
from reclock.reclocking.remap import Remap


@dataclass(frozen=True, slots=True)
class ProgressRow:
    """``partition`` had been read up to ``offset`` (exclusive) by the binding at ``time``."""

    time: Timestamp
    partition: Partition
    offset: int

    @property
    def row(self) -> tuple[Any, ...]:
        """The row of the relation: ``mz_timestamp``, the partition unless there is only one, the
        offset."""
        partition = () if self.partition == () else (self.partition,)
        return self.time, *partition, self.offset


@dataclass(frozen=True, slots=True)
class ProgressUpdate:
    """``row`` is inserted or deleted (``diff`` is 1 or -1) at ``time``."""

    row: ProgressRow
    time: Timestamp
    diff: int


def progress_updates(remap: Remap) -> Iterator[ProgressUpdate]:
    """The progress relation as a changelog: each binding of a partition replaces the partition's
    row.

    At each time it adds up to one row for every partition bound by then.
    """
    for partition, stairs in remap.partitions.items():
        before: ProgressRow | None = None
        for time, offset in zip(stairs.times, stairs.offsets, strict=True):
            if before is not None:
                yield ProgressUpdate(before, time, -1)
            before = ProgressRow(time, partition, offset)
            yield ProgressUpdate(before, time, 1)
