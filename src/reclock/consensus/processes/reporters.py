"""The reporters of introspection: one reporter at a time writes the rows of a replica or process.

The reporter of a name has a *token*, and a lease on the database's clock. Taking a name gives a new
token, and every write checks its tokens in its own transaction. So rows of an earlier reporter are
not written after another one began.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import NewType

import sqlalchemy as sa

from reclock.consensus.database.batches import batches
from reclock.consensus.database.store import Consensus, metadata
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import ReportersGone

Token = NewType("Token", str)

_reporters = sa.Table(
    "reclock_reporter",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("token", sa.Text, nullable=False, unique=True),
    sa.Column("lease_until", sa.BigInteger, nullable=False),
)


class Reporters:
    """The names and their reporters. Every write raises ``Fenced`` once the epoch is over."""

    def __init__(self, consensus: Consensus, leadership: Leadership, *, lease_ms: int) -> None:
        self.lease_ms = lease_ms
        self._consensus = consensus
        self._leadership = leadership

    def take(self, name: str) -> Token:
        """Become the reporter of the name, in place of any earlier one."""
        token = Token(uuid.uuid4().hex)

        def work(connection: sa.Connection) -> None:
            connection.execute(sa.delete(_reporters).where(_reporters.c.name == name))
            until = self._consensus.now(connection) + self.lease_ms
            connection.execute(
                sa.insert(_reporters).values(name=name, token=token, lease_until=until)
            )

        self._consensus.transact(fence.guard(self._leadership, work))
        return token

    def take_abandoned(self) -> dict[str, Token]:
        """Become the reporter of all names whose leases have expired. One read if there are
        none."""

        def find(connection: sa.Connection) -> list[str]:
            query = sa.select(_reporters.c.name).where(
                _reporters.c.lease_until <= self._consensus.now(connection)
            )
            return list(connection.scalars(query))

        def work(connection: sa.Connection) -> dict[str, Token]:
            tokens = {name: Token(uuid.uuid4().hex) for name in find(connection)}
            until = self._consensus.now(connection) + self.lease_ms
            for name, token in tokens.items():
                connection.execute(
                    sa.update(_reporters)
                    .where(_reporters.c.name == name)
                    .values(token=token, lease_until=until)
                )
            return tokens

        return (
            self._consensus.transact(fence.guard(self._leadership, work))
            if self._consensus.read(find)
            else {}
        )

    def renew(self, tokens: Iterable[Token]) -> frozenset[Token]:
        """Renew the leases of the tokens that are still valid. Returns these tokens."""
        wanted = sorted(tokens)

        def work(connection: sa.Connection) -> frozenset[Token]:
            until = self._consensus.now(connection) + self.lease_ms
            held: set[Token] = set()
            for some in batches(wanted):
                among = _reporters.c.token.in_(some)
                connection.execute(sa.update(_reporters).where(among).values(lease_until=until))
                held |= set(connection.scalars(sa.select(_reporters.c.token).where(among)))
            return frozenset(held)

        return (
            self._consensus.transact(fence.guard(self._leadership, work)) if wanted else frozenset()
        )

    def leave(self, tokens: Iterable[Token]) -> None:
        """Release the names, unless other reporters have taken them."""
        held = sorted(tokens)

        def work(connection: sa.Connection) -> None:
            for some in batches(held):
                connection.execute(sa.delete(_reporters).where(_reporters.c.token.in_(some)))

        if held:
            self._consensus.transact(fence.guard(self._leadership, work))

    def current(self) -> dict[str, Token]:
        """The token of each name that has a reporter."""
        return self._consensus.read(
            lambda connection: {
                row.name: row.token for row in connection.execute(sa.select(_reporters))
            }
        )


def require(connection: sa.Connection, tokens: Iterable[Token]) -> None:
    """Raises ``ReportersGone`` with the tokens that are no longer valid. Call it in a write
    transaction."""
    wanted = set(tokens)
    held = {
        token
        for some in batches(sorted(wanted))
        for token in connection.scalars(
            sa.select(_reporters.c.token).where(_reporters.c.token.in_(some))
        )
    }
    if wanted - held:
        raise ReportersGone(frozenset(wanted - held))
