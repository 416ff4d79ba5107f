"""The state of an environment as metrics of Prometheus, read from what system relations show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from reclock.adapter.query.retained_wal import RetainedWal
from reclock.algebra.ids import GlobalId
from reclock.catalog.objects import ItemType
from reclock.introspection.overview import full_name
from reclock.protocol.introspection import IntrospectionType, Row
from reclock.quality.docs_index import latest, read_index
from reclock.runtime.environment import Environment
from reclock.sql.catalog.planner_catalog import PlannerCatalog

BUCKETS_NS = tuple(2**power for power in range(20, 41))
"""Upper bounds of a histogram's buckets: from 1 ms to 18 minutes, the same for every series."""

_STALLED = "stalled"
_MANAGED = {
    IntrospectionType.LAST_REFRESHES,
    IntrospectionType.PEEK_DURATIONS,
    IntrospectionType.REFRESH_DURATIONS,
    IntrospectionType.REPLICA_METRICS,
    IntrospectionType.REPLICA_STATUSES,
}
_OBJECT = ("id", "name", "type")
_REPLICA = ("cluster", "replica")


class EnvironmentCollector(Collector):
    """Collects the metrics of an environment and of this process's sessions, anew at each scrape.

    With ``replica_id``, only those that this replica measured. A scrape reads metadata alone: the
    catalog, consensus, and the collections in which replicas report. It moves no frontier. Raises
    ``ReclockError`` if they cannot be read. Upstreams are measured in the background. Times are seconds, sizes bytes.
    """

    def __init__(self, environment: Environment, replica_id: int | None = None) -> None:
        self._environment = environment
        self._replica_id = replica_id
        self._retained_wal = RetainedWal(environment.runtime.connection_context)

    def describe(self) -> Iterable[Metric]:
        """Describes no metric, so that registering the collector reads nothing."""
        return ()

    def collect(self) -> Iterator[Metric]:
        stores = self._environment.stores
        catalog = stores.planner_catalog()
        reported = stores.managed.read(_MANAGED).rows
        if self._replica_id is None:
            yield from self._objects(catalog)
            yield from self._sources_and_sinks(catalog)
            yield self._retained(catalog)
            yield from self._audits()
            yield from self._sessions()
            yield from self._statements()
        yield from self._replicas(catalog, reported)
        yield from self._durations(catalog, reported)

    # --- objects ---

    def _objects(self, catalog: PlannerCatalog) -> Iterator[Metric]:
        """The freshness and the status of each object of the users."""
        stores = self._environment.stores
        now = stores.clock()
        lag = GaugeMetricFamily(
            "reclock_object_lag_seconds", "How far an object is behind the present.", labels=_OBJECT
        )
        for id, frontier in sorted(catalog.by_object(stores.frontiers.get_all()).items()):
            if (labels := _object_labels(catalog, id)) is not None:
                lag.add_metric(labels, frontier.lag_ms(now) / 1000)
        yield lag
        text = "1 if an error keeps a source, index or sink from progress, otherwise 0."
        stalled = GaugeMetricFamily("reclock_object_stalled", text, labels=_OBJECT)
        for status in sorted(stores.statuses.current().values(), key=lambda status: status.name):
            if (labels := _object_labels(catalog, GlobalId(status.name))) is not None:
                stalled.add_metric(labels, float(status.status == _STALLED))
        yield stalled

    def _sources_and_sinks(self, catalog: PlannerCatalog) -> Iterator[Metric]:
        labels = ("id", "name")
        steps = CounterMetricFamily(
            "reclock_source_steps", "Steps that a source published.", labels=labels
        )
        offsets = CounterMetricFamily(
            "reclock_source_offsets", "Upstream offsets that a source read.", labels=labels
        )
        updates = CounterMetricFamily(
            "reclock_source_updates", "Updates that a source published.", labels=labels
        )
        size = CounterMetricFamily(
            "reclock_source_bytes", "Bytes of the updates that a source published.", labels=labels
        )
        emissions = CounterMetricFamily(
            "reclock_sink_emissions", "Times at which a sink emitted changes.", labels=labels
        )
        messages = CounterMetricFamily(
            "reclock_sink_messages", "Messages that a sink emitted.", labels=labels
        )
        sent = CounterMetricFamily(
            "reclock_sink_bytes", "Bytes that a sink emitted.", labels=labels
        )
        for total in self._environment.stores.statistics.get_all():
            object_labels = _object_labels(catalog, GlobalId(total.object_id))
            if object_labels is None:
                continue
            *names, type = object_labels
            if type == ItemType.SINK:
                counted = ((emissions, total.steps), (messages, total.updates), (sent, total.bytes))
            else:
                counted = ((steps, total.steps), (updates, total.updates), (size, total.bytes))
                offsets.add_metric(names, total.offsets)
            for family, value in counted:
                family.add_metric(names, value)
        yield from (steps, offsets, updates, size, emissions, messages, sent)

    def _retained(self, catalog: PlannerCatalog) -> Metric:
        retained = GaugeMetricFamily(
            "reclock_postgres_slot_retained_bytes",
            "Bytes of WAL that the replication slot of a source retains upstream.",
            labels=["id", "name"],
        )
        for id, size in sorted(self._retained_wal.newest(catalog).items()):
            if (labels := _object_labels(catalog, id)) is not None:
                retained.add_metric(labels[:2], size)
        return retained

    def _audits(self) -> Iterator[Metric]:
        failed = GaugeMetricFamily(
            "reclock_audit_failed",
            "1 if a source's newest audit failed, otherwise 0.",
            labels=["name"],
        )
        for name, audit in sorted(
            latest(read_index(self._environment.stores.settings.home / "quality")).items()
        ):
            failed.add_metric([name], float(audit.outcome == "failed"))
        yield failed

    # --- this process ---

    def _sessions(self) -> Iterator[Metric]:
        sessions = GaugeMetricFamily(
            "reclock_sessions", "Sessions of this process, by state.", labels=["state"]
        )
        counts: dict[str, int] = {"active": 0, "idle": 0}
        for backend in self._environment.runtime.backends.all_local():
            counts[backend.state] = counts.get(backend.state, 0) + 1
        for state, count in sorted(counts.items()):
            sessions.add_metric([state], count)
        yield sessions

    def _statements(self) -> Iterator[Metric]:
        reports = self._environment.runtime.reports
        statements = CounterMetricFamily(
            "reclock_statements",
            "Statements that sessions of this process executed.",
            labels=["kind", "outcome"],
        )
        errors = CounterMetricFamily(
            "reclock_statement_errors",
            "Statements of this process that failed, by SQLSTATE.",
            labels=["sqlstate"],
        )
        outcomes: dict[tuple[str, str], int] = defaultdict(int)
        by_sqlstate: dict[str, int] = defaultdict(int)
        for (kind, sqlstate), count in (reports.outcomes() if reports is not None else {}).items():
            outcomes[kind, "error" if sqlstate else "success"] += count
            if sqlstate:
                by_sqlstate[sqlstate] += count
        for labels, count in sorted(outcomes.items()):
            statements.add_metric(labels, count)
        for sqlstate, count in sorted(by_sqlstate.items()):
            errors.add_metric([sqlstate], count)
        yield from (statements, errors)

    # --- replicas ---

    def _replicas(
        self, catalog: PlannerCatalog, reported: Mapping[IntrospectionType, Mapping[Row, int]]
    ) -> Iterator[Metric]:
        online = GaugeMetricFamily(
            "reclock_replica_online", "1 if a replica answers, otherwise 0.", labels=_REPLICA
        )
        cpu = GaugeMetricFamily(
            "reclock_replica_cpu_percent",
            "CPU of a replica; 100 is all of its size.",
            labels=_REPLICA,
        )
        memory = GaugeMetricFamily(
            "reclock_replica_memory_bytes", "Memory of a replica.", labels=_REPLICA
        )
        statuses: Any = self._rows(reported, IntrospectionType.REPLICA_STATUSES)
        names: dict[int, tuple[str, str]] = {}
        for id, cluster_id, _, status, *_ in sorted(statuses):
            names[id] = _replica_labels(catalog, cluster_id, id)
            online.add_metric(names[id], float(status == "online"))
        metrics: Any = self._rows(reported, IntrospectionType.REPLICA_METRICS)
        for id, _, cpu_percent, memory_bytes, _ in sorted(metrics, key=lambda row: row[0]):
            if id in names and cpu_percent is not None:
                cpu.add_metric(names[id], cpu_percent)
            if id in names and memory_bytes is not None:
                memory.add_metric(names[id], memory_bytes)
        yield from (online, cpu, memory)

    def _durations(
        self, catalog: PlannerCatalog, reported: Mapping[IntrospectionType, Mapping[Row, int]]
    ) -> Iterator[Metric]:
        labels = ("replica_id", "id", "name")
        last = GaugeMetricFamily(
            "reclock_last_refresh_seconds", "How long an index's last refresh took.", labels=labels
        )
        rows: Any = self._rows(reported, IntrospectionType.LAST_REFRESHES)
        for replica_id, id, _, _, _, duration_ns, *_ in sorted(rows, key=lambda row: row[:2]):
            if (object_labels := _object_labels(catalog, id)) is not None:
                last.add_metric([str(replica_id), *object_labels[:2]], duration_ns / 1e9)
        yield last
        refreshes = HistogramMetricFamily(
            "reclock_refresh_duration_seconds", "Durations of an index's refreshes.", labels=labels
        )
        for (replica_id, id), counts in self._histograms(
            reported, IntrospectionType.REFRESH_DURATIONS
        ).items():
            if (object_labels := _object_labels(catalog, GlobalId(id))) is not None:
                refreshes.add_metric(
                    [str(replica_id), *object_labels[:2]], cumulative(counts), None
                )
        yield refreshes
        peeks = HistogramMetricFamily(
            "reclock_query_duration_seconds",
            "Durations of the queries that replicas answered.",
            labels=["replica_id", "engine"],
        )
        for (replica_id, engine), counts in self._histograms(
            reported, IntrospectionType.PEEK_DURATIONS
        ).items():
            peeks.add_metric([str(replica_id), engine], cumulative(counts), None)
        yield peeks

    def _histograms(
        self, reported: Mapping[IntrospectionType, Mapping[Row, int]], type: IntrospectionType
    ) -> dict[tuple[int, str], dict[int, int]]:
        """The counts of buckets by their upper bounds, for each replica and value of the second
        column, in nanoseconds."""
        histograms: dict[tuple[int, str], dict[int, int]] = defaultdict(dict)
        rows: Any = self._rows(reported, type)
        for replica_id, key, duration_ns, count in sorted(rows):
            histograms[replica_id, key][duration_ns] = count
        return histograms

    def _rows(
        self, reported: Mapping[IntrospectionType, Mapping[Row, int]], type: IntrospectionType
    ) -> list[Row]:
        """The rows of this replica, or of all; the first column of each is the replica's id."""
        return [row for row in reported.get(type, ()) if self._replica_id in (None, row[0])]


