"""Waits for consensus on behalf of a statement that may be cancelled, or time out."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from types import TracebackType

from reclock.interruption import ContextValue

Check = Callable[[str], object]
"""Raises if the statement should stop waiting. The argument says what it waits for."""

CHECK_INTERVAL_S = 0.05
"""The time between two checks of a wait."""

_check: ContextVar[Check | None] = ContextVar("check", default=None)


def interruptible(check: Check | None) -> ContextValue[Check | None]:
    """Within the block, this thread calls ``check`` repeatedly while it waits for consensus. None
    makes waits uninterruptible."""
    return ContextValue(_check, check)


def check(waiting_for: str) -> None:
    """Raises if this thread's statement should not wait any longer."""
    if (current := _check.get()) is not None:
        current(waiting_for)


class InterruptibleLock:
    """A reentrant lock. Waiting for it is interruptible."""

    def __init__(self, waiting_for: str) -> None:
        self._lock = threading.RLock()
        self._waiting_for = waiting_for

    def __enter__(self) -> None:
        while not self._lock.acquire(timeout=CHECK_INTERVAL_S):
            check(self._waiting_for)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()
