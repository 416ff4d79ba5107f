"""Carries out the storage controller's commands: collections in the lake, frontier groups in
consensus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import structlog

from reclock.algebra.ids import INTROSPECTION, TABLES, GlobalId, StorageCollectionId
from reclock.algebra.timestamps import Timestamp
from reclock.collections.lake import Lake
from reclock.collections.tables import Tables
from reclock.consensus.frontiers.groups import Frontiers
from reclock.consensus.frontiers.holds import ReadHolds
from reclock.consensus.frontiers.input_holds import hold_inputs
from reclock.consensus.objects.statuses import Statuses
from reclock.consensus.objects.stored_objects import StoredObjects, Unready
from reclock.errors import (
    ConsensusOutcomeUnknown,
    ConsensusUnavailable,
    Fenced,
    ReclockError,
    TermOver,
    known_failure,
    plain_text,
)
from reclock.protocol.frontier import AdvanceCatalogFrontier
from reclock.protocol.storage import (
    CreateCollections,
    DropCollections,
    NotCreated,
    NotDropped,
    StorageCommand,
)

_logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Storage:
    """The storage plane for one term of the controller: its writes to consensus raise ``TermOver``
    after the term. Its earlier writes to the lake do no harm: maintenance deletes collections
    without a group."""

    lake: Lake
    tables: Tables
    frontiers: Frontiers
    holds: ReadHolds
    statuses: Statuses
    objects: StoredObjects
    release: Callable[[Iterable[str]], None]
    """Releases this process's idle shared holds on groups."""
    publish: Callable[[Timestamp], None]
    read_ts: Callable[[], Timestamp]
    """The time of a read that begins now."""
    _gone_since: dict[GlobalId, Timestamp] = field(default_factory=dict)

    def present(self) -> dict[GlobalId, str]:
        """See `StoragePlane`."""
        groups = self.frontiers.get_all().keys() - {TABLES, INTROSPECTION}
        made = self.tables.log.table_ids() | {GlobalId(group) for group in groups}
        known = self.objects.incarnations()
        return {id: known.get(id, "") for id in made}

    def carry_out(self, command: StorageCommand) -> NotCreated | NotDropped | None:
        """See `StoragePlane`."""
        match command:
            case CreateCollections(id):
                try:
                    self._create(command)
                except (Fenced, TermOver, ConsensusUnavailable, ConsensusOutcomeUnknown):
                    raise
                except Exception as failure:
                    # the edge of the loop over objects: the others are made
                    return _not_created(id, failure)
            case DropCollections(ids):
                return self._drop(ids)
            case AdvanceCatalogFrontier(to):
                self.publish(to)
        return None

    def report(self, failures: Sequence[NotCreated]) -> None:
        """See `StoragePlane`."""
        self.objects.set_unready(
            {failure.id: Unready(failure.error, failure.hint) for failure in failures}
        )

    def _create(self, command: CreateCollections) -> None:
        """Create the collections before their group, because a group that exists can be written, as
        can a registered table."""
        self.objects.adopt(command.id, command.incarnation, is_made=command.id in self.present())
        if command.group == TABLES:
            self.frontiers.create(TABLES, since=command.since, upper=command.upper)
            for collection in command.collections:
                self.tables.create(
                    command.id, collection.desc, at=command.since, incarnation=command.incarnation
                )
            return
        for collection in command.collections:
            self.lake.create(
                collection.id,
                collection.desc,
                is_monotonic=collection.is_monotonic,
                incarnation=command.incarnation,
            )
        if command.replaces is not None:
            self.statuses.forget({command.replaces})
            self.objects.forget({command.replaces})
            self.frontiers.replace(command.replaces, command.id, at=command.since)
        # a guest is in its host's group, which is there; one of its own says no more than that its
        # collections are
        self.frontiers.create(
            command.id,
            since=command.since,
            upper=command.upper,
            is_backfilled=command.is_backfilled,
        )
        if command.inputs:
            hold_inputs(command.id, command.inputs, self.frontiers, self.holds)

    def _drop(self, ids: tuple[GlobalId, ...]) -> NotDropped | None:
        tables = self.tables.log.table_ids() & set(ids)
        groups = set(ids) - tables
        late = self.lake.of_guests(groups)
        self.release([*groups, TABLES, *{id.group for id in late}])
        remaining = self._drop_tables(tables) | self._drop_late(late)
        remaining |= self._drop_groups(groups - remaining)
        self.objects.forget(set(ids) - remaining)
        return NotDropped(tuple(sorted(remaining))) if remaining else None

    def _drop_tables(self, ids: Set[GlobalId]) -> Set[GlobalId]:
        """Drop tables. Returns those that cannot be dropped yet. A hold does not say which tables
        it protects, so every earlier read counts."""
        if not ids:
            return set()
        read = self._still_read(ids, TABLES)
        return read | {id for id in sorted(ids - read) if not _succeeds(self.tables.drop, id)}

    def _drop_late(self, late: Iterable[StorageCollectionId]) -> Set[GlobalId]:
        """Drop late collections. Returns the guests that still have some. A hold on a group does
        not say which collections it protects either."""
        remaining: set[GlobalId] = set()
        for id in late:
            assert id.guest is not None
            if self._still_read({id.guest}, id.group) or not _succeeds(self.lake.drop, id):
                remaining.add(id.guest)
        return remaining

    def _still_read(self, ids: Set[GlobalId], group: str) -> Set[GlobalId]:
        """The objects that a read from before their drop may still use."""
        now, first_read = self.read_ts(), self.holds.earliest_read(group)
        return {
            id
            for id in ids
            if first_read is not None and first_read <= self._gone_since.setdefault(id, now)
        }

    def _drop_groups(self, ids: Set[GlobalId]) -> Set[GlobalId]:
        """Drop groups. Returns those that cannot be dropped yet."""
        if not ids:
            return set()
        for id in sorted(ids):
            for hold in self.holds.owned_by(id):  # what it held of its inputs
                self.holds.release(hold)
        held = self.holds.earliest(ids)
        read = {id for id in ids if id in held}
        dropped = {id for id in sorted(ids - read) if _succeeds(self.lake.drop_all, id)}
        if dropped:
            self.statuses.forget(dropped)
            self.frontiers.drop(dropped)
        return ids - dropped


def _not_created(id: GlobalId, failure: Exception) -> NotCreated:
    error = failure if isinstance(failure, ReclockError) else known_failure(failure)
    text = (
        plain_text(failure)
        if error is None
        else ": ".join(filter(None, (error.message, error.detail)))
    )
    _logger.warning("cannot make a collection", id=id, error=text)
    return NotCreated(id, text, None if error is None else error.hint)


def _succeeds(drop: Callable[[Any], None], id: GlobalId | StorageCollectionId) -> bool:
    """Whether the drop succeeded. A failed drop must not prevent later creations."""
    try:
        drop(id)
    except OSError as failure:
        _logger.warning("cannot drop a collection yet", id=str(id), error=str(failure))
        return False
    return True
