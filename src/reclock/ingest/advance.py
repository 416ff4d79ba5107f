"""The protocol of an ingestion step as a pure function: from an event to the writer's next effects.

The claim in consensus has the phase of the step. A phase is saved only after its work is durable,
and all work can be repeated. So a writer that takes a claim over continues from its phase, and a
restart at any point gives the same bindings.

    phase      the writer's next work                           the claim afterwards
    (none)     examine, probe; claim if there is new data       PROBING
    PROBING    examine, probe unless that was done              CLAIMED, with the increments
    CLAIMED    bind                                             BOUND
    BOUND      choose a staging folder, stage, seal             STAGED, with the files
    STAGED     audit                                            AUDITED, with the failed checks
    AUDITED    unless a check blocks: record what is skipped,
               commit                                           COMMITTING if several commits
    committed  publish, with the steps of other sources         (none)

    problem                          what happens to the claim
    the upstream fails               it has the error, and any writer may take it over: a stall
    the writer dies                  another writer takes it over after the lease, from its phase
    what was not published is gone   it is bound again without it
    another writer takes it over     the previous writer's writes fail: all depend on the claim
    a person decides about the step  likewise; the next writer finds the decision in the claim

A reading that cannot be repeated comes before its bindings: its rows are staged and sealed while
the step is PROBING, and then the step is BOUND with its rows. After ``retry`` the claimed ranges
are read again, and bound again in place of the earlier bindings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import singledispatch
from typing import TypeAlias

from reclock.algebra.timestamps import Timestamp
from reclock.connectors.connector import Increment
from reclock.errors import (
    ClaimConflict,
    DecodeFailed,
    InternalError,
    SourceError,
    UnpublishedGone,
    UpstreamBusy,
    quoted_name,
)
from reclock.ingest import effects, events
from reclock.ingest.effects import Effect, Failpoint, Final
from reclock.ingest.events import Event
from reclock.ingest.failures import decode_failure, encode_failure
from reclock.ingest.payload import PASSED, Audit, Phase, Step
from reclock.ingest.report import IngestState
from reclock.reclocking.mint import mint


class Goal(StrEnum):
    """How far this writer takes a step."""

    PROBE = "probe"
    """To whether there is anything to do. Nothing is claimed, and nothing is written."""
    STAGE = "stage"
    """To staged rows. A step that has passed its audit is left as it is, for a publication."""
    AUDIT = "audit"
    PUBLISH = "publish"
    """To committed rows, which are then published with those of other sources."""


@dataclass(frozen=True, slots=True)
class Ingestion:
    """The state of one writer's work on a source."""

    source: str
    """The source's frontier group."""
    name: str
    at: Timestamp
    """The time of a new step."""
    goal: Goal = Goal.STAGE
    step: Step | None = None
    """The step of this writer's claim, as it was saved or is about to be saved; None without a
    claim."""
    is_new: bool = False
    """Whether this writer began the step."""
    probed: events.Probed | None = None
    """The result of the probe before the claim."""
    examined: events.Examined | None = None
    written: events.RowsStaged | None = None
    """The staged rows, which are not sealed yet."""
    has_reread: bool = False
    """Whether this writer has read the ranges again because some of them were gone."""

    @property
    def claimed_step(self) -> Step:
        if self.step is None:
            raise InternalError(f"nothing of source {quoted_name(self.name)} is claimed")
        return self.step


Next: TypeAlias = tuple[Ingestion, tuple[Effect, ...]]


def advance(ingestion: Ingestion, event: Event) -> Next:
    """The writer's state after ``event``, and its next effects, in order. An effect is carried out
    only if those before it succeeded. The last one may be answered by an event."""
    return _on(event, ingestion)


def drive(
    ingestion: Ingestion, event: Event, perform: Callable[[Effect], Event | None]
) -> tuple[Ingestion, Final]:
    """Advance until the work ends; ``perform`` carries the effects out. If it raises a
    ``ClaimConflict`` or ``SourceError``, that is an event. Any other error leaves the claim as it
    is, for the next writer."""
    while True:
        ingestion, todo = advance(ingestion, event)
        answer: Event | None = None
        for effect in todo:
            if isinstance(effect, Final):
                return ingestion, effect
            try:
                answer = perform(effect)
            except ClaimConflict as conflict:
                answer = events.ClaimLost(conflict)
            except SourceError as error:
                answer = events.SourceFailed(error)
            if answer is not None:
                break
        if answer is None:
            raise InternalError(
                f"the ingestion of {quoted_name(ingestion.name)} has nothing to do after {event}"
            )
        event = answer


