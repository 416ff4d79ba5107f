"""Tables of sinks that are registered in the catalogs of other programs.

A row is written before the other catalog is asked for anything, so that whatever is registered
there can be found and dropped, also if this process is killed in between. Several processes may
work on one registration at once, so a write is decided on what is stored at that moment.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.database.store import metadata
from reclock.consensus.leadership.fence import FencedWriter

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


class Registrations(FencedWriter):
    """The registrations of an environment. Writes need the current epoch."""

    def get_all(self) -> dict[str, RegisteredTable]:
        """Every registration, by the id of its sink."""
        rows = self._consensus.look(sa.select(_registrations).order_by(_registrations.c.sink_id))
        return {row.sink_id: _decoded(row) for row in rows}

    def update(
        self,
        sink_id: str,
        decide: Callable[[RegisteredTable | None], RegisteredTable | None],
    ) -> RegisteredTable | None:
        """Store what ``decide`` makes of the sink's registration, in one transaction, and return
        it. None is no registration. ``decide`` may be called several times."""

        def write(connection: sa.Connection) -> RegisteredTable | None:
            of_sink = _registrations.c.sink_id == sink_id
            row = connection.execute(sa.select(_registrations).where(of_sink)).one_or_none()
            current = None if row is None else _decoded(row)
            table = decide(current)
            if table != current:
                connection.execute(sa.delete(_registrations).where(of_sink))
                if table is not None:
                    connection.execute(sa.insert(_registrations).values(**_encoded(table)))
            return table

        return self._write(write)


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
