"""Frontier groups: collections whose uppers move together, in one row each of ``(since, upper, claim)``.

A writer claims a group at a time before it touches the lake, and publishes it after. So everything below a published upper is
in the lake, and whatever else may be there is named by a claim that says how to finish it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import sqlalchemy as sa

from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.consensus.database.batches import batches
from reclock.consensus.database.store import Consensus
from reclock.consensus.frontiers.claims import Claim, GroupFrontier, Payload
from reclock.consensus.frontiers.tables import (
    UNCLAIMED,
    backfills,
    claimed,
    earliest_holds,
    frontiers,
    get_group,
    get_groups,
    held_groups,
    restarts,
)
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import ClaimConflict, InternalError, NothingClaimed, SinceHeld, UnknownCollection, UpperMismatch

__all__ = ["Claim", "Frontiers", "GroupFrontier", "Payload"]

T = TypeVar("T")


class Frontiers:
    """The frontier groups, as an actor of one epoch sees and moves them. Every write raises ``Fenced`` once that epoch is over."""

    def __init__(self, consensus: Consensus, leadership: Leadership) -> None:
        self._consensus = consensus
        self._leadership = leadership

    # --- groups ---

    def create(self, group: str, *, since: Timestamp, upper: Timestamp, is_backfilled: bool = False) -> None:
        """Create the group. A group that exists already stays as it is."""
        new = GroupFrontier(group, since, upper, None)

        def work(connection: sa.Connection) -> None:
            if not get_groups(connection, (group,)):
                connection.execute(sa.insert(frontiers).values(group_id=new.group, since=new.since, upper=new.upper))
                if is_backfilled:
                    connection.execute(sa.insert(backfills).values(group_id=group))

        self._write(work)

    def drop(self, groups: Iterable[str]) -> None:
        """Delete the groups, their claims and their part in read holds. No writer can publish them any more."""
        doomed = sorted(set(groups))

        def work(connection: sa.Connection) -> None:
            for batch in batches(doomed):
                connection.execute(sa.delete(frontiers).where(frontiers.c.group_id.in_(batch)))
                connection.execute(sa.delete(backfills).where(backfills.c.group_id.in_(batch)))
                connection.execute(sa.delete(held_groups).where(held_groups.c.group_id.in_(batch)))
                connection.execute(sa.delete(restarts).where(restarts.c.group_id.in_(batch)))

        self._write(work)

    def get(self, group: str) -> GroupFrontier:
        """Raises ``UnknownCollection``."""
        return self._consensus.read(lambda connection: get_group(connection, group))

    def get_all(self, groups: Iterable[str] | None = None) -> dict[str, GroupFrontier]:
        """These groups, or all, read at one moment. Unknown groups are absent."""
        wanted = None if groups is None else sorted(set(groups))
        return self._consensus.read(lambda connection: get_groups(connection, wanted))

    # --- the steps of a writer: claim, amend as the work goes on, publish ---

    def claim(self, group: str, *, at: Timestamp, payload: Payload, owner: str, lease_ms: int) -> Claim:
        """Claim the group for ``owner``. The claim is durable when this returns; only then may the owner write to the lake.

        Raises ``UpperMismatch`` if ``at`` is below the upper (take a newer time), and ``ClaimConflict`` if the group is claimed,
        even by the same owner or with an expired lease (take it over).
        """
        id = _new_id()

        def work(connection: sa.Connection) -> Claim:
            current = get_group(connection, group)
            if current.claim:
                raise _conflict(group, current.claim)
            if at < current.upper:
                raise UpperMismatch(group, expected=at, found=current.upper)
            return self._put(connection, current, Claim(id, at, owner, self._lease(connection, lease_ms), payload))

        return self._write(work)

    def take_over(self, group: str, *, owner: str, lease_ms: int) -> Claim | None:
        """Give the group's claim to ``owner``, to be finished, under a new id; its former writer can do no more with it.

        The time and the payload stay. None if nothing is claimed. Raises ``ClaimConflict`` while another owner's lease lasts.
        """
        id = _new_id()

        def work(connection: sa.Connection) -> Claim | None:
            current = get_group(connection, group)
            claim = current.claim
            if claim is None:
                return None
            if claim.owner != owner and self._consensus.now(connection) < claim.lease_until:
                raise _conflict(group, claim)
            lease_until = self._lease(connection, lease_ms)
            return self._put(connection, current, replace(claim, id=id, owner=owner, lease_until=lease_until))

        return self._write(work)

    def amend(self, group: str, claim: Claim, payload: Payload, *, lease_ms: int) -> Claim:
        """Replace the claim's payload and renew its lease. Raises ``ClaimConflict`` if the claim is no longer ours.

        An expired lease does no harm as long as nobody took the claim over.
        """

        def work(connection: sa.Connection) -> Claim:
            current = _get_own(connection, group, claim)
            return self._put(connection, current, replace(claim, payload=payload, lease_until=self._lease(connection, lease_ms)))

        return self._write(work)

    def publish(self, claims: Mapping[str, Claim], upper: Timestamp, *, since: Timestamp = MINIMUM) -> None:
        """Make all groups readable below ``upper`` and unclaimed at one moment, or none of them.

        The work of the claims must be durable in the lake before. ``upper`` must lie beyond their times. Publishing a claim again
        changes nothing as long as nobody published its group since, so a call with an unknown outcome may be repeated.

        With ``since``, for a claim whose work did not keep earlier times apart, the groups are readable from there only.

        Raises, and publishes nothing: ``ClaimConflict`` if one of the claims is no longer ours, ``UnknownCollection``, and
        ``SinceHeld`` if a read hold needs a time before ``since``.
        """
        for group, claim in claims.items():
            if upper <= claim.at:
                raise InternalError(f'frontier group "{group}" is claimed at {claim.at} and cannot be published at {upper}')

        later = sa.case((frontiers.c.since < since, since), else_=frontiers.c.since)

        def work(connection: sa.Connection) -> None:
            pending = _not_published(connection, claims)
            for group, held in earliest_holds(connection, self._consensus.now(connection), sorted(claims)).items() if since else ():
                if held < since:
                    raise SinceHeld(group, wanted=since, held=held)
            published = 0
            for batch in batches(pending):
                result = connection.execute(
                    sa.update(frontiers)
                    .where(frontiers.c.claim_id.in_(batch), frontiers.c.upper < upper)
                    .values({"upper": upper, "since": later, "published_claim_id": frontiers.c.claim_id} | UNCLAIMED)
                )
                published += result.rowcount
            if published != len(pending):
                raise InternalError(f"{len(pending)} frontier groups were to be published, {published} were")

        self._write(work)

    def abandon(self, group: str, claim: Claim) -> None:
        """Remove the claim and leave the group's upper as it is. Raises ``ClaimConflict`` if the claim is no longer ours.

        Before that, every collection that the claim names must have a commit past its time, so that a writer that only slept fails.
        """
        self._write(lambda connection: _change(connection, _get_own(connection, group, claim), UNCLAIMED))

    def decide(self, group: str, change: Callable[[Payload], Payload]) -> Claim:
        """Change the payload of the group's claim, whoever owns it, by ``change``, which is pure and may run twice.

        The claim gets a new id. So its writer fails at its next step, and has to take the claim over and read the decision before
        it goes on. Owner and lease stay. Raises ``NothingClaimed``.
        """
        id = _new_id()

        def work(connection: sa.Connection) -> Claim:
            current = get_group(connection, group)
            if current.claim is None:
                raise NothingClaimed(group)
            return self._put(connection, current, replace(current.claim, id=id, payload=change(current.claim.payload)))

        return self._write(work)

    # --- for any actor: idle groups, compaction ---

    def advance_idle(self, groups: Iterable[str], to: Timestamp) -> frozenset[str]:
        """Move the uppers of the unclaimed ones of these groups up to ``to``, at one moment. Claimed and backfilled groups stay.

        Returns the groups, claimed ones included, that are complete below ``to`` now. Unknown groups are left out.
        """
        wanted = sorted(set(groups))

        def work(connection: sa.Connection) -> frozenset[str]:
            complete: set[str] = set()
            for batch in batches(wanted):
                in_batch = frontiers.c.group_id.in_(batch)
                is_backfilled = frontiers.c.group_id.in_(sa.select(backfills.c.group_id))
                idle = (in_batch, frontiers.c.claim_id.is_(None), frontiers.c.upper < to, ~is_backfilled)
                connection.execute(sa.update(frontiers).where(*idle).values(upper=to))
                complete.update(connection.scalars(sa.select(frontiers.c.group_id).where(in_batch, frontiers.c.upper >= to)))
            return frozenset(complete)

        return self._write(work)

    def backfilled(self) -> frozenset[str]:
        """The groups that are being backfilled: only the backfill moves their uppers."""
        return self._consensus.read(lambda connection: frozenset(connection.scalars(sa.select(backfills.c.group_id))))

    def advance_backfilled(self, group: str, to: Timestamp, *, is_over: bool) -> None:
        """Raise the upper of a group that is being backfilled to at least ``to``; if ``is_over``, end its backfill.

        Raises ``ClaimConflict`` if the group is claimed.
        """

        def work(connection: sa.Connection) -> None:
            current = get_group(connection, group)
            if current.claim is not None:
                raise _conflict(group, current.claim)
            if not connection.scalars(sa.select(backfills.c.group_id).where(backfills.c.group_id == group)).all():
                return
            if current.upper < to:
                _change(connection, current, {"upper": to})
            if is_over:
                connection.execute(sa.delete(backfills).where(backfills.c.group_id == group))

        self._write(work)

    def allow_compaction(self, group: str, since: Timestamp) -> None:
        """Let compaction merge the group's times below ``since``. Does nothing if it may merge them already.

        Raises ``SinceHeld`` if a read hold needs an earlier time, ``UpperMismatch`` if ``since`` is beyond the upper.
        """

        def work(connection: sa.Connection) -> None:
            current = get_group(connection, group)
            if since <= current.since:
                return
            if since > current.upper:
                raise UpperMismatch(group, expected=since, found=current.upper)
            held = earliest_holds(connection, self._consensus.now(connection), (group,)).get(group)
            if held is not None and held < since:
                raise SinceHeld(group, wanted=since, held=held)
            _change(connection, current, {"since": since})

        self._write(work)

    @staticmethod
    def _put(connection: sa.Connection, current: GroupFrontier, claim: Claim) -> Claim:
        """Make this the group's claim. Returns it as it will be read back."""
        values = claimed(claim)
        _change(connection, current, values)
        return replace(claim, payload=json.loads(values["claim_payload"]))

    def _lease(self, connection: sa.Connection, lease_ms: int) -> Timestamp:
        return Timestamp(self._consensus.now(connection) + lease_ms)

    def _write(self, work: Callable[[sa.Connection], T]) -> T:
        return self._consensus.transact(fence.guard(self._leadership, work))


