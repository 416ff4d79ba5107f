"""The payload of a source's claim: the whole state of its step as JSON, so that any writer can take
it over.

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
from reclock.connectors.connector import Increment, Skip, remaining_ranges, removed_ranges
from reclock.errors import AuditFailed, InternalError, InvalidOption

LAYOUT = 2
"""The layout of a payload. Claims with another layout must be finished by the release that wrote
them."""


class Phase(StrEnum):
    """How far a step has come."""

    PROBING = "probing"
    """The increments are not known yet. A source whose upstream cannot be read stays in this phase:
    the claim holds the group's upper, and the decisions."""
    CLAIMED = "claimed"
    """The increments are fixed. The remap collection may have them."""
    BOUND = "bound"
    """The remap collection has the increments."""
    STAGED = "staged"
    """The rows are in durable files that nobody reads yet."""
    AUDITED = "audited"
    """The audit has ended, with the result ``audit``."""
    COMMITTING = "committing"
    """The audit has passed, and the outputs get their rows one after another. Decisions come too
    late."""


PASSED = (Phase.AUDITED, Phase.COMMITTING)
"""The phases after the audit. A failed check that nobody waived still blocks the step."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """The decisions about a stalled step: checks to ``waive``, offsets to ``skip``, and whether the
    claimed ranges are read again."""

    waive: tuple[str, ...] = ()
    skip: tuple[Skip, ...] = ()
    is_reread: bool = False
    is_resnapshot: bool = False
    """Whether the step replaces the rows of the outputs by everything that the upstream has now."""


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of an audit. ``report`` is JSON: the page of the data ``docs``, relative to their
    root, and what each failed check has seen, its ``details``."""

    failed: tuple[str, ...] = ()
    report: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FailureReason:
    """Why an output failed."""

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
    """Whether the rows were staged before they are bound, because they cannot be read twice."""
    failed: Mapping[str, FailureReason] = field(default_factory=dict)
    """The outputs that fail at this step, with the reason."""
    revived: tuple[str, ...] = ()
    """The outputs that had failed, and have rows again from this step on."""
    changes: int | None = None
    """How many changes the reading counted, if the connector counts them."""
    audit: Audit | None = None
    decisions: Decisions = Decisions()
    error: str | None = None
    """The error that stalls the step, encoded by ``reclock.ingest.failures``."""

    @property
    def bindings(self) -> list[tuple[str, int]]:
        """By how many offsets each partition advances, in order."""
        return [(increment.name, increment.size) for increment in self.increments if increment.size]

    @property
    def files(self) -> list[StagedFile]:
        return [file for files in self.staged.values() for file in files]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def size(self) -> int:
        """How many offsets the step binds."""
        return sum(size for _, size in self.bindings)

    @property
    def blocking(self) -> tuple[str, ...]:
        """The failed checks that nobody has waived. The caller must refuse a step without an
        audit."""
        failed = self.audit.failed if self.audit else ()
        return tuple(name for name in failed if name not in self.decisions.waive)

    @property
    def awaits_audit(self) -> bool:
        """Whether the staged rows are to be audited. Those that a check blocks are not until somebody
        decides about them: the same checks would fail again."""
        return self.phase is Phase.STAGED or (self.phase is Phase.AUDITED and not self.blocking)

    def audit_failure(self, name: str) -> AuditFailed:
        """The error of a step that checks are ``blocking``: what each of them has seen, and the page
        of the data docs. ``name`` is the source's, as SQL writes it."""
        report = self.audit.report if self.audit else {}
        details = report.get("details", {})
        sentences = [f"{check}: {details[check]}" for check in self.blocking if check in details]
        if report.get("docs"):
            sentences.append(f"data docs: {report['docs']}")
        return AuditFailed(
            name, list(self.blocking), detail="; ".join(sentences) or None, skips=self.violations
        )

    @property
    def violations(self) -> tuple[Skip, ...]:
        """The offsets of rows that fail the checks that are ``blocking``, as far as they are known,
        in order."""
        skips = self.audit.report.get("skips", {}) if self.audit else {}
        ranges = {
            (partition, lower, upper)
            for check in self.blocking
            for partition, lower, upper in skips.get(check, ())
        }
        return tuple(sorted(ranges))

    @property
    def has_passed(self) -> bool:
        """Whether the step may be committed."""
        return self.phase in PASSED and not self.blocking

    def is_skipped(self, increment: Increment) -> bool:
        """Whether all offsets of this increment are skipped."""
        return not remaining_ranges(
            increment.partition, increment.lower, increment.upper, self.decisions.skip
        )

    @property
    def skipped(self) -> tuple[Skip, ...]:
        """The bound offsets that the decisions give up."""
        return tuple(
            (increment.name, lower, upper)
            for increment in self.increments
            for lower, upper in removed_ranges(
                increment.partition, increment.lower, increment.upper, self.decisions.skip
            )
        )

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
                "files": {
                    output: [asdict(file) for file in files]
                    for output, files in self.staged.items()
                },
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
        """The step that ``to_payload`` encoded. Raises ``InternalError`` for another kind or layout
        of claim."""
        if payload.get("kind") != "ingest":
            raise InternalError(f'claim of kind "{payload.get("kind")}" is not an ingestion step')
        if payload.get("layout") != LAYOUT:
            raise InternalError(
                (
                    f'the claim on "{payload["source"]}" at {payload["at"]} was made by '
                    "another version of reclock"
                ),
                hint="let that version finish and publish the step, then go on with this one",
            )
        audit, decisions = payload["audit"], payload["decisions"]
        step = cls(
            payload["source"],
            Timestamp(payload["at"]),
            Phase(payload["phase"]),
            tuple(_increment(fields) for fields in payload["ranges"]),
            payload["staging"],
            {
                output: [StagedFile(**file) for file in files]
                for output, files in payload["staged"]["files"].items()
            },
            payload["staged"].get("once", False),
            {
                output: FailureReason(**failed)
                for output, failed in payload["staged"].get("failed", {}).items()
            },
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
            raise InternalError(
                f'the bindings and the ranges of the claim on "{step.source}" at {step.at} differ'
            )
        return step


# --- decisions: pure edits of a standing claim's payload, for Frontiers.decide ---


def waive(payload: Mapping[str, Any], checks: Sequence[str]) -> dict[str, Any]:
    """These checks no longer block the step. Raises ``InvalidOption`` for a check that has not
    failed."""
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


def skip(payload: Mapping[str, Any], ranges: Sequence[Skip]) -> dict[str, Any]:
    """Give up the records with any of the offsets of ``ranges``. The offsets stay bound, but yield
    no row.

    If the step is still probing, the connector decides what happens to a partition whose error is
    in a range. Staged rows are staged again. Raises ``InvalidOption`` for a range that does not
    concern the step; then none is given up.
    """
    step = Step.from_payload(payload)
    for range in ranges:
        _check_skipped(step, *range)
    if step.is_read:
        raise InvalidOption(
            "what was read once cannot be read again without a part of it",
            hint="WAIVE the check, or DROP the source",
        )
    skips = tuple(dict.fromkeys((*step.decisions.skip, *ranges)))
    return _restaged(replace(step, decisions=replace(step.decisions, skip=skips))).to_payload()


def _check_skipped(step: Step, key: str, lower: int, upper: int) -> None:
    if not 0 <= lower < upper:
        raise InvalidOption(f'cannot skip from {lower} to {upper} of "{key}"')
    touched = [
        increment
        for increment in step.increments
        if increment.name == key and increment.lower < upper and increment.upper > lower
    ]
    if not touched and step.phase is not Phase.PROBING:
        raise InvalidOption(
            f'nothing from {lower} to {upper} of "{key}" is being ingested',
            detail="; ".join(
                f'"{increment.name}" from {increment.lower} to {increment.upper}'
                for increment in step.increments[:10]
            )
            or None,
        )


def retry(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Read the upstream again and bind what is found: a step that is not published may be
    corrected.

    Raises ``InvalidOption`` for a step that has passed its audit: a writer may be committing its
    rows, which must match its bindings.
    """
    step = Step.from_payload(payload)
    if step.has_passed:
        raise _too_late()
    return _restaged(replace(step, decisions=replace(step.decisions, is_reread=True))).to_payload()


def resnapshot(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the content of the step by everything that the upstream has now. That is safe because
    nobody has seen a step that is not published. Raises ``InvalidOption`` for a step that has
    passed its audit."""
    step = Step.from_payload(payload)
    if step.has_passed:
        raise _too_late()
    return Step(
        step.source,
        step.at,
        Phase.PROBING,
        staging=step.staging,
        decisions=Decisions(is_resnapshot=True),
    ).to_payload()


def _restaged(step: Step) -> Step:
    """The step before its rows are staged. Complete files are left for vacuum, because a writer may
    be committing them."""
    if step.phase is Phase.COMMITTING:
        raise _too_late()
    if step.is_read:
        return replace(
            step, phase=min(step.phase, Phase.BOUND, key=list(Phase).index), audit=None, error=None
        )
    if step.phase in (Phase.STAGED, Phase.AUDITED):
        return replace(
            step,
            phase=Phase.BOUND,
            staging=None,
            staged={},
            failed={},
            changes=None,
            audit=None,
            error=None,
        )
    return replace(step, error=None)


def _too_late() -> InvalidOption:
    return InvalidOption(
        "the step has passed its audit and is being committed", hint="run the next tick"
    )


def _fields(increment: Increment) -> dict[str, Any]:
    partition: Any = [] if increment.partition == () else increment.partition
    return {**asdict(increment), "partition": partition, "evidence": list(increment.evidence)}


def _increment(fields: Mapping[str, Any]) -> Increment:
    partition, evidence = fields["partition"], fields["evidence"]
    return Increment(
        **{**fields, "partition": () if partition == [] else partition, "evidence": tuple(evidence)}
    )
