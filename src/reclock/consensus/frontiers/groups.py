"""Frontier groups: collections whose uppers move together, as one row of ``(since, upper, claim)``.

A writer claims a group at a time before it writes to the lake, and publishes the claim afterwards.
So everything below a published upper is in the lake, and for anything beyond it a claim says how to
finish it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import sqlalchemy as sa

from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.consensus.database.batches import batches
from reclock.consensus.database.store import Consensus
from reclock.consensus.frontiers.claims import (
    SWITCH,
    Claim,
    GroupFrontier,
    Payload,
    claim_conflict,
)
from reclock.consensus.frontiers.rounds import RefreshRounds
from reclock.consensus.frontiers.tables import (
    UNCLAIMED,
    backfills,
    claimed,
    earliest_holds,
    frontiers,
    get_group,
    get_groups,
    held_groups,
    read_holds,
    restarts,
)
from reclock.consensus.leadership.fence import FencedWriter, Leadership
from reclock.errors import (
    InternalError,
    NothingClaimed,
    SinceHeld,
    UnknownCollection,
    UpperMismatch,
)

__all__ = ["Claim", "Frontiers", "GroupFrontier", "Payload"]

T = TypeVar("T")


class Frontiers(FencedWriter):
    """The frontier groups, as an actor of one epoch reads and moves them. Every write raises
    ``Fenced`` once the epoch is over."""

    def __init__(self, consensus: Consensus, leadership: Leadership) -> None:
        super().__init__(consensus, leadership)
        self.rounds = RefreshRounds(consensus, leadership)
        """The transactions of refreshes of many indexes."""

    # --- groups ---

    def create(
        self, group: str, *, since: Timestamp, upper: Timestamp, is_backfilled: bool = False
    ) -> None:
        """Create the group, unless it exists."""
        new = GroupFrontier(group, since, upper, None)

        def work(connection: sa.Connection) -> None:
            if not get_groups(connection, (group,)):
                connection.execute(
                    sa.insert(frontiers).values(
                        group_id=new.group, since=new.since, upper=new.upper
                    )
                )
                if is_backfilled:
                    connection.execute(sa.insert(backfills).values(group_id=group))

        self._write(work)

    def drop(self, groups: Iterable[str]) -> None:
        """Delete the groups with their claims and holds. No writer can publish them any more."""
        group_ids = sorted(set(groups))

        def work(connection: sa.Connection) -> None:
            for batch in batches(group_ids):
                connection.execute(sa.delete(frontiers).where(frontiers.c.group_id.in_(batch)))
                connection.execute(sa.delete(backfills).where(backfills.c.group_id.in_(batch)))
                connection.execute(sa.delete(held_groups).where(held_groups.c.group_id.in_(batch)))
                connection.execute(sa.delete(restarts).where(restarts.c.group_id.in_(batch)))

        self._write(work)

    def replace(self, old: str, new: str, *, at: Timestamp) -> None:
        """Create the group ``new`` in the place of ``old``, with its frontier and the holds that it
        owns. No writer can claim or publish ``old`` any more. Changes nothing if ``old`` is gone.

        The new group is claimed, without a lease, for a *switch* at ``at`` or later: beyond every
        time at which a writer of ``old`` may have been at work.
        """
        id = _new_id()

        def work(connection: sa.Connection) -> None:
            current = get_groups(connection, (old,)).get(old)
            if current is None:
                return
            switch_at = max(at, current.upper)
            if current.claim is not None:
                switch_at = max(switch_at, Timestamp(current.claim.at + 1))
            connection.execute(sa.delete(frontiers).where(frontiers.c.group_id == old))
            connection.execute(
                sa.insert(frontiers).values(
                    {"group_id": new, "since": current.since, "upper": current.upper}
                    | claimed(Claim(id, switch_at, "", MINIMUM, {"kind": SWITCH, "sink": new}))
                )
            )
            connection.execute(
                sa.update(read_holds).where(read_holds.c.owner == old).values(owner=new)
            )

        self._write(work)

    def get(self, group: str) -> GroupFrontier:
        """Raises ``UnknownCollection``."""
        return self._consensus.read(lambda connection: get_group(connection, group))

    def get_all(self, groups: Iterable[str] | None = None) -> dict[str, GroupFrontier]:
        """These groups, or all, at one moment. Unknown groups are absent."""
        sorted_groups = None if groups is None else sorted(set(groups))
        return self._consensus.read(lambda connection: get_groups(connection, sorted_groups))

    # --- a writer's way: claim, amend as the work goes on, publish ---

    def claim(
        self, group: str, *, at: Timestamp, payload: Payload, owner: str, lease_ms: int
    ) -> Claim:
        """Claim the group for this writer. Only then may it write to the lake.

        Raises ``UpperMismatch`` if ``at`` is below the upper (take a newer time), and
        ``ClaimConflict`` if the group is claimed, even by the same owner or with an expired lease
        (take the claim over).
        """
        id = _new_id()

        def work(connection: sa.Connection) -> Claim:
            current = get_group(connection, group)
            if current.claim:
                raise claim_conflict(group, current.claim)
            if at < current.upper:
                raise UpperMismatch(group, expected=at, found=current.upper)
            return self._store_claim(
                connection,
                current,
                Claim(id, at, owner, self._lease(connection, lease_ms), payload),
            )

        return self._write(work)

    def take_over(self, group: str, *, owner: str, lease_ms: int) -> Claim | None:
        """Take over the group's claim, to finish its work: the same time and payload with a new id,
        so that the previous writer can do nothing more.

        None if the group is not claimed. Raises ``ClaimConflict`` during the lease of another
        owner.
        """
        id = _new_id()

        def work(connection: sa.Connection) -> Claim | None:
            current = get_group(connection, group)
            standing = current.claim
            if standing is None:
                return None
            if standing.owner != owner and self._consensus.now(connection) < standing.lease_until:
                raise claim_conflict(group, standing)
            lease_until = self._lease(connection, lease_ms)
            return self._store_claim(
                connection, current, replace(standing, id=id, owner=owner, lease_until=lease_until)
            )

        return self._write(work)

    def amend(self, group: str, claim: Claim, payload: Payload, *, lease_ms: int) -> Claim:
        """The same claim with this payload and a renewed lease. Raises ``ClaimConflict`` if another
        writer took it over.

        An expired lease does no harm as long as nobody took the claim over.
        """

        def work(connection: sa.Connection) -> Claim:
            current = _get_own(connection, group, claim)
            return self._store_claim(
                connection,
                current,
                replace(claim, payload=payload, lease_until=self._lease(connection, lease_ms)),
            )

        return self._write(work)

    def publish(
        self, claims: Mapping[str, Claim], upper: Timestamp, *, since: Timestamp = MINIMUM
    ) -> None:
        """Make all groups of these claims readable below ``upper``, and unclaimed, at one moment.
        If another writer took one of the claims over, this raises ``ClaimConflict``
        (``UnknownCollection`` if the group is gone), and publishes none.

        The work of the claims must be durable in the lake before. ``upper`` must be beyond their
        times. Publishing a claim again changes nothing, unless its group was published since; so it
        may be repeated after an unknown outcome.

        With ``since``, for a claim whose work did not keep earlier times apart, the groups are
        readable from ``since`` on only. Raises ``SinceHeld``, and publishes nothing, if a read hold
        needs an earlier time.
        """
        for group, claim in claims.items():
            if upper <= claim.at:
                raise InternalError(
                    f'frontier group "{group}" is claimed at {claim.at} and cannot be '
                    f"published at {upper}"
                )

        def work(connection: sa.Connection) -> None:
            pending = _not_published(connection, claims)
            if since:
                now = self._consensus.now(connection)
                for group, held_at in earliest_holds(connection, now, sorted(claims)).items():
                    if held_at < since:
                        raise SinceHeld(group, new_since=since, held_at=held_at)
            _publish_claims(connection, pending, upper, since)

        self._write(work)

    def abandon(self, group: str, claim: Claim) -> None:
        """Remove the claim without moving the upper. Raises ``ClaimConflict`` if another writer
        took it over.

        Before, every collection of the claim must have a commit beyond the claim's time, so that a
        writer that was only paused fails there.
        """
        self._write(
            lambda connection: _change(connection, _get_own(connection, group, claim), UNCLAIMED)
        )

    def decide(self, group: str, change: Callable[[Payload], Payload]) -> Claim:
        """Replace the payload of the group's claim, whoever owns it, by ``change`` of it.
        ``change`` must be pure, because it may run twice.

        The claim gets a new id, so that its writer fails at its next step, and reads the decision
        when it takes the claim over. Owner and lease stay. Raises ``NothingClaimed``.
        """
        id = _new_id()

        def work(connection: sa.Connection) -> Claim:
            current = get_group(connection, group)
            if current.claim is None:
                raise NothingClaimed(group)
            return self._store_claim(
                connection,
                current,
                replace(current.claim, id=id, payload=change(current.claim.payload)),
            )

        return self._write(work)

    # --- anybody's: idle groups, compaction ---

    def advance_idle(
        self,
        groups: Iterable[str],
        to: Timestamp,
        *,
        probed: Collection[str] = (),
        probed_at: Timestamp = MINIMUM,
    ) -> frozenset[str]:
        """Move the uppers of the unclaimed ones of these groups up to ``to``, at one moment. Groups
        that are claimed or in a backfill do not move.

        The upstreams of ``probed``, which are some of the groups, had nothing new at ``probed_at``.

        Returns the groups, claimed ones included, that are complete below ``to`` now. Unknown
        groups are ignored.
        """
        group_ids = sorted(set(groups))
        earlier = sa.or_(frontiers.c.probed_at.is_(None), frontiers.c.probed_at < probed_at)

        def work(connection: sa.Connection) -> frozenset[str]:
            complete: set[str] = set()
            for batch in batches(sorted(probed)):
                among = frontiers.c.group_id.in_(batch)
                unclaimed = frontiers.c.claim_id.is_(None)
                connection.execute(
                    sa.update(frontiers)
                    .where(among, unclaimed, earlier)
                    .values(probed_at=probed_at)
                )
            for batch in batches(group_ids):
                among = frontiers.c.group_id.in_(batch)
                waits = frontiers.c.group_id.in_(sa.select(backfills.c.group_id))
                idle = (among, frontiers.c.claim_id.is_(None), frontiers.c.upper < to, ~waits)
                connection.execute(sa.update(frontiers).where(*idle).values(upper=to))
                complete.update(
                    connection.scalars(
                        sa.select(frontiers.c.group_id).where(among, frontiers.c.upper >= to)
                    )
                )
            return frozenset(complete)

        return self._write(work)

    def backfilled(self) -> frozenset[str]:
        """The groups in a backfill: only the backfill moves their uppers."""
        return self._consensus.read(
            lambda connection: frozenset(connection.scalars(sa.select(backfills.c.group_id)))
        )

    def advance_backfilled(self, group: str, to: Timestamp, *, is_over: bool) -> None:
        """Move the upper of a group in a backfill to at least ``to``. If the backfill ``is_over``,
        the group becomes an ordinary one. Raises ``ClaimConflict`` if it is claimed."""

        def work(connection: sa.Connection) -> None:
            current = get_group(connection, group)
            if current.claim is not None:
                raise claim_conflict(group, current.claim)
            if not connection.scalars(
                sa.select(backfills.c.group_id).where(backfills.c.group_id == group)
            ).all():
                return
            if current.upper < to:
                _change(connection, current, {"upper": to})
            if is_over:
                connection.execute(sa.delete(backfills).where(backfills.c.group_id == group))

        self._write(work)

    def allow_compaction(self, group: str, since: Timestamp) -> None:
        """Allow times of the group below ``since`` to be merged. Changes nothing if that was
        allowed before.

        Raises ``SinceHeld`` if a read hold needs an earlier time, ``UpperMismatch`` if ``since`` is
        beyond the upper.
        """

        def work(connection: sa.Connection) -> None:
            current = get_group(connection, group)
            if since <= current.since:
                return
            if since > current.upper:
                raise UpperMismatch(group, expected=since, found=current.upper)
            held = earliest_holds(connection, self._consensus.now(connection), (group,)).get(group)
            if held is not None and held < since:
                raise SinceHeld(group, new_since=since, held_at=held)
            _change(connection, current, {"since": since})

        self._write(work)

    @staticmethod
    def _store_claim(connection: sa.Connection, current: GroupFrontier, claim: Claim) -> Claim:
        """Store the group's claim. Returns it as a later read will."""
        values = claimed(claim)
        _change(connection, current, values)
        return replace(claim, payload=json.loads(values["claim_payload"]))

    def _lease(self, connection: sa.Connection, lease_ms: int) -> Timestamp:
        return Timestamp(self._consensus.now(connection) + lease_ms)


