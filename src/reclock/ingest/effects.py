"""The effects of an ingestion step: what ``reclock.ingest.advance.advance`` asks its writer to do.

Each class names the event that answers it. An effect without an answer is durable, or has raised an
error, before the next one begins.
"""

from __future__ import annotations

from dataclasses import dataclass

from reclock.errors import ClaimConflict, SourceError
from reclock.ingest.payload import Step
from reclock.ingest.report import IngestState
from reclock.reclocking.mint import Binding

# --- the claim ---


@dataclass(frozen=True, slots=True)
class TakeOverClaim:
    """Take the claim over. Answered by ``TakenOver``, ``GroupUnclaimed``, or ``ClaimLost`` during
    another writer's lease."""


@dataclass(frozen=True, slots=True)
class ClaimGroup:
    """Claim the group at the step's time. Without a lease, any writer may take the claim over at
    once."""

    step: Step
    has_lease: bool = True


@dataclass(frozen=True, slots=True)
class SaveStep:
    """Save the step in the claim, durably. ``ClaimLost`` if the claim belongs to another writer."""

    step: Step
    has_lease: bool = True


@dataclass(frozen=True, slots=True)
class ReleaseClaim:
    """Release the claim, with ``step`` in it, for the next writer. Does nothing if it belongs to
    another writer already."""

    step: Step


@dataclass(frozen=True, slots=True)
class AbandonClaim:
    """Remove the claim. Nothing was appended under it."""


# --- the upstream and the source's collections ---


@dataclass(frozen=True, slots=True)
class ExamineSource:
    """Read the state of the source's collections and connector; under the claim of ``step``, unless
    it is None. Answered by ``Examined``."""

    step: Step | None


@dataclass(frozen=True, slots=True)
class ProbeUpstream:
    """Probe the upstream for new offsets. Answered by ``Probed``."""

    step: Step


@dataclass(frozen=True, slots=True)
class RereadRanges:
    """Probe the claimed ranges again. Answered by ``RangesReread``."""

    step: Step


@dataclass(frozen=True, slots=True)
class WriteBindings:
    """Make the bindings the content of the remap collection at the step's time. Answered by
    ``BindingsWritten``."""

    step: Step
    bindings: tuple[Binding, ...]


@dataclass(frozen=True, slots=True)
class StageRows:
    """Read the bound ranges into files under the step's staging name. Answered by
    ``RowsStaged``."""

    step: Step


@dataclass(frozen=True, slots=True)
class ReadOnce:
    """Make a reading that cannot be repeated, into files under the step's staging name. Answered by
    ``RowsStaged`` with its increments."""

    step: Step


@dataclass(frozen=True, slots=True)
class SealFiles:
    """Make the files under the step's staging name durable. Answered by ``FilesSealed``."""

    step: Step


@dataclass(frozen=True, slots=True)
class DiscardStaged:
    """Delete the files under a staging name that the step no longer uses."""

    staging: str


@dataclass(frozen=True, slots=True)
class RecordSkips:
    """Record the bound offsets that the step gives up."""

    step: Step


@dataclass(frozen=True, slots=True)
class CommitRows:
    """Append the staged rows and the evidence to their collections, unless that was done before.
    Answered by ``RowsCommitted``."""

    step: Step


@dataclass(frozen=True, slots=True)
class Failpoint:
    """A moment between two durable effects, at which a test kills the process."""

    name: str


# --- the end of the work ---


@dataclass(frozen=True, slots=True)
class End:
    """The writer's work ends."""

    state: IngestState
    conflict: ClaimConflict | None = None
    """The conflict with the other writer of a source that is ``BUSY``."""
    reason: str | None = None
    """What a ``WAITING`` source waits for."""


@dataclass(frozen=True, slots=True)
class StallSource:
    """The source stalls with this error."""

    error: SourceError


@dataclass(frozen=True, slots=True)
class NotReady:
    """The step cannot be audited or published: it is in another phase, or belongs to another
    writer."""

    conflict: ClaimConflict | None = None


@dataclass(frozen=True, slots=True)
class ReadyToAudit:
    """The holder of the step may audit it."""

    step: Step


@dataclass(frozen=True, slots=True)
class ReadyToPublish:
    """The step is committed, and may be published together with those of other sources."""

    step: Step


Final = End | StallSource | NotReady | ReadyToAudit | ReadyToPublish

Effect = (
    TakeOverClaim
    | ClaimGroup
    | SaveStep
    | ReleaseClaim
    | AbandonClaim
    | ExamineSource
    | ProbeUpstream
    | RereadRanges
    | WriteBindings
    | StageRows
    | ReadOnce
    | SealFiles
    | DiscardStaged
    | RecordSkips
    | CommitRows
    | Failpoint
    | Final
)
