"""The read holds of indexes and sinks on their inputs, without a lease: the inputs stay exact from
the index's upper on."""

from __future__ import annotations

from collections.abc import Set

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.frontiers.groups import Frontiers
from reclock.consensus.frontiers.holds import ReadHolds
from reclock.errors import NotReadable

_ATTEMPTS = 5
"""How often a hold is attempted on inputs whose since moves."""


def hold_inputs(id: str, inputs: Set[str], frontiers: Frontiers, holds: ReadHolds) -> None:
    """Keep the inputs exact from the upper of ``id`` on, or from their since if that is later,
    until the hold advances."""
    for attempt in range(_ATTEMPTS):
        owned = holds.owned_by(id)
        missing = inputs - {group for hold in owned for group in hold.groups}
        if owned and not missing:
            return
        sinces = [frontier.since for frontier in frontiers.get_all(missing).values()]
        at = Timestamp(max([frontiers.get(id).upper - 1, *sinces]))
        try:
            holds.acquire(missing, at, owner=id, lease_ms=None)
        except NotReadable:  # a since has moved meanwhile
            if attempt == _ATTEMPTS - 1:
                raise


def advance_input_holds(id: str, inputs: Set[str], frontiers: Frontiers, holds: ReadHolds) -> None:
    """Let the inputs be compacted up to the upper of ``id``, and release other groups."""
    at = Timestamp(frontiers.get(id).upper - 1)
    owned = holds.owned_by(id)
    if any(hold.groups - inputs for hold in owned):
        holds.acquire(inputs, at, owner=id, lease_ms=None)
        for hold in owned:
            holds.release(hold)
        return
    for hold in owned:
        if hold.at < at:
            holds.downgrade(hold, at)
