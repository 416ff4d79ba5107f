"""What a source's claim says: the whole state of a step, so that whoever takes it over can go on. JSON in consensus.

Each phase is durable before the next begins. From ``CLAIMED`` on, every writer that continues the
step binds the same offsets, until a person decides that the step is read again (``retry``). That is
safe because nobody has seen a step that is not published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

from reclock.algebra.timestamps import Timestamp
from reclock.collections.files import StagedFile
from reclock.connectors.connector import Increment, Skip, remaining_ranges
from reclock.errors import InternalError, InvalidOption

LAYOUT = 2
"""The layout of a payload. Another one's claims are finished by the version that made them."""


class Phase(StrEnum):
    """How far a step has come."""

    PROBING = "probing"
    """What to bind is being found out. A source whose upstream cannot be read stays here: the claim holds the group's upper, and
    the decisions."""
    CLAIMED = "claimed"
    """The increments are fixed; the remap collection may have them."""
    BOUND = "bound"
    """The remap collection has the increments."""
    STAGED = "staged"
    """The rows are in durable files that nobody reads yet."""
    AUDITED = "audited"
    """The checks have been made; ``audit`` says with what result."""
    COMMITTING = "committing"
    """The checks have passed, and one output after the other gets its rows: too late for decisions."""


PASSED = (Phase.AUDITED, Phase.COMMITTING)
"""The phases in which the step has been looked at; a check that stands against it still blocks it."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """What people decided about a step that does not go on: ``waive`` checks, ``skip`` offsets, read what is claimed again."""

    waive: tuple[str, ...] = ()
    skip: tuple[Skip, ...] = ()
    is_reread: bool = False
    is_resnapshot: bool = False
    """Whether the step takes all that the upstream has now in place of what the outputs have."""


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of the checks; ``report`` is whatever the audit wants to keep, JSON."""

    failed: tuple[str, ...] = ()
    report: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FailureReason:
    """Why nothing is known of an output any more."""

    message: str
    detail: str | None


@dataclass(frozen=True, slots=True)
class Step:
    """One ingestion step of ``source`` at ``at``."""

    source: str
    at: Timestamp
    phase: Phase
    increments: tuple[Increment, ...] = ()
    staging: str | None = None
    staged: Mapping[str, Sequence[StagedFile]] = field(default_factory=dict)
    """The files of each output that has any."""
    is_read: bool = False
    """Whether they are there before they are bound, because they cannot be read twice."""
    failed: Mapping[str, FailureReason] = field(default_factory=dict)
    """The outputs of which nothing is known from this step on."""
    revived: tuple[str, ...] = ()
    """The outputs that had failed, and have rows again from this step on."""
    changes: int | None = None
    """How many changes the reading found, if the connector counts them."""
    audit: Audit | None = None
    decisions: Decisions = Decisions()
    error: str | None = None
    """Why the step does not go on, as ``reclock.ingest.failures`` encodes it."""

    @property
    def bindings(self) -> list[tuple[str, int]]:
        """By how much which partition advances, in order."""
        return [(increment.name, increment.size) for increment in self.increments if increment.size]

    @property
    def files(self) -> list[StagedFile]:
        return [file for files in self.staged.values() for file in files]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def size(self) -> int:
        """How many offsets it binds."""
        return sum(size for _, size in self.bindings)

    @property
    def blocking(self) -> tuple[str, ...]:
        """The failed checks that nobody has waived. A step without an audit is for its caller to refuse."""
        failed = self.audit.failed if self.audit else ()
        return tuple(name for name in failed if name not in self.decisions.waive)

    @property
    def has_passed(self) -> bool:
        """Whether it may be committed."""
        return self.phase in PASSED and not self.blocking

    def is_skipped(self, increment: Increment) -> bool:
        """Whether nothing of it is to be read."""
        return not remaining_ranges(increment.partition, increment.lower, increment.upper, self.decisions.skip)

    def to_payload(self) -> dict[str, Any]:
        return {
            "kind": "ingest",
            "layout": LAYOUT,
            "source": self.source,
            "at": self.at,
            "phase": self.phase.value,
            "bindings": [list(binding) for binding in self.bindings],
            "ranges": [_fields(increment) for increment in self.increments],
            "staging": self.staging,
            "staged": {
                "files": {output: [asdict(file) for file in files] for output, files in self.staged.items()},
                "rows": self.rows,
                "once": self.is_read,
                "changes": self.changes,
                "failed": {output: asdict(failed) for output, failed in self.failed.items()},
                "revived": list(self.revived),
            },
            "audit": None
            if self.audit is None
            else {
                "success": not self.blocking,
                "failed": list(self.audit.failed),
                "waived": [name for name in self.audit.failed if name in self.decisions.waive],
                "report": dict(self.audit.report),
            },
            "decisions": {
                "waive": list(self.decisions.waive),
                "skip": [list(skip) for skip in self.decisions.skip],
                "reread": self.decisions.is_reread,
                "resnapshot": self.decisions.is_resnapshot,
            },
            "error": self.error,
        }

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> Self:
        """The step that ``to_payload`` wrote. Raises ``InternalError`` for another kind of claim, or one of another version."""
        if payload.get("kind") != "ingest":
            raise InternalError(f'claim of kind "{payload.get("kind")}" is not an ingestion step')
        if payload.get("layout") != LAYOUT:
            raise InternalError(
                f'the claim on "{payload["source"]}" at {payload["at"]} was made by another version of reclock',
                hint="let that version finish and publish the step, then go on with this one",
            )
        audit, decisions = payload["audit"], payload["decisions"]
        step = cls(
            payload["source"],
            Timestamp(payload["at"]),
            Phase(payload["phase"]),
            tuple(_increment(fields) for fields in payload["ranges"]),
            payload["staging"],
            {output: [StagedFile(**file) for file in files] for output, files in payload["staged"]["files"].items()},
            payload["staged"].get("once", False),
            {output: FailureReason(**failed) for output, failed in payload["staged"].get("failed", {}).items()},
            tuple(payload["staged"].get("revived", ())),
            payload["staged"].get("changes"),
            Audit(tuple(audit["failed"]), audit["report"]) if audit else None,
            Decisions(
                tuple(decisions["waive"]),
                tuple((key, low, high) for key, low, high in decisions["skip"]),
                decisions["reread"],
                decisions.get("resnapshot", False),
            ),
            payload["error"],
        )
        if step.bindings != [tuple(binding) for binding in payload["bindings"]]:
            raise InternalError(f'the bindings and the ranges of the claim on "{step.source}" at {step.at} differ')
        return step


