"""Committing what passed its audit, and publishing any number of sources at one moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from reclock.algebra.timestamps import Timestamp
from reclock.collections.lake import Lake
from reclock.consensus.frontiers.claims import Claim
from reclock.consensus.frontiers.groups import Frontiers
from reclock.consensus.processes.statistics import Moved
from reclock.definitions.sources import SourceSpec
from reclock.errors import AuditFailed, ClaimConflict, ReclockError
from reclock.failpoints import failpoint
from reclock.ingest.payload import PASSED, Phase, Step
from reclock.ingest.source_collections import SourceCollections


@dataclass(frozen=True, slots=True)
class Published:
    """What ``commit_and_publish`` did, by the sources' names. ``steps`` are readable below ``upper`` from now on."""

    upper: Timestamp
    steps: dict[str, Step] = field(default_factory=dict)
    failed: dict[str, ReclockError] = field(default_factory=dict)
    waiting: tuple[str, ...] = ()
    """Sources whose step is not audited yet, or is another writer's."""


def commit_and_publish(
    sources: Sequence[SourceSpec],
    at: Timestamp,
    owner: str,
    *,
    frontiers: Frontiers,
    lake: Lake,
    lease_ms: int = 60_000,
    count: Callable[[Mapping[str, Moved]], None] = lambda moved: None,
) -> Published:
    """Commit the staged rows of every source whose step has passed its audit, then publish all of those in one transaction.

    They are readable below one upper, beyond ``at`` and beyond the time of each step. A source that cannot be committed is
    left claimed and reported, and holds back no other. Safe to repeat at any point; so must ``count`` be, which is told what each
    source moves before it is published.
    """
    claims: dict[str, Claim] = {}
    steps: dict[str, Step] = {}
    failed: dict[str, ReclockError] = {}
    waiting: list[str] = []
    for source in sources:
        try:
            standing = frontiers.get(source.id).claim
            if standing is None:
                continue
            collections = SourceCollections.open(lake, source)
            # looked at before it is taken over: the lease of a step that cannot be committed is its writer's, or nobody's
            if not _is_ready(source, standing, collections):
                waiting.append(source.name)
                continue
            claim = frontiers.take_over(source.id, owner=owner, lease_ms=lease_ms)
            if claim is None:
                continue
            if not _is_ready(source, claim, collections):
                waiting.append(source.name)
                continue
            step = Step.from_payload(claim.payload)
            commits = len({*step.staged, *step.revived}) + len(step.failed) + len(collections.begun_by(step.increments))
            if commits > 1:  # one commit an output: from the first on there is no other way than forward
                step = replace(step, phase=Phase.COMMITTING)
                claim = frontiers.amend(source.id, claim, step.to_payload(), lease_ms=lease_ms)
            failpoint("ingest.before_commit")
            collections.commit(step.staged, step.increments, claim.at, step.failed, step.revived)
            failpoint("ingest.after_commit")
            claims[source.name], steps[source.name] = claim, step
        except ClaimConflict:
            waiting.append(source.name)
        except ReclockError as failure:  # the edge of the loop over sources: recorded, and the others go on
            failed[source.name] = failure
    upper = Timestamp(max([at, *(claim.at for claim in claims.values())]) + 1)
    groups = {source.name: source.id for source in sources}
    are_sparse = {source.name: source.connector.reclocking.is_sparse for source in sources}
    count({groups[name]: _moved(claims[name].at, step, are_sparse[name]) for name, step in steps.items()})
    lost = _publish({groups[name]: claim for name, claim in claims.items()}, upper, frontiers)
    failpoint("ingest.after_publish")
    waiting += [name for name in claims if groups[name] in lost]
    published = {name: step for name, step in steps.items() if groups[name] not in lost}
    return Published(upper, published, failed, tuple(waiting))


def _moved(at: Timestamp, step: Step, is_sparse: bool) -> Moved:
    """Offsets that lie far apart are counted as rows: their distances say nothing, and no number of a database holds the sums."""
    offsets = step.rows if is_sparse else step.size
    return Moved(at, offsets, step.rows, sum(file.size_bytes for file in step.files))


def _is_ready(source: SourceSpec, claim: Claim, collections: SourceCollections) -> bool:
    """Whether the step may be committed, or was. Raises ``AuditFailed`` if a check stands against it."""
    step = Step.from_payload(claim.payload)
    if collections.is_committed(claim.at):
        return True
    if step.blocking:
        raise AuditFailed(source.name, list(step.blocking))
    return step.phase in PASSED


def _publish(claims: dict[str, Claim], upper: Timestamp, frontiers: Frontiers) -> set[str]:
    """All at one moment; if a claim went to another writer meanwhile, the others one by one. The groups that were lost."""
    if not claims:
        return set()
    try:
        frontiers.publish(claims, upper)
    except ClaimConflict:
        if len(claims) == 1:
            return set(claims)
        return {lost for group, claim in claims.items() for lost in _publish({group: claim}, upper, frontiers)}
    return set()
