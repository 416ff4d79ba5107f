"""Following the table log in the background of a process that writes to it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog

_logger = structlog.get_logger(__name__)


class Follower:
    """Runs ``apply`` a while after ``wake``, once for all wakes in between. What it leaves undone, anybody else may do."""

    def __init__(self, apply: Callable[[], object], delay_ms: int) -> None:
        self._apply = apply
        self._delay_s = delay_ms / 1000
        self._guard = threading.Lock()
        self._at_work = threading.Lock()
        self._timer: threading.Timer | None = None

    def wake(self) -> None:
        with self._guard:
            if self._timer is None or not self._timer.is_alive():  # a child after a fork has lost the thread
                self._timer = threading.Timer(self._delay_s, self._run)
                self._timer.daemon = True
                self._timer.start()

    def close(self) -> None:
        """Do at once what waits, and wait for what is being done."""
        with self._guard:
            timer = self._timer
        if timer is not None:
            timer.cancel()
            self._run()
        with self._at_work:
            pass

    def _run(self) -> None:
        with self._at_work:
            with self._guard:
                if self._timer is None:
                    return
                self._timer = None  # who commits from here on wakes it again
            try:
                self._apply()
            except Exception as error:  # the edge of a loop: the log stays, for the next wake or another process
                _logger.warning("tables.apply_failed", error=str(error))
