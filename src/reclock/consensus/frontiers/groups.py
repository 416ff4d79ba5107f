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
        """The group is there afterwards; one that was there already is left as it stands."""
        new = GroupFrontier(group, since, upper, None)

        def work(connection: sa.Connection) -> None:
            if not get_groups(connection, (group,)):
                connection.execute(sa.insert(frontiers).values(group_id=new.group, since=new.since, upper=new.upper))
                if is_backfilled:
                    connection.execute(sa.insert(backfills).values(group_id=group))

        self._write(work)

    def drop(self, groups: Iterable[str]) -> None:
        """The groups are gone afterwards, with their claims and what holds say of them: no writer can publish them any more."""
        doomed = sorted(set(groups))

        def work(connection: sa.Connection) -> None:
            for some in batches(doomed):
                connection.execute(sa.delete(frontiers).where(frontiers.c.group_id.in_(some)))
                connection.execute(sa.delete(backfills).where(backfills.c.group_id.in_(some)))
                connection.execute(sa.delete(held_groups).where(held_groups.c.group_id.in_(some)))
                connection.execute(sa.delete(restarts).where(restarts.c.group_id.in_(some)))

        self._write(work)

    def get(self, group: str) -> GroupFrontier:
        """Raises ``UnknownCollection``."""
        return self._consensus.read(lambda connection: get_group(connection, group))

    def get_all(self, groups: Iterable[str] | None = None) -> dict[str, GroupFrontier]:
        """The groups named, or all, at one moment. A group that is unknown is absent."""
        wanted = None if groups is None else sorted(set(groups))
        return self._consensus.read(lambda connection: get_groups(connection, wanted))

    # --- a writer's way: claim, amend as the work goes on, publish ---

    def claim(self, group: str, *, at: Timestamp, payload: Payload, owner: str, lease_ms: int) -> Claim:
        """The group is this writer's, and only now may the lake follow.

        Raises ``UpperMismatch`` if ``at`` is below the upper (take a newer time), and ``ClaimConflict`` if the group is claimed,
        be it by the same owner or by one whose lease has run out (take it over).
        """
        id = _new_id()

        def work(connection: sa.Connection) -> Claim:
            found = get_group(connection, group)
            if found.claim:
                raise _conflict(group, found.claim)
            if at < found.upper:
                raise UpperMismatch(group, expected=at, found=found.upper)
            return self._put(connection, found, Claim(id, at, owner, self._lease(connection, lease_ms), payload))

        return self._write(work)

    def take_over(self, group: str, *, owner: str, lease_ms: int) -> Claim | None:
        """The standing claim with a new id and the same time and payload, to be finished; its former writer can do no more.

        None if nothing is claimed. Raises ``ClaimConflict`` while the lease of another owner lasts.
        """
        id = _new_id()

        def work(connection: sa.Connection) -> Claim | None:
            found = get_group(connection, group)
            standing = found.claim
            if standing is None:
                return None
            if standing.owner != owner and self._consensus.now(connection) < standing.lease_until:
                raise _conflict(group, standing)
            lease_until = self._lease(connection, lease_ms)
            return self._put(connection, found, replace(standing, id=id, owner=owner, lease_until=lease_until))

        return self._write(work)

    def amend(self, group: str, claim: Claim, payload: Payload, *, lease_ms: int) -> Claim:
        """The same claim with this payload and a renewed lease. Raises ``ClaimConflict`` if it is no longer ours.

        A lease that has run out does no harm as long as nobody took the claim over.
        """

        def work(connection: sa.Connection) -> Claim:
            found = _get_own(connection, group, claim)
            return self._put(connection, found, replace(claim, payload=payload, lease_until=self._lease(connection, lease_ms)))

        return self._write(work)

    def publish(self, claims: Mapping[str, Claim], upper: Timestamp, *, since: Timestamp = MINIMUM) -> None:
        """At one moment, all groups are readable below ``upper`` and unclaimed; or none, with ``ClaimConflict`` because one of the
        claims is no longer ours, or ``UnknownCollection``.

        What the claims say must be durable in the lake before. ``upper`` must lie beyond their times. Publishing a claim once more
        changes nothing, as long as nobody published its group since: so an unknown outcome may be repeated.

        With ``since``, for a claim whose work did not keep earlier times apart, the groups are readable from there only. Raises
        ``SinceHeld``, and publishes nothing, if a read hold needs an earlier time.
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
            moved = 0
            for some in batches(pending):
                done = connection.execute(
                    sa.update(frontiers)
                    .where(frontiers.c.claim_id.in_(some), frontiers.c.upper < upper)
                    .values({"upper": upper, "since": later, "published_claim_id": frontiers.c.claim_id} | UNCLAIMED)
                )
                moved += done.rowcount
            if moved != len(pending):
                raise InternalError(f"{len(pending)} frontier groups were to be published, {moved} were")

        self._write(work)

    def abandon(self, group: str, claim: Claim) -> None:
        """The group is unclaimed, its upper as it was. Raises ``ClaimConflict`` if the claim is no longer ours.

        Every collection that the claim names must have a commit past its time before, so that a writer that only slept fails there.
        """
        self._write(lambda connection: _change(connection, _get_own(connection, group, claim), UNCLAIMED))

    def decide(self, group: str, change: Callable[[Payload], Payload]) -> Claim:
        """The standing claim, whoever owns it, with the payload that ``change`` (pure: it may run twice) makes of its own.

        It has a new id, so that its writer fails at its next step and must take it over, and read the decision, to go on. Owner and
        lease stay. Raises ``NothingClaimed``.
        """
        id = _new_id()

        def work(connection: sa.Connection) -> Claim:
            found = get_group(connection, group)
            if found.claim is None:
                raise NothingClaimed(group)
            return self._put(connection, found, replace(found.claim, id=id, payload=change(found.claim.payload)))

        return self._write(work)

    # --- anybody's: idle groups, compaction ---

    def advance_idle(self, groups: Iterable[str], to: Timestamp) -> frozenset[str]:
        """Moves the uppers of those groups that are unclaimed up to ``to``, all at one moment. A claimed group never moves, and
        neither does one whose history is being given.

        Answers which of the groups, claimed ones included, are complete below ``to`` now. Unknown ones are left out.
        """
        wanted = sorted(set(groups))

        def work(connection: sa.Connection) -> frozenset[str]:
            complete: set[str] = set()
            for some in batches(wanted):
                among = frontiers.c.group_id.in_(some)
                waits = frontiers.c.group_id.in_(sa.select(backfills.c.group_id))
                idle = (among, frontiers.c.claim_id.is_(None), frontiers.c.upper < to, ~waits)
                connection.execute(sa.update(frontiers).where(*idle).values(upper=to))
                complete.update(connection.scalars(sa.select(frontiers.c.group_id).where(among, frontiers.c.upper >= to)))
            return frozenset(complete)

        return self._write(work)

    def backfilled(self) -> frozenset[str]:
        """The groups whose history is being given: only that moves their uppers."""
        return self._consensus.read(lambda connection: frozenset(connection.scalars(sa.select(backfills.c.group_id))))

    def advance_backfilled(self, group: str, to: Timestamp, *, is_over: bool) -> None:
        """The upper of a group whose history is being given is at least ``to``; if that ``is_over``, it is a group as any other.

        Raises ``ClaimConflict`` if it is claimed.
        """

        def work(connection: sa.Connection) -> None:
            found = get_group(connection, group)
            if found.claim is not None:
                raise _conflict(group, found.claim)
            if not connection.scalars(sa.select(backfills.c.group_id).where(backfills.c.group_id == group)).all():
                return
            if found.upper < to:
                _change(connection, found, {"upper": to})
            if is_over:
                connection.execute(sa.delete(backfills).where(backfills.c.group_id == group))

        self._write(work)

    def allow_compaction(self, group: str, since: Timestamp) -> None:
        """Times of the group below ``since`` may be merged from now on; nothing changes if they might be already.

        Raises ``SinceHeld`` if a read hold needs an earlier time, ``UpperMismatch`` if ``since`` is beyond the upper.
        """

        def work(connection: sa.Connection) -> None:
            found = get_group(connection, group)
            if since <= found.since:
                return
            if since > found.upper:
                raise UpperMismatch(group, expected=since, found=found.upper)
            held = earliest_holds(connection, self._consensus.now(connection), (group,)).get(group)
            if held is not None and held < since:
                raise SinceHeld(group, wanted=since, held=held)
            _change(connection, found, {"since": since})

        self._write(work)

    @staticmethod
    def _put(connection: sa.Connection, found: GroupFrontier, claim: Claim) -> Claim:
        """Makes this the group's claim; answers it as it will be read back."""
        values = claimed(claim)
        _change(connection, found, values)
        return replace(claim, payload=json.loads(values["claim_payload"]))

    def _lease(self, connection: sa.Connection, lease_ms: int) -> Timestamp:
        return Timestamp(self._consensus.now(connection) + lease_ms)

    def _write(self, work: Callable[[sa.Connection], T]) -> T:
        return self._consensus.transact(fence.guard(self._leadership, work))


