"""The process of one replica: it announces itself, carries out commands, and sends heartbeats until
it is no longer needed."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import structlog

from reclock.algebra.relations import INTEGER, Column, RelationDesc
from reclock.algebra.timestamps import MINIMUM
from reclock.catalog.objects import ClusterReplica
from reclock.clusters.flight import ReplicaServer
from reclock.consensus.processes.replicas import Incarnation
from reclock.errors import (
    ConsensusUnavailable,
    Fenced,
    InvalidOption,
    ReplicaSuperseded,
    UnknownObject,
)
from reclock.plan.relational import Constant, Finishing
from reclock.runtime.environment import Environment

_ONE_ROW = Constant(((1,),), RelationDesc((Column("one", INTEGER),)))

_logger = structlog.get_logger(__name__)


def find(environment: Environment, cluster: str, replica: str) -> ClusterReplica:
    """The replica of this name in the catalog. Raises ``UnknownObject``, and ``InvalidOption`` if
    it has no size."""
    snapshot = environment.stores.catalog.sync()
    owner = next(
        (candidate for candidate in snapshot.clusters.values() if candidate.name == cluster), None
    )
    if owner is None:
        raise UnknownObject("cluster", cluster)
    description = snapshot.replica_by_name(owner.id, replica)
    if description is None:
        raise UnknownObject("cluster replica", f"{cluster}.{replica}")
    if description.size is None:
        raise InvalidOption(
            f'cluster replica "{cluster}.{replica}" has no size',
            hint="that of a virtual cluster is no process",
        )
    return description


def run(
    environment: Environment,
    replica: ClusterReplica,
    *,
    incarnation: Incarnation | None,
    stopping: threading.Event,
    ready: Callable[[str], None] = lambda address: None,
) -> str:
    """Be ``replica`` until ``stopping`` is set, another incarnation takes over, the replica is
    dropped, or no process leads or queries it.

    Returns the reason why it ends. Without an ``incarnation`` that was begun for it, it supersedes
    the current one. Raises ``ReplicaSuperseded`` if another incarnation is newer.
    """
    settings, registry = environment.stores.settings, environment.stores.replicas
    assert replica.size is not None
    size = environment.runtime.use_size(replica.size)
    if incarnation is None:
        incarnation = registry.begin(
            replica.id, replica.cluster_id, lease_ms=settings.replica_start_ms, supersede=True
        )
        assert incarnation is not None
    environment.runtime.engines.small.run(
        _ONE_ROW, Finishing(), {}, MINIMUM
    ).batches.read_all()  # so that who asks first need not wait
    host, advertised = settings.replica_host, settings.replica_advertised_host
    made = environment.runtime.make_replica(size=size)
    with ReplicaServer(
        made, registry.token(replica.id, incarnation), host=host, advertised=advertised
    ) as server:
        registry.announce(
            replica.id, incarnation, server.address, lease_ms=settings.replica_lease_ms
        )
        _logger.info(
            "replica can be asked", replica_id=replica.id, incarnation=incarnation, pid=os.getpid()
        )
        ready(server.address)
        if settings.replica_warm_up:
            threading.Thread(
                target=_warm_up, args=(environment,), name="warm-up", daemon=True
            ).start()
        return _live(environment, replica, incarnation, stopping, server)


def _live(
    environment: Environment,
    replica: ClusterReplica,
    incarnation: Incarnation,
    stopping: threading.Event,
    server: ReplicaServer,
) -> str:
    settings = environment.stores.settings
    registry = environment.stores.replicas
    seat = environment.control_plane.seat(f"compute {replica.cluster_id}")
    led, linger_s = time.monotonic(), settings.replica_linger_ms / 1000
    while not stopping.wait(settings.replica_lease_ms / 3000):
        try:
            registry.beat(replica.id, incarnation, lease_ms=settings.replica_lease_ms)
            is_forgotten = time.monotonic() - max(led, server.asked_at) > linger_s / 2
            if is_forgotten and seat.is_taken():
                led = time.monotonic()
        except (ReplicaSuperseded, Fenced) as over:
            return over.message
        except ConsensusUnavailable as outage:
            # nothing new can be asked without consensus, which may come back
            _logger.warning(
                "heartbeat failed; retrying", error=outage.message, detail=outage.detail
            )
        if time.monotonic() - max(led, server.asked_at) > linger_s and not server.is_busy:
            registry.lost(replica.id, incarnation, "nobody led or asked it")
            return "nobody leads the cluster or asks this replica anything"
    registry.lost(replica.id, incarnation, "it was stopped")
    return "it was stopped"


def _warm_up(environment: Environment) -> None:
    try:
        environment.runtime.engines.spark()
    except Exception as error:  # the first query that needs Spark raises it again
        _logger.warning("Spark does not start", error=str(error))
