"""An environment: the one place where settings, clock, stores, catalog and Spark are wired together."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import CATALOG, EPOCH_MS, Clock, Timestamp, system_clock
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
from reclock.clusters.virtual import VirtualReplica
from reclock.collections.arrangements import Arrangements
from reclock.collections.lake import Lake
from reclock.collections.table_log import TableLog
from reclock.collections.tables import Tables
from reclock.config import Settings
from reclock.consensus.elections import Seat, Term
from reclock.consensus.fence import Leadership
from reclock.consensus.frontiers import Frontiers, GroupFrontier
from reclock.consensus.holds import ReadHolds
from reclock.consensus.leftovers import Leftovers
from reclock.consensus.passwords import Passwords
from reclock.consensus.replicas import Registration, Replicas
from reclock.consensus.reporters import Reporters
from reclock.consensus.secrets import Secrets
from reclock.consensus.shared_holds import SharedHolds
from reclock.consensus.statistics import Statistics
from reclock.consensus.statuses import Statuses
from reclock.consensus.store import Consensus
from reclock.controllers.compute import ClusterController, ComputeController
from reclock.controllers.controller import Pause
from reclock.controllers.implied import sink_spec
from reclock.controllers.sized import SizedController
from reclock.controllers.storage import StorageController
from reclock.controllers.subscribes import OwnReplicas, Reporting, own_replica_id
from reclock.controllers.underway import Underway
from reclock.errors import CatalogSealed, CatalogUninitialized, ConfigurationError
from reclock.introspection.backends import Backends
from reclock.introspection.collection_manager import CollectionManager
from reclock.introspection.managed import Managed
from reclock.introspection.reports import Reports
from reclock.introspection.types import HISTORIES
from reclock.oracle.batching import BatchingOracle
from reclock.oracle.oracle import ConsensusOracle, TimestampOracle
from reclock.protocol.orchestration import Orchestrator
from reclock.sinks.opening import SinkMeans
from reclock.sources.object_store import open_object_store
from reclock.sources.opening import Means
from reclock.sql.catalog import PlannerCatalog, PlannerSettings
from reclock.system_relations import SYSTEM_OBJECTS, managed_ids, system_entries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SYSTEM_CLUSTER_ID = 0
"""That of no cluster in the catalog: their ids begin at 1."""

_SETTINGS_FILE = """# Settings of this environment; see docs/settings.md for all of them. Variables RECLOCK_... override.
# log_level = "INFO"
"""


class Environment:
    """What every front door works with, as one actor of the catalog's epoch. A context manager: leaving it closes connections and
    stops the Spark session it started."""

    def __init__(self, settings: Settings, clock: Clock, spark: SparkSession | None, *, may_make: bool) -> None:
        """Connects; the catalog is not open yet. Use ``open`` or ``initialise``."""
        if not may_make and settings.consensus_file is not None and not settings.consensus_file.exists():
            raise CatalogUninitialized(settings.home)  # nothing is made where somebody only looked
        self.settings = settings
        self.clock = clock
        self.consensus = Consensus.connect(settings.consensus.get_secret_value())
        oracle = ConsensusOracle(self.consensus, clock)
        self.oracle: TimestampOracle = BatchingOracle(oracle)
        try:
            self.mark = find_mark(settings, self.consensus, may_make=may_make)
            log = open_log(self.mark.catalog, self.mark.id, settings, self.consensus)
        except BaseException:
            self.consensus.close()
            raise
        self.catalog: DurableCatalogState = DurableCatalog(
            log, oracle=self.oracle, clock=clock, deploy_generation=settings.deploy_generation
        )
        self._open_timeline = oracle.open_timeline
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
        self._lake: Lake | None = None
        self._tables: Tables | None = None
        self._planned: PlannerCatalog | None = None
        self.underway = Underway()
        self._virtual_controllers: dict[int, ComputeController] = {}
        self._sized_controllers: dict[int, SizedController] = {}
        self.engines = OwnEngines(lambda: self.settings, spark)
        self._opening = threading.Lock()

    @classmethod
    def initialise(cls, home: Path | str | None = None, *, clock: Clock = system_clock, spark: SparkSession | None = None) -> Self:
        """The environment at ``home``, made if it is not there, upgraded if it is old; otherwise only joined.

        A ``spark`` session that is given is used and left running.
        """
        settings = Settings.load(home)
        try:
            settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = settings.home / "reclock.toml"
            if not file.exists():
                file.write_text(_SETTINGS_FILE)
            for root in (settings.lake_root, settings.buckets_root):
                if "://" not in root:
                    Path(root).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(f'cannot make "{error.filename}"', detail=error.strerror) from error
        return cls(settings, clock, spark, may_make=True)._started(may_lead=True)

    @classmethod
    def open(cls, home: Path | str | None = None, *, clock: Clock = system_clock, spark: SparkSession | None = None) -> Self:
        """The environment at ``home``, joined. Raises ``CatalogUninitialized``, ``CatalogVersionUnsupported``, ``Fenced``."""
        return cls(Settings.load(home), clock, spark, may_make=False)._started(may_lead=False)

    @classmethod
    def unopened(cls, home: Path | str | None = None, *, clock: Clock = system_clock) -> Self:
        """The environment at ``home``, its catalog not open: to look at it, check and mend it, beside whoever uses it."""
        return cls(Settings.load(home), clock, None, may_make=False)

    def _started(self, *, may_lead: bool) -> Self:
        try:
            self._open_timeline(CATALOG, Timestamp(0))
            if may_lead and not self.catalog.is_current(SYSTEM_OBJECTS):
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
                self._open_timeline(timeline, floor)
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
                self._lake = Lake(self.settings.lake_root, self.settings.lake_options)
        return self._lake

    @property
    def tables(self) -> Tables:
        if self._tables is None:
            log = TableLog(self.consensus, self.leadership, self.clock)
            self._tables = Tables(self.lake, log, apply_delay_ms=self.settings.table_apply_delay_ms)
        return self._tables

    @cached_property
    def replica_sizes(self) -> Mapping[str, ReplicaSize]:
        """The sizes that replicas may have, by name. Raises ``ConfigurationError``."""
        return replica_sizes(self.settings.cluster_replica_sizes)

    @property
    def means(self) -> Means:
        """What sources are reached with."""
        settings = self.settings
        buckets = open_object_store(
            settings.buckets_root,
            endpoint=settings.s3_endpoint,
            region=settings.s3_region,
            access_key_id=settings.s3_access_key_id,
            secret_access_key=settings.s3_secret_access_key.get_secret_value(),
        )
        return Means(buckets, self.clock, lambda secret: self.secrets.get(secret.reference, secret.name))

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
                Tables(self.lake, TableLog(within, leadership, self.clock)),
                Frontiers(within, leadership),
                ReadHolds(within, leadership),
                Statuses(within, leadership),
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

    def make_replica(self, pool: str = "default") -> VirtualReplica:
        """A replica in this process, with this environment's engines; its Spark jobs are in a scheduling pool of that name."""
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
                self.actor,
                self.settings.introspection_sample_ms,
            ),
            lambda id: sink_spec(self.planner_catalog(), id),
            SinkMeans(self.settings, self.mark.id, self.clock, lambda secret: self.secrets.get(secret.reference, secret.name)),
        )

    @cached_property
    def managed(self) -> Managed:
        """The collections that storage manages for introspection."""
        delay_ms = self.settings.introspection_apply_delay_ms
        return Managed(
            self.lake, self.consensus, self.leadership, self.clock, lambda: managed_ids(self.catalog.snapshot()), delay_ms
        )

    @cached_property
    def collection_manager(self) -> CollectionManager:
        """Writes what replicas and processes report."""
        names = Reporters(self.consensus, self.leadership, lease_ms=self.settings.introspection_lease_ms)
        return CollectionManager(self.managed, names, HISTORIES)

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Inside the block what the replicas of virtual clusters and the sessions of this process do is recorded."""
        settings, manager = self.settings, self.collection_manager
        replicas = OwnReplicas(self._own_replicas, manager, self.actor, self.clock)
        times = settings.introspection_sample_ms, settings.introspection_retention_ms
        reports = self.reports = Reports(manager, self.actor, self.clock, *times, self._lags_ms)

        def gather() -> None:
            reports.step()
            replicas.step()

        stopping = threading.Event()
        loop = partial(manager.loop, stopping, interval_ms=settings.introspection_interval_ms, gather=gather)
        thread = threading.Thread(target=loop, name="introspection", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.reports = None
            replicas.close()
            reports.close()
            stopping.set()
            thread.join()

    def _own_replicas(self) -> dict[int, tuple[int, Reporting]]:
        found: dict[int, tuple[int, Reporting]] = {}
        for cluster in self.catalog.sync().clusters.values():
            controller = self.compute_controller(cluster.id)
            if isinstance(controller, SizedController):
                found |= {id: (cluster.id, replica) for id, replica in controller.led().items()}
            else:
                found[own_replica_id(cluster.id, self.actor)] = (cluster.id, controller.target(""))
        return found

    def _lags_ms(self) -> dict[str, int] | None:
        """How far each object is behind the present, if this process, or none, leads the storage controller."""
        if self.storage_controller.leader() not in (self.actor, None):
            return None
        now = self.clock()
        objects = self.planner_catalog().by_object(self.frontiers.get_all())
        return {id: frontier.lag_ms(now) for id, frontier in objects.items()}

    def use_size(self, size: str) -> None:
        """The engines of this process are those of a replica of this size. Before the first is used. Raises ``InvalidOption``."""
        self.settings = size_named(size, self.replica_sizes).applied_to(self.settings)

    @cached_property
    def threads(self) -> ThreadPoolExecutor:
        """Work on many sources at once. They stay: Spark keeps a thread of its own for each."""
        return ThreadPoolExecutor(self.settings.source_threads, thread_name_prefix="source")

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
        self.catalog.close()
        self.consensus.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
