"""The state of an environment at a glance, from metadata alone: an overview never scans data."""

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
"""How many steps of a source's staircase are shown: the newest."""

PARTITIONS = 50
"""How many partitions of a source are listed: those bound last."""


@dataclass(frozen=True, slots=True)
class Stair:
    """From ``at`` on, ``total`` offsets are bound, over all partitions."""

    at: Timestamp
    total: int


@dataclass(frozen=True, slots=True)
class PartitionOverview:
    """A partition. ``frontier`` is exclusive; the binding that set it was made at ``bound_at``."""

    partition: str
    frontier: int
    bound_at: Timestamp


@dataclass(frozen=True, slots=True)
class ObjectHealth:
    """An object's progress and status.

    ``lag_ms`` is how far its upper is behind the present. The claim is work in progress, if any.
    """

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
    """A source. ``partitions`` lists those bound last, ``partition_count`` counts all of them;
    ``audit`` is the latest in the data docs."""

    standing: ObjectHealth
    partition_count: int
    partitions: tuple[PartitionOverview, ...]
    stairs: tuple[Stair, ...]
    audit: Entry | None


@dataclass(frozen=True, slots=True)
class ReplicaOverview:
    """A replica that reports. Its usage is None until measured; 100 % of CPU is one core."""

    cluster: str
    id: int
    name: str | None
    """None for the replica of a virtual cluster, which runs in some process."""
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
    """Sources and indexes, ordered by name; objects without a frontier are left out.

    ``audits`` maps the name of a source to its latest audit.
    """
    health_by_id = {
        id_: _health(item, full_name(catalog, item), frontiers[id_], statuses.get(id_), now)
        for id_, item in catalog.items.items()
        if id_ in frontiers
    }
    objects = sorted(health_by_id.values(), key=lambda health: health.name)
    types = {id_: item.type for id_, item in catalog.items.items()}
    sources = (health for health in objects if types[health.id] is ItemType.SOURCE)
    return Overview(
        now,
        tuple(_source(health, remap_of(health.id), audits) for health in sources),
        tuple(health for health in objects if types[health.id] is ItemType.INDEX),
        tuple(cluster.name for _, cluster in sorted(catalog.clusters.items())),
        _replicas(catalog, reported or {}),
    )


def staircase(remap: Remap) -> tuple[Stair, ...]:
    """The growth of the source: a stair for each time with a binding, the newest ``STAIRS``."""
    growth: dict[Timestamp, int] = {}
    for binding in remap.bindings:
        growth[binding.time] = growth.get(binding.time, 0) + binding.increment
    total, stairs = 0, []
    for at in sorted(growth):
        total += growth[at]
        stairs.append(Stair(at, total))
    return tuple(stairs[-STAIRS:])


def _source(standing: ObjectHealth, remap: Remap, audits: Mapping[str, Entry]) -> SourceOverview:
    partitions = [
        PartitionOverview(str(partition), bindings.offsets[-1], bindings.times[-1])
        for partition, bindings in remap.partitions.items()
        if bindings.times
    ]
    partitions.sort(key=lambda partition: (-partition.bound_at, partition.partition))
    return SourceOverview(standing, len(partitions), tuple(partitions[:PARTITIONS]), staircase(remap), audits.get(standing.name))


def _replicas(catalog: CatalogSnapshot, reported: Mapping[IntrospectionType, Iterable[Row]]) -> tuple[ReplicaOverview, ...]:
    metrics: dict[Any, Any] = {id: rest for id, *rest in reported.get(IntrospectionType.REPLICA_METRICS, ())}
    replicas = []
    rows: Any = reported.get(IntrospectionType.REPLICA_STATUSES, ())
    for id, cluster_id, _, status, _, updated_at in rows:
        cluster = catalog.clusters.get(cluster_id)
        if cluster is not None:
            _, cpu_percent, memory_bytes, _ = metrics.get(id, (None,) * 4)
            replica = catalog.cluster_replicas.get(id)
            name = replica.name if replica is not None else None
            replicas.append(ReplicaOverview(cluster.name, id, name, status, updated_at, cpu_percent, memory_bytes))
    return tuple(sorted(replicas, key=lambda replica: (replica.cluster, replica.id)))


def _health(item: Item, name: str, frontier: GroupFrontier, status: Status | None, now: Timestamp) -> ObjectHealth:
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


def full_name(catalog: CatalogSnapshot, item: Item) -> str:
    """The item's name with its schema, and with its database if it has one, separated by dots."""
    schema = catalog.schemas[item.schema_id]
    database = [] if schema.database_id is None else [catalog.databases[schema.database_id].name]
    return ".".join([*database, schema.name, item.name])
