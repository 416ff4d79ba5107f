"""Backup: copies both stores as they were at one time, while writers continue.

The moment of a backup is that of one read of consensus. For each table of the lake, two versions
are known: one from before that moment and one from after. Of the versions between them, the backup
copies the newest one whose upper was published at that moment, or that a claim allowed to be
written. So the copy is what a crash at that moment would have left, and opening it finishes the
claimed work.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.timestamps import CATALOG, EPOCH_MS, MAXIMUM, Timestamp
from reclock.catalog.persist import persist_folder
from reclock.catalog.persist_state import UPPER
from reclock.collections.folder import ERRORS, STAGING, Folder, fsync
from reclock.collections.table_copy import TableState, copy_table, newest_state, version_below
from reclock.collections.table_wal import TableWal
from reclock.consensus.database.copying import copy_all
from reclock.consensus.database.store import Consensus
from reclock.consensus.frontiers.groups import Frontiers, GroupFrontier
from reclock.errors import BackupFailed, ConfigurationError, NotReadable, UnknownCollection
from reclock.failpoints import failpoint
from reclock.oracle.oracle import ConsensusOracle
from reclock.runtime.stores import Stores

MANIFEST = "manifest.json"
DATA = "data"
CONSENSUS = "consensus.db"
LAKE = "lake"
CATALOG_FOLDER = "catalog"
FORMAT = 1

_ATTEMPTS = 5
_EXTRAS = (STAGING, "_failures", ERRORS)


@dataclass(frozen=True, slots=True)
class BackupReport:
    """``time`` is the newest readable time of the backup."""

    folder: Path
    time: Timestamp
    collections: int
    size_bytes: int


def back_up(stores: Stores, to: Path) -> BackupReport:
    """Copy both stores into the new folder ``to``, consistent and durable, while writers continue.

    Raises ``ConfigurationError`` if the folder exists and is not empty, ``BackupFailed`` if
    maintenance deletes files faster than they are copied.
    """
    if to.exists() and any(to.iterdir()):
        raise ConfigurationError(
            f'"{to}" is not empty', hint="a backup goes into a folder of its own"
        )
    to.mkdir(parents=True, exist_ok=True, mode=0o700)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return _Attempt(stores, to, to / DATA).run()
        except (BackupFailed, NotReadable, UnknownCollection):
            shutil.rmtree(to / DATA, ignore_errors=True)
            if attempt == _ATTEMPTS:
                raise
    raise BackupFailed("no attempt was made")


@dataclass(frozen=True, slots=True)
class _Attempt:
    stores: Stores
    to: Path
    folder: Path

    def run(self) -> BackupReport:
        self.folder.mkdir(mode=0o700)
        with ExitStack() as holds:
            # what they have is in their targets
            sinks = {sink.id for sink in self.stores.planner_catalog().sinks()}
            for group, frontier in self.stores.frontiers.get_all().items():
                if group in sinks:
                    continue
                holds.enter_context(
                    self.stores.shared_holds.held(frozenset({group}), frontier.since)
                )
            before = self._states()
            failpoint("backup.before_consensus")
            consensus = Consensus.connect(f"sqlite:///{self.folder / CONSENSUS}")
            try:
                copy_all(self.stores.consensus, consensus)
                failpoint("backup.after_consensus")
                size_bytes = self._copy_catalog(ConsensusOracle(consensus, self.stores.clock))
                copied = self._copy_collections(consensus, before)
                time = ConsensusOracle(consensus, self.stores.clock).read_ts(EPOCH_MS)
            finally:
                consensus.close()
        fsync(str(self.folder / CONSENSUS))
        self._finish(time, copied)
        return BackupReport(self.to, time, len(copied), size_bytes + sum(copied.values()))

    def _states(self) -> dict[StorageCollectionId, TableState]:
        lake = self.stores.lake
        states = {id: newest_state(lake.folder_of(id), str(id)) for id in lake.list()}
        return {id: state for id, state in states.items() if state is not None}

    def _copy_collections(
        self, consensus: Consensus, before: Mapping[StorageCollectionId, TableState]
    ) -> dict[str, int]:
        """Copy all collections. Returns the bytes of each."""
        leadership = self.stores.leadership
        groups = Frontiers(consensus, leadership).get_all()
        staged = TableWal(consensus, leadership, self.stores.clock).pending()
        copied = {}
        for id in sorted({*before, *self.stores.lake.list()}):
            folder = self.stores.lake.folder_of(id)
            target = Folder(str(self.folder / LAKE / str(id)))
            newest = newest_state(folder, str(id))
            if newest is None:
                raise BackupFailed(f'"{id}" was dropped while it was to be copied')
            first = before.get(id, TableState(0, Timestamp(0)))
            version = version_below(folder, str(id), first, newest, _limit(groups.get(id.group)))
            copied[str(id)] = copy_table(folder, version, target, _EXTRAS)
            failpoint("backup.collection_copied")
        for write in staged:
            if write.payload.staged is not None:
                id = StorageCollectionId.parse(f"{write.table}/table")
                path = (
                    self.folder / LAKE / str(id) / STAGING / write.payload.staged / "rows.parquet"
                )
                if not path.exists():
                    raise BackupFailed(f'the staged rows of "{id}" went before they were copied')
        return copied

    def _copy_catalog(self, oracle: ConsensusOracle) -> int:
        """Copy a catalog in the lake: the commits whose times the oracle had given out."""
        settings, mark = self.stores.settings, self.stores.mark
        if mark.catalog == "stash":
            return 0
        folder = persist_folder(settings.lake_root, mark.id, settings.lake_options)
        newest = newest_state(folder, UPPER)
        if newest is None:
            raise BackupFailed("the catalog in the lake is missing")
        limit = Timestamp(oracle.state(CATALOG).write_ts + 1)
        if newest.upper > limit:
            raise BackupFailed("the catalog changed while consensus was copied")
        return copy_table(folder, newest.version, Folder(str(self.folder / CATALOG_FOLDER)))

    def _finish(self, time: Timestamp, copied: Mapping[str, int]) -> None:
        """Write the manifest last. A folder without it is not a backup."""
        leadership, mark = self.stores.leadership, self.stores.mark
        manifest = {
            "format": FORMAT,
            "environment_id": mark.id,
            "catalog": mark.catalog,
            "epoch": leadership.epoch,
            "deploy_generation": leadership.deploy_generation,
            "taken_at": self.stores.clock(),
            "time": time,
            "collections": dict(copied),
        }
        unfinished = self.to / f".{MANIFEST}"
        unfinished.write_text(json.dumps(manifest, indent=1) + "\n")
        fsync(str(unfinished))
        unfinished.rename(self.to / MANIFEST)
        fsync(str(self.to))


def _limit(group: GroupFrontier | None) -> Timestamp:
    """The upper up to which a collection of the group belongs to the backup's moment."""
    if group is None:
        return MAXIMUM  # of an object that is being made: the catalog decides
    return group.upper if group.claim is None else Timestamp(group.claim.at + 1)
