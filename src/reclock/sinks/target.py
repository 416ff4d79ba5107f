"""What every target does for the emitter, and what it promises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from reclock.algebra.timestamps import Timestamp


@dataclass(frozen=True, slots=True)
class Written:
    """What one commit brought to the target: messages, or changes of rows where there are none, and bytes before compression by
    the target itself."""

    changes: int
    bytes: int


class Writer(Protocol):
    """Writes to the target of one sink. What it says of progress it reads from the target, for that alone is exact."""

    def begin(self) -> Timestamp | None:
        """Everything at a time below the answer is in the target, and nothing else; None if nothing was ever written.

        No other writer of this sink writes after this: who began earlier fails. Raises ``TargetUnavailable``, ``TargetChanged``.
        """
        ...

    def emit(self, at: Timestamp, changes: pa.RecordBatchReader) -> Written:
        """All changes of one time are in the target, durably and in one go with the progress beyond it.

        ``changes`` has the relation's columns and ``mz_diff``; it is consolidated, and read once. Times come in order. Raises
        ``ClaimConflict`` if another writer has begun meanwhile, and what ``begin`` raises; then nothing of it is in the target, or
        all: who begins next is told.
        """
        ...

    def close(self) -> None:
        """Let go of what is open. Never raises."""
        ...
