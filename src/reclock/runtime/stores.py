"""The stores of an environment: everything durable, and this process's caches of it."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property

from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.timestamps import CATALOG, EPOCH_MS, Clock, Timestamp
from reclock.catalog.changelog import DurableCatalog
from reclock.catalog.durable import DurableCatalogState
from reclock.catalog.implementations import find_mark, open_log
from reclock.catalog.objects import TimelineFloor
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.clusters.sizes import ReplicaSize, replica_sizes
from reclock.collections.folder import Folder
from reclock.collections.lake import Lake
from reclock.collections.marks import StoreMarks
from reclock.collections.table_queues import TableQueues
from reclock.collections.table_wal import TableWal
from reclock.collections.tables import Tables
from reclock.config import Settings
from reclock.consensus.credentials.passwords import Passwords
from reclock.consensus.credentials.secrets import Secrets
from reclock.consensus.database.store import Consensus
from reclock.consensus.frontiers.groups import Frontiers
from reclock.consensus.frontiers.holds import ReadHolds
from reclock.consensus.frontiers.shared_holds import SharedHolds
from reclock.consensus.leadership import identity
from reclock.consensus.leadership.fence import Leadership, known_epoch
from reclock.consensus.leadership.leases import LeaseKeeper
from reclock.consensus.objects.pending_cleanup import PendingCleanups
from reclock.consensus.objects.registrations import Registrations
from reclock.consensus.objects.restart_requests import RestartRequests
from reclock.consensus.objects.sequences import Sequences
from reclock.consensus.objects.statistics import Statistics
from reclock.consensus.objects.statuses import Statuses
from reclock.consensus.objects.stored_objects import StoredObjects
from reclock.consensus.processes.advisory_locks import LockHolder
from reclock.consensus.processes.replicas import Replicas
from reclock.errors import CatalogSealed, CatalogUninitialized, EnvironmentIsCopy, ReclockError
from reclock.introspection.managed import LakeManagedCollections
from reclock.oracle.batching import BatchingOracle
from reclock.oracle.oracle import ConsensusOracle, TimestampOracle
from reclock.runtime.password_references import settle_password_references
from reclock.runtime.planner_catalogs import PlannerCatalogs
from reclock.runtime.store_checks import StoreChecks, reserve_ids
from reclock.runtime.system_relations import SYSTEM_OBJECTS, managed_ids
from reclock.sql.catalog.entries import PlannerSettings
from reclock.sql.catalog.planner_catalog import PlannerCatalog


def _check_exists(settings: Settings) -> None:
    """Raises ``CatalogUninitialized`` if there is no file of consensus, which an attempt to open it
    would create."""
    file = settings.consensus_file
    if file is not None and not file.exists():
        raise CatalogUninitialized(settings.home)


class Stores:
    """Consensus, the lake, the catalog, the oracle and the marks, as one actor of the catalog's
    epoch reads and writes them.

    ``leadership`` fences every write. What is only in memory (``shared_holds``,
    ``published_uppers``, ``ddl_lock``, ``table_queues``) saves work among the threads of this
    process, and is not needed for correctness.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock | None,
        *,
        may_create: bool,
        on_catalog: Callable[[CatalogSnapshot], None],
    ) -> None:
        """Connects, but does not open the catalog. ``on_catalog`` is called with each version of
        the catalog that this process learns of.

        Raises ``CatalogUninitialized`` if nothing exists yet, unless the caller ``may_create`` it.
        """
        if not may_create:
            _check_exists(settings)
        self.settings = settings
        self.consensus = Consensus.connect(settings.consensus.get_secret_value())
        self.clock = clock or self.consensus.clock
        """The consensus database's clock, so that no process's own clock matters; tests may replace
        it."""
        self.opened_at = self.clock()
        oracle = ConsensusOracle(
            self.consensus, self.clock, max_clock_jump_ms=settings.max_clock_jump_ms
        )
        self.oracle: TimestampOracle = BatchingOracle(oracle)
        try:
            self.mark = find_mark(settings, self.consensus, may_make=may_create)
            log = open_log(self.mark.catalog, self.mark.id, settings, self.consensus)
            epoch = self.consensus.read(known_epoch)
        except BaseException:
            self.consensus.close()
            raise
        self.catalog: DurableCatalogState = DurableCatalog(
            log,
            oracle=self.oracle,
            clock=self.clock,
            deploy_generation=settings.deploy_generation,
            epoch_above=epoch,
        )
        self._log, self._oracle = log, oracle
        lake = Folder(settings.lake_root, settings.lake_options)
        interval_ms = settings.store_mark_interval_ms
        self.marks = StoreMarks(
            self.consensus, lake, self.clock, lambda: self.leadership, interval_ms=interval_ms
        )
        """What the lake and consensus remember of each other."""
        self._is_open = False
        self.actor = f"actor-{secrets.token_hex(6)}"
        """A unique name of this process: the owner of its read holds, and of claims without a run
        of their own."""
        self._share_among_threads(on_catalog)

    def _share_among_threads(self, on_catalog: Callable[[CatalogSnapshot], None]) -> None:
        """Make what is only in memory."""
        self.planner_catalogs = PlannerCatalogs(
            self.catalog, self.oracle, self._planner_settings, on_catalog
        )
        self.shared_holds = SharedHolds(
            lambda: self.holds, self.actor, self.settings.read_hold_lease_ms
        )
        """The read holds that queries of this process share."""
        self.ddl_lock = threading.Lock()
        """Held by each statement that changes the catalog, because concurrent ones of one process
        would only lose races to each other."""
        self.published_uppers: dict[str, Timestamp] = {}
        """The uppers of groups as this process last saw them. The current ones are at least that.
        """
        self.table_queues = TableQueues()
        """Queues in which conflicting statements of this process take turns."""

    def require_no_copy(self) -> None:
        """Raises ``EnvironmentIsCopy`` if another environment may work with the same upstreams and
        targets."""
        if self.consensus.read(identity.is_copy):
            raise EnvironmentIsCopy()

    def open(self, *, may_lead: bool, accept_loss: bool = False) -> None:
        """Open the catalog: join it, or lead it if this process ``may_lead`` and the catalog must
        be created or upgraded, or with ``accept_loss``.

        Raises ``CatalogUninitialized``, ``CatalogVersionUnsupported``, ``Fenced``,
        ``ConfigurationError``, and, without ``accept_loss``, ``StoreRolledBack``.
        """
        checks = StoreChecks(self.marks, self._log, self._oracle, self.settings)
        self.replica_sizes  # noqa: B018  every statement needs them: a file that cannot be read is reported now
        loss = checks.loss() if accept_loss else checks.check(may_recover=may_lead)
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
        if loss is not None:
            self.oracle.apply_write(EPOCH_MS, loss.newest_time)
            reserve_ids(
                self.catalog,
                loss.ids | self.frontiers.get_all().keys() | self.tables.log.table_ids(),
            )
            self.marks.write(above=loss.mark)
        settle_password_references(self.catalog, self.passwords)
        self.marks.refresh()
        self._is_open = True

    # --- the catalog ---

    def planner_catalog(self) -> PlannerCatalog:
        """The catalog as statements see it, with every change that was committed before the
        call."""
        return self.planner_catalogs.current()

    @cached_property
    def replica_sizes(self) -> Mapping[str, ReplicaSize]:
        """The sizes that replicas may have, by name. Raises ``ConfigurationError``."""
        return replica_sizes(self.settings.cluster_replica_sizes)

    def _planner_settings(self) -> PlannerSettings:
        return PlannerSettings(tuple(self.replica_sizes), self.settings.experimental_mode)

    # --- consensus ---

    @property
    def leadership(self) -> Leadership:
        return self.catalog.leadership

    @cached_property
    def leases(self) -> LeaseKeeper:
        """Renews what this process holds. The environment must be open."""
        return LeaseKeeper(self.consensus, self.leadership)

    def lock_holder(self) -> LockHolder:
        """A session that will hold advisory locks, and that has none yet."""
        lease_ms = self.settings.advisory_lock_lease_ms
        return LockHolder(self.consensus, self.leadership, lease_ms=lease_ms)

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
    def sequences(self) -> Sequences:
        return Sequences(self.consensus, self.leadership)

    @property
    def pending_cleanup(self) -> PendingCleanups:
        return PendingCleanups(self.consensus, self.leadership)

    @property
    def registrations(self) -> Registrations:
        return Registrations(self.consensus, self.leadership)

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

    def note_published(self, uppers: Mapping[str, Timestamp]) -> None:
        """Remember uppers that were published."""
        known = self.published_uppers
        self.published_uppers |= {
            group: max(upper, known.get(group, upper)) for group, upper in uppers.items()
        }

    # --- the lake ---

    @cached_property
    def lake(self) -> Lake:
        return Lake(self.settings.lake_root, self.settings.lake_options, self._incarnation_of)

    def _incarnation_of(self, id: StorageCollectionId) -> str | None:
        """The incarnation of a user's collection, by the newest catalog that this process has
        seen."""
        item = self.catalog.snapshot().items.get(id.guest or id.source_id)
        return item.incarnation if item is not None else None

    @cached_property
    def tables(self) -> Tables:
        log = TableWal(
            self.consensus,
            self.leadership,
            self.clock,
            max_clock_jump_ms=self.settings.max_clock_jump_ms,
        )
        return Tables(self.lake, log, apply_delay_ms=self.settings.table_apply_delay_ms)

    @cached_property
    def managed(self) -> LakeManagedCollections:
        """The introspection collections, which storage manages."""
        return LakeManagedCollections(
            self.lake,
            self.consensus,
            self.leadership,
            self.clock,
            lambda: managed_ids(self.catalog.snapshot()),
            self.settings.introspection_apply_delay_ms,
            self.settings.max_clock_jump_ms,
        )

    def close(self) -> None:
        """Release this process's holds, then close both stores."""
        self.shared_holds.close()
        if "managed" in self.__dict__:
            self.managed.close()
        if "tables" in self.__dict__:
            self.tables.close()
        if self._is_open:
            with suppress(ReclockError, OSError):
                self.marks.refresh()
        self.catalog.close()
        self.consensus.close()
