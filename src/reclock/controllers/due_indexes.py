"""Which indexes have something to follow: what a process that maintains them by itself asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from reclock.algebra.ids import TABLES, GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.consensus.frontiers.claims import GroupFrontier
from reclock.plan.relational import collections
from reclock.plan.temporal import reads_now
from reclock.protocol.compute import Dataflow


def has_due_index(
    dataflows: Iterable[Dataflow],
    frontiers: Mapping[str, GroupFrontier],
    read_ts: Timestamp,
    now: Timestamp,
) -> bool:
    """Whether a refresh up to the oracle's ``read_ts`` would bring an index further at ``now``.

    An input must have been published beyond the index, unless its rows depend on the time. So an
    index over tables does not follow writes to other tables, which only move the oracle. An index
    that a living process has claimed is not due.
    """
    return any(_is_due(dataflow, frontiers, read_ts, now) for dataflow in dataflows)


def has_pending_index(
    dataflows: Iterable[Dataflow],
    frontiers: Mapping[str, GroupFrontier],
    other_indexes: Set[GlobalId],
) -> bool:
    """Whether an index can become due although neither the catalog nor the oracle changes: one that
    storage has not created yet, one that is claimed, or one over an index of ``other_indexes``,
    which are maintained elsewhere."""
    return any(
        (index := frontiers.get(dataflow.id)) is None
        or index.claim is not None
        or not (groups := {id.group for id in collections(dataflow.plan)}) <= frontiers.keys()
        or not other_indexes.isdisjoint(groups)
        for dataflow in dataflows
    )


def _is_due(
    dataflow: Dataflow, frontiers: Mapping[str, GroupFrontier], read_ts: Timestamp, now: Timestamp
) -> bool:
    index = frontiers.get(dataflow.id)
    groups = {id.group for id in collections(dataflow.plan)}
    if index is None or not groups <= frontiers.keys():
        return False  # storage has not created it yet, or has dropped an input
    if index.claim is not None and now < index.claim.lease_until:
        return False
    uppers = {group: frontiers[group].upper for group in groups}
    is_published = not uppers or max(uppers.values()) > index.upper or reads_now(dataflow.plan)
    if TABLES in uppers:  # tables are complete up to the oracle's time, whoever moves their upper
        uppers[TABLES] = max(uppers[TABLES], Timestamp(read_ts + 1))
    reachable = min([Timestamp(read_ts + 1), *uppers.values()])
    return is_published and index.upper < reachable
