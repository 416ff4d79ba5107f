"""Statuses of sources, indexes and sinks as relations: the current status of each, the earlier
ones, and the ranges that sources skipped."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import TEXT, TIMESTAMPTZ
from reclock.algebra.timestamps import Timestamp, as_datetime
from reclock.catalog.objects import ItemType, Kind
from reclock.introspection.relation import SUBSOURCE, Builtin, Rows, SystemState, desc

_STATUS = desc(
    id=TEXT, name=TEXT, status=TEXT, error=TEXT, detail=TEXT, hint=TEXT, updated_at=TIMESTAMPTZ
)


def _row(id: str, name: str, status: str, at: Timestamp, *error: str | None) -> tuple[object, ...]:
    return id, name, status, *(error or (None, None, None)), as_datetime(at)


def _current(type: ItemType, state: SystemState) -> Rows:
    """The current status of each object of the type. Before its first step or refresh it is
    ``created``, and the detail of an index says what it waits for. A subsource has a row only if
    its status differs from its source's."""
    names_with_status = {status.name for status in state.statuses()}
    for item in state.catalog.items.values():
        if (
            item.type is type
            and item.id not in names_with_status
            and state.of_catalog.source_types.get(item.id) != SUBSOURCE
        ):
            reason = _awaited(item.id, state) if type is ItemType.INDEX else (None, None)
            yield _row(item.id, item.name, "created", item.created_at, None, *reason)
    yield from _reported(type, state, is_history=False)


def _awaited(index: GlobalId, state: SystemState) -> tuple[str, str | None]:
    """What an index that was never refreshed waits for, as a detail and a hint."""
    frontier = state.frontiers().get(index)
    if frontier is None:
        return "the storage controller has not created it yet", None
    if frontier.claim is not None:
        return f'"{frontier.claim.owner}" is building it', None
    cluster = state.catalog.clusters[state.of_catalog.indexes[index].cluster_id]
    replicas = [
        replica
        for replica in state.catalog.cluster_replicas.values()
        if replica.cluster_id == cluster.id
    ]
    if cluster.size is not None and not replicas:
        return (
            f'cluster "{cluster.name}" has no replicas',
            f"CREATE CLUSTER REPLICA {cluster.name}.r1 SIZE '{cluster.size}'",
        )
    return (
        "it waits for its first refresh",
        "a process that runs `reclock serve` refreshes it, and so does a tick",
    )


def _reported(
    type: ItemType, state: SystemState, *, is_history: bool
) -> Iterator[tuple[object, ...]]:
    for status in state.status_history() if is_history else state.statuses():
        item = state.catalog.items.get(GlobalId(status.name))
        if item is not None and item.type is type:
            yield _row(
                item.id,
                item.name,
                status.status,
                status.at,
                status.error,
                status.detail,
                status.hint,
            )


STATUSES = (
    Builtin(
        "mz_internal",
        "mz_skipped_ranges",
        desc(source_id=TEXT, partition=TEXT, lower=TEXT, upper=TEXT),
        lambda state: (
            (skipped.source_id, skipped.partition, str(skipped.lower), str(skipped.upper))
            for skipped in state.catalog.sorted(Kind.SKIPPED_RANGE)
        ),
    ),
    *(
        builtin
        for type in (ItemType.SOURCE, ItemType.INDEX, ItemType.SINK)
        for builtin in (
            Builtin("mz_internal", f"mz_{type}_statuses", _STATUS, partial(_current, type)),
            Builtin(
                "mz_internal",
                f"mz_{type}_status_history",
                _STATUS,
                partial(_reported, type, is_history=True),
            ),
        )
    ),
)
