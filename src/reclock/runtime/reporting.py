"""The records that a long-running process makes of itself: its replicas, its sessions and their
statements."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from reclock.controllers.subscribes import ReportedReplicas
from reclock.introspection.reports import Reports
from reclock.runtime.environment import Environment


@contextmanager
def reporting(environment: Environment) -> Iterator[None]:
    """Within the block, record the work of this process's virtual replicas and sessions."""
    settings, manager = environment.stores.settings, environment.runtime.collection_manager
    actor, clock = environment.stores.actor, environment.stores.clock
    replicas = ReportedReplicas(environment.control_plane.reported_replicas, manager, actor, clock)
    times = settings.introspection_sample_ms, settings.introspection_retention_ms
    reports = environment.runtime.reports = Reports(
        manager, actor, clock, *times, environment.control_plane.object_lags_ms
    )

    def gather() -> None:
        reports.step()
        replicas.step()

    def close() -> None:
        replicas.close()
        reports.close()

    stopping = threading.Event()
    loop = partial(
        manager.loop,
        stopping,
        interval_ms=settings.introspection_interval_ms,
        gather=gather,
        close=close,
    )
    thread = threading.Thread(target=loop, name="introspection", daemon=True)
    thread.start()
    try:
        with environment.stores.leases.keeping(manager):
            yield
    finally:
        environment.runtime.reports = None
        stopping.set()
        thread.join()
