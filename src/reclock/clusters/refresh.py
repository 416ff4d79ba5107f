"""Refreshing an index: what a replica does to keep a maintained result, under the same claim-and-publish protocol as a source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reclock import crashpoints
from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.collections.lake import Lake
from reclock.compute import index as maintenance
from reclock.compute.inputs import CollectionInput, Input
from reclock.compute.plan import Plan, collections
from reclock.config import Settings
from reclock.consensus.frontiers import Claim, Frontiers
from reclock.consensus.holds import ReadHolds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """An index, resolved: ``plan`` reads collections only, ``desc`` is what it holds."""

    id: GlobalId
    name: str
    plan: Plan
    desc: RelationDesc


@dataclass(frozen=True, slots=True)
class IndexReport:
    """How far the index is complete now (``upper``, exclusive), at which times it was refreshed, and how many updates that gave."""

    index: str
    upper: Timestamp
    times: tuple[Timestamp, ...]
    updates: int


@dataclass(frozen=True, slots=True)
class Refresher:
    """Refreshes indexes with the stores of one environment."""

    frontiers: Frontiers
    holds: ReadHolds
    lake: Lake
    settings: Settings
    owner: str
    spark: Callable[[], SparkSession]

    def refresh(self, index: IndexSpec, at: Timestamp) -> IndexReport:
        """Bring the index up to ``at``, or as far as its inputs are complete. Repeating it changes nothing.

        Times at which inputs changed are kept apart, up to the limit of the settings; beyond it, and at the first refresh, the index's
        ``since`` moves to the time it was refreshed at. Raises ``ClaimConflict`` while another replica is at work.
        """
        standing = self.frontiers.take_over(index.id, owner=self.owner, lease_ms=self.settings.claim_lease_ms)
        updates = self._finish(index, standing) if standing is not None else 0
        times = [standing.at] if standing is not None else []
        groups = {id.source_id for id in collections(index.plan)}
        inputs = self.frontiers.get_all(groups)
        target = Timestamp(min([at, *(frontier.upper - 1 for frontier in inputs.values())]))
        own = self.frontiers.get(index.id)
        if target < own.upper:
            return IndexReport(index.name, own.upper, tuple(times), updates)
        is_first = self.lake.open(StorageCollectionId(index.id)).upper() == 0 and own.since == own.upper
        changed = maintenance.change_times(self._pinned(index), own.upper, target)
        step = maintenance.times_to_refresh(
            target, changed, is_first=is_first, limit=self.settings.refresh_times_limit
        )
        for time in step.times:
            payload = {"kind": "refresh", "index": index.id, "at": time, "moves_since": step.moves_since}
            claim = self.frontiers.claim(
                index.id, at=time, payload=payload, owner=self.owner, lease_ms=self.settings.claim_lease_ms
            )
            crashpoints.reach("refresh.after_claim")
            updates += self._finish(index, claim)
            times.append(time)
        # Its inputs hold nothing between the last change and the target.
        self.frontiers.advance_idle([index.id], Timestamp(target + 1))
        self._let_inputs_go(index, groups)
        return IndexReport(index.name, Timestamp(target + 1), tuple(times), updates)

    def _finish(self, index: IndexSpec, claim: Claim) -> int:
        """Append what the claim says, unless that was done, and publish it."""
        own = self.lake.open(StorageCollectionId(index.id))
        upper = own.upper()
        count = 0
        if upper <= claim.at:
            previous = None if claim.payload["moves_since"] and upper == 0 else upper
            found = maintenance.refresh(
                index.plan,
                index.desc,
                own,
                self._pinned(index),
                at=claim.at,
                threshold_bytes=self.settings.spark_threshold_bytes,
                spark=self.spark,
            )
            count = found.num_rows
            own.append(found, expected_upper=upper, new_upper=Timestamp(claim.at + 1))
            crashpoints.reach("refresh.after_append")
        since: Mapping[str, Timestamp] = {index.id: claim.at} if claim.payload["moves_since"] else {}
        self.frontiers.publish({index.id: claim}, Timestamp(claim.at + 1), since=since)
        crashpoints.reach("refresh.after_publish")
        return count

    def _pinned(self, index: IndexSpec) -> dict[StorageCollectionId, Input]:
        return {id: CollectionInput(self.lake.open(id).pin()) for id in collections(index.plan)}

    def _let_inputs_go(self, index: IndexSpec, groups: set[GlobalId]) -> None:
        """The index needs its inputs from its own upper on, and no earlier."""
        upper = self.frontiers.get(index.id).upper
        held = self.holds.owned_by(index.id)
        at = Timestamp(upper - 1)
        if not held:
            self.holds.acquire(groups, at, owner=index.id, lease_ms=None)
        for hold in held:
            self.holds.downgrade(hold, at)
