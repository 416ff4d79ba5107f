"""Ending a statement before it is done: because somebody asked for that, or because its time is over."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

import pyarrow as pa

from reclock.consensus.database.waiting import interruptible
from reclock.errors import QueryCanceled, StatementTimeout

_BACKOFF_S = 0.02
_LOOK_S = 0.05


class Interruption:
    """Of one session, whose statements run one after the other. ``cancel`` may be called from any thread, all else by its own.

    A statement looks here wherever it waits and between batches; what computes is told through ``interrupt``.
    """

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._interrupts: list[Callable[[], None]] = []
        self._deadline = float("inf")
        self._timeout_ms = 0

    def begin(self, timeout_ms: int) -> None:
        """A statement begins; what was asked before is of the past. 0 is no timeout."""
        self._asked.clear()
        self._timeout_ms = timeout_ms
        self._deadline = time.monotonic() + timeout_ms / 1000 if timeout_ms else float("inf")

    def cancel(self) -> None:
        """The running statement ends with ``QueryCanceled``."""
        self._asked.set()
        self.interrupt()

    def interrupt(self) -> None:
        """What computes for the statement stops. Repeat it until the statement has ended: it may have been about to begin."""
        for interrupt in list(self._interrupts):
            interrupt()

    @property
    def is_late(self) -> bool:
        return time.monotonic() >= self._deadline

    @property
    def timeout_ms(self) -> int:
        return self._timeout_ms

    def check(self, waiting_for: str | None = None) -> None:
        """Raises ``QueryCanceled`` or ``StatementTimeout`` if the statement is to end."""
        if self._asked.is_set():
            raise QueryCanceled
        if self.is_late:
            raise StatementTimeout(self._timeout_ms, detail=waiting_for)

    @contextmanager
    def in_consensus(self) -> Iterator[None]:
        """Inside the block the statement ends in time while this thread waits for consensus, too."""
        with interruptible(self.check):
            yield

    def wait(self, seconds: float) -> None:
        """Waits so long. Raises ``QueryCanceled``, at once."""
        if self._asked.wait(seconds):
            raise QueryCanceled

    def back_off(self, attempt: int) -> None:
        """Waits a while, chance says how long, before another ``attempt`` at what somebody else won. Raises as ``check``."""
        self.check()
        self.wait(random.uniform(0, _BACKOFF_S * attempt))  # noqa: S311

    @contextmanager
    def taking(self, lock: threading.Lock) -> Iterator[None]:
        """Inside the block the lock is this statement's. Raises as ``check`` while it waits for it."""
        while not lock.acquire(timeout=_LOOK_S):
            self.check()
        try:
            yield
        finally:
            lock.release()

    def pause(self, seconds: float, waiting_for: str) -> None:
        """Waits so long for what the text says. Raises as ``check``."""
        if self.is_late:
            raise StatementTimeout(self._timeout_ms, detail=waiting_for)
        self.wait(seconds)

    def guarded(self, batches: Generator[pa.RecordBatch, None, None], interrupt: Callable[[], None]) -> Iterator[pa.RecordBatch]:
        """The batches, as long as the statement goes on."""
        self._interrupts.append(interrupt)
        try:
            self.check()
            for batch in batches:
                yield batch
                self.check()
        except QueryCanceled:
            self.check()  # says so if it was for the time
            raise
        finally:
            self._interrupts.remove(interrupt)
            batches.close()
