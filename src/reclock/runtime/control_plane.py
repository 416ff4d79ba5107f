"""The control plane of a process: the controllers that it knows, leads and waits for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Protocol

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.clusters.orchestrator import ProcessOrchestrator, ReplicaProcess
from reclock.clusters.remote import RemoteReplica
from reclock.clusters.storage import Storage
from reclock.collections.table_wal import TableWal
from reclock.collections.tables import Tables
from reclock.consensus.frontiers.groups import Frontiers, GroupFrontier
from reclock.consensus.frontiers.holds import ReadHolds
from reclock.consensus.leadership.elections import Seat, Term
from reclock.consensus.objects.statuses import Statuses
from reclock.consensus.objects.stored_objects import StoredObjects
from reclock.consensus.processes.replicas import Registration, Replicas
from reclock.controllers.active_peeks import ActivePeeks
from reclock.controllers.compute import ClusterController, ComputeController
from reclock.controllers.controller import Pause
from reclock.controllers.managed import ManagedClusterController
from reclock.controllers.storage import StorageController
from reclock.controllers.subscribes import Reporting, in_process_replica_id
from reclock.protocol.compute import Replica
from reclock.protocol.orchestration import Orchestrator
from reclock.runtime.stores import Stores
from reclock.sql.catalog.planner_catalog import PlannerCatalog

SYSTEM_CLUSTER_ID = 0
"""The id of the system cluster, which is not in the catalog. Cluster ids begin at 1."""


class MakeReplica(Protocol):
    """Makes a replica in this process, whose Spark jobs run in the scheduling pool of this name."""

    def __call__(self, pool: str = "default") -> Replica: ...


class ControlPlane:
    """The storage controller and the compute controller of each cluster, as one process knows them.

    Each controller is created at its first use. Code that reads or writes newly defined objects
    waits here until the controllers have created them.
    """

    def __init__(
        self, stores: Stores, active_peeks: ActivePeeks, make_replica: MakeReplica
    ) -> None:
        self._stores, self._make_replica = stores, make_replica
        self.active_peeks = active_peeks
        """The peeks that this process waits for. They end when their cluster is dropped."""
        self._in_process_controllers: dict[int, ComputeController] = {}
        self._managed_controllers: dict[int, ManagedClusterController] = {}

    def seat(self, controller: str) -> Seat:
        """The leadership of this controller, for this actor."""
        stores = self._stores
        lease_ms = stores.settings.controller_lease_ms
        return Seat(
            stores.consensus,
            stores.leadership,
            controller,
            owner=stores.actor,
            lease_ms=lease_ms,
            leases=stores.leases,
        )

    # --- storage ---

    @cached_property
    def storage_controller(self) -> StorageController:
        """Creates and drops collections; one process leads it."""
        seat = self.seat("storage")

        def make_plane(term: Term, publish: Callable[[Timestamp], None]) -> Storage:
            stores, consensus, leadership = self._stores, seat.within(term), self._stores.leadership
            table_wal = TableWal(
                consensus,
                leadership,
                stores.clock,
                max_clock_jump_ms=stores.settings.max_clock_jump_ms,
            )
            return Storage(
                stores.lake,
                Tables(stores.lake, table_wal),
                Frontiers(consensus, leadership),
                ReadHolds(consensus, leadership),
                Statuses(consensus, leadership),
                StoredObjects(consensus, leadership),
                stores.shared_holds.release_idle,
                publish,
                lambda: stores.oracle.read_ts(EPOCH_MS),
            )

        return StorageController(
            self._stores.planner_catalog, self._stores.oracle, seat, make_plane
        )

    def await_storage(self, catalog: PlannerCatalog, pause: Pause | None = None) -> None:
        """Wait until everything that ``catalog`` defines can be read and written, unless it was
        dropped since."""
        assert catalog.snapshot is not None
        self.storage_controller.await_frontier(catalog.snapshot.content_upper, pause)

    def frontiers_of(self, catalog: PlannerCatalog) -> dict[GlobalId, GroupFrontier]:
        """The frontier of each object, for monitoring. Objects that a leader elsewhere has not
        created yet are absent."""
        assert catalog.snapshot is not None
        self.storage_controller.try_advance(catalog.snapshot.content_upper)
        return catalog.by_object(self._stores.frontiers.get_all())

    def object_lags_ms(self) -> dict[str, int] | None:
        """How far each object is behind the present, if this process, or none, leads the storage
        controller."""
        stores = self._stores
        if self.storage_controller.leader() not in (stores.actor, None):
            return None
        now = stores.clock()
        objects = stores.planner_catalog().by_object(stores.frontiers.get_all())
        return {id: frontier.lag_ms(now) for id, frontier in objects.items()}

    # --- compute ---

    def compute_controller(self, cluster_id: int) -> ClusterController:
        """The controller of the cluster: of the replica in this process, for a virtual cluster, or
        of its replica processes."""
        cluster = self._stores.catalog.snapshot().clusters.get(cluster_id)
        if cluster is not None and cluster.size is not None:
            return self.managed_controller(cluster_id)
        controller = self._in_process_controllers.get(cluster_id)
        if controller is None:
            name = str(in_process_replica_id(cluster_id, self._stores.actor))
            replica = self._make_replica(f"cluster-{cluster_id}")
            controller = ComputeController(self._stores.planner_catalog, cluster_id, replica, name)
            controller = self._in_process_controllers.setdefault(cluster_id, controller)
        return controller

    def managed_controller(self, cluster_id: int) -> ManagedClusterController:
        """The controller of a cluster whose replicas are processes."""
        controller = self._managed_controllers.get(cluster_id)
        return controller or self._managed_controllers.setdefault(
            cluster_id, self._make_managed_controller(cluster_id)
        )

    def _make_managed_controller(self, cluster_id: int) -> ManagedClusterController:
        stores, seat = self._stores, self.seat(f"compute {cluster_id}")

        def registry(term: Term | None) -> Replicas:
            return Replicas(
                stores.consensus if term is None else seat.within(term), stores.leadership
            )

        def connect(registration: Registration) -> RemoteReplica:
            known = stores.catalog.snapshot().cluster_replicas.get(registration.replica_id)
            assert registration.address is not None
            return RemoteReplica(
                known.name if known is not None else str(registration.replica_id),
                registration.address,
                registration.token,
                lambda: stores.replicas.is_alive(registration.replica_id, registration.incarnation),
            )

        start_ms = stores.settings.replica_start_ms
        return ManagedClusterController(
            stores.planner_catalog,
            stores.oracle,
            seat,
            cluster_id,
            registry,
            connect,
            self.orchestrator,
            start_ms,
        )

    @cached_property
    def system_controller(self) -> ComputeController:
        """The controller that answers queries about the system in this process, even if there is no
        cluster."""
        return ComputeController(
            self._stores.planner_catalog, SYSTEM_CLUSTER_ID, self._make_replica()
        )

    @cached_property
    def orchestrator(self) -> Orchestrator:
        """Starts the processes of replicas."""
        settings = self._stores.settings
        return ProcessOrchestrator(settings.home, autostart=settings.replica_autostart)

    def replica_processes(self) -> list[ReplicaProcess]:
        """The processes of replicas that this process started and that have not ended. They outlive
        it."""
        orchestrator = self.orchestrator
        return orchestrator.running() if isinstance(orchestrator, ProcessOrchestrator) else []

    def reported_replicas(self) -> dict[int, tuple[int, Reporting | None]]:
        """By id, each with its cluster: the replicas of managed clusters, None for those that this
        process does not lead, and this process's own replicas of virtual clusters."""
        replicas: dict[int, tuple[int, Reporting | None]] = {}
        snapshot = self._stores.catalog.snapshot()
        for cluster in snapshot.clusters.values():
            controller = self.compute_controller(cluster.id)
            if isinstance(controller, ManagedClusterController):
                led = controller.led()
                ids = {
                    replica.id
                    for replica in snapshot.cluster_replicas.values()
                    if replica.cluster_id == cluster.id
                }
                replicas |= {id: (cluster.id, led.get(id)) for id in ids | led.keys()}
            elif isinstance(controller, ComputeController):
                controller.try_advance(snapshot.upper)  # no session may have used the cluster yet
                replicas[in_process_replica_id(cluster.id, self._stores.actor)] = (
                    cluster.id,
                    controller.target(""),
                )
        return replicas
