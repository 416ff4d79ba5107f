"""The ingestion step of one source: finish what was left, probe, claim, bind, read and stage.

The claim in consensus says how far the step has come; each phase is durable before the next begins, and each is safe to repeat. So
whoever finds a claim whose writer is gone goes on from its phase, and a restart at any point gives the same mapping.

    (nothing claimed) → PROBING → CLAIMED → BOUND → STAGED → audit → AUDITED → commit and publish → (nothing claimed)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any
from uuid import uuid4

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.collections.lake import Lake
from reclock.connectors.connector import (
    AssumesCompleteOutputs,
    BlockedReason,
    Bound,
    Connector,
    FailsByOutput,
    HasHistory,
    Increment,
    ReadsOnce,
    SupportsGuests,
    SupportsRestart,
)
from reclock.consensus.frontiers.claims import Claim
from reclock.consensus.frontiers.groups import Frontiers
from reclock.definitions.sources import SourceSpec
from reclock.errors import ClaimConflict, DecodeFailed, SourceError, UpstreamBusy
from reclock.failpoints import failpoint
from reclock.ingest.commit import commit_and_publish
from reclock.ingest.difference import DifferenceJob, Engines
from reclock.ingest.lease import HeldClaim
from reclock.ingest.payload import PASSED, Failed, Phase, Step
from reclock.ingest.source_collections import SourceCollections
from reclock.ingest.stage import StagingJob, StagingOutcome, decode_failure, encode_failure
from reclock.ingest.upsert import replacement
from reclock.reclocking.frontiers import SourceFrontier
from reclock.reclocking.mint import mint


class IngestState(StrEnum):
    """What an ingestion came to."""

    IDLE = "idle"
    """There was nothing new; nothing is claimed."""
    STAGED = "staged"
    """A step waits for its audit."""
    BLOCKED = "blocked"
    """A step has failed its audit, and nobody has decided about it."""
    WAITING = "waiting"
    """The upstream cannot begin yet; ``waiting`` says what it waits for. The group stays claimed."""
    BUSY = "busy"
    """Another writer is at work on this source."""


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What one call of ``ingest`` did. ``at`` is the time of the step, which may be that of an earlier one that was finished."""

    source: str
    at: Timestamp
    state: IngestState
    bindings: tuple[tuple[str, int], ...] = ()
    rows: int = 0
    size: int = 0
    """How many offsets it binds, in the upstream's unit."""
    failed: tuple[tuple[str, Failed], ...] = ()
    """The outputs of which nothing is known from ``at`` on."""
    revived: tuple[str, ...] = ()
    """The outputs that have rows again from ``at`` on."""
    waiting: Mapping[GlobalId, BlockedReason | None] = field(default_factory=dict)
    """The source itself, or those of its guests, that have not begun, with what keeps them from it, if that was looked at."""
    claimed_by: str | None = None
    """Who holds the claim of a source that is ``BUSY``, and for how long at most if that writer is gone."""
    abandoned: tuple[str, ...] = ()
    """The names of what nothing more is read of, until it is restarted."""

    @classmethod
    def of(cls, source: SourceSpec, step: Step) -> IngestReport:
        state = IngestState.BLOCKED if step.blocking else IngestState.STAGED
        failed = tuple(step.failed.items())
        return cls(source.name, step.at, state, tuple(step.bindings), step.rows, step.size, failed, step.revived)


@dataclass(frozen=True, slots=True)
class Probed:
    """What a probe found, against what was kept below ``upper``."""

    upper: Timestamp
    increments: tuple[Increment, ...]
    blocked: Mapping[str, BlockedReason]
    """What keeps outputs that come late from beginning."""


