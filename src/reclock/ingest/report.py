"""What an ingestion answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.connectors.connector import BlockedReason
from reclock.ingest.payload import FailureReason, Step


class IngestState(StrEnum):
    """What an ingestion came to."""

    IDLE = "idle"
    """The upstream has nothing new; nothing is claimed."""
    STAGED = "staged"
    """A step waits for its audit."""
    BLOCKED = "blocked"
    """A step has failed its audit and waits for a decision."""
    WAITING = "waiting"
    """The upstream cannot begin yet; ``waiting`` says what it waits for. The group stays claimed."""
    BUSY = "busy"
    """Another writer is at work on this source."""


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What one call of ``ingest`` did. ``at`` is the time of the step, which may be that of an earlier one that was finished."""

    source: str
    at: Timestamp
    state: IngestState
    bindings: tuple[tuple[str, int], ...] = ()
    rows: int = 0
    size: int = 0
    """How many offsets it binds, in the upstream's unit."""
    failed: tuple[tuple[str, FailureReason], ...] = ()
    """The outputs that have failed: nothing is known of them from ``at`` on."""
    revived: tuple[str, ...] = ()
    """The outputs that had failed, and have rows again from ``at`` on."""
    waiting: Mapping[GlobalId, BlockedReason | None] = field(default_factory=dict)
    """The source itself, or its guests, that have not begun, with the reason where the probe found one."""
    claimed_by: str | None = None
    """Who holds the claim of a source that is ``BUSY``, and for how long at most if that writer is gone."""
    abandoned: tuple[str, ...] = ()
    """The partitions that are not read any more, until they are restarted."""

    @classmethod
    def of(cls, source: str, step: Step) -> IngestReport:
        state = IngestState.BLOCKED if step.blocking else IngestState.STAGED
        failed = tuple(step.failed.items())
        return cls(source, step.at, state, tuple(step.bindings), step.rows, step.size, failed, step.revived)
