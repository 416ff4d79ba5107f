"""The state of an environment at a glance, from metadata alone: an overview never scans data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.catalog.objects import Item
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.consensus.objects.statistics import Total
from reclock.consensus.objects.statuses import Status
from reclock.protocol.introspection import IntrospectionType, Row
from reclock.quality.docs_index import Entry
from reclock.reclocking.remap import Remap

STAIRS = 200
"""How many steps of a source's staircase are shown: the newest."""

PARTITIONS = 50
"""How many partitions of a source are listed: those bound last."""

INTERRUPTED = "interrupted"
"""The status of an object whose claim nobody works on any more: the owner was killed."""

PROBLEMS = ("broken", "stalled", "failing", INTERRUPTED)
"""Statuses of objects that make no progress until somebody does something, worst first."""

ITS_BACKFILL = "its backfill"
"""What holds back a source whose history is not complete yet. Ticks leave it alone."""

LATE = "late"
"""The status of an object without an error that something else holds back."""


@dataclass(frozen=True, slots=True)
class WayOut:
    """A ``statement`` that resumes a stalled source, and what ``follows`` from
    it."""

    name: str
    statement: str
    follows: str


@dataclass(frozen=True, slots=True)
class LastRefresh:
    """How an index was refreshed last, by the replica that reported last."""

    how: str
    updates: int
    duration_ms: float
    delta_estimate_ms: float | None = None
    recompute_estimate_ms: float | None = None
    delta_took_ms: float | None = None
    recompute_took_ms: float | None = None
    delta_error: str | None = None

    @property
    def choice(self) -> str | None:
        """What it chose and from which estimates, as EXPLAIN prints it; None if it had no
        choice."""
        if self.delta_error is not None:
            return f"{self.how}, because computing the changes failed: {self.delta_error}"
        if self.delta_estimate_ms is None or self.recompute_estimate_ms is None:
            return None
        ways = (
            ("from changes", self.delta_estimate_ms, self.delta_took_ms),
            ("recomputed", self.recompute_estimate_ms, self.recompute_took_ms),
        )
        estimates = [
            f"{way} {estimate:.1f} ms" + ("" if took is None else f" (last took {took:.1f} ms)")
            for way, estimate, took in ways
        ]
        return f"{self.how}, estimated {', '.join(estimates)}"


@dataclass(frozen=True, slots=True)
class ObjectOverview:
    """A relation, index or sink. ``upper`` and ``lag_ms`` are None for what depends on nothing.

    ``lag_ms`` is how far the upper is behind the present. The ``culprit`` is the name of the object
    that holds it back, or ``ITS_BACKFILL``. The claim is work in progress, if any.
    ``total`` counts what a source or sink has moved, ``audit`` is a source's latest in the data
    docs.
    """

    id: GlobalId
    name: str
    type: str
    status: str
    error: str | None = None
    detail: str | None = None
    hint: str | None = None
    since: Timestamp | None = None
    upper: Timestamp | None = None
    lag_ms: int | None = None
    culprit: str | None = None
    cluster: str | None = None
    claimed_at: Timestamp | None = None
    claim_phase: str | None = None
    claim_owner: str | None = None
    total: Total | None = None
    refresh: LastRefresh | None = None
    audit: Entry | None = None
    ways_out: tuple[WayOut, ...] = ()

    @property
    def is_problem(self) -> bool:
        return self.status in PROBLEMS


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
class RecentError:
    """An error that an object had ``at``; ``is_over`` if it has it no longer."""

    at: Timestamp
    name: str
    error: str
    is_over: bool


@dataclass(frozen=True, slots=True)
class Overview:
    """The environment at ``now``, its objects in the order in which they need attention."""

    now: Timestamp
    objects: tuple[ObjectOverview, ...]
    clusters: tuple[str, ...]
    replicas: tuple[ReplicaOverview, ...] = ()
    errors: tuple[RecentError, ...] = ()

    @property
    def problems(self) -> int:
        return sum(object.is_problem for object in self.objects)

    def of_type(self, type: str) -> tuple[ObjectOverview, ...]:
        return tuple(object for object in self.objects if object.type == type)


