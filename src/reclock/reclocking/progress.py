"""Progress relations: what a user sees of a source's bindings."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from reclock.algebra.timestamps import Timestamp
from reclock.algebra.updates import Update
from reclock.reclocking.frontiers import Partition
from reclock.reclocking.remap import Remap


@dataclass(frozen=True, slots=True)
class ProgressRow:
    """``partition`` had been read up to ``offset`` (exclusive), and the binding that set it was made at ``time``."""

    time: Timestamp
    partition: Partition
    offset: int

    @property
    def row(self) -> tuple[Any, ...]:
        """The row as the relation shows it: ``mz_timestamp``, the partition unless there is but one, the offset."""
        partition = () if self.partition == () else (self.partition,)
        return self.time, *partition, self.offset


def progress_at(remap: Remap, time: Timestamp) -> list[ProgressRow]:
    """``SELECT … AS OF time``: one row for every partition bound by then."""
    frontier = remap.frontier_at(time)
    return [
        ProgressRow(max(t for t in remap.partitions[partition].times if t <= time), partition, offset)
        for partition, offset in frontier.items()
    ]


def progress_changes(remap: Remap, as_of: Timestamp) -> list[Update]:
    """``TAIL … AS OF as_of``: every binding from ``as_of`` on, as the replacement of its partition's row.

    What was bound up to ``as_of`` appears at ``as_of``, one row a partition.
    """
    updates = [Update(row.row, as_of, 1) for row in progress_at(remap, as_of)]
    for partition, stairs in remap.partitions.items():
        previous: ProgressRow | None = None
        for row in (ProgressRow(time, partition, offset) for time, offset in zip(stairs.times, stairs.offsets, strict=True)):
            if row.time > as_of:
                if previous is not None:
                    updates.append(Update(previous.row, row.time, -1))
                updates.append(Update(row.row, row.time, 1))
            previous = row
    return sorted(updates, key=attrgetter("time"))
