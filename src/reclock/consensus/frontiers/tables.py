"""The database tables of frontier groups, claims and read holds, and the reads that several modules
share."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from itertools import starmap
from typing import Any, NamedTuple

import sqlalchemy as sa

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.database.batches import batches
from reclock.consensus.database.compiled import CompiledStatement
from reclock.consensus.database.store import metadata
from reclock.consensus.frontiers.claims import Claim, GroupFrontier
from reclock.errors import UnknownCollection

frontiers = sa.Table(
    "reclock_frontier",
    metadata,
    sa.Column("group_id", sa.Text, primary_key=True),
    sa.Column("since", sa.BigInteger, nullable=False),
    sa.Column("upper", sa.BigInteger, nullable=False),
    sa.Column("claim_id", sa.Text, unique=True),
    sa.Column("claim_at", sa.BigInteger),
    sa.Column("claim_owner", sa.Text),
    sa.Column("claim_lease_until", sa.BigInteger),
    sa.Column("claim_payload", sa.Text),
    # the claim published last, so that a repeated publication is recognised
    sa.Column("published_claim_id", sa.Text),
    sa.Column("probed_at", sa.BigInteger),
    sa.CheckConstraint("0 <= since AND since <= upper", name="reclock_frontier_since"),
    sa.CheckConstraint("claim_id IS NULL OR upper <= claim_at", name="reclock_frontier_claim"),
)

read_holds = sa.Table(
    "reclock_read_hold",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("owner", sa.Text, nullable=False, index=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("lease_until", sa.BigInteger, index=True),  # NULL: until released
)

held_groups = sa.Table(
    "reclock_read_hold_group",
    metadata,
    sa.Column("hold_id", sa.Text, primary_key=True),
    sa.Column("group_id", sa.Text, primary_key=True, index=True),
)

backfills = sa.Table(  # the groups that are being backfilled
    "reclock_backfill",
    metadata,
    sa.Column("group_id", sa.Text, primary_key=True),
)

restarts = sa.Table(  # see ``reclock.consensus.objects.restart_requests``
    "reclock_restart",
    metadata,
    sa.Column("group_id", sa.Text, primary_key=True),
    sa.Column("partition", sa.Text, primary_key=True),
    sa.Column("reading", sa.BigInteger, nullable=False),
)


class _GroupRow(NamedTuple):
    group_id: str
    since: Timestamp
    upper: Timestamp
    claim_id: str | None
    claim_at: Timestamp
    claim_owner: str
    claim_lease_until: Timestamp
    claim_payload: str
    probed_at: Timestamp | None


_GROUPS = sa.select(*(frontiers.c[name] for name in _GroupRow._fields)).order_by(
    frontiers.c.group_id
)
_ALL_GROUPS = CompiledStatement(_GROUPS)
_SOME_GROUPS = CompiledStatement(
    _GROUPS.where(frontiers.c.group_id.in_(sa.bindparam("groups", expanding=True)))
)

UNCLAIMED: dict[str, Any] = dict.fromkeys(
    ("claim_id", "claim_at", "claim_owner", "claim_lease_until", "claim_payload")
)


def claimed(claim: Claim) -> dict[str, Any]:
    """The columns of a group with this claim."""
    return {
        "claim_id": claim.id,
        "claim_at": claim.at,
        "claim_owner": claim.owner,
        "claim_lease_until": claim.lease_until,
        "claim_payload": json.dumps(claim.payload, separators=(",", ":"), allow_nan=False),
    }


def get_group(connection: sa.Connection, group: str) -> GroupFrontier:
    """Raises ``UnknownCollection``."""
    for frontier in get_groups(connection, (group,)).values():
        return frontier
    raise UnknownCollection(group)


def get_groups(connection: sa.Connection, groups: Iterable[str] | None) -> dict[str, GroupFrontier]:
    """The existing ones of these groups, or all."""
    if groups is None:
        rows = _ALL_GROUPS.rows(connection)
    else:
        rows = [
            row
            for some in batches(groups)
            for row in _SOME_GROUPS.rows(connection, {"groups": some})
        ]
    return {row.group_id: _as_group(row) for row in starmap(_GroupRow, rows)}


def earliest_holds(
    connection: sa.Connection,
    now: Timestamp,
    groups: Collection[str] | None = None,
    *,
    leased_only: bool = False,
) -> dict[str, Timestamp]:
    """The earliest time that an active hold needs, for each of the groups that has a hold."""
    lasting = sa.or_(
        read_holds.c.lease_until > now,
        *([] if leased_only else [read_holds.c.lease_until.is_(None)]),
    )
    earliest = (
        sa.select(held_groups.c.group_id, sa.func.min(read_holds.c.at).label("at"))
        .join_from(held_groups, read_holds, read_holds.c.id == held_groups.c.hold_id)
        .where(lasting)
        .group_by(held_groups.c.group_id)
    )
    if groups is None:
        return {row.group_id: row.at for row in connection.execute(earliest)}
    among = held_groups.c.group_id.in_
    return {
        row.group_id: row.at
        for some in batches(groups)
        for row in connection.execute(earliest.where(among(some)))
    }


def owners_of_holds(
    connection: sa.Connection, now: Timestamp, owners: Iterable[str]
) -> frozenset[str]:
    """Those of the owners that have an active hold."""
    lasting = sa.or_(read_holds.c.lease_until > now, read_holds.c.lease_until.is_(None))
    query = sa.select(read_holds.c.owner).where(lasting).distinct()
    owners_with_holds: set[str] = set()
    for batch in batches(owners):
        owners_with_holds.update(connection.scalars(query.where(read_holds.c.owner.in_(batch))))
    return frozenset(owners_with_holds)


def _as_group(row: _GroupRow) -> GroupFrontier:
    claim = None
    if row.claim_id is not None:
        claim = Claim(
            row.claim_id,
            row.claim_at,
            row.claim_owner,
            row.claim_lease_until,
            json.loads(row.claim_payload),
        )
    return GroupFrontier(row.group_id, row.since, row.upper, claim, row.probed_at)
