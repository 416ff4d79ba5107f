"""The consensus database's clock, as a process reads it between round trips."""

from __future__ import annotations

import time
from collections.abc import Callable

from reclock.algebra.timestamps import Timestamp


class DatabaseClock:
    """The database's time: the last observed one, plus the time since then on this process's
    monotonic clock.

    A wrong wall clock of this process has no influence. Every transaction that reads the database's
    time is an observation, so the two clocks cannot drift apart. Thread-safe, also in a child after
    a fork.
    """

    def __init__(
        self,
        ask: Callable[[], Timestamp],
        elapsed_ms: Callable[[], float] = lambda: time.monotonic() * 1000,
    ) -> None:
        """``ask`` reads the database's clock, and is called where there was no observation yet."""
        self._ask = ask
        self._elapsed_ms = elapsed_ms
        self._ahead_ms: float | None = None
        """How far the database's clock is ahead of the monotonic one."""

    def __call__(self) -> Timestamp:
        if self._ahead_ms is None:
            self.observe(self._ask)
        assert self._ahead_ms is not None
        return Timestamp(int(self._elapsed_ms() + self._ahead_ms))

    def observe(self, ask: Callable[[], Timestamp]) -> Timestamp:
        """The database's time as ``ask`` reads it; later calls count from there."""
        began_ms = self._elapsed_ms()
        now = ask()
        self._ahead_ms = now - (began_ms + self._elapsed_ms()) / 2  # it was read about halfway
        return now
