"""The fence: consensus mirrors the catalog's leadership, and every write compares its writer's leadership with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import sqlalchemy as sa

from reclock.consensus.database.store import metadata
from reclock.errors import Fenced, LeadershipUnknown

T = TypeVar("T")

_leadership = sa.Table(
    "reclock_leadership",
    metadata,
    sa.Column("id", sa.Integer, sa.CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Column("deploy_generation", sa.BigInteger, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Leadership:
    """Which opening of the catalog a process belongs to. Actors that joined one epoch share it; a later one fences them all."""

    epoch: int
    deploy_generation: int

    @property
    def rank(self) -> tuple[int, int]:
        """The order of leaderships: by deploy generation first, then by epoch."""
        return (self.deploy_generation, self.epoch)


def current(connection: sa.Connection) -> Leadership | None:
    """The leadership in consensus; None before the catalog was first opened."""
    row = connection.execute(sa.select(_leadership.c.epoch, _leadership.c.deploy_generation)).one_or_none()
    return Leadership(row.epoch, row.deploy_generation) if row else None


def known_epoch(connection: sa.Connection) -> int:
    """The epoch in consensus; 0 before the first."""
    leadership = current(connection)
    return leadership.epoch if leadership is not None else 0


def advance(connection: sa.Connection, to: Leadership) -> None:
    """Mirror the catalog's leadership, within a write transaction. Raises ``Fenced`` if consensus has a higher one."""
    known = current(connection)
    values = {"epoch": to.epoch, "deploy_generation": to.deploy_generation}
    if known is None:
        connection.execute(sa.insert(_leadership).values(id=1, **values))
    elif to.rank < known.rank:
        raise fenced(to, known)
    elif to != known:
        connection.execute(sa.update(_leadership).values(values))


def check(connection: sa.Connection, own: Leadership) -> None:
    """Raises ``Fenced`` unless ``own`` is the current leadership. Called in the transaction of the write that it guards."""
    require(own, current(connection))


def require(own: Leadership, found: Leadership | None) -> None:
    """Raises ``Fenced`` unless ``found`` is ``own``, ``LeadershipUnknown`` if there is none."""
    if found is None:
        raise LeadershipUnknown(own=(own.epoch, own.deploy_generation))
    if found != own:
        raise fenced(own, found)


def fenced(own: Leadership, found: Leadership) -> Fenced:
    """The error of a writer whose leadership is ``own`` where ``found`` is the current one."""
    return Fenced(own=(own.epoch, own.deploy_generation), found=(found.epoch, found.deploy_generation))


def guard(own: Leadership, work: Callable[[sa.Connection], T]) -> Callable[[sa.Connection], T]:
    """``work``, preceded by ``check`` in the same transaction."""

    def guarded(connection: sa.Connection) -> T:
        check(connection, own)
        return work(connection)

    return guarded
