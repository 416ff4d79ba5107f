"""What is being asked of clusters in this process, so that it ends when its cluster is dropped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from reclock.catalog.objects import IdAllocator, Kind
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.errors import ClusterDropped, ReclockError

_AGAIN_S = 0.05


@dataclass(eq=False, slots=True)
class Asked:
    """A question to a cluster. ``stop`` ends what computes the answer, if that has begun."""

    cluster_id: int
    cluster: str
    stop: Callable[[], None]
    is_in_vain: bool = False

    def check(self) -> None:
        """Raises ``ClusterDropped``."""
        if self.is_in_vain:
            raise ClusterDropped(self.cluster)


class Underway:
    """Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: set[Asked] = set()
        self._known: CatalogSnapshot | None = None

    @contextmanager
    def asking(self, cluster_id: int, cluster: str, stop: Callable[[], None]) -> Iterator[Asked]:
        """Inside the block a dropped cluster stops the answer, and is what any error is then. Raises ``ClusterDropped``."""
        asked = Asked(cluster_id, cluster, stop)
        with self._lock:
            asked.is_in_vain = self._known is not None and is_dropped(self._known, cluster_id)
            self._asked.add(asked)
        try:
            asked.check()
            yield asked
        except ReclockError:
            asked.check()  # whatever went wrong, that is why
            raise
        finally:
            with self._lock:
                self._asked.discard(asked)

    def learn(self, snapshot: CatalogSnapshot) -> None:
        """The catalog is at least as new as ``snapshot``."""
        with self._lock:
            if self._known is None or self._known.upper < snapshot.upper:
                self._known = snapshot
            vain = [asked for asked in self._asked if not asked.is_in_vain and is_dropped(self._known, asked.cluster_id)]
            for asked in vain:
                asked.is_in_vain = True
        if vain:
            threading.Thread(target=self._stop, args=(vain,), name="dropped-clusters", daemon=True).start()

    def _stop(self, vain: Sequence[Asked]) -> None:
        """Again until they have ended: what computes may have been about to begin."""
        while vain:
            for asked in vain:
                asked.stop()
            time.sleep(_AGAIN_S)
            with self._lock:
                vain = [asked for asked in vain if asked in self._asked]


def is_dropped(snapshot: CatalogSnapshot, cluster_id: int) -> bool:
    """Whether a cluster had this id and is no more; an id not given out yet is of a newer catalog."""
    allocator: IdAllocator | None = snapshot.get(Kind.ID_ALLOCATOR, "cluster")
    return cluster_id not in snapshot.clusters and allocator is not None and 0 < cluster_id < allocator.next_id
