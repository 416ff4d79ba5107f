"""Passwords of roles, stored as verifiers.

They are stored beside the catalog, not in it, so that a dump, a copy or the history of the catalog
never contains them. The catalog refers to a verifier by a new, unique reference. A verifier is
stored before the catalog refers to it, and deleted after the catalog refers to another one. So a
crash in between leaves an unused verifier, and never a role without its password.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import sqlalchemy as sa

from reclock.consensus.database.store import metadata
from reclock.consensus.leadership.fence import FencedWriter

_passwords = sa.Table(
    "reclock_passwords",
    metadata,
    # the reference; the role's id before catalog version 4
    sa.Column("role_id", sa.Text, primary_key=True),
    sa.Column("verifier", sa.Text, nullable=False),
)


class Passwords(FencedWriter):
    """The verifiers by reference."""

    def get_all(self) -> dict[str, str]:
        return self._consensus.read(
            lambda connection: {
                row.role_id: row.verifier for row in connection.execute(sa.select(_passwords))
            }
        )

    def put(self, verifiers: Mapping[str, str]) -> None:
        """Store new verifiers by reference. They are durable when this returns."""

        def write(connection: sa.Connection) -> None:
            for reference, verifier in verifiers.items():
                connection.execute(
                    sa.insert(_passwords).values(role_id=reference, verifier=verifier)
                )

        self._write(write)

    def forget(self, references: Iterable[str]) -> None:
        """Delete the verifiers that still exist."""

        def write(connection: sa.Connection) -> None:
            connection.execute(
                sa.delete(_passwords).where(_passwords.c.role_id.in_(list(references)))
            )

        self._write(write)
