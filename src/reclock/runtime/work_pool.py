"""Work that a process does side by side, each piece at its own pace, also beyond the tick that
started it: the ingestions of sources, the refreshes of clusters, the emissions of sinks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=str)
Outcome = TypeVar("Outcome")


class WorkPool(Generic[Key, Outcome]):
    """Runs at most one piece of work of each object, such as a source, at a time, and stores its
    outcome until a caller takes it.

    An object is slow if its last work outlasted a caller's patience, for example because an
    upstream does not answer. No caller waits for a slow object, and the work of slow objects has
    threads of its own, so that it cannot occupy those of the others.
    """

    def __init__(self, most_threads: int) -> None:
        self._threads = ThreadPoolExecutor(most_threads, thread_name_prefix="work")
        self._slow_threads = ThreadPoolExecutor(most_threads, thread_name_prefix="slow-work")
        self._lock = threading.Lock()
        self._started: dict[Key, Future[Outcome]] = {}
        self._slow: set[Key] = set()
        self._patience_s = float("inf")

    def start(self, key: Key, work: Callable[[], Outcome]) -> None:
        """Start the work of an object, unless work of it runs already, or its outcome was not taken
        yet."""

        def timed() -> Outcome:
            began = time.monotonic()
            try:
                return work()
            finally:
                if time.monotonic() - began <= self._patience_s:
                    self._slow.discard(key)

        with self._lock:
            if key not in self._started:
                threads = self._slow_threads if key in self._slow else self._threads
                self._started[key] = threads.submit(copy_context().run, timed)

    def take(
        self, keys: Collection[Key], *, patience_s: float | None, waits_for_all: bool = True
    ) -> dict[Key, Outcome]:
        """Take the outcomes of those of ``keys`` that have finished. Each is returned once. Waits
        until all have finished that are not slow, but no longer than ``patience_s``; without it,
        for all; and unless it ``waits_for_all``, until one has finished. Raises what a piece of
        work raised."""
        with self._lock:
            started = {key: self._started[key] for key in keys if key in self._started}
        if not waits_for_all:
            wait(started.values(), patience_s, FIRST_COMPLETED)
        elif patience_s is None:
            wait(started.values())
        else:
            self._patience_s = patience_s
            prompt = {key: future for key, future in started.items() if key not in self._slow}
            wait(prompt.values(), patience_s)
            self._slow.update(key for key, future in prompt.items() if not future.done())
        return self._take_finished(keys)

    def run_all(
        self, works: Mapping[Key, Callable[[], Outcome]], *, patience_s: float | None
    ) -> list[Outcome]:
        """Start each piece of work that does not run already, and `take` what is there then. The
        outcomes of earlier ones that have finished meanwhile come first."""
        earlier = self._take_finished(works)
        for key, work in works.items():
            self.start(key, work)
        return [*earlier.values(), *self.take(works, patience_s=patience_s).values()]

    def _take_finished(self, keys: Collection[Key]) -> dict[Key, Outcome]:
        with self._lock:
            futures = {
                key: self._started.pop(key)
                for key in keys
                if key in self._started and self._started[key].done()
            }
        return {key: future.result() for key, future in futures.items()}

    def running(self) -> set[Key]:
        """The objects whose outcomes were not taken yet."""
        with self._lock:
            return set(self._started)

    def close(self) -> None:
        """Wait for what runs, and end the threads."""
        self._threads.shutdown()
        self._slow_threads.shutdown()
