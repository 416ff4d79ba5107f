"""Checks before an environment is opened that neither of its two stores was lost, or restored to an
earlier state."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import structlog

from reclock.algebra.timestamps import CATALOG, EPOCH_MS, MINIMUM, Timestamp
from reclock.catalog.durable import DurableCatalogState
from reclock.catalog.log import CatalogLog
from reclock.catalog.objects import IdAllocator, Kind
from reclock.catalog.persist import PersistLog
from reclock.collections.lake import Lake
from reclock.collections.marks import StoreMarks
from reclock.config import Settings
from reclock.errors import (
    CollectionDamaged,
    StoreRolledBack,
    UnknownCollection,
    UnknownTimeline,
    UpperMismatch,
)
from reclock.oracle.oracle import ConsensusOracle

_logger = structlog.get_logger(__name__)

_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class Loss:
    """What the lake still knows after a loss: the newest time, the objects, the newest mark."""

    newest_time: Timestamp
    ids: Set[str]
    mark: int


@dataclass(frozen=True, slots=True)
class StoreChecks:
    """The checks of one environment, before its catalog is open."""

    marks: StoreMarks
    log: CatalogLog
    oracle: ConsensusOracle
    settings: Settings

    def check(self, *, may_recover: bool) -> Loss | None:
        """None if both stores are as they were left. If consensus is new, the settings name an
        environment with its catalog in the lake, and the caller ``may_recover``: what the lake
        knows, to continue from.

        Raises ``StoreRolledBack`` if one of the stores is older than the other remembers.
        """
        newest = self.marks.newest_in_lake()
        is_lost = newest.number > 0 and self.marks.is_new()
        if (
            is_lost
            and may_recover
            and self.settings.environment_id
            and self.settings.catalog == "persist"
        ):
            return self.loss()
        if is_lost:
            raise StoreRolledBack("consensus", "the lake", found=0, expected=newest.number)
        self.marks.check()
        if isinstance(self.log, PersistLog):
            self._check_catalog()
        return None

    def loss(self) -> Loss:
        """What the lake knows. Reads the Delta log of every collection."""
        lake = Lake(self.settings.lake_root, self.settings.lake_options)
        newest = self.marks.newest_in_lake()
        times = [MINIMUM, (newest.timelines or {}).get(EPOCH_MS, MINIMUM)]
        collections = lake.list()
        for id in collections:
            try:
                times.append(Timestamp(max(lake.open(id).upper() - 1, MINIMUM)))
            except (CollectionDamaged, UnknownCollection) as broken:
                _logger.warning("a collection is left out", collection=str(id), error=str(broken))
        return Loss(
            max(times), {id.guest or id.source_id for id in collections}, max(newest.number, 1)
        )

    def _check_catalog(self) -> None:
        """Compare the catalog in the lake with the oracle, which gives out the time of each commit
        before the commit, and applies it afterwards."""
        try:
            before = self.oracle.state(CATALOG)
        except UnknownTimeline:
            return  # nothing was ever committed
        upper = self.log.upper()
        if upper < before.read_ts:
            raise StoreRolledBack(
                "the catalog in the lake", "consensus", found=upper, expected=before.read_ts
            )
        after = self.oracle.state(CATALOG)
        if upper - 1 > after.write_ts:
            raise StoreRolledBack(
                "consensus", "the catalog in the lake", found=after.write_ts, expected=upper - 1
            )


def reserve_ids(catalog: DurableCatalogState, ids: Set[str]) -> None:
    """Give no new item an id that is among ``ids`` or less than one of them."""
    numbers = [int(id[1:]) for id in ids if id.startswith("u") and id[1:].isdecimal()]
    for attempt in range(1, _ATTEMPTS + 1):
        catalog.sync()
        tx = catalog.transaction()
        allocator: IdAllocator = tx.snapshot.all(Kind.ID_ALLOCATOR)["user"]
        tx.update(
            IdAllocator("user", max([allocator.next_id, *(number + 1 for number in numbers)]))
        )
        try:
            catalog.commit_transaction(tx)
            return
        except UpperMismatch:
            if attempt == _ATTEMPTS:
                raise
