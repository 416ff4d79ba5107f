"""Indexes are maintained as their inputs are published, by the process that leads, without a tick.

The leader of the storage controller refreshes the indexes of virtual clusters with its own engines.
The leader of a managed cluster has its replicas refresh them. Ticks and DAGs may refresh the same
indexes: claims decide who does what, and the others find it done.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from reclock.adapter.timestamps import read_time
from reclock.algebra.timestamps import EPOCH_MS
from reclock.controllers.due_indexes import has_due_index, has_pending_index
from reclock.controllers.implied import dataflows
from reclock.pipeline import cluster_steps
from reclock.plan.relational import collections
from reclock.plan.temporal import reads_now
from reclock.runtime.environment import Environment

_logger = structlog.get_logger(__name__)

_LOOK_S = 5.0
"""How often a cluster is looked at if no change is noticed."""

_QUIET_S = 30.0
"""The same while nothing can become due without a change that wakes it up."""

_LEAST_PAUSE_S = 0.1
"""The pause after a look that found nothing to do. On SQLite any commit wakes it up."""

_LONGEST_PAUSE_S = 60.0
"""The longest pause after failures. It doubles with each."""

_PATIENCE_S = 5.0
"""How long the end of the block waits for a running refresh, which the next leader would finish."""


@contextmanager
def maintaining(environment: Environment) -> Iterator[None]:
    """Within the block, the indexes of the clusters that this process leads follow their inputs."""
    if not environment.stores.settings.refresh_interval_ms:
        yield
        return
    maintenance = _Maintenance(environment)
    changes = environment.stores.consensus.timeline_changes
    with (
        changes.calling(maintenance.wake),
        changes.calling(maintenance.wake_clusters, EPOCH_MS),
    ):
        maintenance.start()
        try:
            yield
        finally:
            maintenance.stop()


class _Maintenance:
    """A thread for each cluster, and one that follows which clusters there are."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._stopping = threading.Event()
        self._changed = threading.Event()
        self._clusters: dict[int, _ClusterMaintenance] = {}
        self._thread = threading.Thread(target=self._follow, name="index-maintenance", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        self._changed.set()
        self.wake_clusters()

    def wake_clusters(self) -> None:
        for cluster in list(self._clusters.values()):
            cluster.wake()

    def stop(self) -> None:
        self._stopping.set()
        self.wake()
        self._thread.join()
        deadline = time.monotonic() + _PATIENCE_S
        for cluster in self._clusters.values():
            cluster.stop(max(deadline - time.monotonic(), 0.1))

    def _follow(self) -> None:
        while not self._stopping.is_set():
            self._changed.clear()
            try:
                names = {
                    cluster.id: cluster.name
                    for cluster in self._environment.stores.catalog.sync().clusters.values()
                }
            except Exception as error:  # the edge of the loop: the next attempt may succeed
                _logger.warning("clusters cannot be read; retrying", error=str(error))
                self._stopping.wait(1)
                continue
            for id in self._clusters.keys() - names.keys():
                self._clusters.pop(id).stop(0)
            for id, name in names.items():
                if id not in self._clusters:
                    self._clusters[id] = _ClusterMaintenance(self._environment, id)
                    self._clusters[id].start(name)
            self._stopping.wait(_LEAST_PAUSE_S)
            self._changed.wait(_QUIET_S)


class _ClusterMaintenance:
    """Refreshes the indexes of one cluster whenever they are due and this process leads it."""

    def __init__(self, environment: Environment, cluster_id: int) -> None:
        self._environment, self._cluster_id = environment, cluster_id
        self._stopping = threading.Event()
        self._changed = threading.Event()
        self._failures = 0
        self._look_s = _LOOK_S
        """The longest pause before the next look, as the last one found."""

    def start(self, name: str) -> None:
        self._thread = threading.Thread(
            target=self._loop, name=f"index-maintenance-{name}", daemon=True
        )
        self._thread.start()

    def wake(self) -> None:
        self._changed.set()

    def stop(self, patience_s: float) -> None:
        self._stopping.set()
        self.wake()
        self._thread.join(patience_s)

    def _loop(self) -> None:
        interval_s = self._environment.stores.settings.refresh_interval_ms / 1000
        while not self._stopping.is_set():
            self._changed.clear()
            began, pause_s, self._look_s = time.monotonic(), _LEAST_PAUSE_S, _LOOK_S
            try:
                if self._is_leading() and self._is_due():
                    pause_s = interval_s
                    self._failures = 0 if self._refresh() else self._failures + 1
            except Exception as failure:  # the edge of the loop: the next attempt may succeed
                self._failures += 1
                if not self._stopping.is_set():
                    _logger.warning(
                        "indexes cannot be refreshed; retrying",
                        cluster_id=self._cluster_id,
                        error=str(failure),
                    )
            if self._failures:
                pause_s = min(max(pause_s, interval_s) * 2.0**self._failures, _LONGEST_PAUSE_S)
            self._stopping.wait(max(pause_s - (time.monotonic() - began), _LEAST_PAUSE_S))
            self._changed.wait(self._look_s)

    def _is_leading(self) -> bool:
        control_plane = self._environment.control_plane
        cluster = self._environment.stores.catalog.snapshot().clusters.get(self._cluster_id)
        if cluster is None:
            return False
        if cluster.size is None:
            return control_plane.storage_controller.is_leading
        return control_plane.managed_controller(self._cluster_id).is_leading

    def _is_due(self) -> bool:
        """One read of the oracle and one of the frontiers, when the catalog has not changed."""
        stores = self._environment.stores
        catalog = stores.planner_catalog()
        maintained = dataflows(catalog, self._cluster_id).values()
        if not maintained:
            self._look_s = _QUIET_S
            return False
        read_ts = stores.oracle.read_ts(EPOCH_MS)
        follows_clock = any(reads_now(dataflow.plan) for dataflow in maintained)
        if follows_clock:  # an index changes as time passes, without changes of its inputs
            read_ts = read_time.follow_clock(self._environment, read_ts)
        groups = {id.group for dataflow in maintained for id in collections(dataflow.plan)}
        frontiers = stores.frontiers.get_all({*groups, *(dataflow.id for dataflow in maintained)})
        other_indexes = {
            index.id for index in catalog.indexes() if index.cluster_id != self._cluster_id
        }
        is_due = has_due_index(maintained, frontiers, read_ts, stores.consensus.clock())
        if follows_clock:
            self._look_s = read_time.CLOCK_STEP_MS / 1000
        elif not (
            is_due or self._failures or has_pending_index(maintained, frontiers, other_indexes)
        ):
            self._look_s = _QUIET_S
        return is_due

    def _refresh(self) -> bool:
        """Whether no index has failed."""
        stores = self._environment.stores
        name = stores.catalog.snapshot().clusters[self._cluster_id].name
        at = stores.oracle.read_ts(EPOCH_MS)
        return not cluster_steps.refresh(self._environment, name, at, owner=stores.actor).failed
