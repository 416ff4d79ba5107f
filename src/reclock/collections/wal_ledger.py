"""The database tables of the logs of tables and of introspection."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from reclock.algebra.ids import INTROSPECTION, TABLES
from reclock.consensus.database.store import metadata


@dataclass(frozen=True, slots=True)
class Ledger:
    """The database tables of one log. The tables that it writes are the frontier group ``group``,
    whose upper it moves.

    If ``is_applied``, times are the oracle's write timestamps, and each commit tells the oracle its
    time, so that later reads see it. Otherwise times are the clock's, and the newest rows are read
    below the group's upper.
    """

    group: str
    is_applied: bool
    records: sa.Table
    writes: sa.Table
    tables: sa.Table
    staging: sa.Table
    trimmed: sa.Table

    @classmethod
    def named(cls, prefix: str, group: str, *, is_applied: bool) -> Ledger:
        """The ledger whose database tables have names that begin with ``prefix``."""
        return cls(
            group,
            is_applied,
            sa.Table(
                f"{prefix}_record",
                metadata,
                sa.Column("at", sa.BigInteger, primary_key=True, autoincrement=False),
                # identifies a commit whose outcome is unknown
                sa.Column("token", sa.Text, nullable=False, unique=True),
            ),
            sa.Table(
                f"{prefix}_write",
                metadata,
                sa.Column("at", sa.BigInteger, primary_key=True, autoincrement=False),
                sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
                sa.Column("table_id", sa.Text, nullable=False, index=True),
                sa.Column("ipc", sa.LargeBinary),
                sa.Column("staged", sa.Text),
                sa.CheckConstraint(
                    "(ipc IS NULL) <> (staged IS NULL)", name=f"{prefix}_write_payload"
                ),
            ),
            sa.Table(
                prefix,
                metadata,
                sa.Column("table_id", sa.Text, primary_key=True),
                # the time of its creation, or of the last write
                sa.Column("last_write", sa.BigInteger, nullable=False),
            ),
            sa.Table(
                f"{prefix}_staging",
                metadata,
                sa.Column("name", sa.Text, primary_key=True),
                sa.Column("lease_until", sa.BigInteger, nullable=False),
            ),
            sa.Table(
                f"{prefix}_trimmed",
                metadata,
                sa.Column("table_id", sa.Text, primary_key=True),
                # writes below it are not in the log any more
                sa.Column("upper", sa.BigInteger, nullable=False),
            ),
        )


OF_TABLES = Ledger.named("reclock_table", TABLES, is_applied=True)


OF_INTROSPECTION = Ledger.named("reclock_introspection", INTROSPECTION, is_applied=False)
