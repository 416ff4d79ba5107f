"""The ingestions of a process. They run side by side, each at its own pace, also beyond the tick
that started it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, Executor, Future, wait
from typing import Generic, TypeVar

from reclock.algebra.ids import GlobalId

Outcome = TypeVar("Outcome")


class IngestionPool(Generic[Outcome]):
    """Runs at most one ingestion of each source at a time, and stores its outcome until a caller
    takes it."""

    def __init__(self, threads: Executor) -> None:
        self._threads = threads
        self._lock = threading.Lock()
        self._started: dict[GlobalId, Future[Outcome]] = {}

    def start(self, source: GlobalId, ingest: Callable[[], Outcome]) -> None:
        """Start an ingestion, unless one of the source runs already, or its outcome was not taken
        yet."""
        with self._lock:
            if source not in self._started:
                self._started[source] = self._threads.submit(ingest)

    def take(
        self, sources: Collection[GlobalId], *, patience_s: float | None, waits_for_all: bool = True
    ) -> dict[GlobalId, Outcome]:
        """Take the outcomes of those of ``sources`` that have finished. Each is returned once.
        Waits until all have finished (or one has, unless it ``waits_for_all``), but no longer than
        ``patience_s``. Raises what an ingestion raised."""
        with self._lock:
            started = {
                source: self._started[source] for source in sources if source in self._started
            }
        wait(started.values(), patience_s, ALL_COMPLETED if waits_for_all else FIRST_COMPLETED)
        with self._lock:
            finished = [
                source
                for source, future in started.items()
                if future.done() and self._started.get(source) is future
            ]
            futures = {source: self._started.pop(source) for source in finished}
        return {source: future.result() for source, future in futures.items()}

    def running(self) -> set[GlobalId]:
        """The sources whose outcomes were not taken yet."""
        with self._lock:
            return set(self._started)
