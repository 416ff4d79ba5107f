"""The environment's mark in consensus: its id, and the catalog implementation in use."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from reclock.consensus.database.store import metadata
from reclock.errors import ConfigurationError

_environment = sa.Table(
    "reclock_environment",
    metadata,
    sa.Column(
        "one", sa.Integer, sa.CheckConstraint("one = 1"), primary_key=True, autoincrement=False
    ),
    sa.Column("id", sa.Text, nullable=False),
    sa.Column("catalog", sa.Text, nullable=False),
    sa.Column("is_copy", sa.Boolean, nullable=False, server_default=sa.false()),
)


@dataclass(frozen=True, slots=True)
class EnvironmentMark:
    """``id`` never changes. The places of lake tables that must be found without consensus are
    derived from it."""

    id: str
    catalog: str


def current(connection: sa.Connection) -> EnvironmentMark | None:
    """None before the environment was first initialised."""
    row = connection.execute(sa.select(_environment.c.id, _environment.c.catalog)).one_or_none()
    return EnvironmentMark(row.id, row.catalog) if row else None


def establish(
    connection: sa.Connection, mark: EnvironmentMark, *, is_copy: bool = False
) -> EnvironmentMark:
    """The environment's mark: the existing one, else ``mark``. Call it in a write transaction."""
    stored = current(connection)
    if stored is None:
        row = {"one": 1, "id": mark.id, "catalog": mark.catalog, "is_copy": is_copy}
        connection.execute(sa.insert(_environment).values(row))
    return stored or mark


def is_copy(connection: sa.Connection) -> bool:
    """Whether the environment was restored to another place than that of the one that was backed
    up, which may still run, and has not taken its place."""
    return bool(connection.scalar(sa.select(_environment.c.is_copy)))


def take_over(connection: sa.Connection) -> None:
    """Let a copy take the place of the environment that was backed up, in a write transaction."""
    connection.execute(sa.update(_environment).values(is_copy=False))


def switch_catalog(connection: sa.Connection, *, source: str, target: str) -> None:
    """Use another implementation of the catalog from now on, in a write transaction. Repeating it
    changes nothing.

    Raises ``ConfigurationError`` if neither ``source`` nor ``target`` is in use.
    """
    mark = current(connection)
    if mark is None or mark.catalog not in (source, target):
        raise ConfigurationError(
            f'the catalog in force is not "{source}"',
            detail="there is no mark" if mark is None else f'it is "{mark.catalog}"',
        )
    connection.execute(sa.update(_environment).values(catalog=target))
