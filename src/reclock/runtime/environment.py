"""An environment: the one place where settings, clock, stores, catalog and Spark are wired together."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.timestamps import CATALOG, EPOCH_MS, Clock, Timestamp
from reclock.catalog.changelog import DurableCatalog
from reclock.catalog.durable import DurableCatalogState
from reclock.catalog.implementations import find_mark, open_log
from reclock.catalog.objects import TimelineFloor
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.clusters.measurements import Measurements
from reclock.clusters.orchestrator import ProcessOrchestrator
from reclock.clusters.own_engines import OwnEngines
from reclock.clusters.remote import RemoteReplica
from reclock.clusters.sizes import ReplicaSize, replica_sizes, size_named
from reclock.clusters.storage import Storage
from reclock.clusters.usage import Usage
from reclock.clusters.virtual import VirtualReplica
from reclock.collections.arrangements import Arrangements
from reclock.collections.folder import Folder
from reclock.collections.lake import Lake
from reclock.collections.marks import StoreMarks
from reclock.collections.table_queues import TableQueues
from reclock.collections.table_wal import TableWal
from reclock.collections.tables import Tables
from reclock.config import Settings
from reclock.connectors.factory import ConnectionContext
from reclock.connectors.objects.object_store import open_object_store
from reclock.consensus.credentials.passwords import Passwords
from reclock.consensus.credentials.secrets import Secrets
from reclock.consensus.database.store import Consensus
from reclock.consensus.frontiers.groups import Frontiers, GroupFrontier
from reclock.consensus.frontiers.holds import ReadHolds
from reclock.consensus.frontiers.shared_holds import SharedHolds
from reclock.consensus.leadership.elections import Seat, Term
from reclock.consensus.leadership.fence import Leadership, known_epoch
from reclock.consensus.objects.pending_cleanup import Leftovers
from reclock.consensus.objects.stored_objects import StoredObjects
from reclock.consensus.processes.replicas import Registration, Replicas
from reclock.consensus.processes.reporters import Reporters
from reclock.consensus.processes.restarts import RestartRequests
from reclock.consensus.processes.statistics import Statistics
from reclock.consensus.processes.statuses import Statuses
from reclock.controllers.compute import ClusterController, ComputeController
from reclock.controllers.controller import Pause
from reclock.controllers.implied import sink_spec
from reclock.controllers.sized import SizedController
from reclock.controllers.storage import StorageController
from reclock.controllers.subscribes import Reporting, own_replica_id
from reclock.controllers.underway import Underway
from reclock.errors import CatalogSealed, CatalogUninitialized, ReclockError
from reclock.ingest.pool import IngestionPool
from reclock.introspection.backends import Backends
from reclock.introspection.collection_manager import CollectionManager
from reclock.introspection.managed import LakeManagedCollections
from reclock.introspection.reports import Reports
from reclock.introspection.types import HISTORIES
from reclock.oracle.batching import BatchingOracle
from reclock.oracle.oracle import ConsensusOracle, TimestampOracle
from reclock.protocol.orchestration import Orchestrator
from reclock.runtime.store_checks import StoreChecks, reserve_ids
from reclock.runtime.system_relations import SYSTEM_OBJECTS, managed_ids, system_entries
from reclock.sinks.factory import SinkContext
from reclock.sql.catalog import PlannerCatalog, PlannerSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SYSTEM_CLUSTER_ID = 0
"""That of no cluster in the catalog: their ids begin at 1."""


class Environment:
    """What every front door works with, as one actor of the catalog's epoch. A context manager: leaving it closes connections and
    stops the Spark session it started."""

    def __init__(self, settings: Settings, clock: Clock | None, spark: SparkSession | None, *, may_make: bool) -> None:
        """Connects; the catalog is not open yet. Use ``open`` or ``initialise``."""
        if not may_make and settings.consensus_file is not None and not settings.consensus_file.exists():
            raise CatalogUninitialized(settings.home)  # nothing is made where somebody only looked
        self.settings = settings
        self.consensus = Consensus.connect(settings.consensus.get_secret_value())
        self.clock = clock or self.consensus.clock
        """The consensus database's, so that no process's own clock decides about time; tests may give another."""
        oracle = ConsensusOracle(self.consensus, self.clock, max_clock_jump_ms=settings.max_clock_jump_ms)
        self.oracle: TimestampOracle = BatchingOracle(oracle)
        try:
            self.mark = find_mark(settings, self.consensus, may_make=may_make)
            log = open_log(self.mark.catalog, self.mark.id, settings, self.consensus)
            epoch = self.consensus.read(known_epoch)
        except BaseException:
            self.consensus.close()
            raise
        self.catalog: DurableCatalogState = DurableCatalog(
            log, oracle=self.oracle, clock=self.clock, deploy_generation=settings.deploy_generation, epoch_above=epoch
        )
        self._log, self._oracle = log, oracle
        lake, interval_ms = Folder(settings.lake_root, settings.lake_options), settings.store_mark_interval_ms
        self.marks = StoreMarks(self.consensus, lake, self.clock, lambda: self.leadership, interval_ms=interval_ms)
        """What the lake and consensus know of each other."""
        self._is_started = False
        self.actor = f"actor-{secrets.token_hex(6)}"
        """A name no other process has: owner of read holds and of claims without a run of their own."""
        self.shared_holds = SharedHolds(lambda: self.holds, self.actor, settings.read_hold_lease_ms)
        """What queries hold: reads of this process lean on one another's."""
        self.defining = threading.Lock()
        """Whoever defines something takes it: statements of one process would only lose the race for the catalog to one another."""
        self.published: dict[str, Timestamp] = {}
        """How far groups were complete when this process last looked; they are no less so now."""
        self.reports: Reports | None = None
        """Where this process reports its sessions and statements, while it does."""
        self.backends = Backends()
        self.table_queues = TableQueues()
        """Where statements of this process that would conflict take turns."""
        self._lake: Lake | None = None
        self._tables: Tables | None = None
        self._planned: PlannerCatalog | None = None
        self.underway = Underway()
        self._virtual_controllers: dict[int, ComputeController] = {}
        self._sized_controllers: dict[int, SizedController] = {}
        self.engines = OwnEngines(lambda: self.settings, spark)
        self._opening = threading.Lock()

    @classmethod
    def initialise(
        cls,
        home: Path | str | None = None,
        *,
        clock: Clock | None = None,
        spark: SparkSession | None = None,
        accept_loss: bool = False,
    ) -> Self:
        """The environment at ``home``, made if it is not there, upgraded if it is old; otherwise only joined.

        A ``spark`` session that is given is used and left running. ``accept_loss`` goes on with stores of which one is older than
        the other, and fences all other processes. Raises ``StoreRolledBack`` otherwise.
        """
        settings = Settings.load(home)
        settings.make_folders()
        return cls(settings, clock, spark, may_make=True)._started(may_lead=True, accept_loss=accept_loss)

    @classmethod
    def open(cls, home: Path | str | None = None, *, clock: Clock | None = None, spark: SparkSession | None = None) -> Self:
        """The environment at ``home``, joined. Raises ``CatalogUninitialized``, ``CatalogVersionUnsupported``, ``Fenced``,
        ``StoreRolledBack``."""
        return cls(Settings.load(home), clock, spark, may_make=False)._started(may_lead=False)

    @classmethod
    def unopened(cls, home: Path | str | None = None, *, clock: Clock | None = None) -> Self:
        """The environment at ``home``, its catalog not open: to look at it, check and mend it, beside whoever uses it."""
        return cls(Settings.load(home), clock, None, may_make=False)

    def _started(self, *, may_lead: bool, accept_loss: bool = False) -> Self:
        checks = StoreChecks(self.marks, self._log, self._oracle, self.settings)
        try:
            self.replica_sizes  # noqa: B018  every statement needs them: a file that cannot be read is reported now
            lost = checks.loss() if accept_loss else checks.check(may_recover=may_lead)
            self._oracle.open_timeline(CATALOG, Timestamp(0))
            if accept_loss or (may_lead and not self.catalog.is_current(SYSTEM_OBJECTS)):
                self.catalog.open(SYSTEM_OBJECTS)
            else:
                self.catalog.join()
            if find_mark(self.settings, self.consensus, may_make=False) != self.mark:
                raise CatalogSealed()  # it was converted meanwhile
            floors = {floor.timeline: floor.floor for floor in self.catalog.get_timestamps()}
            if not floors.get(EPOCH_MS):
                self.catalog.set_timestamps([TimelineFloor(EPOCH_MS, self.clock())])
                floors = {floor.timeline: floor.floor for floor in self.catalog.get_timestamps()}
            for timeline, floor in floors.items():
                self._oracle.open_timeline(timeline, floor)
            self._oracle.check_clock()
            if lost is not None:
                self.oracle.apply_write(EPOCH_MS, lost.newest_time)
                reserve_ids(self.catalog, lost.ids | self.frontiers.get_all().keys() | self.tables.log.known())
                self.marks.write(above=lost.mark)
            self.marks.refresh()
            self._is_started = True
        except BaseException:
            self.close()
            raise
        return self

    @property
    def leadership(self) -> Leadership:
        return self.catalog.leadership

    @property
    def frontiers(self) -> Frontiers:
        return Frontiers(self.consensus, self.leadership)

    @property
    def holds(self) -> ReadHolds:
        return ReadHolds(self.consensus, self.leadership)

    @property
    def statuses(self) -> Statuses:
        return Statuses(self.consensus, self.leadership)

    @property
    def restarts(self) -> RestartRequests:
        return RestartRequests(self.consensus, self.leadership)

    @property
    def leftovers(self) -> Leftovers:
        return Leftovers(self.consensus, self.leadership)

    @property
    def statistics(self) -> Statistics:
        return Statistics(self.consensus, self.leadership)

    @property
    def passwords(self) -> Passwords:
        return Passwords(self.consensus, self.leadership)

    @property
    def secrets(self) -> Secrets:
        key = self.settings.secrets_key.get_secret_value()
        return Secrets(self.consensus, self.leadership, key, self.settings.home / "secrets.key")

    @property
    def stored_objects(self) -> StoredObjects:
        return StoredObjects(self.consensus, self.leadership)

    @property
    def replicas(self) -> Replicas:
        return Replicas(self.consensus, self.leadership)

    def seat(self, controller: str) -> Seat:
        """The place at the head of that controller, for this actor."""
        return Seat(self.consensus, self.leadership, controller, owner=self.actor, lease_ms=self.settings.controller_lease_ms)

    def note_published(self, uppers: Mapping[str, Timestamp]) -> None:
        """Remember uppers that were published."""
        self.published |= {group: max(upper, self.published.get(group, upper)) for group, upper in uppers.items()}

    @property
    def lake(self) -> Lake:
        with self._opening:
            if self._lake is None:
                self._lake = Lake(self.settings.lake_root, self.settings.lake_options, self._incarnation_of)
        return self._lake

    def _incarnation_of(self, id: StorageCollectionId) -> str | None:
        """What the catalog says of a user's collection, as this process has last seen it."""
        item = self.catalog.snapshot().items.get(id.guest or id.source_id)
        return item.incarnation if item is not None else None

    @property
    def tables(self) -> Tables:
        if self._tables is None:
            log = TableWal(self.consensus, self.leadership, self.clock, max_clock_jump_ms=self.settings.max_clock_jump_ms)
            self._tables = Tables(self.lake, log, apply_delay_ms=self.settings.table_apply_delay_ms)
        return self._tables

    @cached_property
    def replica_sizes(self) -> Mapping[str, ReplicaSize]:
        """The sizes that replicas may have, by name. Raises ``ConfigurationError``."""
        return replica_sizes(self.settings.cluster_replica_sizes)

    @property
    def connection_context(self) -> ConnectionContext:
        """What sources are reached with."""
        settings = self.settings
        buckets = open_object_store(
            settings.buckets_root,
            endpoint=settings.s3_endpoint,
            region=settings.s3_region,
            access_key_id=settings.s3_access_key_id,
            secret_access_key=settings.s3_secret_access_key.get_secret_value(),
        )
        return ConnectionContext(buckets, self.clock, lambda secret: self.secrets.get(secret.reference, secret.name))

    def planner_catalog(self) -> PlannerCatalog:
        """The catalog as statements see it: every change committed before the call."""
        return self._planned_at(self.catalog.sync())

    def present(self) -> tuple[PlannerCatalog, Timestamp | None]:
        """As ``planner_catalog``, with the read timestamp of the data, by one look at the oracle, if both are of that moment.

        They are unless the catalog has just changed: one that is newer than the look may have a table that was not filled yet.
        """
        now = self.oracle.read_all()
        snapshot = self.catalog.snapshot()
        if snapshot.upper != now[CATALOG]:
            snapshot = self.catalog.sync()
        return self._planned_at(snapshot), now[EPOCH_MS] if snapshot.upper == now[CATALOG] else None

    def _planned_at(self, snapshot: CatalogSnapshot) -> PlannerCatalog:
        planned = self._planned
        if planned is None or planned.snapshot is not snapshot:
            planned = self.planned(snapshot, planned)
            self.underway.learn(snapshot)
            self._planned = planned  # another thread may put an older one there, but is not answered from it
        return planned

    def planned(self, snapshot: CatalogSnapshot, previous: PlannerCatalog | None) -> PlannerCatalog:
        """The catalog of ``snapshot``, which may hold what is not committed, as statements see it."""
        settings = PlannerSettings(tuple(self.replica_sizes), self.settings.experimental_mode)
        return PlannerCatalog.from_snapshot(snapshot, system_entries(self.catalog.snapshot()), previous, settings)

    @cached_property
    def storage_controller(self) -> StorageController:
        """Makes and drops collections; one process leads it."""
        seat = self.seat("storage")

        def plane(term: Term, publish: Callable[[Timestamp], None]) -> Storage:
            within, leadership = seat.within(term), self.leadership
            return Storage(
                self.lake,
                Tables(self.lake, TableWal(within, leadership, self.clock, max_clock_jump_ms=self.settings.max_clock_jump_ms)),
                Frontiers(within, leadership),
                ReadHolds(within, leadership),
                Statuses(within, leadership),
                StoredObjects(within, leadership),
                self.shared_holds.let_go,
                publish,
                lambda: self.oracle.read_ts(EPOCH_MS),
            )

        return StorageController(self.planner_catalog, self.oracle, seat, plane)

    def await_storage(self, catalog: PlannerCatalog, pause: Pause | None = None) -> None:
        """Everything that ``catalog`` has is there, to be read and written, unless it was dropped since."""
        assert catalog.snapshot is not None
        self.storage_controller.await_frontier(catalog.snapshot.content_upper, pause)

    def frontiers_of(self, catalog: PlannerCatalog) -> dict[GlobalId, GroupFrontier]:
        """How far each object is, for those who look on: what ``catalog`` has and a leader elsewhere is late with, is missing."""
        assert catalog.snapshot is not None
        self.storage_controller.brought_to(catalog.snapshot.content_upper)
        return catalog.by_object(self.frontiers.get_all())

    def compute_controller(self, cluster_id: int) -> ClusterController:
        """Commands and asks the replica that a virtual cluster has in this process, or those that the cluster has elsewhere."""
        cluster = self.catalog.snapshot().clusters.get(cluster_id)
        if cluster is not None and cluster.size is not None:
            return self.sized_controller(cluster_id)
        found = self._virtual_controllers.get(cluster_id)
        if found is None:
            name = str(own_replica_id(cluster_id, self.actor))
            made = ComputeController(self.planner_catalog, cluster_id, self.make_replica(f"cluster-{cluster_id}"), name)
            found = self._virtual_controllers.setdefault(cluster_id, made)
        return found

    def sized_controller(self, cluster_id: int) -> SizedController:
        """Commands and asks the replicas of a cluster that has them elsewhere."""
        found = self._sized_controllers.get(cluster_id)
        return found or self._sized_controllers.setdefault(cluster_id, self._make_sized_controller(cluster_id))

    def _make_sized_controller(self, cluster_id: int) -> SizedController:
        seat = self.seat(f"compute {cluster_id}")

        def registry(term: Term | None) -> Replicas:
            return Replicas(self.consensus if term is None else seat.within(term), self.leadership)

        def connect(registration: Registration) -> RemoteReplica:
            known = self.catalog.snapshot().cluster_replicas.get(registration.replica_id)
            assert registration.address is not None
            return RemoteReplica(
                known.name if known is not None else str(registration.replica_id),
                registration.address,
                registration.token,
                lambda: self.replicas.is_alive(registration.replica_id, registration.incarnation),
            )

        start_ms = self.settings.replica_start_ms
        return SizedController(self.planner_catalog, self.oracle, seat, cluster_id, registry, connect, self.orchestrator, start_ms)

    @cached_property
    def system_controller(self) -> ComputeController:
        """Answers what is about the system itself, in this process: it can be asked while no cluster is there to be asked."""
        return ComputeController(self.planner_catalog, SYSTEM_CLUSTER_ID, self.make_replica())

    @cached_property
    def orchestrator(self) -> Orchestrator:
        """Starts the processes of replicas."""
        return ProcessOrchestrator(self.settings.home, autostart=self.settings.replica_autostart)

    def make_replica(self, pool: str = "default", size: ReplicaSize | None = None) -> VirtualReplica:
        """A replica in this process, with this environment's engines; its Spark jobs are in a scheduling pool of that name. One
        with a size has the process for itself."""
        sample_ms = self.settings.introspection_sample_ms
        return VirtualReplica(
            self.lake,
            self.tables,
            self.frontiers,
            self.holds,
            self.settings,
            self.arrangements,
            lambda: self.engines.small,
            lambda: self.engines.large(pool),
            self.published,
            Measurements(
                lambda ids: self.frontiers.get_all(list(ids)),
                self.lake,
                self.clock,
                sample_ms,
                Usage(self.actor, self.clock, sample_ms, size),
            ),
            lambda id: sink_spec(self.planner_catalog(), id),
            SinkContext(self.settings, self.mark.id, self.clock, lambda secret: self.secrets.get(secret.reference, secret.name)),
        )

    @cached_property
    def managed(self) -> LakeManagedCollections:
        """The collections that storage manages for introspection."""
        return LakeManagedCollections(
            self.lake,
            self.consensus,
            self.leadership,
            self.clock,
            lambda: managed_ids(self.catalog.snapshot()),
            self.settings.introspection_apply_delay_ms,
            self.settings.max_clock_jump_ms,
        )

    @cached_property
    def collection_manager(self) -> CollectionManager:
        """Writes what replicas and processes report."""
        names = Reporters(self.consensus, self.leadership, lease_ms=self.settings.introspection_lease_ms)
        return CollectionManager(self.managed, names, HISTORIES, self.clock)

    def own_replicas(self) -> dict[int, tuple[int, Reporting | None]]:
        """All replicas of sized clusters, None for those that this process does not lead, and its own of virtual clusters; each
        with its cluster."""
        found: dict[int, tuple[int, Reporting | None]] = {}
        snapshot = self.catalog.sync()
        for cluster in snapshot.clusters.values():
            controller = self.compute_controller(cluster.id)
            if isinstance(controller, SizedController):
                led = controller.led()
                ids = {replica.id for replica in snapshot.cluster_replicas.values() if replica.cluster_id == cluster.id}
                found |= {id: (cluster.id, led.get(id)) for id in ids | led.keys()}
            elif isinstance(controller, ComputeController):
                controller.brought_to(snapshot.upper)  # no session may have used the cluster yet
                found[own_replica_id(cluster.id, self.actor)] = (cluster.id, controller.target(""))
        return found

    def lags_ms(self) -> dict[str, int] | None:
        """How far each object is behind the present, if this process, or none, leads the storage controller."""
        if self.storage_controller.leader() not in (self.actor, None):
            return None
        now = self.clock()
        objects = self.planner_catalog().by_object(self.frontiers.get_all())
        return {id: frontier.lag_ms(now) for id, frontier in objects.items()}

    def use_size(self, name: str) -> ReplicaSize:
        """The engines of this process are those of a replica of this size. Before the first is used. Raises ``InvalidOption``."""
        size = size_named(name, self.replica_sizes)
        self.settings = size.applied_to(self.settings)
        return size

    @cached_property
    def threads(self) -> ThreadPoolExecutor:
        """Work on many sources at once. They stay: Spark keeps a thread of its own for each."""
        return ThreadPoolExecutor(self.settings.source_threads, thread_name_prefix="source")

    @cached_property
    def ingestions(self) -> IngestionPool[Any]:
        """What ticks of this process have started and not published yet."""
        return IngestionPool(self.threads)

    @cached_property
    def arrangements(self) -> Arrangements:
        """What is looked up again and again, in this process's memory."""
        return Arrangements(self.settings.arrangements_bytes)

    def close(self) -> None:
        if "threads" in self.__dict__:
            self.threads.shutdown()
        self.shared_holds.close()
        if "managed" in self.__dict__:
            self.managed.close()
        if self._tables is not None:
            self._tables.close()
        self.engines.close()
        if self._is_started:
            with suppress(ReclockError, OSError):
                self.marks.refresh()
        self.catalog.close()
        self.consensus.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
