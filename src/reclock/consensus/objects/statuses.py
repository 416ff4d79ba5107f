"""The current statuses of sources, indexes and sinks, and their history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.database.batches import batches
from reclock.consensus.database.store import metadata
from reclock.consensus.leadership.fence import FencedWriter


def _status_columns() -> tuple[sa.Column[Any], ...]:
    return (
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("detail", sa.Text),
        sa.Column("hint", sa.Text),
        sa.Column("at", sa.BigInteger, nullable=False),
    )


_current = sa.Table(
    "reclock_status", metadata, sa.Column("name", sa.Text, primary_key=True), *_status_columns()
)

_history = sa.Table(
    "reclock_status_history",
    metadata,
    sa.Column(
        "id",
        sa.BigInteger().with_variant(sa.Integer, "sqlite"),
        primary_key=True,
        autoincrement=True,
    ),
    sa.Column("name", sa.Text, nullable=False, index=True),
    *_status_columns(),
)


@dataclass(frozen=True, slots=True)
class Status:
    """``at`` is when it began. ``error``, ``detail`` and ``hint`` say what stalls the object, if it
    is stalled."""

    name: str
    status: str
    error: str | None
    detail: str | None
    hint: str | None
    at: Timestamp

    def equals_except_time(self, other: Status) -> bool:
        """Whether the statuses differ at most in their time."""
        return (self.status, self.error, self.detail, self.hint) == (
            other.status,
            other.error,
            other.detail,
            other.hint,
        )

    def as_row(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "status": self.status,
            "error": self.error,
            "detail": self.detail,
            "hint": self.hint,
            "at": self.at,
        }


class Statuses(FencedWriter):
    """The statuses, as an actor of one epoch records them. A status equal to the current one adds
    nothing."""

    def record(
        self,
        name: str,
        status: str,
        *,
        error: str | None = None,
        detail: str | None = None,
        hint: str | None = None,
        at: Timestamp,
    ) -> None:
        """Make this the current status of ``name``, and append it to the history. Raises
        ``Fenced``."""
        self.record_all([Status(name, status, error, detail, hint, at)])

    def record_all(self, statuses: Iterable[Status]) -> None:
        """Record many statuses at one moment. If nothing changed, this is one read and no write."""
        latest = {status.name: status for status in statuses}
        if not _changed(latest, self.current(latest)):
            return

        def work(connection: sa.Connection) -> None:
            changed = _changed(latest, _get(connection, sorted(latest)))
            if not changed:
                return
            for some in batches(changed):
                connection.execute(
                    sa.delete(_current).where(_current.c.name.in_([status.name for status in some]))
                )
            rows = [status.as_row() for status in changed]
            connection.execute(sa.insert(_current), rows)
            connection.execute(sa.insert(_history), rows)

        self._write(work)

    def forget(self, names: Iterable[str]) -> None:
        """Delete the current statuses of these names. Their history stays."""
        dropped = sorted(set(names))

        def work(connection: sa.Connection) -> None:
            for some in batches(dropped):
                connection.execute(sa.delete(_current).where(_current.c.name.in_(some)))

        self._write(work)

    def prune(self, before: Timestamp) -> int:
        """Delete the history before ``before``. Returns the number of entries. Current statuses
        stay."""

        def work(connection: sa.Connection) -> int:
            return connection.execute(sa.delete(_history).where(_history.c.at < before)).rowcount

        return self._write(work)

    def current(self, names: Iterable[str] | None = None) -> dict[str, Status]:
        """The current status of each of the names, or of all. Names without a status are absent."""
        sorted_names = None if names is None else sorted(set(names))
        return self._consensus.read(lambda connection: _get(connection, sorted_names))

    def history(self, name: str | None = None) -> list[Status]:
        """Every status of ``name``, or of all names, since the history was pruned, in the order of
        recording."""
        query = sa.select(_history).order_by(_history.c.id)
        if name is not None:
            query = query.where(_history.c.name == name)
        return self._consensus.read(
            lambda connection: [_as_status(row) for row in connection.execute(query)]
        )


def _changed(statuses: Mapping[str, Status], present: Mapping[str, Status]) -> list[Status]:
    return [
        new
        for name, new in statuses.items()
        if name not in present or not new.equals_except_time(present[name])
    ]


def _get(connection: sa.Connection, names: list[str] | None) -> dict[str, Status]:
    every = sa.select(_current).order_by(_current.c.name)
    if names is None:
        return {row.name: _as_status(row) for row in connection.execute(every)}
    return {
        row.name: _as_status(row)
        for some in batches(names)
        for row in connection.execute(every.where(_current.c.name.in_(some)))
    }


def _as_status(row: sa.Row[Any]) -> Status:
    return Status(row.name, row.status, row.error, row.detail, row.hint, row.at)
