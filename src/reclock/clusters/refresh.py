"""Refreshing an index: what a replica does to keep a maintained result, under the same claim-and-publish protocol as a source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reclock import crashpoints
from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.timestamps import Timestamp
from reclock.collections.lake import Lake
from reclock.collections.version import Version
from reclock.compute import index as maintenance
from reclock.compute import peek
from reclock.compute.engines.engine import CollectionInput, Engine, Inputs
from reclock.compute.plan import collections
from reclock.config import Settings
from reclock.consensus.frontiers import Claim, Frontiers
from reclock.consensus.holds import ReadHolds
from reclock.consensus.input_holds import hold_inputs, let_inputs_go
from reclock.errors import UnsupportedSql
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

    def refresh(self, index: Dataflow, at: Timestamp) -> Refreshed:
        """Bring the index up to ``at``, or as far as its inputs are complete. Repeating it changes nothing.

        Times at which inputs changed are kept apart, up to the limit of the settings; beyond it the index's ``since`` moves to the
        time it was refreshed at. Raises ``ClaimConflict`` while another replica is at work.
        """
        done: list[Timestamp] = []
        updates, how = 0, None
        groups = {id.group for id in collections(index.plan)}
        hold_inputs(index.id, groups, self.frontiers, self.holds)
        standing = self.frontiers.take_over(index.id, owner=self.owner, lease_ms=self.settings.claim_lease_ms)
        if standing is not None:
            count, how = self._finish(index, standing)
            updates += count
            done.append(standing.at)
        inputs = self.frontiers.get_all(groups)
        target = Timestamp(min([at, *(frontier.upper - 1 for frontier in inputs.values())]))
        upper = self.frontiers.get(index.id).upper
        if target < upper:
            return Refreshed(index.name, upper, tuple(done), updates, how)
        steps = maintenance.refresh_times(
            upper=upper,
            at=target,
            changes=maintenance.change_times(list(self._versions(index).values()), upper, Timestamp(target + 1)),
            is_new=self.lake.open(StorageCollectionId(index.id)).upper() == 0,
            readable_from=max((frontier.since for frontier in inputs.values()), default=Timestamp(0)),
            limit=self.settings.refresh_times_limit,
        )
        for time in steps.times:
            payload = {"kind": "refresh", "index": index.id, "since": steps.since or 0}
            claim = self.frontiers.claim(
                index.id, at=time, payload=payload, owner=self.owner, lease_ms=self.settings.claim_lease_ms
            )
            crashpoints.reach("refresh.after_claim")
            count, how = self._finish(index, claim)
            updates += count
            done.append(time)
        # The inputs hold nothing between the last change and the target.
        self.frontiers.advance_idle([index.id], Timestamp(target + 1))
        let_inputs_go(index.id, self.frontiers, self.holds)
        return Refreshed(index.name, Timestamp(target + 1), tuple(done), updates, how)

    def _finish(self, index: Dataflow, claim: Claim) -> tuple[int, maintenance.How | None]:
        """Append what the claim says, and publish it. Answers how many updates that gave and how they were found; none and None if
        they were there already."""
        own = self.lake.open(StorageCollectionId(index.id))
        version = own.pin()
        count, how = 0, None
        if version.upper <= claim.at:
            inputs = {id: CollectionInput(version) for id, version in self._versions(index).items()}
            previous = Timestamp(version.upper - 1) if version.upper else None
            engine = self._engine(inputs, claim.at)
            kept = maintenance.maintainer(index.plan, index.desc)
            how = maintenance.way(kept, inputs, previous)
            try:
                found = maintenance.refresh(kept, engine, inputs, version, previous, [claim.at])
            except UnsupportedSql:
                if engine is self.small:
                    raise
                found = maintenance.refresh(kept, self.small, inputs, version, previous, [claim.at])  # it spills to disk
            count = found.num_rows
            own.append(found, expected_upper=version.upper, new_upper=Timestamp(claim.at + 1))
            crashpoints.reach("refresh.after_append")
        self.frontiers.publish({index.id: claim}, Timestamp(claim.at + 1), since=Timestamp(claim.payload["since"]))
        crashpoints.reach("refresh.after_publish")
        return count, how

    def _engine(self, inputs: Inputs, at: Timestamp) -> Engine:
        return self.large() if peek.is_large(inputs, at, self.settings.spark_threshold_bytes) else self.small

    def _versions(self, index: Dataflow) -> dict[StorageCollectionId, Version]:
        return {id: self.lake.open(id).pin() for id in collections(index.plan)}