def ingest(
    source: SourceSpec,
    at: Timestamp,
    owner: str,
    *,
    connector: Connector,
    frontiers: Frontiers,
    lake: Lake,
    engines: Engines,
    lease_ms: int = 60_000,
    is_history: bool = False,
    has_gaps: Callable[[], bool] = lambda: False,
    is_wanted: Callable[[], bool] = lambda: True,
    restarts: Callable[[], Mapping[str, int]] = dict,
) -> IngestReport:
    """Bring the source to a step that is staged, at ``at`` or at the time of the step that was left; nothing of it is visible yet.

    A step that was left with its audit passed is published first, and then a new one begins. With nothing new upstream nothing is
    claimed, no Spark job runs and nothing is committed. ``owner`` names this writer; two writers may run this at once: one of them
    gets ``BUSY``. With ``is_history`` the step binds no more than the upstream had before its time.
    ``has_gaps`` tells whether offsets of the source were ever given up after they were bound, ``is_wanted`` whether it is
    there still, ``restarts`` which readings were requested (see ``reclock.connectors.connector.SupportsRestart``).
    Raises a ``SourceError`` if the source stalls: then the group stays claimed, and the next call goes on from there.
    Raises ``UpperMismatch`` if the group was published beyond ``at`` meanwhile: take a newer time.
    """
    whole = connector
    if isinstance(connector, FailsByOutput) and (failed := SourceCollections.open(lake, source).failed()):
        connector = connector.without(failed)
    if isinstance(connector, SupportsRestart):
        connector = connector.restarting(restarts())
    work = _Work(source, connector, whole, owner, frontiers, lake, engines, lease_ms, is_history, has_gaps, is_wanted, at)
    try:
        if frontiers.get(source.id).claim is not None:
            report = work.finish()
            if report is not None:
                return work.with_waiting(report)
        return work.begin(at)
    except ClaimConflict as conflict:
        return work.with_waiting(IngestReport(source.name, at, IngestState.BUSY, claimed_by=_holder(conflict, at)))
    except UpstreamBusy as busy:
        waits_for = f"{busy.message}: {busy.detail}" if busy.detail else busy.message
        return IngestReport(source.name, at, IngestState.WAITING, waiting=dict.fromkeys(source.all_ids, waits_for))


