"""The report of an ingestion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.connectors.connector import BlockedReason, UnendedRecord
from reclock.errors import BadRecord
from reclock.ingest.payload import FailureReason, Step


class IngestState(StrEnum):
    """How an ingestion ended."""

    IDLE = "idle"
    """The upstream has nothing new; nothing is claimed."""
    NEW = "new"
    """The upstream has something new, or a step is unfinished; nothing was done about it."""
    STAGED = "staged"
    """A step waits for its audit."""
    BLOCKED = "blocked"
    """A step has failed its audit and waits for a decision."""
    WAITING = "waiting"
    """The source cannot begin yet; ``waiting`` says what it waits for. The group stays claimed."""
    BUSY = "busy"
    """Another writer works on this source."""


@dataclass(frozen=True, slots=True)
class IngestReport:
    """The result of one call of ``ingest``. ``at`` is the time of the step, which may be an earlier
    one that was finished."""

    source: str
    at: Timestamp
    state: IngestState
    bindings: tuple[tuple[str, int], ...] = ()
    rows: int = 0
    size: int = 0
    """How many offsets it binds, in the upstream's unit."""
    failed: tuple[tuple[str, FailureReason], ...] = ()
    """The outputs that have failed: they have no rows from ``at`` on."""
    revived: tuple[str, ...] = ()
    """The outputs that had failed, and have rows again from ``at`` on."""
    waiting: Mapping[GlobalId, BlockedReason | None] = field(default_factory=dict)
    """The source or guests that have not begun, with the reason, if the probe found one."""
    claimed_by: str | None = None
    """The owner of a ``BUSY`` source's claim, and how long it lasts at most if that writer has
    died."""
    abandoned: tuple[str, ...] = ()
    """The partitions that are no longer read, until they are restarted."""
    unended: tuple[UnendedRecord, ...] = ()
    """The records that have waited for their end for long."""
    rejected: tuple[BadRecord, ...] = ()
    """The records that were given up because they do not decode, within the source's limit."""
    news: str | None = None
    """The fingerprint of what is ``NEW``, if no process works on it (see ``reclock.ingest.news``)."""

    @classmethod
    def of(cls, source: str, step: Step) -> IngestReport:
        state = IngestState.BLOCKED if step.blocking else IngestState.STAGED
        failed = tuple(step.failed.items())
        return cls(
            source, step.at, state, tuple(step.bindings), step.rows, step.size, failed, step.revived
        )
