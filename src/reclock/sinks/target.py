"""The interface of targets, and their guarantees for the emitter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from reclock.algebra.timestamps import Timestamp


@dataclass(frozen=True, slots=True)
class Written:
    """What one commit wrote: messages (or changed rows, if the target has no messages), and bytes
    before the target's own compression."""

    changes: int
    bytes: int


class Writer(Protocol):
    """Writes to the target of one sink. It reads progress from the target, because only the target
    knows it exactly."""

    def begin(self) -> Timestamp | None:
        """The upper of the target: everything below it is in the target, and nothing else; None if
        nothing was ever written.

        No other writer of this sink writes after this: earlier writers fail. Raises
        ``TargetUnavailable``, ``TargetChanged``.
        """
        ...

    def emit(self, at: Timestamp, changes: pa.RecordBatchReader) -> Written:
        """Write all changes of one time, durably and atomically, with the progress beyond that
        time.

        ``changes`` has the relation's columns and ``mz_diff``; it is consolidated, and read once.
        Times come in order. Raises ``ClaimConflict`` if another writer has begun meanwhile, and the
        errors of ``begin``. After an error the target has all of it or nothing, and the next
        ``begin`` finds out.
        """
        ...

    def close(self) -> None:
        """Close connections and files. Never raises."""
        ...
