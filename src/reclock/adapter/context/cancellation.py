"""Ending a statement early, because it was canceled or has timed out."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

import pyarrow as pa

from reclock.consensus.database.waiting import interruptible
from reclock.errors import QueryCanceled, StatementTimeout
from reclock.interruption import interruptible_planning

_BACKOFF_S = 0.02
_LONGEST_BACKOFF = 10
_CHECK_INTERVAL_S = 0.05


class Cancellation:
    """The cancellation of one session, whose statements run one after the other.

    ``cancel`` and ``interrupt`` may be called from any thread, the other methods only from the
    session's own. A statement checks wherever it waits and between batches; an engine that computes for it is
    stopped through ``interrupt``.
    """

    def __init__(self) -> None:
        self._is_canceled = threading.Event()
        self._interrupts: list[Callable[[], None]] = []
        self._deadline = float("inf")
        self._timeout_ms = 0
        self._check_planning = partial(self.check, "planning the query")

    def begin(self, timeout_ms: int) -> None:
        """Begin a statement: earlier requests to cancel do not count. 0 is no timeout."""
        self._is_canceled.clear()
        self._timeout_ms = timeout_ms
        self._deadline = time.monotonic() + timeout_ms / 1000 if timeout_ms else float("inf")

    def cancel(self) -> None:
        """End the running statement with ``QueryCanceled``."""
        self._is_canceled.set()
        self.interrupt()

    def interrupt(self) -> None:
        """Stop the engines that compute for the statement. Repeat it until the statement has ended:
        an engine may only now begin."""
        for interrupt in list(self._interrupts):
            interrupt()

    @property
    def is_late(self) -> bool:
        """Whether the statement has timed out."""
        return time.monotonic() >= self._deadline

    @property
    def timeout_ms(self) -> int:
        return self._timeout_ms

    def check(self, waiting_for: str | None = None) -> None:
        """Raises ``QueryCanceled`` or ``StatementTimeout`` if the statement must end."""
        if self._is_canceled.is_set():
            raise QueryCanceled
        if self.is_late:
            raise StatementTimeout(self._timeout_ms, detail=waiting_for)

    def in_consensus(self) -> AbstractContextManager[None]:
        """Inside the block, the statement also ends in time while this thread waits for
        consensus."""
        return interruptible(self.check)

    def in_planning(self) -> AbstractContextManager[None]:
        """Inside the block, the statement also ends in time while this thread plans a query."""
        return interruptible_planning(self._check_planning)

    def wait(self, seconds: float) -> None:
        """Wait. Raises ``QueryCanceled``, at once."""
        if self._is_canceled.wait(seconds):
            raise QueryCanceled

    def back_off(self, attempt: int) -> None:
        """Wait for a random time after a lost race. The time grows with ``attempt``, up to a limit.
        Raises like ``check``."""
        self.check()
        self.wait(random.uniform(0, _BACKOFF_S * min(attempt, _LONGEST_BACKOFF)))  # noqa: S311

    @contextmanager
    def acquire(self, lock: threading.Lock) -> Iterator[None]:
        """Hold the lock inside the block. Raises like ``check`` while it waits for the lock."""
        while not lock.acquire(timeout=_CHECK_INTERVAL_S):
            self.check()
        try:
            yield
        finally:
            lock.release()

    def pause(self, seconds: float, waiting_for: str) -> None:
        """Wait so many seconds; ``waiting_for`` is the detail of a timeout. Raises like ``check``."""
        if self.is_late:
            raise StatementTimeout(self._timeout_ms, detail=waiting_for)
        self.wait(seconds)

    def checked(
        self, batches: Generator[pa.RecordBatch, None, None], interrupt: Callable[[], None]
    ) -> Iterator[pa.RecordBatch]:
        """The batches, until the statement must end. ``interrupt`` stops what computes them."""
        self._interrupts.append(interrupt)
        try:
            self.check()
            for batch in batches:
                yield batch
                self.check()
        except QueryCanceled:
            self.check()  # a timeout interrupts the engine too, and has an error of its own
            raise
        finally:
            self._interrupts.remove(interrupt)
            batches.close()