def cumulative(counts: Mapping[int, int]) -> list[tuple[str, float]]:
    """Buckets of a histogram of Prometheus, by their upper bounds in seconds, from counts by upper
    bounds in nanoseconds.

    Each bucket counts all durations up to its bound; the last, ``+Inf``, counts all.
    """
    bounds = [
        (f"{bound / 1e9:g}", sum(count for upper, count in counts.items() if upper <= bound))
        for bound in BUCKETS_NS
    ]
    return [*bounds, ("+Inf", sum(counts.values()))]


def _object_labels(catalog: PlannerCatalog, id: GlobalId) -> tuple[str, str, str] | None:
    """The object's id, full name and type; None for what the users did not create, or dropped."""
    assert catalog.snapshot is not None
    item = catalog.snapshot.items.get(id)
    return (
        (item.id, full_name(catalog.snapshot, item), str(item.type)) if item is not None else None
    )


def _replica_labels(catalog: PlannerCatalog, cluster_id: int, id: int) -> tuple[str, str]:
    """The names of the cluster and of the replica; its id where it has no name, as in a virtual
    cluster."""
    assert catalog.snapshot is not None
    cluster = catalog.snapshot.clusters.get(cluster_id)
    replica = catalog.snapshot.cluster_replicas.get(id)
    return cluster.name if cluster is not None else str(
        cluster_id
    ), replica.name if replica is not None else str(id)