@singledispatch
def _on(event: Event, ingestion: Ingestion) -> Next:
    raise NotImplementedError(type(event).__name__)


# --- the claim ---


@_on.register
def _(event: events.Started, ingestion: Ingestion) -> Next:
    if event.is_claimed and ingestion.goal is Goal.PROBE:
        return ingestion, (effects.End(IngestState.NEW),)
    return ingestion, (
        effects.TakeOverClaim() if event.is_claimed else effects.ExamineSource(None),
    )


@_on.register
def _(event: events.Inspected, ingestion: Ingestion) -> Next:
    """The lease of a step that is not ready stays its writer's: so it is looked at before it is
    taken over, and again after."""
    return ingestion, (_refusal(ingestion, event) or effects.TakeOverClaim(),)


@_on.register
def _(event: events.TakenOver, ingestion: Ingestion) -> Next:
    step = event.step
    ingestion = replace(ingestion, step=step)
    if ingestion.goal is Goal.STAGE:
        has_passed = event.is_committed or step.has_passed
        return ingestion, (
            effects.End(IngestState.STAGED) if has_passed else effects.ExamineSource(step),
        )
    if (refusal := _refusal(ingestion, event)) is not None:
        return ingestion, (refusal,)
    if ingestion.goal is Goal.AUDIT:
        return ingestion, (effects.ReadyToAudit(step),)
    save: tuple[Effect, ...] = ()
    if len({*step.staged, *step.revived}) + len(step.failed) + len(event.begins) > 1:
        # one commit an output: decisions about the step come too late from the first one on
        step = replace(step, phase=Phase.COMMITTING)
        save = (effects.SaveStep(step),)
    # a decision that came after the commit was not carried out
    skips = (effects.RecordSkips(step),) if step.skipped and not event.is_committed else ()
    return replace(ingestion, step=step), (
        *save,
        Failpoint("ingest.before_commit"),
        *skips,
        effects.CommitRows(step),
    )


@_on.register
def _(event: events.GroupUnclaimed, ingestion: Ingestion) -> Next:
    return ingestion, (
        effects.ExamineSource(None)
        if ingestion.goal is Goal.STAGE
        else effects.End(IngestState.IDLE),
    )


@_on.register
def _(event: events.ClaimLost, ingestion: Ingestion) -> Next:
    if ingestion.goal is Goal.STAGE:
        return ingestion, (effects.End(IngestState.BUSY, conflict=event.conflict),)
    return ingestion, (effects.NotReady(event.conflict),)


def _refusal(ingestion: Ingestion, inspected: events.Inspected | events.TakenOver) -> Final | None:
    """The effect that ends an audit or a publication whose step is not ready for it, else None."""
    if ingestion.goal is Goal.AUDIT:
        return (
            None
            if inspected.step.awaits_audit and not inspected.is_committed
            else effects.NotReady()
        )
    if inspected.is_committed:
        return None
    if inspected.step.blocking:
        return effects.StallSource(inspected.step.audit_failure(ingestion.name))
    return None if inspected.step.phase in PASSED else effects.NotReady()


# --- from nothing to increments ---


@_on.register
def _(event: events.Examined, ingestion: Ingestion) -> Next:
    ingestion = replace(ingestion, examined=event)
    step, probed = ingestion.step, ingestion.probed
    if step is None:
        # the probe comes before the claim, so that an idle source costs no write
        return (
            _claim(ingestion)
            if event.must_read_once
            else (ingestion, (effects.ProbeUpstream(_new_step(ingestion)),))
        )
    if step.phase is not Phase.PROBING:
        return _continue(ingestion)
    if event.must_read_once:
        return _read(ingestion, effects.ReadOnce)
    if probed is not None and probed.upper == event.upper and not event.has_new_outputs:
        return _bind_next(ingestion, step, probed.increments)  # no other step was published since
    return ingestion, (effects.ProbeUpstream(step),)