def in_order(objects: Iterable[ObjectOverview]) -> tuple[ObjectOverview, ...]:
    """Problems first, the worst of them first, then what is late, then the rest by name."""

    def urgency(object: ObjectOverview) -> tuple[int, int, str]:
        if object.is_problem:
            return PROBLEMS.index(object.status), 0, object.name
        is_late = object.status == LATE
        return len(PROBLEMS) + (not is_late), -(object.lag_ms or 0) if is_late else 0, object.name

    return tuple(sorted(objects, key=urgency))


def recent_errors(
    history: Sequence[Status], current: Mapping[str, Status], names: Mapping[str, str]
) -> tuple[RecentError, ...]:
    """The errors in a history of statuses, newest first, of objects that have ``names``, by their
    ids."""
    errors = []
    for status in reversed(history):
        if status.error is not None and status.name in names:
            now = current.get(status.name)
            is_over = now is None or now.error != status.error
            errors.append(RecentError(status.at, names[status.name], status.error, is_over))
    return tuple(errors)


# --- one source ---


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
class ObjectDetail:
    """An object, what it depends on and what depends on it, and its history of statuses, newest
    first.

    Of a source: ``partitions`` lists those bound last, ``partition_count`` counts all of them.
    """

    object: ObjectOverview
    inputs: tuple[ObjectOverview, ...] = ()
    dependents: tuple[ObjectOverview, ...] = ()
    history: tuple[Status, ...] = ()
    partition_count: int = 0
    partitions: tuple[PartitionOverview, ...] = ()
    stairs: tuple[Stair, ...] = ()
    audits: tuple[Entry, ...] = ()


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


def newest_partitions(remap: Remap) -> tuple[PartitionOverview, ...]:
    partitions = [
        PartitionOverview(str(partition), bindings.offsets[-1], bindings.times[-1])
        for partition, bindings in remap.partitions.items()
        if bindings.times
    ]
    partitions.sort(key=lambda partition: (-partition.bound_at, partition.partition))
    return tuple(partitions[:PARTITIONS])


# --- clusters ---


def replica_overviews(
    catalog: CatalogSnapshot, reported: Mapping[IntrospectionType, Iterable[Row]]
) -> tuple[ReplicaOverview, ...]:
    metrics: dict[Any, Any] = {
        id: rest for id, *rest in reported.get(IntrospectionType.REPLICA_METRICS, ())
    }
    replicas = []
    rows: Any = reported.get(IntrospectionType.REPLICA_STATUSES, ())
    for id, cluster_id, _, status, _, updated_at in rows:
        cluster = catalog.clusters.get(cluster_id)
        if cluster is not None:
            _, cpu_percent, memory_bytes, _ = metrics.get(id, (None,) * 4)
            replica = catalog.cluster_replicas.get(id)
            name = replica.name if replica is not None else None
            replicas.append(
                ReplicaOverview(
                    cluster.name, id, name, status, updated_at, cpu_percent, memory_bytes
                )
            )
    return tuple(sorted(replicas, key=lambda replica: (replica.cluster, replica.id)))


def last_refreshes(reported: Mapping[IntrospectionType, Iterable[Row]]) -> dict[str, LastRefresh]:
    """The last refresh of each index."""
    newest: dict[str, tuple[int, LastRefresh]] = {}
    rows: Any = reported.get(IntrospectionType.LAST_REFRESHES, ())
    for _, index, time, how, updates, duration_ns, *figures, delta_error in rows:
        if index not in newest or newest[index][0] < time:
            in_ms = [None if figure is None else figure / 1e6 for figure in figures]
            refresh = LastRefresh(how, updates, duration_ns / 1e6, *in_ms)
            newest[index] = time, replace(refresh, delta_error=delta_error)
    return {index: refresh for index, (_, refresh) in newest.items()}


def full_name(catalog: CatalogSnapshot, item: Item) -> str:
    """The item's name with its schema, and with its database if it has one, separated by dots."""
    schema = catalog.schemas[item.schema_id]
    database = [] if schema.database_id is None else [catalog.databases[schema.database_id].name]
    return ".".join([*database, schema.name, item.name])
