"""The controllers that a serving process leads: the storage controller, and the controller of each
managed cluster."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import structlog

from reclock.runtime.environment import Environment

_logger = structlog.get_logger(__name__)

_LOOK_S = 30.0
"""How often the clusters are read if no change of the catalog is noticed."""

_AGAIN_S = 1.0


@contextmanager
def leading(environment: Environment) -> Iterator[None]:
    """Within the block, this process leads every controller that no other process leads."""
    stopping, changed = threading.Event(), threading.Event()
    arguments = (environment, stopping, changed)
    thread = threading.Thread(target=_follow_clusters, args=arguments, name="clusters", daemon=True)
    with (
        environment.control_plane.storage_controller.looping(),
        environment.stores.consensus.timeline_changes.calling(changed.set),
    ):
        thread.start()
        try:
            yield
        finally:
            stopping.set()
            changed.set()
            thread.join()


def _follow_clusters(
    environment: Environment, stopping: threading.Event, changed: threading.Event
) -> None:
    """Run a loop for each managed cluster, and for each dropped one whose replicas have not ended
    yet."""
    loops: dict[int, ExitStack] = {}
    with ExitStack() as scope:
        while not stopping.is_set():
            changed.clear()
            try:
                environment.stores.marks.refresh()
                desired = _clusters(environment)
            except Exception as error:  # the edge of the loop: the next attempt may succeed
                detail = getattr(error, "detail", None)
                _logger.warning(
                    "clusters cannot be read; retrying", error=str(error), detail=detail
                )
                stopping.wait(_AGAIN_S)
                continue
            for id in desired - loops.keys():
                loops[id] = scope.enter_context(ExitStack())
                loops[id].enter_context(environment.control_plane.managed_controller(id).looping())
            for id in loops.keys() - desired:
                loops.pop(id).close()
            changed.wait(_LOOK_S)


def _clusters(environment: Environment) -> set[int]:
    sized = {
        cluster.id
        for cluster in environment.stores.catalog.sync().clusters.values()
        if cluster.size is not None
    }
    return sized | {registration.cluster_id for registration in environment.stores.replicas.all()}
