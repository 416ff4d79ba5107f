"""References to connections in other statements."""

from __future__ import annotations

from sqlglot import exp

from reclock.errors import InvalidOption, quoted_name
from reclock.sql.catalog.entries import ConnectionEntry
from reclock.sql.catalog.lookups import find_object
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, parts


def connection_of(
    node: exp.Table, kind: str, catalog: PlannerCatalog, session: SessionNames
) -> ConnectionEntry:
    """The connection of that name, which must be of ``kind``. ``node`` is then its full name.
    Raises ``InvalidOption``."""
    entry = find_object(parts(node), "CONNECTION", catalog, session)
    assert isinstance(entry, ConnectionEntry)
    if entry.connection.kind != kind:
        raise InvalidOption(
            f"connection {quoted_name(entry.name)} leads to {entry.connection.kind}, not to {kind}"
        )
    full = entry.name.to_table()
    for part in ("this", "db", "catalog"):
        node.set(part, full.args.get(part))
    return entry
