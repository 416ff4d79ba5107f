"""The ingestion step of one source: finish what was left, probe, claim, bind, read and stage.

The claim in consensus says how far the step has come; each phase is durable before the next begins, and each is safe to repeat. So
whoever finds a claim whose writer is gone goes on from its phase, and a restart at any point gives the same mapping.

    (nothing claimed) → PROBING → CLAIMED → BOUND → STAGED → audit → AUDITED → commit and publish → (nothing claimed)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING
from uuid import uuid4

from reclock import crashpoints
from reclock.algebra.timestamps import Timestamp
from reclock.collections.lake import Lake
from reclock.consensus.claims import Claim
from reclock.consensus.frontiers import Frontiers
from reclock.errors import ClaimConflict, DecodeFailed, SourceError
from reclock.ingest.commit import commit_and_publish
from reclock.ingest.lease import HeldClaim
from reclock.ingest.lineup import Lineup
from reclock.ingest.payload import Phase, Step
from reclock.ingest.stage import StagingJob, decode_failure, encode_failure, plan_tasks
from reclock.reclocking.mint import mint
from reclock.sources.description import SourceSpec
from reclock.sources.object_store import ObjectStore
from reclock.sources.objects import Growth, probe, reread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class State(StrEnum):
    """What an ingestion came to."""

    IDLE = "idle"
    """There was nothing new; nothing is claimed."""
    STAGED = "staged"
    """A step waits for its audit."""
    BLOCKED = "blocked"
    """A step has failed its audit, and nobody has decided about it."""
    BUSY = "busy"
    """Another writer is at work on this source."""


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What one call of ``ingest`` did. ``at`` is the time of the step, which may be that of an earlier one that was finished."""

    source: str
    at: Timestamp
    state: State
    bindings: tuple[tuple[str, int], ...] = ()
    rows: int = 0
    size_bytes: int = 0

    @classmethod
    def of(cls, source: SourceSpec, step: Step) -> IngestReport:
        state = State.BLOCKED if step.blocking else State.STAGED
        return cls(source.name, step.at, state, tuple(step.bindings), step.rows, step.size_bytes)


@dataclass(frozen=True, slots=True)
class Probed:
    """What a probe found, against evidence that was complete below ``upper``."""

    upper: Timestamp
    growths: tuple[Growth, ...]


def ingest(
    source: SourceSpec,
    at: Timestamp,
    owner: str,
    *,
    frontiers: Frontiers,
    lake: Lake,
    store: ObjectStore,
    spark: Callable[[], SparkSession],
    lease_ms: int = 60_000,
) -> IngestReport:
    """Bring the source to a step that is staged, at ``at`` or at the time of the step that was left; nothing of it is visible yet.

    A step that was left with its audit passed is published first, and then a new one begins. With nothing new upstream nothing is
    claimed, no Spark job runs and nothing is committed. ``owner`` names this writer; two writers may run this at once: one of them
    gets ``BUSY``.
    Raises a ``SourceError`` if the source stalls: then the group stays claimed, and the next call goes on from there.
    Raises ``UpperMismatch`` if the group was published beyond ``at`` meanwhile: take a newer time.
    """
    work = _Work(source, owner, frontiers, lake, store, spark, lease_ms)
    try:
        if frontiers.get(source.id).claim is not None:
            report = work.finish()
            if report is not None:
                return report
        return work.begin(at)
    except ClaimConflict:
        return IngestReport(source.name, at, State.BUSY)


