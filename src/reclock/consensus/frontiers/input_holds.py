"""What an index or a sink holds of its inputs, under its own id and without a lease: from its upper on they stay exact."""

from __future__ import annotations

from collections.abc import Set

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.frontiers.groups import Frontiers
from reclock.consensus.frontiers.holds import ReadHolds
from reclock.errors import NotReadable

_ATTEMPTS = 5
"""How often somebody tries to hold inputs whose since is moving."""


def hold_inputs(id: str, inputs: Set[str], frontiers: Frontiers, holds: ReadHolds) -> None:
    """From now on the inputs stay exact from the upper of ``id`` on, or from where they still are: until they are let go."""
    for attempt in range(_ATTEMPTS):
        if holds.owned_by(id):
            return
        sinces = [frontier.since for frontier in frontiers.get_all(inputs).values()]
        at = Timestamp(max([frontiers.get(id).upper - 1, *sinces]))
        try:
            holds.acquire(inputs, at, owner=id, lease_ms=None)
        except NotReadable:  # a since has moved meanwhile
            if attempt == _ATTEMPTS - 1:
                raise


def advance_input_holds(id: str, frontiers: Frontiers, holds: ReadHolds) -> None:
    """``id`` needs its inputs from its own upper on, and no earlier."""
    at = Timestamp(frontiers.get(id).upper - 1)
    for hold in holds.owned_by(id):
        if hold.at < at:
            holds.downgrade(hold, at)
