"""Commits the steps that passed their audits, and publishes any number of sources at one moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from reclock.algebra.timestamps import Timestamp
from reclock.collections.lake import Lake
from reclock.consensus.frontiers.claims import Claim
from reclock.consensus.frontiers.groups import Frontiers
from reclock.consensus.objects.statistics import Moved
from reclock.definitions.sources import SourceSpec
from reclock.errors import ClaimConflict, ReclockError
from reclock.failpoints import failpoint
from reclock.ingest import effects
from reclock.ingest.advance import Goal, Ingestion, drive
from reclock.ingest.claim_effects import ClaimEffects, RecordSkips
from reclock.ingest.payload import Step


@dataclass(frozen=True, slots=True)
class Published:
    """The result of ``commit_and_publish``, by the names of sources. ``steps`` are readable below
    ``upper`` now."""

    upper: Timestamp
    steps: dict[str, Step] = field(default_factory=dict)
    failed: dict[str, ReclockError] = field(default_factory=dict)
    waiting: tuple[str, ...] = ()
    """Sources whose step is not audited yet, or belongs to another writer."""


def commit_and_publish(
    sources: Sequence[SourceSpec],
    at: Timestamp,
    owner: str,
    *,
    frontiers: Frontiers,
    lake: Lake,
    record_skips: RecordSkips,
    lease_ms: int = 60_000,
    count: Callable[[Mapping[str, Moved]], None] = lambda moved: None,
) -> Published:
    """Commit the staged rows of every source whose step has passed its audit, then publish all
    these sources in one transaction.

    They become readable below one upper, which is beyond ``at`` and the time of each step. A source
    that cannot be committed stays claimed, is reported, and delays no other. Safe to repeat at any
    point. ``record_skips`` stores what a step gives up before the step is committed. Before a
    source is published, ``count`` is called with its statistics. Both may be called again with the
    same.
    """
    claims: dict[str, Claim] = {}
    steps: dict[str, Step] = {}
    failed: dict[str, ReclockError] = {}
    waiting: list[str] = []
    for source in sources:
        claim = ClaimEffects(
            source,
            owner,
            frontiers=frontiers,
            lake=lake,
            lease_ms=lease_ms,
            record_skips=record_skips,
        )
        match _commit(source, claim):
            case effects.ReadyToPublish(step):
                claims[source.name], steps[source.name] = claim.held_claim.claim, step
            case effects.StallSource(error) | (ReclockError() as error):
                failed[source.name] = error
            case effects.NotReady():
                waiting.append(source.name)
    upper = Timestamp(max([at, *(claim.at for claim in claims.values())]) + 1)
    groups = {source.name: source.id for source in sources}
    count(
        {
            source.id: _moved(source, claims[source.name].at, steps[source.name])
            for source in sources
            if source.name in steps
        }
    )
    lost = _publish({groups[name]: claim for name, claim in claims.items()}, upper, frontiers)
    failpoint("ingest.after_publish")
    waiting += [name for name in claims if groups[name] in lost]
    published = {name: step for name, step in steps.items() if groups[name] not in lost}
    return Published(upper, published, failed, tuple(waiting))


def _commit(source: SourceSpec, claim: ClaimEffects) -> effects.Final | ReclockError | None:
    """Commit the source's step, if it has passed its audit. None if nothing is claimed. Answers the
    error that prevents it, so that the other sources go on."""
    try:
        standing = claim.inspect()
        if standing is None:
            return None
        ingestion = Ingestion(source.id, source.name, standing.step.at, Goal.PUBLISH)
        _, end = drive(ingestion, standing, claim.perform)
    except ClaimConflict:
        return effects.NotReady()
    except ReclockError as failure:
        return failure
    return end


def _moved(source: SourceSpec, at: Timestamp, step: Step) -> Moved:
    """The statistics of a step. Sparse offsets are counted as rows, because their distances have no
    meaning."""
    offsets = step.rows if source.connector.reclocking.is_sparse else step.size
    return Moved(at, offsets, step.rows, sum(file.size_bytes for file in step.files))


def _publish(claims: dict[str, Claim], upper: Timestamp, frontiers: Frontiers) -> set[str]:
    """Publish all claims at one moment, or one by one if another writer took one of them over.
    Returns the groups that were not published."""
    if not claims:
        return set()
    try:
        frontiers.publish(claims, upper)
    except ClaimConflict:
        if len(claims) == 1:
            return set(claims)
        return {
            lost
            for group, claim in claims.items()
            for lost in _publish({group: claim}, upper, frontiers)
        }
    return set()
