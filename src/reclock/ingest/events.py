"""The events of an ingestion step: the input of ``reclock.ingest.advance.advance``."""

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
    """The work begins. ``is_claimed`` says whether the group is claimed."""

    is_claimed: bool


@dataclass(frozen=True, slots=True)
class Inspected:
    """The work begins with a look at the claimed step, which is not taken over yet."""

    step: Step
    is_committed: bool = False
    """Whether an output has rows of the step."""


@dataclass(frozen=True, slots=True)
class TakenOver:
    """This writer holds the claim, which has ``step``. The previous holder can change nothing any
    more."""

    step: Step
    is_committed: bool = False
    begins: Sequence[str] = ()
    """The outputs of guests that begin with the step."""


@dataclass(frozen=True, slots=True)
class GroupUnclaimed:
    """The group has no claim to take over."""


@dataclass(frozen=True, slots=True)
class ClaimLost:
    """Another writer holds the claim, or a decision changed it."""

    conflict: ClaimConflict


@dataclass(frozen=True, slots=True)
class Examined:
    """The state of the source's collections and connector."""

    upper: Timestamp
    """The upper of the remap collection."""
    must_read_once: bool = False
    """Whether the next reading cannot be repeated."""
    has_new_outputs: bool = False
    """Whether guests' outputs were added or dropped since the last look."""
    new_staging: str = ""
    """For a claimed step: a staging name that was never used."""
    error_stands: bool = True
    """Whether the recorded failure concerns data that is still to be read."""


@dataclass(frozen=True, slots=True)
class Probed:
    """The upstream has these increments beyond the bindings below ``upper``."""

    upper: Timestamp
    increments: tuple[Increment, ...]
    blocked: Mapping[str, BlockedReason] = field(default_factory=dict)
    """Why guests' outputs cannot begin yet, by name."""


@dataclass(frozen=True, slots=True)
class RangesReread:
    """The claimed ranges, as the upstream has them now."""

    increments: tuple[Increment, ...]


@dataclass(frozen=True, slots=True)
class BindingsWritten:
    """The remap collection durably has the step's bindings."""


@dataclass(frozen=True, slots=True)
class RowsStaged:
    """The rows are in staged files, which are not durable yet. ``increments`` are those of a
    reading that came before its bindings."""

    outcome: StagingOutcome
    increments: tuple[Increment, ...] = ()


@dataclass(frozen=True, slots=True)
class FilesSealed:
    """The staged files of each output are durable."""

    files: Mapping[str, Sequence[StagedFile]]
    failed_before: Set[str] = frozenset()
    """The outputs that failed at an earlier step; only for a reading that came before its bindings.
    """


@dataclass(frozen=True, slots=True)
class SourceFailed:
    """The upstream cannot be read, or its data cannot be decoded."""

    error: SourceError


@dataclass(frozen=True, slots=True)
class AuditConcluded:
    """The audit has ended; these checks failed, waived or not."""

    failed: tuple[str, ...]
    report: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RowsCommitted:
    """Every output durably has its rows."""


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
)
