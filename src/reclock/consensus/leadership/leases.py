"""The leases of one process are renewed together: one transaction for all of them, a third of a
lease after the last."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import sqlalchemy as sa
import structlog

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.database.store import Consensus
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import Fenced, ReclockError

_logger = structlog.get_logger(__name__)

_RETRY_S = 1.0
"""How long after a failure the next attempt is made, if no lease is shorter."""


class Lease(Protocol):
    """What a process keeps by renewing it. It must be safe for threads."""

    @property
    def lease_ms(self) -> int: ...

    def renew(self, connection: sa.Connection, now: Timestamp) -> Callable[[], object] | None:
        """Renew it in a transaction, which may be repeated and has checked the epoch. Returns what
        to call when the transaction has committed; it must return at once."""
        ...

    def fenced(self) -> None:
        """A newer epoch leads the catalog: nothing can be renewed any more."""
        ...


@dataclass(slots=True, eq=False)
class _LeaseTimer:
    lease: Lease
    due_s: float

    @property
    def interval_s(self) -> float:
        return self.lease.lease_ms / 3000


class LeaseKeeper:
    """Renews the leases of one process, in a thread that lives while there are any. Thread-safe.

    Leases of different lengths share a transaction whenever they are due at the same time: the
    longer ones wait for the shorter ones.
    """

    def __init__(self, consensus: Consensus, leadership: Leadership) -> None:
        self._consensus, self._leadership = consensus, leadership
        self._changed = threading.Condition()
        self._timers: list[_LeaseTimer] = []
        self._thread: threading.Thread | None = None

    @contextmanager
    def keeping(self, lease: Lease) -> Iterator[None]:
        """Within the block the lease is renewed. It need not be held yet."""
        timer = _LeaseTimer(lease, time.monotonic() + lease.lease_ms / 3000)
        with self._changed:
            self._timers.append(timer)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="leases", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._timers.remove(timer)
                self._changed.notify_all()

    def _run(self) -> None:
        while (due := self._await_due()) is not None:
            try:
                self.renew([timer.lease for timer in due])
                pause_s = None
            except Fenced:
                for timer in due:
                    timer.lease.fenced()
                pause_s = None
            except Exception as failure:  # the edge of the loop: consensus may be back in time
                detail = failure.detail if isinstance(failure, ReclockError) else None
                _logger.warning("leases could not be renewed", error=str(failure), detail=detail)
                pause_s = _RETRY_S
            for timer in due:
                timer.due_s = time.monotonic() + min(timer.interval_s, pause_s or timer.interval_s)

    def renew(self, leases: list[Lease]) -> None:
        """Renew these leases in one transaction. Raises ``Fenced``."""

        def work(connection: sa.Connection) -> list[Callable[[], object]]:
            now = self._consensus.now(connection)
            calls = [lease.renew(connection, now) for lease in leases]
            return [call for call in calls if call is not None]

        for call in self._consensus.transact(fence.guard(self._leadership, work)):
            call()

    def _await_due(self) -> list[_LeaseTimer] | None:
        """Wait until a lease is due; returns all that are due then, or None if none is left."""
        with self._changed:
            while self._timers:
                now = time.monotonic()
                earliest = min(self._timers, key=lambda timer: timer.due_s)
                if earliest.due_s <= now:
                    soon = now + earliest.interval_s / 2  # one that is due soon shares the commit
                    return [timer for timer in self._timers if timer.due_s <= soon]
                self._changed.wait(earliest.due_s - now)
            self._thread = None
            return None
