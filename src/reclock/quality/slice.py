"""What an audit looks at: the new bindings and the staged rows of one source, as small numbers. Nothing of it is committed yet."""

from __future__ import annotations

from dataclasses import dataclass

from reclock.algebra.timestamps import Timestamp


@dataclass(frozen=True, slots=True)
class AuditSlice:
    """One step of ``source`` at ``at``, whose group is published below ``upper``.

    ``previous`` is the source frontier before the step, of the partitions it binds; ``bindings`` are the increments it binds, as
    the remap collection holds them; ``covered`` is how many offsets of each partition the step accounts for, read or given up by
    decision. ``rows``, ``min_time``, ``max_time`` and ``null_diffs`` sum up ``staged_files``; the times are None without rows.
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
    """How many rows, and rows that go, one offset (or one of the ``changes``) may yield."""
    changes: int | None = None
    """How many changes the reading found at the bound offsets, if it counts them. It must where an offset says nothing about the
    number of rows: the changes of a PostgreSQL transaction may lie anywhere before the commit record that is bound."""
    retracted: int = 0
    """How many rows of outputs that were truncated are retracted besides."""

    @property
    def rows_limit(self) -> int:
        """How many rows may be staged."""
        sources_of_rows = sum(self.covered.values()) if self.changes is None else self.changes
        return sources_of_rows * self.updates_per_offset + self.retracted
