"""What is asked of a cluster that is dropped."""

import threading

import pytest

from reclock.algebra.timestamps import Timestamp
from reclock.catalog.initial import initial_objects
from reclock.catalog.objects import Cluster, IdAllocator
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.controllers.active_peeks import ActivePeeks
from reclock.errors import ClusterDropped, QueryCanceled

PATIENCE_S = 30
OTHERS = [
    thing
    for thing in initial_objects()
    if not (isinstance(thing, IdAllocator) and thing.name == "cluster")
]
GONE = CatalogSnapshot.of([*OTHERS, IdAllocator("cluster", 3)], Timestamp(2))
THERE = CatalogSnapshot.of(
    [*OTHERS, IdAllocator("cluster", 3), Cluster(2, "c", None, "u1")], Timestamp(1)
)


def test_what_was_about_to_begin_when_its_cluster_was_dropped_is_stopped_too() -> None:
    """A first word to stop may find nothing to stop: it is said again until the question is
    over."""
    active_peeks, begins, stopped = ActivePeeks(), threading.Event(), threading.Event()

    def stop() -> None:
        if begins.is_set():
            stopped.set()
        begins.set()

    def ask() -> None:
        with active_peeks.tracking(2, "c", stop):
            active_peeks.learn(GONE)
            assert stopped.wait(PATIENCE_S)
            raise QueryCanceled

    active_peeks.learn(THERE)
    with pytest.raises(ClusterDropped):
        ask()
    for thread in threading.enumerate():
        if thread.name == "dropped-clusters":
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
    with pytest.raises(ClusterDropped):
        ask()
