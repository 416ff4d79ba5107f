"""The relations that load generators fill."""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra.relations import BIGINT, INTEGER, TEXT, TIMESTAMPTZ, Column, RelationDesc, ScalarType


def _desc(**types: ScalarType) -> RelationDesc:
    return RelationDesc(tuple(Column(name, type, is_nullable=False) for name, type in types.items()))


GENERATED: Mapping[str, Mapping[str, RelationDesc]] = {
    "COUNTER": {"": _desc(counter=BIGINT)},
    "AUCTION": {
        "organizations": _desc(id=BIGINT, name=TEXT),
        "users": _desc(id=BIGINT, org_id=BIGINT, name=TEXT),
        "accounts": _desc(id=BIGINT, org_id=BIGINT, balance=BIGINT),
        "auctions": _desc(id=BIGINT, seller=BIGINT, item=TEXT, end_time=TIMESTAMPTZ),
        "bids": _desc(id=BIGINT, buyer=BIGINT, auction_id=BIGINT, amount=INTEGER, bid_time=TIMESTAMPTZ),
    },
}
"""The relations of each kind; ``""`` is the only one."""