def _get_own(connection: sa.Connection, group: str, claim: Claim) -> GroupFrontier:
    found = get_group(connection, group)
    if found.claim is None or found.claim.id != claim.id:
        raise _conflict(group, found.claim)
    return found


def _not_published(connection: sa.Connection, claims: Mapping[str, Claim]) -> list[str]:
    """The ids of those claims that stand; the others were published before. Raises if one is neither."""
    found = get_groups(connection, sorted(claims))
    standing = {group: frontier.claim.id for group, frontier in found.items() if frontier.claim}
    pending = {group: claim.id for group, claim in claims.items() if standing.get(group) == claim.id}
    for some in batches(sorted(claims.keys() - pending.keys())):
        query = sa.select(frontiers.c.group_id, frontiers.c.published_claim_id).where(frontiers.c.group_id.in_(some))
        published = {row.group_id: row.published_claim_id for row in connection.execute(query)}
        for group in some:
            if group not in found:
                raise UnknownCollection(group)
            if published[group] != claims[group].id:
                raise _conflict(group, found[group].claim)
    return list(pending.values())


def _change(connection: sa.Connection, found: GroupFrontier, values: Mapping[str, Any]) -> None:
    """Changes the group's row if it still is as it was found."""
    unchanged = (
        frontiers.c.group_id == found.group,
        frontiers.c.since == found.since,
        frontiers.c.upper == found.upper,
        frontiers.c.claim_id == found.claim.id if found.claim else frontiers.c.claim_id.is_(None),
    )
    if connection.execute(sa.update(frontiers).where(*unchanged).values(values)).rowcount != 1:
        raise _conflict(found.group, found.claim)


def _conflict(group: str, standing: Claim | None) -> ClaimConflict:
    if standing is None:
        return ClaimConflict(group, detail="the claim was finished or given up by another writer")
    detail = f'"{standing.owner}" claims it at {standing.at}, with a lease until {standing.lease_until}'
    return ClaimConflict(group, detail=detail, owner=standing.owner, lease_until=standing.lease_until)


def _new_id() -> str:
    return uuid.uuid4().hex
