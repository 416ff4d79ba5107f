"""What a source's claim says: the whole state of a step, so that whoever takes it over can go on. JSON in consensus.

Each phase is durable before the next begins. The bytes of a claim are bound for good as soon as it is ``CLAIMED``, though nobody
can read them before it is published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

from reclock.algebra.timestamps import Timestamp
from reclock.collections.files import StagedFile
from reclock.errors import InternalError, InvalidOption
from reclock.reclocking.remap import Range
from reclock.reclocking.stamp import without
from reclock.sources.objects import Evidence, Growth, Skip, Split


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


@dataclass(frozen=True, slots=True)
class Decisions:
    """What people decided about a step that does not go on: ``waive`` checks, ``skip`` bytes, read what is claimed again."""

    waive: tuple[str, ...] = ()
    skip: tuple[Skip, ...] = ()
    is_reread: bool = False


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of the checks; ``report`` is whatever the audit wants to keep, JSON."""

    failed: tuple[str, ...] = ()
    report: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """One ingestion step of ``source`` at ``at``."""

    source: str
    at: Timestamp
    phase: Phase
    growths: tuple[Growth, ...] = ()
    staging: str | None = None
    staged: tuple[StagedFile, ...] = ()
    audit: Audit | None = None
    decisions: Decisions = Decisions()
    error: str | None = None
    """Why the step does not go on, as ``reclock.ingest.stage`` encodes it."""

    @property
    def bindings(self) -> list[tuple[str, int]]:
        """The increments, in order of key."""
        return [(growth.key, growth.upper - growth.lower) for growth in self.growths if growth.upper > growth.lower]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.staged)

    @property
    def size_bytes(self) -> int:
        return sum(increment for _, increment in self.bindings)

    @property
    def blocking(self) -> tuple[str, ...]:
        """The failed checks that nobody has waived. A step without an audit is for its caller to refuse."""
        failed = self.audit.failed if self.audit else ()
        return tuple(name for name in failed if name not in self.decisions.waive)

    def is_given_up(self, growth: Growth) -> bool:
        """Whether all that is new of an object is to be skipped."""
        own = [(lower, upper) for key, lower, upper in self.decisions.skip if key == growth.key]
        return not without(Range(growth.key, growth.lower, growth.upper, self.at), own)

    def to_payload(self) -> dict[str, Any]:
        return {
            "kind": "ingest",
            "source": self.source,
            "at": self.at,
            "phase": self.phase.value,
            "bindings": [list(binding) for binding in self.bindings],
            "ranges": [_growth_to_json(growth) for growth in self.growths],
            "staging": self.staging,
            "staged": {"files": [asdict(file) for file in self.staged], "rows": self.rows},
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
            },
            "error": self.error,
        }

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> Self:
        """The step that ``to_payload`` wrote. Raises ``InternalError`` for another kind of claim."""
        if payload.get("kind") != "ingest":
            raise InternalError(f'claim of kind "{payload.get("kind")}" is not an ingestion step')
        audit, decisions = payload["audit"], payload["decisions"]
        step = cls(
            payload["source"],
            Timestamp(payload["at"]),
            Phase(payload["phase"]),
            tuple(_growth_from_json(text) for text in payload["ranges"]),
            payload["staging"],
            tuple(StagedFile(**file) for file in payload["staged"]["files"]),
            Audit(tuple(audit["failed"]), audit["report"]) if audit else None,
            Decisions(
                tuple(decisions["waive"]), tuple((key, low, high) for key, low, high in decisions["skip"]), decisions["reread"]
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
    """Give up the records that hold any of the bytes ``[lower, upper)`` of an object; they stay bound, but yield no row.

    Of a step that is still probing, an object whose error lies there is set aside: nothing more is read under its key. What is
    staged already is staged again. Raises ``InvalidOption`` for a range that the step has nothing to do with.
    """
    step = Step.from_payload(payload)
    if not 0 <= lower < upper:
        raise InvalidOption(f'cannot skip from byte {lower} to {upper} of "{key}"')
    touched = [growth for growth in step.growths if growth.key == key and growth.lower < upper and growth.upper > lower]
    if not touched and step.phase is not Phase.PROBING:
        raise InvalidOption(
            f'no byte from {lower} to {upper} of "{key}" is being ingested',
            detail="; ".join(f'"{growth.key}" from {growth.lower} to {growth.upper}' for growth in step.growths[:10]) or None,
        )
    skips = tuple(dict.fromkeys((*step.decisions.skip, (key, lower, upper))))
    return _restaged(replace(step, decisions=replace(step.decisions, skip=skips))).to_payload()


def retry(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Read what is claimed again, and trust what is found: objects may have been corrected, each within its claimed length."""
    step = Step.from_payload(payload)
    return _restaged(replace(step, decisions=replace(step.decisions, is_reread=True))).to_payload()


def _restaged(step: Step) -> Step:
    """The step with its rows still to be staged. Files that were complete are left to vacuum: a writer may be committing them."""
    if step.phase in (Phase.STAGED, Phase.AUDITED):
        return replace(step, phase=Phase.BOUND, staging=None, staged=(), audit=None, error=None)
    return replace(step, error=None)


def _growth_to_json(growth: Growth) -> dict[str, Any]:
    return {
        "partition": growth.key,
        "lower": growth.lower,
        "upper": growth.upper,
        "evidence": [growth.evidence.length, growth.evidence.crc32, growth.evidence.version],
        "splits": [[split.lower, split.upper, split.crc_before, split.crc_after] for split in growth.splits],
        "header": list(growth.header) if growth.header is not None else None,
        "header_end": growth.header_end,
    }


def _growth_from_json(text: Mapping[str, Any]) -> Growth:
    return Growth(
        text["partition"],
        text["lower"],
        text["upper"],
        Evidence(text["partition"], *text["evidence"]),
        tuple(Split(*split) for split in text["splits"]),
        tuple(text["header"]) if text["header"] is not None else None,
        text["header_end"],
    )
