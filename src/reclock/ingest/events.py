"""What can happen to a writer at work on a source's step: the input of ``reclock.ingest.advance.advance``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from reclock.algebra.timestamps import Timestamp
from reclock.collections.files import StagedFile
from reclock.connectors.connector import BlockedReason, Increment
from reclock.errors import ClaimConflict, SourceError
from reclock.ingest.payload import Step
from reclock.ingest.stage import StagingOutcome


@dataclass(frozen=True, slots=True)
class Started:
    """The work begins. ``is_claimed`` says whether a step stands."""

    is_claimed: bool


@dataclass(frozen=True, slots=True)
class Inspected:
    """The work begins with a look at the standing step, which is not taken over yet."""

    step: Step
    is_committed: bool = False
    """Whether rows of the step are in an output."""


@dataclass(frozen=True, slots=True)
class TakenOver:
    """This writer holds the standing claim, which says ``step``; the writer that held it before can change nothing any more."""

    step: Step
    is_committed: bool = False
    begins: Sequence[str] = ()
    """The outputs of guests that begin with the step."""


@dataclass(frozen=True, slots=True)
class GroupUnclaimed:
    """There is no claim to take over."""


@dataclass(frozen=True, slots=True)
class ClaimLost:
    """Another writer holds the claim, or somebody decided about it."""

    conflict: ClaimConflict


@dataclass(frozen=True, slots=True)
class Examined:
    """The source's collections and connector, as they are now."""

    upper: Timestamp
    """Of the collection that says what is bound."""
    must_read_once: bool = False
    """Whether the next reading cannot be repeated."""
    has_new_outputs: bool = False
    """Whether outputs of guests have come or gone since the last look."""
    new_staging: str = ""
    """For a claimed step: a name under which nothing was ever staged."""
    error_stands: bool = True
    """Whether the recorded failure is about something that is still to be read."""


@dataclass(frozen=True, slots=True)
class Probed:
    """The upstream has these increments beyond what was bound below ``upper``."""

    upper: Timestamp
    increments: tuple[Increment, ...]
    blocked: Mapping[str, BlockedReason] = field(default_factory=dict)
    """Why outputs of guests cannot begin yet."""


@dataclass(frozen=True, slots=True)
class RangesReread:
    """The claimed ranges, as the upstream has them now."""

    increments: tuple[Increment, ...]


@dataclass(frozen=True, slots=True)
class BindingsWritten:
    """The remap collection durably has the step's bindings."""


@dataclass(frozen=True, slots=True)
class RowsStaged:
    """The rows are in staged files, not yet durable. ``increments`` are those of a reading that came before its bindings."""

    outcome: StagingOutcome
    increments: tuple[Increment, ...] = ()


@dataclass(frozen=True, slots=True)
class FilesSealed:
    """The staged files of each output are durable."""

    files: Mapping[str, Sequence[StagedFile]]
    failed_before: Set[str] = frozenset()
    """The outputs that failed at an earlier step; only of a reading that came before its bindings."""


@dataclass(frozen=True, slots=True)
class SourceFailed:
    """The upstream, or what it holds, is in the way."""

    error: SourceError


@dataclass(frozen=True, slots=True)
class AuditConcluded:
    """The checks have been made; these failed, waived or not."""

    failed: tuple[str, ...]
    report: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RowsCommitted:
    """Every output durably has its rows."""


@dataclass(frozen=True, slots=True)
class StepPublished:
    """The step is visible, and nothing is claimed."""


Event = (
    Started
    | Inspected
    | TakenOver
    | GroupUnclaimed
    | ClaimLost
    | Examined
    | Probed
    | RangesReread
    | BindingsWritten
    | RowsStaged
    | FilesSealed
    | SourceFailed
    | AuditConcluded
    | RowsCommitted
    | StepPublished
)
