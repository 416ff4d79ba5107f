"""The audit's two ends: what of a staged step is to be looked at, and writing down what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reclock.algebra.relations import DIFF_COLUMN
from reclock.algebra.timestamps import Timestamp
from reclock.collections.lake import Lake
from reclock.connectors.connector import format_partition
from reclock.consensus.frontiers.claims import Claim
from reclock.consensus.frontiers.groups import Frontiers
from reclock.definitions.sources import SourceSpec
from reclock.errors import ClaimConflict
from reclock.ingest.difference import RETRACTED
from reclock.ingest.payload import Audit, Phase, Step
from reclock.ingest.source_collections import SourceCollections
from reclock.quality.slice import AuditSlice

AUDITABLE = (Phase.STAGED, Phase.AUDITED)


@dataclass(frozen=True, slots=True)
class AuditCase:
    """A step that waits for its audit. ``claim`` ties the result to exactly what was looked at."""

    source: SourceSpec
    claim: Claim
    step: Step
    slice: AuditSlice


def open_audit(source: SourceSpec, owner: str, *, frontiers: Frontiers, lake: Lake, lease_ms: int = 60_000) -> AuditCase | None:
    """The source's step, if it is staged; one that failed its audit before is looked at again. None if there is nothing to do."""
    frontier = frontiers.get(source.id)
    if frontier.claim is None or Step.from_payload(frontier.claim.payload).phase not in AUDITABLE:
        return None  # not taken over: its lease is its writer's, or nobody's
    try:
        claim = frontiers.take_over(source.id, owner=owner, lease_ms=lease_ms)
    except ClaimConflict:
        return None
    if claim is None:
        return None
    step = Step.from_payload(claim.payload)
    collections = SourceCollections.open(lake, source)
    if step.phase not in AUDITABLE or collections.is_committed(claim.at):
        return None
    return AuditCase(source, claim, step, audit_slice(source, step, frontier.upper, collections))


def audit_slice(source: SourceSpec, step: Step, upper: Timestamp, collections: SourceCollections) -> AuditSlice:
    """The numbers of one staged step, the bindings read back from the remap collection, the rows from the files' footers."""
    bindings = [(format_partition(binding.partition), binding.increment) for binding in collections.read_bindings(step.at)]
    frontier = {format_partition(partition): offset for partition, offset in collections.read_frontier(step.at).items()}
    return AuditSlice(
        source=source.name,
        upper=upper,
        at=step.at,
        previous={key: frontier.get(key, 0) for key, _ in bindings},
        bindings=bindings,
        rows=step.rows,
        retracted=sum(file.rows for file in step.files if file.path.rpartition("/")[2].startswith(RETRACTED)),
        min_time=min((file.min_time for file in step.files), default=None),
        max_time=max((file.max_time for file in step.files), default=None),
        null_diffs=sum(file.null_counts.get(DIFF_COLUMN, 0) for file in step.files),
        covered={increment.name: increment.covered for increment in step.increments if increment.covered},
        staged_files=[
            collections.outputs[output].folder.absolute(file.path)
            for output, files in step.staged.items()
            if output in collections.outputs
            for file in files
        ],
        updates_per_offset=source.connector.updates_per_offset,
        changes=step.changes,
    )


def conclude_audit(
    case: AuditCase, *, failed: Sequence[str], report: Mapping[str, Any], frontiers: Frontiers, lease_ms: int = 60_000
) -> Step:
    """Write the result into the claim; ``failed`` names all checks that failed, waived or not. The step as it is now.

    Raises ``ClaimConflict`` if something was decided meanwhile about what was audited: audit again. A step that may not go on
    is left to whoever comes next.
    """
    step = replace(case.step, phase=Phase.AUDITED, audit=Audit(tuple(failed), dict(report)))
    frontiers.amend(case.source.id, case.claim, step.to_payload(), lease_ms=0 if step.blocking else lease_ms)
    return step
