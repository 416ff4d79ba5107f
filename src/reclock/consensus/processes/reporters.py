"""The reporters of introspection: one reporter at a time writes the rows of a replica or process.

The reporter of a name has a *token*, and a lease on the database's clock. Taking a name gives a new
token, and every write checks its tokens in its own transaction. So rows of an earlier reporter are
not written after another one began.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NewType

import sqlalchemy as sa

from reclock.algebra.timestamps import Timestamp
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


@dataclass(frozen=True, slots=True)
class ReporterLeases:
    """What a renewal found: the tokens whose leases were renewed, and whether a reporter has let
    its lease expire."""

    renewed: frozenset[Token]
    has_abandoned: bool


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
        """Become the reporter of all names whose leases have expired."""

        def work(connection: sa.Connection) -> dict[str, Token]:
            now = self._consensus.now(connection)
            expired = sa.select(_reporters.c.name).where(_reporters.c.lease_until <= now)
            tokens = {name: Token(uuid.uuid4().hex) for name in connection.scalars(expired)}
            for name, token in tokens.items():
                connection.execute(
                    sa.update(_reporters)
                    .where(_reporters.c.name == name)
                    .values(token=token, lease_until=now + self.lease_ms)
                )
            return tokens

        return self._consensus.transact(fence.guard(self._leadership, work))

    def renew(self, tokens: Iterable[Token]) -> ReporterLeases:
        """As ``renew_within``, in a transaction of its own."""
        all_tokens = frozenset(tokens)

        def work(connection: sa.Connection) -> ReporterLeases:
            return self.renew_within(connection, self._consensus.now(connection), all_tokens)

        return self._consensus.transact(fence.guard(self._leadership, work))

    def renew_within(
        self, connection: sa.Connection, now: Timestamp, tokens: Iterable[Token]
    ) -> ReporterLeases:
        """Renew the leases of the tokens that are still valid, in a transaction that checks the
        epoch."""
        valid_tokens: set[Token] = set()
        for some in batches(sorted(tokens)):
            renewed = (
                sa.update(_reporters)
                .where(_reporters.c.token.in_(some))
                .values(lease_until=now + self.lease_ms)
                .returning(_reporters.c.token)
            )
            valid_tokens |= set(connection.scalars(renewed))
        expired = sa.select(_reporters.c.name).where(_reporters.c.lease_until <= now).limit(1)
        return ReporterLeases(frozenset(valid_tokens), connection.scalar(expired) is not None)

    def leave(self, tokens: Iterable[Token]) -> None:
        """Release the names, unless other reporters have taken them."""
        sorted_tokens = sorted(tokens)

        def work(connection: sa.Connection) -> None:
            for some in batches(sorted_tokens):
                connection.execute(sa.delete(_reporters).where(_reporters.c.token.in_(some)))

        if sorted_tokens:
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
    required_tokens = set(tokens)
    valid_tokens = {
        token
        for some in batches(sorted(required_tokens))
        for token in connection.scalars(
            sa.select(_reporters.c.token).where(_reporters.c.token.in_(some))
        )
    }
    if required_tokens - valid_tokens:
        raise ReportersGone(frozenset(required_tokens - valid_tokens))
