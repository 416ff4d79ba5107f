"""The values of frontier groups: a claim, and a group's published frontier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.errors import ClaimConflict, InternalError

Payload = Mapping[str, Any]
"""What is needed to repeat the claimed work, as JSON."""

SWITCH = "switch"
"""The kind of the claim under which a sink leaves its previous relation for another one."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to append at ``at`` to the collections of a group. ``id`` is a fencing token:
    taking a claim over gives it a new one.

    Until ``lease_until``, on the database's clock, only ``owner`` may take it over. ``owner`` names
    one running actor.
    """

    id: str
    at: Timestamp
    owner: str
    lease_until: Timestamp
    payload: Payload


@dataclass(frozen=True, slots=True)
class GroupFrontier:
    """The published frontier of a group. While the group is claimed, ``upper`` does not move, and
    is at most the claim's time."""

    group: str
    since: Timestamp
    upper: Timestamp
    claim: Claim | None
    probed_at: Timestamp | None = None
    """The newest time such that everything that the upstream had then is published. Readers move
    the upper of an idle group, but not this time."""

    def __post_init__(self) -> None:
        if not MINIMUM <= self.since <= self.upper:
            raise InternalError(
                f'frontier group "{self.group}" has since {self.since} and upper {self.upper}'
            )
        if self.claim and self.claim.at < self.upper:
            raise InternalError(
                f'frontier group "{self.group}" has upper {self.upper} and a claim at '
                f"{self.claim.at}"
            )

    def lag_ms(self, now: Timestamp) -> int:
        """How far the upper is behind ``now``."""
        return max(0, now + 1 - self.upper)

    def is_readable_at(self, t: Timestamp) -> bool:
        return self.since <= t < self.upper


def claim_conflict(group: str, standing: Claim | None) -> ClaimConflict:
    """The error of a writer that does not have the group's claim, which is ``standing``."""
    if standing is None:
        return ClaimConflict(group, detail="the claim was finished or given up by another writer")
    detail = (
        f'"{standing.owner}" claims it at {standing.at}, with a lease until {standing.lease_until}'
    )
    return ClaimConflict(
        group, detail=detail, owner=standing.owner, lease_until=standing.lease_until
    )
