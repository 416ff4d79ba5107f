"""Applying the table WAL in the background of a process that writes to it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog

_logger = structlog.get_logger(__name__)


class Follower:
    """Runs ``apply`` some time after ``wake``, once for all calls of ``wake`` until then. Another
    process may apply the rest."""

    def __init__(self, apply: Callable[[], object], delay_ms: int) -> None:
        self._apply = apply
        self._delay_s = delay_ms / 1000
        self._guard = threading.Lock()
        self._at_work = threading.Lock()
        self._timer: threading.Timer | None = None

    def wake(self) -> None:
        with self._guard:
            # a child after a fork has lost the thread
            if self._timer is None or not self._timer.is_alive():
                self._timer = threading.Timer(self._delay_s, self._run)
                self._timer.daemon = True
                self._timer.start()

    def close(self) -> None:
        """Apply at once if a run is due, and wait for a run in progress."""
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
                self._timer = None  # a commit from here on schedules another run
            try:
                self._apply()
            except Exception as error:
                # the edge of a loop: the writes stay in the log, for the next run or another
                # process
                _logger.warning(
                    "cannot apply writes to tables; they stay in the log", error=str(error)
                )
