"""The input of an audit: the new bindings and staged rows of one source, as a few numbers. Nothing
of it is committed yet."""

from __future__ import annotations

from dataclasses import dataclass

from reclock.algebra.timestamps import Timestamp


@dataclass(frozen=True, slots=True)
class AuditSlice:
    """One step of ``source`` at ``at``. Its group is published below ``upper``.

    ``previous`` is the source frontier before the step, of the partitions that it binds.
    ``bindings`` are its increments, as the remap collection has them. ``covered`` is how many
    offsets of each partition were read or skipped. ``rows``, ``min_time``, ``max_time`` and
    ``null_diffs`` summarize ``staged_files``; the times are None without rows.
    """

    source: str
    upper: Timestamp
    at: Timestamp
    previous: dict[str, int]
    bindings: list[tuple[str, int]]
    rows: int
    min_time: Timestamp | None
    max_time: Timestamp | None
    null_diffs: int
    covered: dict[str, int]
    staged_files: list[str]
    updates_per_offset: int = 1
    """How many insertions and deletions one offset (or one of the ``changes``) may yield."""
    changes: int | None = None
    """How many changes were read at the bound offsets, if the connector counts them. It must if the
    number of rows does not follow from the offsets: the changes of a PostgreSQL transaction may lie
    anywhere before its commit record."""
    retracted: int = 0
    """How many rows of truncated outputs are also retracted."""

    @property
    def rows_limit(self) -> int:
        """The most rows that may be staged."""
        sources_of_rows = sum(self.covered.values()) if self.changes is None else self.changes
        return sources_of_rows * self.updates_per_offset + self.retracted