@dataclass(frozen=True, slots=True)
class _Work:
    source: SourceSpec
    owner: str
    frontiers: Frontiers
    lake: Lake
    store: ObjectStore
    spark: Callable[[], SparkSession]
    lease_ms: int

    def finish(self) -> IngestReport | None:
        """Go on with the step that was left; None if nothing is claimed any more, so that a new one may begin."""
        claim = self.frontiers.take_over(self.source.id, owner=self.owner, lease_ms=self.lease_ms)
        if claim is None:
            return None
        step = Step.from_payload(claim.payload)
        has_passed = step.phase is Phase.AUDITED and not step.blocking
        if has_passed or Lineup.open(self.lake, self.source).has_landed(claim.at):
            published = commit_and_publish(
                [self.source], claim.at, self.owner, frontiers=self.frontiers, lake=self.lake, lease_ms=self.lease_ms
            )
            for failure in published.failed.values():
                raise failure
            return None
        return self.carry(claim, step, None)

    def begin(self, at: Timestamp) -> IngestReport:
        """A new step, if there is anything new. The claim comes after the probe, so that an idle source costs no write."""
        lineup = Lineup.open(self.lake, self.source)
        upper, evidence = lineup.read_evidence()
        step = Step(self.source.id, at, Phase.PROBING)
        try:
            growths = probe(self.store, self.source.connector, self.source.format, self.source.desc, evidence)
        except SourceError as failure:
            # a source that cannot be read keeps its upper, and a claim for the decisions about it
            stalled = replace(step, error=encode_failure(failure))
            self.frontiers.claim(self.source.id, at=at, payload=stalled.to_payload(), owner=self.owner, lease_ms=0)
            raise
        crashpoints.reach("ingest.after_probe")
        if not growths:
            return IngestReport(self.source.name, at, State.IDLE)
        claim = self.frontiers.claim(self.source.id, at=at, payload=step.to_payload(), owner=self.owner, lease_ms=self.lease_ms)
        crashpoints.reach("ingest.after_claim")
        report = self.carry(claim, step, Probed(upper, tuple(growths)))
        return report or IngestReport(self.source.name, at, State.IDLE)

    def carry(self, claim: Claim, step: Step, probed: Probed | None) -> IngestReport | None:
        """From the step's phase to STAGED; None if the probe found nothing after all, and the claim is given up."""
        lineup = Lineup.open(self.lake, self.source)
        with HeldClaim(self.frontiers, self.source.id, claim, self.lease_ms) as held:
            try:
                if step.phase is Phase.PROBING:
                    step = self._probe(step, lineup, probed)
                    if not step.growths:
                        held.abandon()
                        return None
                    held.amend(step.to_payload())
                    crashpoints.reach("ingest.after_claimed")
                if step.phase is Phase.CLAIMED:
                    lineup.check_frontier(step.growths, step.at)
                    lineup.bind(mint(_reached(step), _bound(step), step.at), step.at)
                    crashpoints.reach("ingest.after_bind")
                    step = replace(step, phase=Phase.BOUND)
                    held.amend(step.to_payload())
                    crashpoints.reach("ingest.after_bound")
                if step.phase is Phase.BOUND:
                    step = self._stage(step, lineup, held)
                    crashpoints.reach("ingest.after_stage")
                    held.amend(step.to_payload())
                    crashpoints.reach("ingest.after_staged")
            except SourceError as failure:
                latest = Step.from_payload(held.claim.payload)
                held.let_go(replace(latest, error=encode_failure(failure)).to_payload())
                raise
        return IngestReport.of(self.source, step)

    def _probe(self, step: Step, lineup: Lineup, probed: Probed | None) -> Step:
        """What to bind. A probe from before the claim counts if no other step was published in between."""
        upper, evidence = lineup.read_evidence()
        if probed is not None and probed.upper == upper:
            growths = probed.growths
        else:
            spec = self.source
            growths = tuple(probe(self.store, spec.connector, spec.format, spec.desc, evidence, step.decisions.skip))
        return replace(step, phase=Phase.CLAIMED, growths=growths, error=None)

    def _stage(self, step: Step, lineup: Lineup, held: HeldClaim) -> Step:
        """Read what is bound, and write it down where nobody looks yet. Raises what the upstream has wrong."""
        if step.error is not None and isinstance(known := decode_failure(step.error), DecodeFailed):
            raise known  # the same bytes would not decode any better
        if step.staging is not None:
            lineup.data.discard_staged(step.staging)  # it was never complete, so nobody can be committing it
        if step.decisions.is_reread:
            step = self._reread(step, lineup)
        staging = f"{step.at}-{uuid4().hex}"
        step = replace(step, staging=staging, error=None)
        held.amend(step.to_payload())  # the name first: staged files of a claim are not garbage
        job = StagingJob(
            plan_tasks(step.growths, step.decisions.skip),
            step.at,
            self.store,
            self.source.connector.bucket,
            self.source.format,
            self.source.desc,
            lineup.data.staging_uri(staging),
            self.lake.storage_options,
        )
        try:
            job.run(self.spark)
        except SourceError:
            lineup.data.discard_staged(staging)
            raise
        return replace(step, phase=Phase.STAGED, staged=tuple(lineup.data.staged(staging)))

    def _reread(self, step: Step, lineup: Lineup) -> Step:
        """The step over its objects as they are now: corrected, each within its claimed length."""
        _, evidence = lineup.read_evidence()
        spec = self.source
        growths = [
            reread(self.store, spec.connector, spec.format, spec.desc, growth, evidence.get(growth.key))
            if growth.upper > growth.lower and not step.is_given_up(growth)
            else growth
            for growth in step.growths
        ]
        return replace(step, growths=tuple(growths), decisions=replace(step.decisions, is_reread=False))


def _reached(step: Step) -> dict[str, int]:
    return {growth.key: growth.upper for growth in step.growths}


def _bound(step: Step) -> dict[str, int]:
    return {growth.key: growth.lower for growth in step.growths}