def _get_own(connection: sa.Connection, group: str, claim: Claim) -> GroupFrontier:
    current = get_group(connection, group)
    if current.claim is None or current.claim.id != claim.id:
        raise claim_conflict(group, current.claim)
    return current


def _not_published(connection: sa.Connection, claims: Mapping[str, Claim]) -> list[str]:
    """The ids of the claims that are not published yet. Raises ``ClaimConflict`` if a claim neither
    exists nor was published last."""
    current = get_groups(connection, sorted(claims))
    standing = {group: frontier.claim.id for group, frontier in current.items() if frontier.claim}
    pending = {
        group: claim.id for group, claim in claims.items() if standing.get(group) == claim.id
    }
    for batch in batches(sorted(claims.keys() - pending.keys())):
        query = sa.select(frontiers.c.group_id, frontiers.c.published_claim_id).where(
            frontiers.c.group_id.in_(batch)
        )
        published = {row.group_id: row.published_claim_id for row in connection.execute(query)}
        for group in batch:
            if group not in current:
                raise UnknownCollection(group)
            if published[group] != claims[group].id:
                raise claim_conflict(group, current[group].claim)
    return list(pending.values())


def _publish_claims(
    connection: sa.Connection, claim_ids: Sequence[str], upper: Timestamp, since: Timestamp
) -> None:
    """Make the groups that have these claims readable below ``upper`` and from ``since`` on, and
    unclaimed."""
    values = {
        "upper": upper,
        "since": sa.case((frontiers.c.since < since, since), else_=frontiers.c.since),
        "published_claim_id": frontiers.c.claim_id,
        "probed_at": frontiers.c.claim_at,
    } | UNCLAIMED
    moved = 0
    for batch in batches(claim_ids):
        claimed_below = (frontiers.c.claim_id.in_(batch), frontiers.c.upper < upper)
        moved += connection.execute(
            sa.update(frontiers).where(*claimed_below).values(values)
        ).rowcount
    if moved != len(claim_ids):
        raise InternalError(f"{len(claim_ids)} frontier groups were to be published, {moved} were")


def _change(connection: sa.Connection, current: GroupFrontier, values: Mapping[str, Any]) -> None:
    """Change the group's row, unless it has changed since it was read."""
    unchanged = (
        frontiers.c.group_id == current.group,
        frontiers.c.since == current.since,
        frontiers.c.upper == current.upper,
        frontiers.c.claim_id == current.claim.id
        if current.claim
        else frontiers.c.claim_id.is_(None),
    )
    if connection.execute(sa.update(frontiers).where(*unchanged).values(values)).rowcount != 1:
        raise claim_conflict(current.group, current.claim)


def _new_id() -> str:
    return uuid.uuid4().hex
