"""What a person wants to see of an environment at a glance, gathered from what is known anyway: nothing of it scans data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.catalog.objects import Item, ItemType
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.consensus.frontiers.groups import GroupFrontier
from reclock.consensus.objects.statuses import Status
from reclock.protocol.introspection import IntrospectionType, Row
from reclock.quality.docs_index import Entry
from reclock.reclocking.remap import Remap

STAIRS = 200
"""Steps of a source's staircase that are shown, the newest."""

PARTITIONS = 50
"""Partitions of a source that are listed, those bound last."""


@dataclass(frozen=True, slots=True)
class Stair:
    """From ``at`` on, ``total`` offsets were bound, over all partitions."""

    at: Timestamp
    total: int


@dataclass(frozen=True, slots=True)
class PartitionOverview:
    """``frontier`` is exclusive; the binding that set it was made at ``bound_at``."""

    partition: str
    frontier: int
    bound_at: Timestamp


@dataclass(frozen=True, slots=True)
class ObjectHealth:
    """How far an object is, and how it does. ``lag_ms`` is how far its upper is behind the present; a claim is work under way."""

    id: GlobalId
    name: str
    status: str
    error: str | None
    detail: str | None
    hint: str | None
    since: Timestamp
    upper: Timestamp
    lag_ms: int
    claimed_at: Timestamp | None
    claim_phase: str | None


@dataclass(frozen=True, slots=True)
class SourceOverview:
    """A source. ``partitions`` are the last bound, ``partition_count`` counts all; ``audit`` is the last one in the data docs."""

    standing: ObjectHealth
    partition_count: int
    partitions: tuple[PartitionOverview, ...]
    stairs: tuple[Stair, ...]
    audit: Entry | None


@dataclass(frozen=True, slots=True)
class ReplicaOverview:
    """A replica that reports, and what it uses: 100 percent of CPU is one core. None until it has measured that."""

    cluster: str
    id: int
    name: str | None
    """None is that of a virtual cluster in some process."""
    status: str
    updated_at: datetime
    cpu_percent: float | None
    memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class Overview:
    """The environment at ``now``."""

    now: Timestamp
    sources: tuple[SourceOverview, ...]
    indexes: tuple[ObjectHealth, ...]
    clusters: tuple[str, ...]
    replicas: tuple[ReplicaOverview, ...] = ()


def overview(
    catalog: CatalogSnapshot,
    frontiers: Mapping[GlobalId, GroupFrontier],
    statuses: Mapping[str, Status],
    remap_of: Callable[[GlobalId], Remap],
    audits: Mapping[str, Entry],
    now: Timestamp,
    reported: Mapping[IntrospectionType, Iterable[Row]] | None = None,
) -> Overview:
    """Sources and indexes in order of name. ``audits`` are the last by source; what has no frontier is left out."""
    standings = {
        id_: _standing(item, _full_name(catalog, item), frontiers[id_], statuses.get(id_), now)
        for id_, item in catalog.items.items()
        if id_ in frontiers
    }
    named = sorted(standings.values(), key=lambda standing: standing.name)
    types = {id_: item.type for id_, item in catalog.items.items()}
    return Overview(
        now,
        tuple(_source(standing, remap_of(standing.id), audits) for standing in named if types[standing.id] is ItemType.SOURCE),
        tuple(standing for standing in named if types[standing.id] is ItemType.INDEX),
        tuple(cluster.name for _, cluster in sorted(catalog.clusters.items())),
        _replicas(catalog, reported or {}),
    )


def staircase(remap: Remap) -> tuple[Stair, ...]:
    """The growth of the whole source, one stair a time at which anything was bound; the newest ``STAIRS`` of them."""
    growth: dict[Timestamp, int] = {}
    for step in remap.bindings:
        growth[step.time] = growth.get(step.time, 0) + step.increment
    total, stairs = 0, []
    for at in sorted(growth):
        total += growth[at]
        stairs.append(Stair(at, total))
    return tuple(stairs[-STAIRS:])


def _source(standing: ObjectHealth, remap: Remap, audits: Mapping[str, Entry]) -> SourceOverview:
    bound = [
        PartitionOverview(str(partition), stairs.offsets[-1], stairs.times[-1])
        for partition, stairs in remap.partitions.items()
        if stairs.times
    ]
    bound.sort(key=lambda partition: (-partition.bound_at, partition.partition))
    return SourceOverview(standing, len(bound), tuple(bound[:PARTITIONS]), staircase(remap), audits.get(standing.name))


def _replicas(catalog: CatalogSnapshot, reported: Mapping[IntrospectionType, Iterable[Row]]) -> tuple[ReplicaOverview, ...]:
    used: dict[Any, Any] = {id: rest for id, *rest in reported.get(IntrospectionType.REPLICA_METRICS, ())}
    found = []
    rows: Any = reported.get(IntrospectionType.REPLICA_STATUSES, ())
    for id, cluster_id, _, status, _, updated_at in rows:
        cluster = catalog.clusters.get(cluster_id)
        if cluster is not None:
            _, cpu_percent, memory_bytes, _ = used.get(id, (None,) * 4)
            known = catalog.cluster_replicas.get(id)
            name = known.name if known is not None else None
            found.append(ReplicaOverview(cluster.name, id, name, status, updated_at, cpu_percent, memory_bytes))
    return tuple(sorted(found, key=lambda replica: (replica.cluster, replica.id)))


def _standing(item: Item, name: str, frontier: GroupFrontier, status: Status | None, now: Timestamp) -> ObjectHealth:
    claim = frontier.claim
    return ObjectHealth(
        item.id,
        name,
        status.status if status else "created",
        status.error if status else None,
        status.detail if status else None,
        status.hint if status else None,
        frontier.since,
        frontier.upper,
        frontier.lag_ms(now),
        claim.at if claim else None,
        str(claim.payload.get("phase", "")) or None if claim else None,
    )


def _full_name(catalog: CatalogSnapshot, item: Item) -> str:
    schema = catalog.schemas[item.schema_id]
    database = [] if schema.database_id is None else [catalog.databases[schema.database_id].name]
    return ".".join([*database, schema.name, item.name])