@_on.register
def _(event: events.Probed, ingestion: Ingestion) -> Next:
    if ingestion.step is not None:
        return _bind_next(ingestion, ingestion.step, event.increments)
    ingestion = replace(ingestion, probed=event)
    if not event.increments:
        return ingestion, (Failpoint("ingest.after_probe"), effects.End(IngestState.IDLE))
    ingestion, claim = _claim(ingestion)
    return ingestion, (Failpoint("ingest.after_probe"), *claim)


def _claim(ingestion: Ingestion) -> Next:
    if ingestion.goal is Goal.PROBE:
        return ingestion, (effects.End(IngestState.NEW),)
    step = _new_step(ingestion)
    todo = (effects.ClaimGroup(step), Failpoint("ingest.after_claim"), effects.ExamineSource(step))
    return replace(ingestion, step=step, is_new=True), todo


def _new_step(ingestion: Ingestion) -> Step:
    return Step(ingestion.source, ingestion.at, Phase.PROBING)


def _bind_next(ingestion: Ingestion, step: Step, increments: tuple[Increment, ...]) -> Next:
    """Bind these increments. Without any, there is no step."""
    if not increments:
        after = effects.End(IngestState.IDLE) if ingestion.is_new else effects.ExamineSource(None)
        return replace(ingestion, step=None), (effects.AbandonClaim(), after)
    step = replace(step, phase=Phase.CLAIMED, increments=increments, error=None)
    return _save(ingestion, step, "ingest.after_claimed")


# --- from increments to staged rows ---


def _continue(ingestion: Ingestion) -> Next:
    """The next effects of a step that is CLAIMED or further."""
    step = ingestion.claimed_step
    if step.decisions.is_reread and not step.is_read:
        return ingestion, (effects.RereadRanges(step),)
    if step.phase is Phase.CLAIMED:
        reached = {increment.partition: increment.upper for increment in step.increments}
        bound = {increment.partition: increment.lower for increment in step.increments}
        return ingestion, (effects.WriteBindings(step, tuple(mint(reached, bound, step.at))),)
    if step.blocking:
        return ingestion, (effects.ReleaseClaim(step), effects.End(IngestState.BLOCKED))
    if step.phase is not Phase.BOUND:
        return ingestion, (effects.End(IngestState.STAGED),)
    if step.is_read:
        return _staged(ingestion, step)
    recorded_error = decode_failure(step.error) if step.error is not None else None
    assert ingestion.examined is not None
    if isinstance(recorded_error, DecodeFailed) and ingestion.examined.error_stands:
        return _stall(ingestion, step, recorded_error)  # the same bytes would not decode any better
    return _read(ingestion, effects.StageRows)


def _save(ingestion: Ingestion, step: Step, failpoint: str) -> Next:
    """Save ``step`` in the claim, and continue with its next work."""
    ingestion, todo = _continue(replace(ingestion, step=step))
    return ingestion, (effects.SaveStep(step), Failpoint(failpoint), *todo)


@_on.register
def _(event: events.RangesReread, ingestion: Ingestion) -> Next:
    """The upstream may have corrected what is not published. Skips in a corrected partition do not
    apply to its new content, so the content is read again."""
    step = ingestion.claimed_step
    unchanged = {increment.name for increment in event.increments if increment in step.increments}
    skip = tuple(skip for skip in step.decisions.skip if skip[0] in unchanged)
    decisions = replace(step.decisions, skip=skip, is_reread=False)
    step = replace(
        step, phase=Phase.CLAIMED, increments=event.increments, decisions=decisions, error=None
    )
    return _save(ingestion, step, "ingest.after_reread")


@_on.register
def _(event: events.BindingsWritten, ingestion: Ingestion) -> Next:
    ingestion, todo = _save(
        ingestion, replace(ingestion.claimed_step, phase=Phase.BOUND), "ingest.after_bound"
    )
    return ingestion, (Failpoint("ingest.after_bind"), *todo)


