"""The resources of one process: engines, in-process replicas, threads, connections, and its
reports."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from reclock.algebra.ids import GlobalId
from reclock.clusters.engine_pool import EnginePool
from reclock.clusters.in_process import InProcessReplica
from reclock.clusters.measurements import Measurements
from reclock.clusters.sizes import ReplicaSize, size_named
from reclock.clusters.usage import Usage
from reclock.collections.arrangements import Arrangements
from reclock.compute.costs import RefreshCosts
from reclock.connectors.factory import ConnectionContext
from reclock.connectors.objects.object_store import open_object_store
from reclock.consensus.processes.reporters import Reporters
from reclock.introspection.backends import Backends
from reclock.introspection.collection_manager import CollectionManager
from reclock.introspection.reports import Reports
from reclock.introspection.types import HISTORIES
from reclock.runtime.stores import Stores
from reclock.runtime.work_pool import WorkPool
from reclock.sinks.factory import SinkContext

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class ProcessRuntime:
    """The resources with which this process computes and reports. Nothing here is durable, and
    everything is created at its first use."""

    def __init__(
        self, stores: Stores, spark: SparkSession | None, *, is_long_lived: bool = False
    ) -> None:
        """A given ``spark`` session is used and left running. ``is_long_lived``: the process will
        refresh the same indexes again and again, so state for that is worth building at once."""
        self._stores, self._is_long_lived = stores, is_long_lived
        self.settings = stores.settings
        """The environment's, or those of this process's replica size: see `use_size`."""
        self.engines = EnginePool(lambda: self.settings, spark)
        self.backends = Backends()
        self.reports: Reports | None = None
        """Where this process reports its sessions and statements, while it does."""

    # --- engines and replicas ---

    def use_size(self, name: str) -> ReplicaSize:
        """Give the engines of this process the resources of a replica of this size. Call it before
        their first use. Raises ``InvalidOption``."""
        size = size_named(name, self._stores.replica_sizes)
        self.settings = size.applied_to(self.settings)
        return size

    def make_replica(
        self, pool: str = "default", size: ReplicaSize | None = None
    ) -> InProcessReplica:
        """A replica in this process, on its engines. Its Spark jobs run in the scheduling pool of
        this name. A replica with a size has the process for itself."""
        stores, sample_ms = self._stores, self.settings.introspection_sample_ms
        usage = Usage(stores.actor, stores.clock, sample_ms, size)
        return InProcessReplica(
            stores.lake,
            stores.tables,
            stores.frontiers,
            stores.holds,
            self.settings,
            self.arrangements,
            lambda: self.engines.small,
            lambda: self.engines.large(pool),
            stores.published_uppers,
            Measurements(
                lambda ids: stores.frontiers.get_all(list(ids)),
                stores.lake,
                stores.clock,
                sample_ms,
                usage,
            ),
            self.sink_context,
            RefreshCosts(
                self.settings.refresh_recompute_bytes, builds_state_at_once=self._is_long_lived
            ),
        )

    @cached_property
    def arrangements(self) -> Arrangements:
        """Collections in memory, for point lookups."""
        return Arrangements(self.settings.arrangements_bytes)

    # --- work at its own pace ---

    @cached_property
    def ingestions(self) -> WorkPool[GlobalId, Any]:
        """The ingestions that ticks of this process have started, and that are not published
        yet."""
        return WorkPool(self.settings.source_threads)

    @cached_property
    def refreshes(self) -> WorkPool[str, Any]:
        """The refreshes of clusters that ticks of this process have started, by name."""
        return WorkPool(self.settings.source_threads)

    @cached_property
    def emissions(self) -> WorkPool[str, Any]:
        """The emissions of sinks that ticks of this process have started, by name."""
        return WorkPool(self.settings.source_threads)

    @cached_property
    def registrations(self) -> WorkPool[str, int]:
        """Registers tables in metastores, for which nothing waits."""
        return WorkPool(1)

    @cached_property
    def probes(self) -> WorkPool[GlobalId, Any]:
        """The probes that this process has started. One that hangs is not started again."""
        return WorkPool(self.settings.source_threads)

    @cached_property
    def news_probes(self) -> WorkPool[GlobalId, Any]:
        """As ``probes``, of who waits for news: apart, because each answer is taken once."""
        return WorkPool(self.settings.source_threads)

    # --- connections ---

    @property
    def connection_context(self) -> ConnectionContext:
        """What connectors need to reach the upstreams of sources."""
        settings, stores = self.settings, self._stores
        buckets = open_object_store(
            settings.buckets_root,
            endpoint=settings.s3_endpoint,
            region=settings.s3_region,
            access_key_id=settings.s3_access_key_id,
            secret_access_key=settings.s3_secret_access_key.get_secret_value(),
        )
        return ConnectionContext(
            buckets, stores.clock, lambda secret: stores.secrets.get(secret.reference, secret.name)
        )

    @property
    def sink_context(self) -> SinkContext:
        """What writers need to reach the targets of sinks."""
        stores = self._stores
        return SinkContext(
            self.settings,
            stores.mark.id,
            stores.clock,
            lambda secret: stores.secrets.get(secret.reference, secret.name),
        )

    # --- reports ---

    @cached_property
    def collection_manager(self) -> CollectionManager:
        """Writes what replicas and processes report."""
        stores = self._stores
        reporters = Reporters(
            stores.consensus, stores.leadership, lease_ms=self.settings.introspection_lease_ms
        )
        return CollectionManager(stores.managed, reporters, HISTORIES, stores.clock)

    def close(self) -> None:
        """Waits for running ingestions, and stops the engines that were started here."""
        for pool in (
            "ingestions",
            "refreshes",
            "emissions",
            "registrations",
            "probes",
            "news_probes",
        ):
            if pool in self.__dict__:
                getattr(self, pool).close()
        self.engines.close()
