"""Rounds: what a refresh of many indexes asks of consensus, in three transactions for all of them.

Each group is decided on its own, as `Frontiers` decides about one: a group that another writer has
claimed fails, and the others of its round go on.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import sqlalchemy as sa

from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.consensus.database.batches import batches
from reclock.consensus.frontiers.claims import Claim, GroupFrontier, Payload, claim_conflict
from reclock.consensus.frontiers.tables import (
    UNCLAIMED,
    claimed,
    earliest_holds,
    frontiers,
    get_groups,
    owners_of_holds,
    read_holds,
)
from reclock.consensus.leadership.fence import FencedWriter
from reclock.errors import InternalError, ReclockError, SinceHeld, UnknownCollection, UpperMismatch

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RoundState:
    """The frontiers of groups, and which of the owners have a hold, at one moment."""

    groups: Mapping[str, GroupFrontier]
    holders: frozenset[str]


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """The group, to be claimed at ``at`` if its upper still is ``upper``."""

    group: str
    at: Timestamp
    upper: Timestamp
    payload: Payload


@dataclass(frozen=True, slots=True)
class Publication:
    """The group, to be readable below ``upper``, and from ``since`` on. Without a ``claim`` nothing
    was appended to it, and it may not be claimed."""

    group: str
    upper: Timestamp
    claim: Claim | None = None
    since: Timestamp = MINIMUM


class RefreshRounds(FencedWriter):
    """The frontiers of indexes, as an actor of one epoch moves many of them. Every write raises
    ``Fenced`` once the epoch is over."""

    def look(self, groups: Iterable[str], owners: Iterable[str]) -> RoundState:
        """Unknown groups are absent."""
        group_ids, holders = sorted(set(groups)), sorted(set(owners))

        def work(connection: sa.Connection) -> RoundState:
            now = self._consensus.now(connection)
            return RoundState(
                get_groups(connection, group_ids), owners_of_holds(connection, now, holders)
            )

        return self._consensus.read(work)

    def claim(
        self, requests: Sequence[ClaimRequest], *, owner: str, lease_ms: int
    ) -> dict[str, Claim | ReclockError]:
        """Claim each group, or answer why not: ``UnknownCollection``, ``ClaimConflict`` if it is
        claimed, ``UpperMismatch`` if its upper has moved."""
        ids = {request.group: uuid.uuid4().hex for request in requests}

        def work(connection: sa.Connection) -> dict[str, Claim | ReclockError]:
            frontiers_by_group = get_groups(connection, sorted(ids))
            lease_until = Timestamp(self._consensus.now(connection) + lease_ms)
            answers: dict[str, Claim | ReclockError] = {}
            for request in requests:
                refusal = _refusal(request, frontiers_by_group.get(request.group))
                claim = Claim(
                    ids[request.group], request.at, owner, lease_until, dict(request.payload)
                )
                answers[request.group] = refusal or claim
                if refusal is None:
                    change = sa.update(frontiers).where(
                        frontiers.c.group_id == request.group, frontiers.c.claim_id.is_(None)
                    )
                    _expect_rows(connection.execute(change.values(claimed(claim))), 1)
            return answers

        return self._write(work) if requests else {}

    def publish(self, publications: Sequence[Publication]) -> dict[str, ReclockError | None]:
        """Publish each group as `Frontiers.publish` does, or answer why not: ``UnknownCollection``,
        ``ClaimConflict``, ``SinceHeld``. The lasting holds that published groups own move up to
        their new uppers. May be repeated after an unknown outcome."""
        for publication in publications:
            if publication.claim is not None and publication.upper <= publication.claim.at:
                raise InternalError(
                    f'frontier group "{publication.group}" is claimed at {publication.claim.at}'
                )

        def work(connection: sa.Connection) -> dict[str, ReclockError | None]:
            rows = _rows(connection, [publication.group for publication in publications])
            moved = [publication.group for publication in publications if publication.since]
            holds = (
                earliest_holds(connection, self._consensus.now(connection), moved) if moved else {}
            )
            answers = {
                publication.group: _error(
                    publication, rows.get(publication.group), holds.get(publication.group)
                )
                for publication in publications
            }
            published = [part for part in publications if answers[part.group] is None]
            _publish_claims(connection, published, rows)
            _advance_idle(connection, [part for part in published if part.claim is None])
            _advance_holds(connection, [part.group for part in published])
            return answers

        return self._write(work) if publications else {}


def _refusal(request: ClaimRequest, current: GroupFrontier | None) -> ReclockError | None:
    if current is None:
        return UnknownCollection(request.group)
    if current.claim is not None:
        return claim_conflict(request.group, current.claim)
    if current.upper != request.upper or request.at < current.upper:
        return UpperMismatch(request.group, expected=request.upper, found=current.upper)
    return None


def _error(
    publication: Publication, row: sa.Row[Any] | None, held_at: Timestamp | None
) -> ReclockError | None:
    """Why the group with this row cannot be published."""
    if row is None:
        return UnknownCollection(publication.group)
    if publication.claim is None:
        is_complete = row.claim_id is None or row.upper >= publication.upper
        return None if is_complete else claim_conflict(publication.group, None)
    if publication.claim.id not in (row.claim_id, row.published_claim_id):
        return claim_conflict(publication.group, None)
    if publication.since and held_at is not None and held_at < publication.since:
        return SinceHeld(publication.group, new_since=publication.since, held_at=held_at)
    return None


def _publish_claims(
    connection: sa.Connection,
    publications: Sequence[Publication],
    rows: Mapping[str, sa.Row[Any]],
) -> None:
    """Publish the groups whose rows still have the claims of their publications: the others were
    published before."""
    claim_ids: dict[tuple[Timestamp, Timestamp], list[str]] = {}
    for publication in publications:
        claim = publication.claim
        if claim is not None and rows[publication.group].claim_id == claim.id:
            claim_ids.setdefault((publication.upper, publication.since), []).append(claim.id)
    for (upper, since), ids in claim_ids.items():
        change = sa.update(frontiers).where(
            frontiers.c.claim_id.in_(ids), frontiers.c.upper < upper
        )
        values = {
            "upper": upper,
            "since": sa.case((frontiers.c.since < since, since), else_=frontiers.c.since),
            "published_claim_id": frontiers.c.claim_id,
        } | UNCLAIMED
        _expect_rows(connection.execute(change.values(values)), len(ids))


def _advance_idle(connection: sa.Connection, publications: Sequence[Publication]) -> None:
    """Move the uppers of these unclaimed groups, unless they are there already."""
    groups_by_upper: dict[Timestamp, list[str]] = {}
    for publication in publications:
        groups_by_upper.setdefault(publication.upper, []).append(publication.group)
    for upper, groups in groups_by_upper.items():
        unclaimed = (
            frontiers.c.group_id.in_(groups),
            frontiers.c.claim_id.is_(None),
            frontiers.c.upper < upper,
        )
        connection.execute(sa.update(frontiers).where(*unclaimed).values(upper=upper))


def _rows(connection: sa.Connection, groups: Sequence[str]) -> dict[str, sa.Row[Any]]:
    columns: sa.Select[Any] = sa.select(frontiers)
    among = frontiers.c.group_id.in_
    return {
        row.group_id: row
        for some in batches(groups)
        for row in connection.execute(columns.where(among(some)))
    }


def _advance_holds(connection: sa.Connection, owners: Sequence[str]) -> None:
    """Move the lasting holds of these groups to the last times that the groups are complete at."""
    last = (
        sa.select(frontiers.c.upper - 1)
        .where(frontiers.c.group_id == read_holds.c.owner)
        .scalar_subquery()
    )
    for some in batches(owners):
        lasting_holds = (
            read_holds.c.owner.in_(some),
            read_holds.c.lease_until.is_(None),
            read_holds.c.at < last,
        )
        connection.execute(sa.update(read_holds).where(*lasting_holds).values(at=last))


def _expect_rows(result: sa.CursorResult[Any], count: int) -> None:
    if result.rowcount != count:
        raise InternalError(f"{count} frontier groups were to be changed, {result.rowcount} were")
