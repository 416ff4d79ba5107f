"""The peeks that this process waits for, so that they end when their cluster is dropped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from reclock.catalog.objects import IdAllocator, Kind
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.errors import ClusterDropped, ReclockError

_STOP_INTERVAL_S = 0.05


@dataclass(eq=False, slots=True)
class ActivePeek:
    """A peek that a cluster was asked for. ``stop`` ends the computation of its answer, if that has
    begun."""

    cluster_id: int
    cluster: str
    stop: Callable[[], None]
    is_cancelled: bool = False

    def check(self) -> None:
        """Raises ``ClusterDropped``."""
        if self.is_cancelled:
            raise ClusterDropped(self.cluster)


class ActivePeeks:
    """Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active: set[ActivePeek] = set()
        self._newest_snapshot: CatalogSnapshot | None = None

    @contextmanager
    def tracking(
        self, cluster_id: int, cluster: str, stop: Callable[[], None]
    ) -> Iterator[ActivePeek]:
        """Inside the block, dropping the cluster stops the answer, and any error becomes
        ``ClusterDropped``. Raises that at once if the cluster is dropped already."""
        peek = ActivePeek(cluster_id, cluster, stop)
        with self._lock:
            peek.is_cancelled = self._newest_snapshot is not None and is_dropped(
                self._newest_snapshot, cluster_id
            )
            self._active.add(peek)
        try:
            peek.check()
            yield peek
        except ReclockError:
            peek.check()  # a dropped cluster is the cause of whatever went wrong
            raise
        finally:
            with self._lock:
                self._active.discard(peek)

    def learn(self, snapshot: CatalogSnapshot) -> None:
        """The catalog is at least as new as ``snapshot``."""
        with self._lock:
            if self._newest_snapshot is None or self._newest_snapshot.upper < snapshot.upper:
                self._newest_snapshot = snapshot
            newest = self._newest_snapshot
            cancelled = [
                peek
                for peek in self._active
                if not peek.is_cancelled and is_dropped(newest, peek.cluster_id)
            ]
            for peek in cancelled:
                peek.is_cancelled = True
        if cancelled:
            threading.Thread(
                target=self._stop, args=(cancelled,), name="dropped-clusters", daemon=True
            ).start()

    def _stop(self, cancelled: Sequence[ActivePeek]) -> None:
        """Stops them again and again until they have ended: the computation may begin after the
        first stop."""
        while cancelled:
            for peek in cancelled:
                peek.stop()
            time.sleep(_STOP_INTERVAL_S)
            with self._lock:
                cancelled = [peek for peek in cancelled if peek in self._active]


def is_dropped(snapshot: CatalogSnapshot, cluster_id: int) -> bool:
    """Whether a cluster had this id and is no more; an id not given out yet is of a newer
    catalog."""
    allocator: IdAllocator | None = snapshot.get(Kind.ID_ALLOCATOR, "cluster")
    return (
        cluster_id not in snapshot.clusters
        and allocator is not None
        and 0 < cluster_id < allocator.next_id
    )