# --- decisions: pure edits of a standing claim's payload, for Frontiers.decide ---


def waive(payload: Mapping[str, Any], checks: Sequence[str]) -> dict[str, Any]:
    """The checks no longer block. Raises ``InvalidOption`` for a check that has not failed."""
    step = Step.from_payload(payload)
    failed = step.audit.failed if step.audit else ()
    for check in checks:
        if check not in failed:
            raise InvalidOption(
                f'check "{check}" has not failed',
                hint=f"failed: {', '.join(failed)}" if failed else "no check has failed",
            )
    waived = tuple(dict.fromkeys((*step.decisions.waive, *checks)))
    return replace(step, decisions=replace(step.decisions, waive=waived)).to_payload()


def skip(payload: Mapping[str, Any], key: str, lower: int, upper: int) -> dict[str, Any]:
    """Give up the records that hold any of the offsets ``[lower, upper)`` of a partition; they stay bound, but yield no row.

    Of a step that is still probing, the connector decides what follows for a partition whose error lies there. What is staged
    already is staged again. Raises ``InvalidOption`` for a range that the step has nothing to do with.
    """
    step = Step.from_payload(payload)
    if not 0 <= lower < upper:
        raise InvalidOption(f'cannot skip from {lower} to {upper} of "{key}"')
    touched = [
        increment for increment in step.increments if increment.name == key and increment.lower < upper and increment.upper > lower
    ]
    if not touched and step.phase is not Phase.PROBING:
        raise InvalidOption(
            f'nothing from {lower} to {upper} of "{key}" is being ingested',
            detail="; ".join(
                f'"{increment.name}" from {increment.lower} to {increment.upper}' for increment in step.increments[:10]
            )
            or None,
        )
    if step.is_read:
        raise InvalidOption(
            "what was read once cannot be read again without a part of it", hint="WAIVE the check, or DROP the source"
        )
    skips = tuple(dict.fromkeys((*step.decisions.skip, (key, lower, upper))))
    return _restaged(replace(step, decisions=replace(step.decisions, skip=skips))).to_payload()


def retry(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Read the upstream again and bind what is found: a step that is not published may be corrected.

    Raises ``InvalidOption`` for a step that has passed its audit: a writer may be committing its rows,
    which must match its bindings.
    """
    step = Step.from_payload(payload)
    if step.has_passed:
        raise _too_late()
    return _restaged(replace(step, decisions=replace(step.decisions, is_reread=True))).to_payload()


def resnapshot(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Bind and read nothing of what the step was about, but all that the upstream has now. Nobody has seen a step that is not
    published. Raises ``InvalidOption`` for a step that has passed its audit."""
    step = Step.from_payload(payload)
    if step.has_passed:
        raise _too_late()
    return Step(step.source, step.at, Phase.PROBING, staging=step.staging, decisions=Decisions(is_resnapshot=True)).to_payload()


def _restaged(step: Step) -> Step:
    """The step with its rows still to be staged. Files that were complete are left to vacuum: a writer may be committing them."""
    if step.phase is Phase.COMMITTING:
        raise _too_late()
    if step.is_read:
        return replace(step, phase=min(step.phase, Phase.BOUND, key=list(Phase).index), audit=None, error=None)
    if step.phase in (Phase.STAGED, Phase.AUDITED):
        return replace(step, phase=Phase.BOUND, staging=None, staged={}, failed={}, changes=None, audit=None, error=None)
    return replace(step, error=None)


def _too_late() -> InvalidOption:
    return InvalidOption("the step has passed its audit and is being committed", hint="run the next tick")


def _fields(increment: Increment) -> dict[str, Any]:
    partition: Any = [] if increment.partition == () else increment.partition
    return {**asdict(increment), "partition": partition, "evidence": list(increment.evidence)}


def _increment(fields: Mapping[str, Any]) -> Increment:
    partition, evidence = fields["partition"], fields["evidence"]
    return Increment(**{**fields, "partition": () if partition == [] else partition, "evidence": tuple(evidence)})
