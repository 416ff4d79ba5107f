"""The roles that see the statements of a session, as in PostgreSQL: superusers, its role, and the
members of that."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from reclock.catalog.roles import is_superuser, memberships
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.introspection.backends import Backend

HIDDEN = "<insufficient privilege>"
"""In the place of a text that the reader may not see."""


@dataclass(frozen=True, slots=True)
class IntrospectionReader:
    """The reader of a system relation: a role, in the session with this process id."""

    snapshot: CatalogSnapshot
    role_id: str
    process_id: int

    def sees(self, backend: Backend) -> bool:
        """Whether what that session executes may be told."""
        return (
            backend.process_id == self.process_id
            or self._sees_all
            or backend.role_id in self._roles
        )

    def redact(self, rows: pa.Table, of: str, private: tuple[str, ...]) -> pa.Table:
        """The rows, with ``HIDDEN`` in the columns ``private`` of those whose user, by the name in
        column ``of``, is not seen."""
        if self._sees_all or not private:
            return rows
        names = {self.snapshot.roles[id].name for id in self._roles}
        is_seen = pc.is_in(rows[of], pa.array(sorted(names), pa.string()))
        for name in private:
            texts = rows[name]
            hidden = pc.if_else(
                pc.is_valid(texts), pa.scalar(HIDDEN, texts.type), pa.scalar(None, texts.type)
            )
            rows = rows.set_column(
                rows.column_names.index(name),
                rows.schema.field(name),
                pc.if_else(is_seen, texts, hidden),
            )
        return rows

    @property
    def _sees_all(self) -> bool:
        return is_superuser(self.snapshot, self.role_id)

    @property
    def _roles(self) -> frozenset[str]:
        return memberships(self.snapshot, self.role_id)