def _read(ingestion: Ingestion, read: type[effects.StageRows] | type[effects.ReadOnce]) -> Next:
    """Read under a new staging name, in place of one that was never complete. The claim is saved
    with the name first, so that vacuum keeps the staged files."""
    assert ingestion.examined is not None
    step = ingestion.claimed_step
    discard = (effects.DiscardStaged(step.staging),) if step.staging is not None else ()
    step = replace(step, staging=ingestion.examined.new_staging, error=None)
    return replace(ingestion, step=step), (*discard, effects.SaveStep(step), read(step))


@_on.register
def _(event: events.RowsStaged, ingestion: Ingestion) -> Next:
    before = (
        (Failpoint("ingest.after_read_once"),)
        if ingestion.claimed_step.phase is Phase.PROBING
        else ()
    )
    return replace(ingestion, written=event), (*before, effects.SealFiles(ingestion.claimed_step))


@_on.register
def _(event: events.FilesSealed, ingestion: Ingestion) -> Next:
    assert ingestion.written is not None
    outcome, increments = ingestion.written.outcome, ingestion.written.increments
    files = {
        output: staged for output, staged in event.files.items() if output not in outcome.failed
    }
    step = replace(
        ingestion.claimed_step, staged=files, failed=outcome.failed, changes=outcome.changes
    )
    if step.phase is not Phase.PROBING:
        return _staged(ingestion, step)
    # an output that fails again has failed since then; one that does not has its rows back
    failed = {
        output: failure
        for output, failure in step.failed.items()
        if output not in event.failed_before
    }
    revived = tuple(sorted(event.failed_before - outcome.failed.keys()))
    return _bind_next(
        ingestion, replace(step, is_read=True, failed=failed, revived=revived), increments
    )


def _staged(ingestion: Ingestion, step: Step) -> Next:
    ingestion, todo = _save(ingestion, replace(step, phase=Phase.STAGED), "ingest.after_staged")
    return ingestion, (Failpoint("ingest.after_stage"), *todo)


# --- failures ---


@_on.register
def _(event: events.SourceFailed, ingestion: Ingestion) -> Next:
    step = ingestion.step
    if step is None:
        # a source that cannot be read is claimed too: the claim holds its upper, and the decisions
        step = replace(_new_step(ingestion), error=encode_failure(event.error))
        return ingestion, (effects.ClaimGroup(step, has_lease=False), _end_of(event.error))
    if ingestion.goal is not Goal.STAGE or step.phase in PASSED:
        return ingestion, (effects.StallSource(event.error),)
    is_staging = step.phase is Phase.BOUND and not step.decisions.is_reread
    discard = (
        (effects.DiscardStaged(step.staging),) if is_staging and step.staging is not None else ()
    )
    if isinstance(event.error, UnpublishedGone) and not ingestion.has_reread:
        return replace(ingestion, has_reread=True), (*discard, effects.RereadRanges(step))
    ingestion, todo = _stall(ingestion, step, event.error)
    return ingestion, (*discard, *todo)


def _stall(ingestion: Ingestion, step: Step, error: SourceError) -> Next:
    return ingestion, (
        effects.ReleaseClaim(replace(step, error=encode_failure(error))),
        _end_of(error),
    )


def _end_of(error: SourceError) -> Final:
    if isinstance(error, UpstreamBusy):
        return effects.End(
            IngestState.WAITING,
            reason=f"{error.message}: {error.detail}" if error.detail else error.message,
        )
    return effects.StallSource(error)


# --- from staged rows to committed ones ---


@_on.register
def _(event: events.AuditConcluded, ingestion: Ingestion) -> Next:
    """A step that a check blocks is left to the next writer."""
    step = replace(
        ingestion.claimed_step, phase=Phase.AUDITED, audit=Audit(event.failed, dict(event.report))
    )
    end = effects.End(IngestState.BLOCKED if step.blocking else IngestState.STAGED)
    return replace(ingestion, step=step), (effects.SaveStep(step, has_lease=not step.blocking), end)


@_on.register
def _(event: events.RowsCommitted, ingestion: Ingestion) -> Next:
    return ingestion, (
        Failpoint("ingest.after_commit"),
        effects.ReadyToPublish(ingestion.claimed_step),
    )
