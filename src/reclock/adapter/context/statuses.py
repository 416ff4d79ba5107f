"""The statuses of objects for users: hints propose statements by the present names of sources."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from reclock.algebra.ids import GlobalId
from reclock.catalog.objects import ItemType
from reclock.consensus.objects.statuses import Status
from reclock.errors import hint_about
from reclock.runtime.stores import Stores
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog


def current_statuses(
    stores: Stores, catalog: PlannerCatalog, ids: Iterable[str] | None = None
) -> dict[str, Status]:
    """The current status of each of the objects, or of all. Objects without one are absent."""
    statuses = stores.statuses.current(ids)
    return {id: _with_name(status, catalog) for id, status in statuses.items()}


def status_history(stores: Stores, catalog: PlannerCatalog, id: str | None = None) -> list[Status]:
    """Every status of the object, or of all, since the history was pruned, oldest first."""
    return [_with_name(status, catalog) for status in stores.statuses.history(id)]


def _with_name(status: Status, catalog: PlannerCatalog) -> Status:
    entry = catalog.entry(GlobalId(status.name))
    if status.hint is None or entry is None:
        return status
    if isinstance(entry, RelationEntry) and entry.type is ItemType.SOURCE:
        host = entry.source.host if entry.source is not None else None
        source = catalog.entry(host or entry.collection.source_id)
    else:
        source = catalog.source_read_by(entry.id)
    if source is None:
        return status
    return replace(status, hint=hint_about(str(source.name), status.hint))
