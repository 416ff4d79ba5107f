"""The fence: consensus mirrors who leads the catalog, and every write compares its writer with that."""

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
        """What decides between two: the deploy generation first, then the epoch."""
        return (self.deploy_generation, self.epoch)


def current(connection: sa.Connection) -> Leadership | None:
    """The leadership consensus knows; None before the catalog was first opened."""
    row = connection.execute(sa.select(_leadership.c.epoch, _leadership.c.deploy_generation)).one_or_none()
    return Leadership(row.epoch, row.deploy_generation) if row else None


def known_epoch(connection: sa.Connection) -> int:
    """The epoch consensus knows; 0 before the first."""
    found = current(connection)
    return found.epoch if found is not None else 0


def advance(connection: sa.Connection, to: Leadership) -> None:
    """Mirrors the catalog's leadership, within a write transaction. It only grows: raises ``Fenced`` if a higher one is there."""
    found = current(connection)
    values = {"epoch": to.epoch, "deploy_generation": to.deploy_generation}
    if found is None:
        connection.execute(sa.insert(_leadership).values(id=1, **values))
    elif to.rank < found.rank:
        raise fenced(to, found)
    elif to != found:
        connection.execute(sa.update(_leadership).values(values))


def check(connection: sa.Connection, own: Leadership) -> None:
    """Raises ``Fenced`` unless ``own`` is the current leadership. In the transaction of the write it guards."""
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
    """``work`` behind a check in the same transaction."""

    def guarded(connection: sa.Connection) -> T:
        check(connection, own)
        return work(connection)

    return guarded
