"""The audit of a staged step: the numbers that the checks need, and the result in the step's
claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reclock.algebra.relations import DIFF_COLUMN
from reclock.algebra.timestamps import Timestamp
from reclock.collections.lake import Lake
from reclock.connectors.connector import format_partition
from reclock.consensus.frontiers.groups import Frontiers
from reclock.definitions.sources import SourceSpec
from reclock.errors import ClaimConflict
from reclock.ingest import effects, events
from reclock.ingest.advance import Goal, Ingestion, drive
from reclock.ingest.claim_effects import ClaimEffects
from reclock.ingest.difference import RETRACTED
from reclock.ingest.payload import Step
from reclock.ingest.source_collections import SourceCollections
from reclock.quality.slice import AuditSlice


@dataclass(frozen=True, slots=True)
class AuditCase:
    """A step that waits for its audit. The claim's id ties the result to the audited content."""

    source: SourceSpec
    ingestion: Ingestion
    slice: AuditSlice
    claim: ClaimEffects = field(repr=False)

    @property
    def step(self) -> Step:
        return self.ingestion.claimed_step


def open_audit(
    source: SourceSpec, owner: str, *, frontiers: Frontiers, lake: Lake, lease_ms: int = 60_000
) -> AuditCase | None:
    """The source's staged step, to be audited. None if there is none, or if it failed its audit and
    nobody has decided about it since."""
    frontier = frontiers.get(source.id)
    if frontier.claim is None:
        return None
    standing = events.Inspected(Step.from_payload(frontier.claim.payload))
    claim = ClaimEffects(source, owner, frontiers=frontiers, lake=lake, lease_ms=lease_ms)
    ingestion, end = drive(
        Ingestion(source.id, source.name, standing.step.at, Goal.AUDIT), standing, claim.perform
    )
    if not isinstance(end, effects.ReadyToAudit):
        return None
    slice = audit_slice(source, end.step, frontier.upper, SourceCollections.open(lake, source))
    return AuditCase(source, ingestion, slice, claim)


def audit_slice(
    source: SourceSpec, step: Step, upper: Timestamp, collections: SourceCollections
) -> AuditSlice:
    """The numbers of one staged step: its bindings, read back from the remap collection, and row
    counts from the footers of its files."""
    bindings = [
        (format_partition(binding.partition), binding.increment)
        for binding in collections.read_bindings(step.at)
    ]
    frontier = {
        format_partition(partition): offset
        for partition, offset in collections.read_frontier(step.at).items()
    }
    return AuditSlice(
        source=source.name,
        upper=upper,
        at=step.at,
        previous={key: frontier.get(key, 0) for key, _ in bindings},
        bindings=bindings,
        rows=step.rows,
        retracted=sum(
            file.rows for file in step.files if file.path.rpartition("/")[2].startswith(RETRACTED)
        ),
        min_time=min((file.min_time for file in step.files), default=None),
        max_time=max((file.max_time for file in step.files), default=None),
        null_diffs=sum(file.null_counts.get(DIFF_COLUMN, 0) for file in step.files),
        covered={
            increment.name: increment.covered for increment in step.increments if increment.covered
        },
        staged_files=[
            collections.outputs[output].folder.absolute(file.path)
            for output, files in step.staged.items()
            if output in collections.outputs
            for file in files
        ],
        updates_per_offset=source.connector.updates_per_offset,
        changes=step.changes,
    )


def conclude_audit(case: AuditCase, *, failed: Sequence[str], report: Mapping[str, Any]) -> Step:
    """Save the result in the claim. ``failed`` has the names of all failed checks, waived or not.
    Returns the step as it is now.

    Raises ``ClaimConflict`` if a decision changed the audited step meanwhile: audit it again. A
    step that a check blocks is released for the next writer.
    """
    ingestion, end = drive(
        case.ingestion, events.AuditConcluded(tuple(failed), report), case.claim.perform
    )
    if isinstance(end, effects.NotReady):
        raise end.conflict or ClaimConflict(case.source.id)
    return ingestion.claimed_step
