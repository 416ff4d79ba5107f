"""Names in the definition of a source or sink, resolved where it is planned."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from reclock.algebra.ids import GlobalId
from reclock.definitions.connections import Connection
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames
from reclock.sql.statements.connections.names import connection_of


@dataclass(frozen=True, slots=True)
class NameResolver:
    """Resolves names of connections, and records which were ``used``."""

    catalog: PlannerCatalog
    session: SessionNames
    used: set[GlobalId] = field(default_factory=set)

    def connection_in(self, node: exp.Expression, kind: str) -> Connection | None:
        """The connection that the clause CONNECTION of ``node`` names; None without one."""
        name = node.args.get("connection")
        return self.connection(name, kind) if name is not None else None

    def connection(self, name: exp.Table, kind: str) -> Connection:
        entry = connection_of(name, kind, self.catalog, self.session)
        self.used.add(entry.id)
        return entry.connection