@dataclass(frozen=True, slots=True)
class _Work:
    source: SourceSpec
    connector: Connector
    whole: Connector
    """The connector with the outputs that have failed, which a new copy may bring back."""
    owner: str
    frontiers: Frontiers
    lake: Lake
    engines: Engines
    lease_ms: int
    is_history: bool
    has_gaps: Callable[[], bool]
    is_wanted: Callable[[], bool]
    now: Timestamp
    """About what the wall clock says: the time that was allocated for this call."""

    def finish(self) -> IngestReport | None:
        """Go on with the step that was left; None if nothing is claimed any more, so that a new one may begin."""
        claim = self.frontiers.take_over(self.source.id, owner=self.owner, lease_ms=self.lease_ms)
        if claim is None:
            return None
        step = Step.from_payload(claim.payload)
        has_passed = step.phase in PASSED and not step.blocking
        if has_passed or SourceCollections.open(self.lake, self.source).is_committed(claim.at):
            published = commit_and_publish(
                [self.source], claim.at, self.owner, frontiers=self.frontiers, lake=self.lake, lease_ms=self.lease_ms
            )
            for failure in published.failed.values():
                raise failure
            return None
        return self.carry(claim, step, None)

    def begin(self, at: Timestamp) -> IngestReport:
        """A new step, if there is anything new. The claim comes after the probe, so that an idle source costs no write."""
        collections = SourceCollections.open(self.lake, self.source)
        if (work := self._over(collections)) is not None:
            return work.begin(at)
        upper, bound = collections.read_bound()
        step, idle = Step(self.source.id, at, Phase.PROBING), IngestReport(self.source.name, at, IngestState.IDLE)
        probed = None
        if not self._reads_once(bound):
            probed = self._probe_unclaimed(step, upper, bound)
            if not probed.increments:
                return self.with_waiting(idle, probed)
        claim = self.frontiers.claim(self.source.id, at=at, payload=step.to_payload(), owner=self.owner, lease_ms=self.lease_ms)
        failpoint("ingest.after_claim")
        return self.with_waiting(self.carry(claim, step, probed) or idle, probed)

    def with_waiting(self, report: IngestReport, probed: Probed | None = None) -> IngestReport:
        """The report with what was given up, and with what is known of guests that have not begun.

        Nothing is known of a guest that has no collection yet.
        """
        if isinstance(self.connector, SupportsRestart):
            _, bound = SourceCollections.open(self.lake, self.source).read_bound()
            report = replace(report, abandoned=tuple(self.connector.abandoned_partitions(bound)))
        if not self.source.guests:
            return report
        collections = SourceCollections.open(self.lake, self.source)
        increments, blocked = (probed.increments, probed.blocked) if probed is not None else ((), {})
        begun = {*collections.read_bound()[1], *collections.begun_by(increments)}
        waiting: dict[GlobalId, BlockedReason | None] = {}
        for guest in self.source.guests:
            own = [name for name, output in collections.outputs.items() if output.id.guest == guest]
            if not own or not begun.issuperset(own):
                known = [blocked[name] for name in own if name in blocked]
                waiting[guest] = next((own for own in known if isinstance(own, SourceError)), next(iter(known), None))
        return replace(report, waiting=waiting)

    def _probe_unclaimed(self, step: Step, upper: Timestamp, bound: Bound) -> Probed:
        """What is new. A source that cannot be read is claimed nevertheless: it keeps its upper, and the decisions about it."""
        try:
            increments, blocked = self._ask(bound, step)
        except SourceError as failure:
            stalled = replace(step, error=encode_failure(failure))
            self.frontiers.claim(self.source.id, at=step.at, payload=stalled.to_payload(), owner=self.owner, lease_ms=0)
            raise
        failpoint("ingest.after_probe")
        return Probed(upper, tuple(increments), blocked)

    def carry(self, claim: Claim, step: Step, probed: Probed | None) -> IngestReport | None:
        """From the step's phase to STAGED; None if the probe found nothing after all, and the claim is given up."""
        collections = SourceCollections.open(self.lake, self.source)
        if (work := self._over(collections)) is not None:  # what begins can only begin under the claim: now it is known what has
            return work.carry(claim, step, None)
        with HeldClaim(self.frontiers, self.source.id, claim, self.lease_ms) as held:
            try:
                if step.phase is Phase.PROBING:
                    step = self._probe(step, collections, probed, held)
                    if not step.increments:
                        held.abandon()
                        return None
                    held.amend(step.to_payload())
                    failpoint("ingest.after_claimed")
                if step.decisions.is_reread and not step.is_read:
                    step = self._reread(step, collections)
                    held.amend(step.to_payload())
                    failpoint("ingest.after_reread")
                if step.phase is Phase.CLAIMED:
                    collections.check_frontier(step.increments, step.at)
                    bindings = mint(_reached(step), _bound(step), step.at)
                    collections.bind(bindings, step.at, check_claim=held.renew, now=self.now)
                    failpoint("ingest.after_bind")
                    step = replace(step, phase=Phase.BOUND)
                    held.amend(step.to_payload())
                    failpoint("ingest.after_bound")
                if step.phase is Phase.BOUND:
                    step = self._stage(step, collections, held)
                    failpoint("ingest.after_stage")
                    held.amend(step.to_payload())
                    failpoint("ingest.after_staged")
            except SourceError as failure:
                latest = Step.from_payload(held.claim.payload)
                held.let_go(replace(latest, error=encode_failure(failure)).to_payload())
                raise
        return IngestReport.of(self.source, step)

    def _over(self, collections: SourceCollections) -> _Work | None:
        """The same work over the outputs as they are, if some have come or gone since."""
        if collections.outputs.keys() == self.source.outputs.keys():
            return None
        assert isinstance(self.connector, SupportsGuests)
        outputs = {name: output.desc for name, output in collections.outputs.items()}
        return replace(self, source=replace(self.source, subsources=outputs), connector=self.connector.over(outputs))

    def _ask(self, bound: Bound, step: Step) -> tuple[Sequence[Increment], Mapping[str, BlockedReason]]:
        """What to bind, and what keeps outputs that come late from beginning."""
        if self.is_history:
            assert isinstance(self.connector, HasHistory)
            return self.connector.probe_until(bound, step.at, step.decisions.skip), {}
        blocked: Mapping[str, BlockedReason] = {}
        if isinstance(self.connector, SupportsGuests):
            increments, blocked = self.connector.begin(bound, step.decisions.skip)
            if increments:
                return increments, blocked
        return self.connector.probe(bound, step.decisions.skip), blocked

    def _reads_once(self, bound: Bound) -> bool:
        return isinstance(self.connector, ReadsOnce) and self.connector.must_read_once(bound)

    def _probe(self, step: Step, collections: SourceCollections, probed: Probed | None, held: HeldClaim) -> Step:
        """What to bind. A probe from before the claim counts if no other step was published in between."""
        upper, bound = collections.read_bound()
        if step.decisions.is_resnapshot or self._reads_once(bound):
            return self._read_once(step, collections, bound, held)
        if probed is not None and probed.upper == upper:
            increments = probed.increments
        else:
            increments = tuple(self._ask(bound, step)[0])
        return replace(step, phase=Phase.CLAIMED, increments=increments, error=None)

    def _read_once(self, step: Step, collections: SourceCollections, bound: Bound, held: HeldClaim) -> Step:
        """What to bind, and its rows, which are durable before anything is bound."""
        connector = self.whole if step.decisions.is_resnapshot else self.connector
        assert isinstance(connector, ReadsOnce)
        step = self._new_staging(step, collections, held)
        assert step.staging is not None
        with connector.read_once(bound, step.decisions.skip, is_wanted=self.is_wanted) as (increments, tasks):
            targets = collections.staging_uris(step.staging)
            job = StagingJob(connector, _alone(tasks, step.at), self.source.outputs, targets, self.lake.storage_options)
            outcome = job.run(self.engines.spark)
        if step.decisions.is_resnapshot:
            self._replace(step, collections, targets, outcome)
        failpoint("ingest.after_read_once")
        step = replace(step, phase=Phase.CLAIMED, increments=tuple(increments), is_read=True, error=None)
        step = self._with_staged(step, collections, outcome)
        known = collections.failed()  # an output that fails again has failed since then
        failed = {name: failure for name, failure in step.failed.items() if name not in known}
        return replace(step, failed=failed, revived=tuple(sorted(known - outcome.failed.keys())) if increments else ())

    def _replace(self, step: Step, collections: SourceCollections, targets: Mapping[str, str], outcome: StagingOutcome) -> None:
        """What was staged is all that there is now. Afterwards the difference that it makes to the outputs is staged instead."""
        for output, desc in self.source.outputs.items():
            if output in targets and output not in outcome.failed:
                job = DifferenceJob(desc, step.at, targets[output], self.lake.storage_options)
                job.replace(self.engines.spark, collections.outputs[output].pin().without_errors)

    def _new_staging(self, step: Step, collections: SourceCollections, held: HeldClaim) -> Step:
        """The step with a new name to stage under, in place of one that was never complete."""
        if step.staging is not None:
            collections.discard_staged(step.staging)  # so nobody can be committing it
        step = replace(step, staging=f"{step.at}-{uuid4().hex}", error=None)
        held.amend(step.to_payload())  # the name first: staged files of a claim are not garbage
        return step

    def _stage(self, step: Step, collections: SourceCollections, held: HeldClaim) -> Step:
        """Read what is bound, and write it down where nobody looks yet. Raises what the upstream has wrong."""
        if step.is_read:
            return replace(step, phase=Phase.STAGED)
        if step.error is not None and isinstance(known := decode_failure(step.error), DecodeFailed) and self._is_read(known, step):
            raise known  # the same bytes would not decode any better
        step = self._new_staging(step, collections, held)
        staging = step.staging
        assert staging is not None
        tasks = self._trusted().tasks(step.increments, step.decisions.skip)
        try:
            outcome = self._read(tasks, step.at, collections, collections.staging_uris(staging))
        except SourceError:
            collections.discard_staged(staging)
            raise
        return self._with_staged(replace(step, phase=Phase.STAGED), collections, outcome)

    def _trusted(self) -> Connector:
        """The connector; told, if it matters to it, that the outputs lack what was given up once."""
        if isinstance(self.connector, AssumesCompleteOutputs) and self.has_gaps():
            return self.connector.with_gaps()
        return self.connector

    def _is_read(self, failure: DecodeFailed, step: Step) -> bool:
        """Whether what failed is still to be read: the output that it was for may have gone."""
        own = [increment for increment in step.increments if increment.name == failure.partition]
        return not isinstance(self.connector, SupportsGuests) or bool(self.connector.tasks(own, step.decisions.skip))

    def _with_staged(self, step: Step, collections: SourceCollections, outcome: StagingOutcome) -> Step:
        """The step with the files that were staged under its name, durable from now on, but for outputs that failed."""
        assert step.staging is not None
        staged = {output: files for output, files in collections.staged(step.staging).items() if output not in outcome.failed}
        return replace(step, staged=staged, failed=outcome.failed, changes=outcome.changes)

    def _read(
        self, tasks: Sequence[Any], at: Timestamp, collections: SourceCollections, targets: Mapping[str, str]
    ) -> StagingOutcome:
        """The rows of the tasks are in ``targets``: as they come, or as the difference that they make to the output by its key."""
        options, rule = self.lake.storage_options, replacement(self.source.connector)
        messages = {output: rule.message_desc(desc) for output, desc in self.source.outputs.items() if desc.key}
        outcome = StagingJob(self.connector, _alone(tasks, at), self.source.outputs, targets, options, messages).run(
            self.engines.spark
        )
        for output, desc in self.source.outputs.items():
            if output in outcome.failed:
                continue
            state = collections.outputs[output].pin() if output in messages or output in outcome.truncated else None
            if output in outcome.truncated and state is not None:
                DifferenceJob(desc, at, targets[output], options).retract(self.engines.spark, state)
                state = None
            if output in messages:
                DifferenceJob(desc, at, targets[output], options).upsert(self.engines, rule, state)
        return outcome

    def _reread(self, step: Step, collections: SourceCollections) -> Step:
        """The step over the upstream as it is now, to be bound anew: what is not published may have been corrected.

        Offsets of a corrected partition that were skipped are read again: they hold something else now.
        """
        _, bound = collections.read_bound()
        increments = []
        for claimed in step.increments:
            if not claimed.size or step.is_skipped(claimed):
                increments.append(claimed)
            elif (found := self.connector.reread(claimed, bound.get(claimed.partition))) is not None:
                increments.append(found)
        unchanged = {found.name for found in increments if found in step.increments}
        skip = tuple(skip for skip in step.decisions.skip if skip[0] in unchanged)
        decisions = replace(step.decisions, skip=skip, is_reread=False)
        return replace(step, phase=Phase.CLAIMED, increments=tuple(increments), decisions=decisions, error=None)


def _holder(conflict: ClaimConflict, now: Timestamp) -> str:
    """The holder of the claim, for people: ``claimed by tick-17, 40 s left``."""
    if conflict.owner is None or conflict.lease_until is None:
        return "claimed by another writer"
    return f"claimed by {conflict.owner}, {max(conflict.lease_until - now, 0) / 1000:.0f} s left"


def _alone(tasks: Iterable[Any], at: Timestamp) -> list[list[tuple[Timestamp, Any]]]:
    """Each piece of work is a task of its own."""
    return [[(at, task)] for task in tasks]


def _reached(step: Step) -> SourceFrontier:
    return {increment.partition: increment.upper for increment in step.increments}


def _bound(step: Step) -> SourceFrontier:
    return {increment.partition: increment.lower for increment in step.increments}
