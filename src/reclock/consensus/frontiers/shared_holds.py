"""Read holds that the reads of one process share: a hold protects every read at its time or later, so few are enough for many."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import structlog

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.frontiers.holds import ReadHold, ReadHolds
from reclock.errors import ReadHoldLost

_logger = structlog.get_logger(__name__)


@dataclass(slots=True, eq=False)
class _Shared:
    """A hold in consensus, until when, on this process's clock, new reads may lean on it, and how many do now."""

    hold: ReadHold
    open_until_ms: float
    reads: int = 1


class SharedHolds:
    """The read holds of one process. A hold is open to new reads for half a lease, so that none keeps ``since`` for ever; it is
    renewed for as long as a read leans on it, and then given back. Safe for several threads."""

    def __init__(
        self,
        holds: Callable[[], ReadHolds],
        owner: str,
        lease_ms: int,
        elapsed_ms: Callable[[], float] = lambda: time.monotonic() * 1000,
    ) -> None:
        self._holds, self._owner, self._lease_ms, self._elapsed_ms = holds, owner, lease_ms, elapsed_ms
        self._lock = threading.Lock()
        self._shared: set[_Shared] = set()
        self._current: dict[frozenset[str], _Shared] = {}
        self._is_closed = threading.Event()
        self._keeper: threading.Thread | None = None

    @contextmanager
    def held(self, groups: Iterable[str], at: Timestamp) -> Iterator[None]:
        """Inside the block no group of ``groups`` is compacted beyond ``at``, as long as this process lives and reaches consensus.

        Raises ``NotReadable`` if ``at`` is below the since of one, ``UnknownCollection``.
        """
        shared = self._take(frozenset(groups), at)
        try:
            yield
        finally:
            with self._lock:
                shared.reads -= 1
            self._release_if_over(shared)

    def release_idle(self, groups: Iterable[str]) -> None:
        """Give back the holds on any of ``groups`` that no read leans on now."""
        wanted = frozenset(groups)
        with self._lock:
            idle = [one for one in self._shared if not one.reads and one.hold.groups & wanted]
            for one in idle:
                self._retire(one)
        for one in idle:
            self._release(one)

    def renew(self) -> None:
        """Renew what is leaned on; give back what is not and is open to no new read. A thread calls it four times a lease."""
        with self._lock:
            busy = [one for one in self._shared if one.reads]
            idle = [one for one in self._shared if not one.reads and not self._is_open(one)]
            for one in idle:
                self._retire(one)
        for one in idle:
            self._release(one)
        for one in busy:
            try:
                self._holds().renew(one.hold, lease_ms=self._lease_ms)
            except ReadHoldLost as lost:
                with self._lock:
                    self._retire(one)
                    self._shared.discard(one)
                if one.reads:
                    _logger.warning("a read goes on without its hold", groups=sorted(one.hold.groups), error=str(lost))

    def close(self) -> None:
        """Give back all holds, those that are leaned on too."""
        self._is_closed.set()
        if self._keeper is not None:
            self._keeper.join()
        for one in list(self._shared):
            self._release(one)

    def _take(self, groups: frozenset[str], at: Timestamp) -> _Shared:
        with self._lock:
            current = self._current.get(groups)
            if current is not None and current.hold.at <= at and self._is_open(current):
                current.reads += 1
                return current
        began_ms = self._elapsed_ms()
        hold = self._holds().acquire(groups, at, owner=self._owner, lease_ms=self._lease_ms)
        taken = _Shared(hold, began_ms + self._lease_ms / 2)
        with self._lock:
            self._shared.add(taken)
            before = self._current.get(groups)
            if before is None or before.hold.at <= at:
                self._current[groups] = taken
            if self._keeper is None:
                self._keeper = threading.Thread(target=self._renew_until_closed, name="read-holds", daemon=True)
                self._keeper.start()
        if before is not None:
            self._release_if_over(before)
        return taken

    def _is_open(self, one: _Shared) -> bool:
        """Whether another read may lean on it: it lasts until it is renewed, even if a round of that is missed."""
        return self._elapsed_ms() < one.open_until_ms

    def _is_current(self, one: _Shared) -> bool:
        return self._current.get(one.hold.groups) is one

    def _retire(self, one: _Shared) -> None:
        if self._is_current(one):
            del self._current[one.hold.groups]

    def _release_if_over(self, one: _Shared) -> None:
        with self._lock:
            is_over = not one.reads and not self._is_current(one)
        if is_over:
            self._release(one)

    def _release(self, one: _Shared) -> None:
        with self._lock:
            self._shared.discard(one)
        with suppress(Exception):  # its lease ends it otherwise
            self._holds().release(one.hold)

    def _renew_until_closed(self) -> None:
        while not self._is_closed.wait(self._lease_ms / 4000):
            try:
                self.renew()
            except Exception as failure:  # the edge of the loop: consensus may be back at the next round
                _logger.warning("read holds could not be renewed", error=str(failure))
