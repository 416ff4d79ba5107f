"""Refreshing an index, under the same protocol of claims and publication as a source."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from reclock.algebra.error_intervals import ErrorInterval, with_answer, with_error
from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.collections.lake import Lake
from reclock.collections.schema import arrow_schema
from reclock.collections.version import Version
from reclock.compute import maintenance, peeks
from reclock.compute.costs import RefreshCosts, RefreshWork
from reclock.compute.engines.engine import Engine, Inputs
from reclock.compute.failing_rows import with_row
from reclock.compute.maintenance import MaintenanceMode
from reclock.config import Settings
from reclock.consensus.frontiers.groups import Claim, Frontiers
from reclock.consensus.frontiers.holds import ReadHolds
from reclock.consensus.frontiers.input_holds import advance_input_holds, hold_inputs
from reclock.errors import ErrorAtTime, EvaluationError, InternalError, SinceHeld, UnsupportedSql
from reclock.failpoints import failpoint
from reclock.ingest.lease import HeldClaim
from reclock.ingest.progress import plan_input
from reclock.plan.relational import collections
from reclock.protocol.compute import Dataflow, Refreshed


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

    def refresh(self, index: Dataflow, at: Timestamp) -> Refreshed:
        """Bring the index up to ``at``, or as far as its inputs are complete. Repeating it changes
        nothing.

        The index distinguishes the times at which inputs changed, up to the limit of the settings.
        Beyond it, the index's ``since`` moves to the time of the refresh, unless the index is being
        read. If the query raises an error at a time, the index has that error at that time, and
        later times follow. Raises ``ClaimConflict`` while another replica refreshes the index.
        """
        done: list[Timestamp] = []
        updates, how = 0, None
        groups = {id.group for id in collections(index.plan)}
        hold_inputs(index.id, groups, self.frontiers, self.holds)
        standing = self.frontiers.take_over(index.id, owner=self.owner, lease_ms=self.settings.claim_lease_ms)
        if standing is not None:
            count, how = self._finish(index, standing, is_repeated=True)
            updates += count
            done.append(standing.at)
        inputs = self.frontiers.get_all(groups)
        target = Timestamp(min([at, *(frontier.upper - 1 for frontier in inputs.values())]))
        upper = self.frontiers.get(index.id).upper
        if target < upper:
            return Refreshed(index.name, upper, tuple(done), updates, how, self._error(index))
        readable_from = max((frontier.since for frontier in inputs.values()), default=Timestamp(0))
        is_over = False
        while not is_over:
            steps, is_over = self._steps(index, target, readable_from)
            for change_time in steps.times:
                payload = {"kind": "refresh", "index": index.id, "since": steps.since or 0}
                claim = self.frontiers.claim(
                    index.id, at=change_time, payload=payload, owner=self.owner, lease_ms=self.settings.claim_lease_ms
                )
                failpoint("refresh.after_claim")
                count, how = self._finish(index, claim)
                updates += count
                done.append(change_time)
        # The inputs hold nothing between the last change and the target.
        self.frontiers.advance_idle([index.id], Timestamp(target + 1))
        advance_input_holds(index.id, self.frontiers, self.holds)
        return Refreshed(index.name, Timestamp(target + 1), tuple(done), updates, how, self._error(index))

    def _steps(self, index: Dataflow, target: Timestamp, readable_from: Timestamp) -> tuple[maintenance.RefreshTimes, bool]:
        """The next times to refresh at, and whether these are all.

        A jump skips the times in between. While the index is read at one of them, as many times as
        the limit allows are kept, and the caller calls this again after them.
        """
        upper, limit = self.frontiers.get(index.id).upper, self.settings.refresh_times_limit
        changes = self._change_times(index, upper, Timestamp(target + 1))
        decide = partial(
            maintenance.refresh_times,
            upper=upper,
            at=target,
            changes=changes,
            is_new=self.lake.open(StorageCollectionId(index.id)).upper() == 0,
            readable_from=readable_from,
        )
        steps = decide(limit=limit)
        if not steps.is_jump or self._may_forget(index, upper):
            return steps, True
        apart = decide(limit=len(changes) + 1)
        return (apart, True) if apart.is_jump else (maintenance.RefreshTimes(apart.times[:limit]), False)

    def _may_forget(self, index: Dataflow, upper: Timestamp) -> bool:
        """Whether the index is not read below ``upper``. In that case it will not be."""
        try:
            self.frontiers.allow_compaction(index.id, upper)
        except SinceHeld:
            return False
        return True

    def _finish(self, index: Dataflow, claim: Claim, *, is_repeated: bool = False) -> tuple[int, MaintenanceMode | None]:
        """Append the claimed updates, and publish them. Returns the number of updates, and how they
        were computed; 0 and None if they were appended before, or if the query has an error at the
        claim's time.

        If the work ``is_repeated``, an internal error counts as an error of that time too, because
        it would stop all later times for good.
        """
        with HeldClaim(self.frontiers, index.id, claim, self.settings.claim_lease_ms) as held:
            count, how = self._append(index, claim.at, is_repeated=is_repeated)
            self.frontiers.publish({index.id: held.claim}, Timestamp(claim.at + 1), since=Timestamp(claim.payload["since"]))
        failpoint("refresh.after_publish")
        return count, how

    def _append(self, index: Dataflow, at: Timestamp, *, is_repeated: bool) -> tuple[int, MaintenanceMode | None]:
        """Make the content of the index at ``at``, rows or an error, durable in its collection. See
        ``_finish``."""
        own = self.lake.open(StorageCollectionId(index.id))
        version = own.pin()
        count, how = 0, None
        if version.upper <= at:
            inputs = {id: plan_input(id, version) for id, version in self._versions(index).items()}
            try:
                updates, how = self._updates(index, inputs, version, at)
                errors, count = with_answer(version.errors, at), updates.num_rows
            except (*maintenance.NO_ANSWER, InternalError) as error:
                if isinstance(error, InternalError) and not is_repeated:
                    raise
                if isinstance(error, EvaluationError):
                    error = with_row(error, index.plan, at, inputs, engine=self._engine(inputs, at), small=self.small)
                updates = arrow_schema(index.desc, with_updates=True).empty_table()
                errors = with_error(version.errors, at, error, is_first=version.upper == MINIMUM)
            own.append(
                updates,
                expected_upper=version.upper,
                new_upper=Timestamp(at + 1),
                errors=None if errors == version.errors else errors,
            )
            failpoint("refresh.after_append")
        return count, how

    def _updates(self, index: Dataflow, inputs: Inputs, stored: Version, at: Timestamp) -> tuple[pa.Table, MaintenanceMode]:
        """The updates at ``at``, computed in the cheaper of two ways, if there are two."""
        maintainer, before = maintenance.maintainer(index.plan, index.desc, index.id), stored.answered_through
        how = maintenance.maintenance_mode(maintainer, inputs, before)
        work = None if how is MaintenanceMode.RECOMPUTED or before is None else _work(inputs, before, at)
        if work is None:
            recomputing = replace(maintainer, mode=MaintenanceMode.RECOMPUTED)
            return self._compute(recomputing, inputs, stored, at), MaintenanceMode.RECOMPUTED
        how = self.costs.choose(index.id, work)
        builds, began = self.small.state_builds(index.id), time.monotonic()
        updates = self._compute(replace(maintainer, mode=how), inputs, stored, at)
        if self.small.state_builds(index.id) == builds:  # else it does not tell what the next one takes
            self.costs.record(index.id, how, work, time.monotonic() - began)
        return updates, how

    def _compute(self, kept: maintenance.Maintainer, inputs: Inputs, own: Version, at: Timestamp) -> pa.Table:
        """The updates at ``at``, computed by the suitable engine."""
        engine = self._engine(inputs, at)
        try:
            return maintenance.refresh(kept, engine, inputs, own, own.answered_through, [at])
        except UnsupportedSql:
            if engine is self.small:
                raise
            return maintenance.refresh(kept, self.small, inputs, own, own.answered_through, [at])  # it spills to disk

    def _change_times(self, index: Dataflow, lower: Timestamp, upper: Timestamp) -> list[Timestamp]:
        """The times in ``[lower, upper)`` at which an input changed or failed."""
        inputs = self._versions(index).values()
        changed = maintenance.change_times([version.without_errors for version in inputs], lower, upper)
        bounds = [at for version in inputs for at in version.error_times]
        return [*changed, *(at for at in bounds if lower <= at < upper)]

    def _error(self, index: Dataflow) -> ErrorInterval | None:
        """The error of the index at its newest time."""
        errors = self.lake.open(StorageCollectionId(index.id)).pin().errors
        return errors[-1] if errors and errors[-1].upper is None else None

    def _engine(self, inputs: Inputs, at: Timestamp) -> Engine:
        return self.large() if peeks.is_large(inputs, at, self.settings.spark_threshold_bytes) else self.small

    def _versions(self, index: Dataflow) -> dict[StorageCollectionId, Version]:
        return {id: self.lake.open(id).pin() for id in collections(index.plan)}


def _work(inputs: Inputs, before: Timestamp, at: Timestamp) -> RefreshWork | None:
    """What a refresh reads, from the answer ``before``; None if an input had an error since then,
    so that it has no changes."""
    all_bytes = peeks.bytes_to_read(inputs, at)
    try:
        return RefreshWork(all_bytes, peeks.bytes_to_read(inputs, at, after=before))
    except ErrorAtTime:
        return None
