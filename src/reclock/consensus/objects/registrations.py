"""Tables of sinks that are registered in the catalogs of other programs.

A row is written before the other catalog is asked for anything, so that whatever is registered
there can be found and dropped, also if this process is killed in between.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.database.store import Consensus, metadata
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership

_registrations = sa.Table(
    "reclock_registration",
    metadata,
    sa.Column("sink_id", sa.Text, primary_key=True),
    sa.Column("sink", sa.Text, nullable=False),
    sa.Column("entry", sa.Text, nullable=False),
    sa.Column("former", sa.Text, nullable=False),
    sa.Column("is_registered", sa.Boolean, nullable=False),
    sa.Column("error", sa.Text),
    sa.Column("detail", sa.Text),
    sa.Column("hint", sa.Text),
    sa.Column("at", sa.BigInteger, nullable=False),
)


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A table as the catalog at ``url`` shows it. ``columns`` are names and types in its terms.
    ``owner`` is the sink, unique among those of all environments."""

    url: str
    namespace: str
    table: str
    location: str
    columns: tuple[tuple[str, str], ...]
    owner: str

    @property
    def name(self) -> str:
        return f"{self.namespace}.{self.table}"


@dataclass(frozen=True, slots=True)
class RegisteredTable:
    """The ``entry`` that a sink's table has in a catalog, or will have once it ``is_registered``.
    Until then, any of the ``former`` entries may still be there. ``error``, ``detail`` and ``hint``
    are of the last attempt, at ``at``, if it failed."""

    sink_id: str
    sink: str
    entry: TableEntry
    at: Timestamp
    former: tuple[TableEntry, ...] = ()
    is_registered: bool = False
    error: str | None = None
    detail: str | None = None
    hint: str | None = None


class Registrations:
    """The registrations of an environment. Writes need the current epoch."""

    def __init__(self, consensus: Consensus, leadership: Leadership) -> None:
        self._consensus = consensus
        self._leadership = leadership

    def get_all(self) -> dict[str, RegisteredTable]:
        """Every registration, by the id of its sink."""
        rows = self._consensus.look(sa.select(_registrations).order_by(_registrations.c.sink_id))
        return {row.sink_id: _decoded(row) for row in rows}

    def put(self, table: RegisteredTable) -> None:
        """Store this registration, which replaces that of the same sink."""

        def write(connection: sa.Connection) -> None:
            connection.execute(_delete(table.sink_id))
            connection.execute(sa.insert(_registrations).values(**_encoded(table)))

        self._consensus.transact(fence.guard(self._leadership, write))

    def forget(self, sink_id: str) -> None:
        """Delete the registration, because no catalog has the table any more."""
        self._consensus.transact(
            fence.guard(self._leadership, lambda connection: connection.execute(_delete(sink_id)))
        )


def _delete(sink_id: str) -> sa.Delete:
    return sa.delete(_registrations).where(_registrations.c.sink_id == sink_id)


def _encoded(table: RegisteredTable) -> dict[str, object]:
    row = {column.name: getattr(table, column.name) for column in _registrations.columns}
    row["entry"] = json.dumps(asdict(table.entry))
    row["former"] = json.dumps([asdict(entry) for entry in table.former])
    return row


def _decoded(row: sa.Row[tuple[object, ...]]) -> RegisteredTable:
    values = dict(row._mapping)
    values["entry"] = _entry(json.loads(row.entry))
    values["former"] = tuple(map(_entry, json.loads(row.former)))
    return RegisteredTable(**values)


def _entry(document: dict[str, Any]) -> TableEntry:
    columns = tuple((name, type) for name, type in document["columns"])
    return TableEntry(**document | {"columns": columns})
