"""Passwords of roles, kept as their verifiers.

They lie beside the catalog, not in it: what dumps it, copies it or logs its changes never sees them.
"""

from __future__ import annotations

import sqlalchemy as sa

from reclock.consensus import fence
from reclock.consensus.fence import Leadership
from reclock.consensus.store import Consensus, metadata

_passwords = sa.Table(
    "reclock_passwords",
    metadata,
    sa.Column("role_id", sa.Text, primary_key=True),
    sa.Column("verifier", sa.Text, nullable=False),
)


class Passwords:
    """The verifiers by id of the role. Ids are never reused, so what is left of a dropped role opens nothing."""

    def __init__(self, consensus: Consensus, leadership: Leadership) -> None:
        self._consensus = consensus
        self._leadership = leadership

    def get_all(self) -> dict[str, str]:
        return self._consensus.read(
            lambda connection: {row.role_id: row.verifier for row in connection.execute(sa.select(_passwords))}
        )

    def set(self, role_id: str, verifier: str | None) -> None:
        """None takes the password away."""

        def write(connection: sa.Connection) -> None:
            fence.check(connection, self._leadership)
            connection.execute(sa.delete(_passwords).where(_passwords.c.role_id == role_id))
            if verifier is not None:
                connection.execute(sa.insert(_passwords).values(role_id=role_id, verifier=verifier))

        self._consensus.transact(write)
