"""Carries out what the storage controller commands: collections in the lake, frontier groups in consensus."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from reclock.algebra.ids import TABLES, GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.collections.lake import Lake
from reclock.collections.tables import Tables
from reclock.consensus.frontiers import Frontiers
from reclock.consensus.holds import ReadHolds
from reclock.consensus.statuses import Statuses
from reclock.protocol.frontier import AdvanceCatalogFrontier
from reclock.protocol.storage import CreateCollections, DropCollections, StillRead, StorageCommand


@dataclass(frozen=True, slots=True)
class Storage:
    """For one term of the controller: all its writes to consensus raise ``TermOver`` once that is over. What it does in the lake
    before is harmless: a collection without a group is nobody's, and maintenance takes it away."""

    lake: Lake
    tables: Tables
    frontiers: Frontiers
    holds: ReadHolds
    statuses: Statuses
    let_go: Callable[[Iterable[str]], None]
    """Gives back the holds on groups that this process keeps in store for reads to come."""
    publish: Callable[[Timestamp], None]

    def present(self) -> frozenset[GlobalId]:
        """See `StoragePlane`."""
        groups = self.frontiers.get_all().keys() - {TABLES}
        return self.tables.log.known() | {GlobalId(group) for group in groups}

    def carry_out(self, command: StorageCommand) -> StillRead | None:
        """See `StoragePlane`."""
        match command:
            case CreateCollections():
                self._create(command)
            case DropCollections(ids):
                return self._drop(ids)
            case AdvanceCatalogFrontier(to):
                self.publish(to)
        return None

    def _create(self, command: CreateCollections) -> None:
        """Collections first: a group that is there can be written, and so can a table that is registered."""
        if command.group == TABLES:
            self.frontiers.create(TABLES, since=command.since, upper=command.upper)
            for own in command.collections:
                self.tables.create(command.id, own.desc, at=command.since)
            return
        for own in command.collections:
            self.lake.create(own.id, own.desc, is_monotonic=own.is_monotonic)
        self.frontiers.create(command.group, since=command.since, upper=command.upper)

    def _drop(self, ids: tuple[GlobalId, ...]) -> StillRead | None:
        tables = self.tables.log.known() & set(ids)
        for id in sorted(tables):
            self.tables.drop(id)
        gone = sorted(set(ids) - tables)
        if not gone:
            return None
        for id in gone:
            for hold in self.holds.owned_by(id):  # what it held of its inputs
                self.holds.release(hold)
        self.let_go(gone)
        read = self.holds.earliest(gone)
        gone = [id for id in gone if id not in read]
        for id in gone:
            self.lake.drop_all(id)
        if gone:
            self.statuses.forget(gone)
            self.frontiers.drop(gone)
        return StillRead(tuple(GlobalId(id) for id in sorted(read))) if read else None
