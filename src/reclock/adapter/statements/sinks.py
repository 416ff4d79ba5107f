"""The sinks of the catalog, by name."""

from __future__ import annotations

from reclock.adapter.statements.sources import written_parts
from reclock.errors import UnknownObject
from reclock.sql.catalog.entries import SinkEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames

_NAMES = SessionNames()


def sinks(catalog: PlannerCatalog) -> list[SinkEntry]:
    """Every sink, in order of id."""
    return sorted(catalog.sinks(), key=lambda entry: int(entry.id[1:]))


def named_sink(catalog: PlannerCatalog, name: str) -> SinkEntry:
    """The sink of that name, as SQL would find it, qualified or not. Raises ``UnknownObject``."""
    entry = catalog.find(written_parts(name), _NAMES)
    if not isinstance(entry, SinkEntry):
        raise UnknownObject("sink", name)
    return entry
