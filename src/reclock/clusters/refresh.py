"""Refreshing indexes: what a replica does to maintain results, under the same claim-and-publish
protocol as a source.

The indexes of one refresh share its transactions in consensus and the versions of their inputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

import structlog

from reclock.algebra.error_intervals import ErrorInterval, ErrorIntervals
from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.clusters.index_step import AppendedStep, IndexSteps, PinnedInputs
from reclock.clusters.known_results import KnownResults
from reclock.collections.lake import Lake
from reclock.collections.version import Version
from reclock.compute import maintenance
from reclock.compute.costs import RefreshCosts
from reclock.compute.due_times import with_due_times
from reclock.compute.engines.engine import Engine
from reclock.compute.maintenance import MaintenanceMode, RefreshTimes
from reclock.config import Settings
from reclock.consensus.frontiers.claims import Claim
from reclock.consensus.frontiers.groups import Frontiers
from reclock.consensus.frontiers.holds import ReadHolds
from reclock.consensus.frontiers.input_holds import hold_inputs
from reclock.consensus.frontiers.rounds import ClaimRequest, Publication, RoundState
from reclock.errors import (
    InternalError,
    ReclockError,
    SinceHeld,
    UnknownCollection,
    known_failure,
    plain_text,
)
from reclock.failpoints import failpoint
from reclock.ingest.lease import HeldClaim
from reclock.ingest.progress import plan_input
from reclock.plan.relational import collections
from reclock.plan.temporal import reads_now
from reclock.protocol.compute import (
    NO_DETAILS,
    Dataflow,
    RefreshDetails,
    Refreshed,
    RefreshFailed,
    RefreshResponse,
)

_logger = structlog.get_logger(__name__)

_DUE_TIMES = 10_000
"""At most so many due times are one step, whose updates keep their times."""


@dataclass(slots=True)
class _IndexRefresh:
    """How far the refresh of one index is."""

    index: Dataflow
    groups: frozenset[str]
    upper: Timestamp = MINIMUM
    target: Timestamp = MINIMUM
    readable_from: Timestamp = MINIMUM
    steps: RefreshTimes = field(default_factory=lambda: RefreshTimes(()))
    due: frozenset[Timestamp] = frozenset()
    """The times at which no input changes. A run of them is one step if ``steps_by_time``."""
    steps_by_time: bool = False
    is_last: bool = False
    """Whether nothing remains to be done after ``steps``."""
    done_times: list[Timestamp] = field(default_factory=list)
    updates: int = 0
    how: MaintenanceMode | None = None
    error: ErrorInterval | None = None
    details: RefreshDetails = NO_DETAILS
    duration_ns: int = 0
    failure: Exception | None = None
    is_over: bool = False

    @property
    def is_open(self) -> bool:
        return self.failure is None and not self.is_over

    @property
    def step_times(self) -> list[list[Timestamp]]:
        """The times of each step."""
        steps: list[list[Timestamp]] = []
        for at in self.steps.times:
            if self.joins_step(at) and steps and self.joins_step(steps[-1][-1]):
                steps[-1].append(at)
            else:
                steps.append([at])
        return steps

    def joins_step(self, at: Timestamp) -> bool:
        return self.steps_by_time and at in self.due

    def appended(self, times: Sequence[Timestamp], step: AppendedStep) -> None:
        self.done_times += times
        self.updates += step.updates
        self.how, self.details = step.how, step.details
        self.error = _lasting(step.errors)

    def outcome(self) -> Refreshed | RefreshFailed:
        if isinstance(self.failure, ReclockError):
            return RefreshFailed(self.index.name, self.failure)
        if self.failure is not None:
            _logger.warning("refresh failed", index=self.index.name, exc_info=self.failure)
            internal = InternalError(f"{type(self.failure).__name__}: {plain_text(self.failure)}")
            return RefreshFailed(self.index.name, known_failure(self.failure) or internal)
        return Refreshed(
            self.index.name,
            self.upper,
            tuple(self.done_times),
            self.updates,
            self.how,
            self.error,
            self.duration_ns,
            self.details,
        )


@dataclass(frozen=True, slots=True)
class Refresher:
    """Refreshes indexes with the stores of one environment."""

    frontiers: Frontiers
    holds: ReadHolds
    lake: Lake
    settings: Settings
    owner: str
    small: Engine
    large: Callable[[], Engine]
    costs: RefreshCosts
    results: KnownResults

    def refresh(self, indexes: Sequence[Dataflow], at: Timestamp) -> RefreshResponse:
        """Bring each index up to ``at``, or as far as its inputs are complete. Repeating it changes
        nothing.

        Each index comes after those among ``indexes`` that it reads. Times at which inputs changed
        are kept apart, up to the limit of the settings. Beyond it the index's ``since`` moves to
        the time it was refreshed at, unless somebody reads the index. A time at which the query has
        no answer is one with an error, and later times go on. An index that another replica is at
        work on fails with ``ClaimConflict``.
        """
        pins = PinnedInputs(self.lake)
        works = [
            _IndexRefresh(index, frozenset(id.group for id in collections(index.plan)))
            for index in indexes
        ]
        for level in _levels(works):
            self._refresh_level(level, at, pins)
        self._find_dropped(works)
        return tuple(work.outcome() for work in works)

    def _find_dropped(self, works: Sequence[_IndexRefresh]) -> None:
        """What failed because its index was dropped meanwhile, with its files, says so."""
        failed = [work for work in works if work.failure is not None]
        present = self.frontiers.get_all(work.index.id for work in failed) if failed else {}
        for work in failed:
            if work.index.id not in present:
                work.failure = UnknownCollection(work.index.id)

    def _refresh_level(
        self, works: Sequence[_IndexRefresh], at: Timestamp, pins: PinnedInputs
    ) -> None:
        """Refresh indexes that do not read each other."""
        state = self._settled_state(works, pins)
        for work in works:
            if work.failure is None:
                self._begin(work, at, state)
        while pending := [work for work in works if work.is_open]:
            for work in pending:
                _guarded(work, partial(self._plan_steps, work, state, pins))
            pending = [work for work in pending if work.is_open]
            idle = [work for work in pending if not work.steps.times]
            stepping = {work.index.id: work for work in pending if work.steps.times}
            for ids in self.results.in_rounds(list(stepping)):
                self._take_steps([stepping[id] for id in ids], idle, state, pins)
                idle = []
            self._publish(idle, {})

    def _settled_state(self, works: Sequence[_IndexRefresh], pins: PinnedInputs) -> RoundState:
        """The state after every index has a hold on its inputs, and no claim that could be taken
        over."""
        state = self._look(works)
        unsettled = False
        for work in works:
            frontier = state.groups.get(work.index.id)
            if frontier is None:
                work.failure = UnknownCollection(work.index.id)
                continue
            if work.index.id not in state.holders:
                unsettled = True
                _guarded(
                    work,
                    partial(hold_inputs, work.index.id, work.groups, self.frontiers, self.holds),
                )
            if frontier.claim is not None and work.failure is None:
                unsettled = True
                _guarded(work, partial(self._finish_claim, work, pins))
        return self._look(works) if unsettled else state

    def _look(self, works: Sequence[_IndexRefresh]) -> RoundState:
        index_ids = [work.index.id for work in works]
        return self.frontiers.rounds.look(
            {*index_ids, *(group for work in works for group in work.groups)}, index_ids
        )

    def _finish_claim(self, work: _IndexRefresh, pins: PinnedInputs) -> None:
        """Finish what the claim of an earlier refresh says. Raises ``ClaimConflict`` while its
        owner is at work."""
        lease_ms = self.settings.claim_lease_ms
        standing = self.frontiers.take_over(work.index.id, owner=self.owner, lease_ms=lease_ms)
        if standing is None:
            return
        versions = pins.of(work.index, self.frontiers.get_all(work.groups))
        with HeldClaim(self.frontiers, work.index.id, standing, lease_ms) as held_claim:
            times = [*map(Timestamp, standing.payload.get("times", [standing.at]))]
            prepared = self._steps.prepare(work.index, times, versions, is_repeated=True)
            work.appended(times, prepared())
            since = Timestamp(standing.payload["since"])
            self.frontiers.publish(
                {work.index.id: held_claim.claim}, Timestamp(standing.at + 1), since=since
            )
        failpoint("refresh.after_publish")

    def _begin(self, work: _IndexRefresh, at: Timestamp, state: RoundState) -> None:
        """Find what there is to do."""
        inputs = [state.groups[group] for group in work.groups if group in state.groups]
        if len(inputs) < len(work.groups) or work.index.id not in state.groups:
            work.failure = UnknownCollection(
                next(iter({work.index.id, *work.groups} - state.groups.keys()))
            )
            return
        work.upper = state.groups[work.index.id].upper
        work.target = Timestamp(min([at, *(frontier.upper - 1 for frontier in inputs)]))
        work.readable_from = max((frontier.since for frontier in inputs), default=Timestamp(0))
        if work.target < work.upper:
            _guarded(work, partial(self._learn_error, work))
            work.is_over = True

    def _learn_error(self, work: _IndexRefresh) -> None:
        error_at_upper = self.results.at(work.index.id, work.upper)
        if error_at_upper is None:
            error_at_upper = (
                _lasting(self.lake.open(StorageCollectionId(work.index.id)).pin().errors),
            )
            self.results.published(work.index.id, work.upper, error_at_upper[0])
        [work.error] = error_at_upper

    def _plan_steps(self, work: _IndexRefresh, state: RoundState, pins: PinnedInputs) -> None:
        """The next times to refresh at, and whether these are all.

        A jump forgets the times it passes over. While somebody reads the index at one of them, as
        many times as the limit allows are kept apart, and the rest comes after these.
        """
        upper, limit = work.upper, self.settings.refresh_times_limit
        changes = self._change_times(work, state, pins)
        limit += sum(
            work.joins_step(at) and work.joins_step(before) for before, at in pairwise(changes)
        )
        decide = partial(
            maintenance.refresh_times,
            upper=upper,
            at=work.target,
            changes=changes,
            is_new=self._is_new(work),
            readable_from=work.readable_from,
        )
        work.steps, work.is_last = decide(limit=limit), True
        if work.steps.is_jump and not self._may_forget(work.index, upper):
            apart = decide(limit=len(changes) + 1)
            if apart.is_jump:
                work.steps = apart
            else:
                work.steps, work.is_last = RefreshTimes(apart.times[:limit]), False
        if not work.steps.times:
            self._learn_error(work)

    def _is_new(self, work: _IndexRefresh) -> bool:
        """Whether nothing was ever appended to the index."""
        if self.results.at(work.index.id, work.upper) is not None:
            return False
        return self.lake.open(StorageCollectionId(work.index.id)).upper() == MINIMUM

    def _change_times(
        self, work: _IndexRefresh, state: RoundState, pins: PinnedInputs
    ) -> list[Timestamp]:
        """The times from the index's upper to the target at which an input has changed, or has
        failed, or a condition on the time has become true or false for a row."""
        lower, upper = work.upper, Timestamp(work.target + 1)
        versions = pins.of(work.index, state.groups)
        changed = maintenance.change_times(
            [version.without_errors for version in versions.values()], lower, upper
        )
        bounds = [at for version in versions.values() for at in version.error_times]
        changes = [*changed, *(at for at in bounds if lower <= at < upper)]
        return (
            self._with_due_times(work, changes, versions) if reads_now(work.index.plan) else changes
        )

    def _with_due_times(
        self,
        work: _IndexRefresh,
        changes: list[Timestamp],
        versions: Mapping[StorageCollectionId, Version],
    ) -> list[Timestamp]:
        index, lower = work.index, work.upper
        limit, work.due = self.settings.refresh_times_limit, frozenset()
        inputs = {id: plan_input(id, version) for id, version in versions.items()}
        work.steps_by_time = self._steps.can_step_by_time(index, inputs, work.target)
        next_due = self.results.next_due(index.id, lower)
        if changes or next_due is None or next_due <= work.target:
            since = lower if self._is_new(work) else Timestamp(lower - 1)
            if since < work.readable_from <= work.target:  # what was due before is not known
                since = work.readable_from
                changes = [since, *(at for at in changes if at > since)]
            change_times = with_due_times(
                index.plan,
                [at for at in changes if at > since],
                since=since,
                through=work.target,
                due=lambda at: self._steps.due_after(index, versions, at),
                limit=_DUE_TIMES if work.steps_by_time else limit,
            )
            if change_times.next_due is not None:  # all of them are known
                work.due = frozenset(change_times.times) - set(changes)
            changes, next_due = sorted({*changes, *change_times.times}), change_times.next_due
        self.results.due(index.id, Timestamp(work.target + 1), next_due)
        return changes

    def _may_forget(self, index: Dataflow, upper: Timestamp) -> bool:
        """Whether nobody reads the index below ``upper``; if so, nobody will."""
        try:
            self.frontiers.allow_compaction(index.id, upper)
        except SinceHeld:
            return False
        return True

    def _take_steps(
        self,
        works: Sequence[_IndexRefresh],
        idle: Sequence[_IndexRefresh],
        state: RoundState,
        pins: PinnedInputs,
    ) -> None:
        """Take the planned steps of ``works``, and publish with the first of them that nothing
        touched ``idle``."""
        for number in range(max(len(work.step_times) for work in works)):
            stepping = [work for work in works if work.is_open and number < len(work.step_times)]
            claims = self._claim(stepping, number)
            failpoint("refresh.after_claim")
            with ExitStack() as leases:
                for id, claim in claims.items():
                    leases.enter_context(
                        HeldClaim(self.frontiers, id, claim, self.settings.claim_lease_ms)
                    )
                self._append(
                    [work for work in stepping if work.index.id in claims], number, state, pins
                )
                self._publish([*idle, *(work for work in stepping if work.is_open)], claims)
                idle = []
            failpoint("refresh.after_publish")

    def _claim(self, works: Sequence[_IndexRefresh], number: int) -> dict[GlobalId, Claim]:
        """The claims of those that could be claimed; the others have failed."""
        requests = [
            ClaimRequest(
                work.index.id,
                work.step_times[number][-1],
                work.upper,
                {
                    "kind": "refresh",
                    "index": work.index.id,
                    "since": work.steps.since or 0,
                    "times": work.step_times[number],
                },
            )
            for work in works
        ]
        answers = self.frontiers.rounds.claim(
            requests, owner=self.owner, lease_ms=self.settings.claim_lease_ms
        )
        claims: dict[GlobalId, Claim] = {}
        for work in works:
            answer = answers[work.index.id]
            if isinstance(answer, Claim):
                claims[work.index.id] = answer
            else:
                work.failure = answer
        return claims

    def _append(
        self, works: Sequence[_IndexRefresh], number: int, state: RoundState, pins: PinnedInputs
    ) -> None:
        """Take step ``number`` of each index. While one is computed, the one before is appended,
        which mostly waits for the disk."""
        if len(works) == 1:
            _guarded(works[0], lambda: self._prepare(works[0], number, state, pins)())
            return
        with ThreadPoolExecutor(1, "append") as appending:
            appended: list[tuple[_IndexRefresh, Future[None]]] = []
            for work in works:
                with _failures_of(work):
                    prepared = self._prepare(work, number, state, pins)
                    appended.append((work, appending.submit(prepared)))
            for work, future in appended:
                with _failures_of(work):
                    future.result()

    def _prepare(
        self, work: _IndexRefresh, number: int, state: RoundState, pins: PinnedInputs
    ) -> Callable[[], None]:
        """Compute a step. The call appends it."""
        began_ns, times = time.monotonic_ns(), work.step_times[number]
        versions = pins.of(work.index, state.groups)
        prepared = self._steps.prepare(work.index, times, versions, is_repeated=False)
        computed_ns = time.monotonic_ns() - began_ns

        def append() -> None:
            began_ns = time.monotonic_ns()
            work.appended(times, prepared())
            took_ns = computed_ns + time.monotonic_ns() - began_ns
            work.duration_ns += took_ns
            self.results.took(work.index.id, took_ns / 1e9)

        return append

    def _publish(self, works: Sequence[_IndexRefresh], claims: Mapping[GlobalId, Claim]) -> None:
        """Publish the claims, and bring the indexes without one up to their targets."""
        publications = [_publication(work, claims.get(work.index.id)) for work in works]
        answers = self.frontiers.rounds.publish(publications)
        for work, publication in zip(works, publications, strict=True):
            work.failure = answers[work.index.id]
            if work.failure is None:
                work.upper = publication.upper
                work.is_over = publication.upper > work.target
                self.results.published(work.index.id, work.upper, work.error)

    @property
    def _steps(self) -> IndexSteps:
        return IndexSteps(
            self.lake, self.settings, self.small, self.large, self.costs, self.results.failing_rows
        )


@contextmanager
def _failures_of(work: _IndexRefresh) -> Iterator[None]:
    """A failure within is that of this index, and the others go on."""
    try:
        yield
    except Exception as failure:  # the edge of the work on one index
        work.failure = failure


def _guarded(work: _IndexRefresh, action: Callable[[], None]) -> None:
    with _failures_of(work):
        action()


def _lasting(errors: ErrorIntervals) -> ErrorInterval | None:
    """The error that lasts."""
    return errors[-1] if errors and errors[-1].upper is None else None


def _publication(work: _IndexRefresh, claim: Claim | None) -> Publication:
    """Inputs hold nothing between the last change and the target, so the last step is published up
    to the target."""
    if claim is None:
        return Publication(work.index.id, Timestamp(work.target + 1))
    is_last = work.is_last and claim.at == work.steps.times[-1]
    upper = Timestamp((work.target if is_last else claim.at) + 1)
    return Publication(work.index.id, upper, claim, Timestamp(claim.payload["since"]))


def _levels(works: Sequence[_IndexRefresh]) -> list[list[_IndexRefresh]]:
    """The indexes in the order in which they can be refreshed: none reads another of its level, or
    of a later one."""
    levels: dict[GlobalId, int] = {}
    for work in works:
        levels[work.index.id] = max(
            (level + 1 for id, level in levels.items() if id in work.groups), default=0
        )
    return [
        [work for work in works if levels[work.index.id] == level]
        for level in range(max(levels.values(), default=-1) + 1)
    ]
