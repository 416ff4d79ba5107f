"""Progress relations: what a user sees of a source's bindings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reclock.algebra.timestamps import Timestamp
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
