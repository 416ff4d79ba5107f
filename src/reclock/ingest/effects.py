"""What a writer does next for a source's step: the output of ``reclock.ingest.advance.advance``.

Each class names the event that answers it. An effect without an answer is durable, or has raised, before the next one begins.
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
    """Take the standing claim over: ``TakenOver``, ``GroupUnclaimed``, or ``ClaimLost`` while another writer's lease lasts."""


@dataclass(frozen=True, slots=True)
class ClaimGroup:
    """Claim the group at the step's time. Without a lease, any writer may take the claim over at once."""

    step: Step
    has_lease: bool = True


@dataclass(frozen=True, slots=True)
class SaveStep:
    """Make the step what the claim says, durably; ``ClaimLost`` if the claim is no longer this writer's."""

    step: Step
    has_lease: bool = True


@dataclass(frozen=True, slots=True)
class ReleaseClaim:
    """Leave the claim, which says ``step``, to the next writer. Nothing happens if it is another's already."""

    step: Step


@dataclass(frozen=True, slots=True)
class AbandonClaim:
    """End the claim. Nothing was appended under it."""


# --- the upstream and the source's collections ---


@dataclass(frozen=True, slots=True)
class ExamineSource:
    """Look at the source's collections and connector; under the claim of ``step``, if it is not None: ``Examined``."""

    step: Step | None


@dataclass(frozen=True, slots=True)
class ProbeUpstream:
    """Ask the upstream what is new: ``Probed``."""

    step: Step


@dataclass(frozen=True, slots=True)
class RereadRanges:
    """Ask the upstream for the claimed ranges again: ``RangesReread``."""

    step: Step


@dataclass(frozen=True, slots=True)
class WriteBindings:
    """Make the bindings what the remap collection holds at the step's time: ``BindingsWritten``."""

    step: Step
    bindings: tuple[Binding, ...]


@dataclass(frozen=True, slots=True)
class StageRows:
    """Read what is bound into files under the step's staging name: ``RowsStaged``."""

    step: Step


@dataclass(frozen=True, slots=True)
class ReadOnce:
    """Read, into files under the step's staging name, what can be read but once: ``RowsStaged``, with its increments."""

    step: Step


@dataclass(frozen=True, slots=True)
class SealFiles:
    """Make the files under the step's staging name durable: ``FilesSealed``."""

    step: Step


@dataclass(frozen=True, slots=True)
class DiscardStaged:
    """Delete the files under a staging name that the step has no more use for."""

    staging: str


@dataclass(frozen=True, slots=True)
class CommitRows:
    """Append the staged rows and the evidence to their collections, unless they are there: ``RowsCommitted``."""

    step: Step


@dataclass(frozen=True, slots=True)
class PublishStep:
    """Make the step visible, and end its claim: ``StepPublished``."""

    step: Step


@dataclass(frozen=True, slots=True)
class Failpoint:
    """A moment between two durable effects, at which a test kills the process."""

    name: str


# --- the end of the work ---


@dataclass(frozen=True, slots=True)
class End:
    """The work is done for now."""

    state: IngestState
    conflict: ClaimConflict | None = None
    """Who is ``BUSY``."""
    reason: str | None = None
    """What the upstream is ``WAITING`` for."""


@dataclass(frozen=True, slots=True)
class StallSource:
    """The source stalls with this error."""

    error: SourceError


@dataclass(frozen=True, slots=True)
class NotReady:
    """The step is not one to audit or to publish: in another phase, or another writer's."""

    conflict: ClaimConflict | None = None


@dataclass(frozen=True, slots=True)
class ReadyToAudit:
    """The step is to be audited by its holder."""

    step: Step


@dataclass(frozen=True, slots=True)
class ReadyToPublish:
    """The step is committed: it may become visible, together with those of other sources."""

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
    | CommitRows
    | PublishStep
    | Failpoint
    | Final
)