def _get_own(connection: sa.Connection, group: str, claim: Claim) -> GroupFrontier:
    current = get_group(connection, group)
    if current.claim is None or current.claim.id != claim.id:
        raise _conflict(group, current.claim)
    return current


def _not_published(connection: sa.Connection, claims: Mapping[str, Claim]) -> list[str]:
    """The ids of those claims that stand; the others were published before. Raises if one is neither."""
    current = get_groups(connection, sorted(claims))
    standing = {group: frontier.claim.id for group, frontier in current.items() if frontier.claim}
    pending = {group: claim.id for group, claim in claims.items() if standing.get(group) == claim.id}
    for batch in batches(sorted(claims.keys() - pending.keys())):
        query = sa.select(frontiers.c.group_id, frontiers.c.published_claim_id).where(frontiers.c.group_id.in_(batch))
        published = {row.group_id: row.published_claim_id for row in connection.execute(query)}
        for group in batch:
            if group not in current:
                raise UnknownCollection(group)
            if published[group] != claims[group].id:
                raise _conflict(group, current[group].claim)
    return list(pending.values())


def _change(connection: sa.Connection, expected: GroupFrontier, values: Mapping[str, Any]) -> None:
    """Change the group's row. Raises ``ClaimConflict`` unless it is still as ``expected``."""
    unchanged = (
        frontiers.c.group_id == expected.group,
        frontiers.c.since == expected.since,
        frontiers.c.upper == expected.upper,
        frontiers.c.claim_id == expected.claim.id if expected.claim else frontiers.c.claim_id.is_(None),
    )
    if connection.execute(sa.update(frontiers).where(*unchanged).values(values)).rowcount != 1:
        raise _conflict(expected.group, expected.claim)


def _conflict(group: str, claim: Claim | None) -> ClaimConflict:
    if claim is None:
        return ClaimConflict(group, detail="the claim was finished or given up by another writer")
    detail = f'"{claim.owner}" claims it at {claim.at}, with a lease until {claim.lease_until}'
    return ClaimConflict(group, detail=detail, owner=claim.owner, lease_until=claim.lease_until)


def _new_id() -> str:
    return uuid.uuid4().hex
