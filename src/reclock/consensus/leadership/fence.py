"""Fencing: consensus mirrors the leadership of the catalog, and every write compares its writer's
leadership with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import sqlalchemy as sa

from reclock.consensus.database.compiled import CompiledStatement
from reclock.consensus.database.store import Consensus, metadata
from reclock.errors import Fenced, LeadershipUnknown

T = TypeVar("T")

_leadership = sa.Table(
    "reclock_leadership",
    metadata,
    sa.Column(
        "id", sa.Integer, sa.CheckConstraint("id = 1"), primary_key=True, autoincrement=False
    ),
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Column("deploy_generation", sa.BigInteger, nullable=False),
)
_CURRENT = CompiledStatement(sa.select(_leadership.c.epoch, _leadership.c.deploy_generation))


@dataclass(frozen=True, slots=True)
class Leadership:
    """The opening of the catalog that a process belongs to. Actors that joined one epoch share it.
    A later epoch fences all of them."""

    epoch: int
    deploy_generation: int

    @property
    def rank(self) -> tuple[int, int]:
        """The order of leaderships: by deploy generation, then by epoch."""
        return (self.deploy_generation, self.epoch)


def current(connection: sa.Connection) -> Leadership | None:
    """The current leadership, or None before the catalog was first opened."""
    rows = _CURRENT.rows(connection)
    return Leadership(*rows[0]) if rows else None


def known_epoch(connection: sa.Connection) -> int:
    """The current epoch, or 0 before the first."""
    in_force = current(connection)
    return in_force.epoch if in_force is not None else 0


def advance(connection: sa.Connection, to: Leadership) -> None:
    """Mirror the catalog's leadership, in a write transaction. Raises ``Fenced`` if a higher one is
    current."""
    in_force = current(connection)
    values = {"epoch": to.epoch, "deploy_generation": to.deploy_generation}
    if in_force is None:
        connection.execute(sa.insert(_leadership).values(id=1, **values))
    elif to.rank < in_force.rank:
        raise fenced(to, in_force)
    elif to != in_force:
        connection.execute(sa.update(_leadership).values(values))


def check(connection: sa.Connection, writer: Leadership) -> None:
    """Raises ``Fenced`` unless ``writer`` is the current leadership. Call it in the transaction
    that it guards."""
    require(writer, current(connection))


def require(writer: Leadership, in_force: Leadership | None) -> None:
    """Raises ``Fenced`` unless ``in_force`` equals ``writer``, and ``LeadershipUnknown`` if there
    is none."""
    if in_force is None:
        raise LeadershipUnknown(writer=(writer.epoch, writer.deploy_generation))
    if in_force != writer:
        raise fenced(writer, in_force)


def fenced(writer: Leadership, in_force: Leadership) -> Fenced:
    """The error for a writer with the leadership ``writer``, if ``in_force`` is the current one."""
    return Fenced(
        writer=(writer.epoch, writer.deploy_generation),
        in_force=(in_force.epoch, in_force.deploy_generation),
    )


def guard(writer: Leadership, work: Callable[[sa.Connection], T]) -> Callable[[sa.Connection], T]:
    """``work`` after a check in the same transaction."""

    def guarded(connection: sa.Connection) -> T:
        check(connection, writer)
        return work(connection)

    return guarded


class FencedWriter:
    """A part of consensus, as an actor of one epoch reads and writes it."""

    def __init__(self, consensus: Consensus, leadership: Leadership) -> None:
        self._consensus = consensus
        self._leadership = leadership

    def _write(self, work: Callable[[sa.Connection], T]) -> T:
        """The result of ``work``, in one transaction. Raises ``Fenced`` once the epoch is over."""
        return self._consensus.transact(guard(self._leadership, work))
