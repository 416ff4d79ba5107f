"""Read holds that the reads of one process share. A hold protects every read at its time or later,
so few holds serve many reads."""

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
    """A hold in consensus, until when (on this process's clock) new reads may share it, and how
    many reads use it now."""

    hold: ReadHold
    open_until_ms: float
    reads: int = 1


class SharedHolds:
    """The read holds of one process. A hold accepts new reads for half of its lease, so that it
    does not keep ``since`` for ever. It is renewed while a read uses it, and released then.
    Thread-safe."""

    def __init__(
        self,
        holds: Callable[[], ReadHolds],
        owner: str,
        lease_ms: int,
        elapsed_ms: Callable[[], float] = lambda: time.monotonic() * 1000,
    ) -> None:
        self._holds = holds
        self._owner = owner
        self._lease_ms = lease_ms
        self._elapsed_ms = elapsed_ms
        self._lock = threading.Lock()
        self._shared: set[_Shared] = set()
        self._current: dict[frozenset[str], _Shared] = {}
        self._is_closed = threading.Event()
        self._keeper: threading.Thread | None = None

    @contextmanager
    def held(self, groups: Iterable[str], at: Timestamp) -> Iterator[None]:
        """Within the block, the groups are not compacted beyond ``at``, as long as this process
        lives and reaches consensus.

        Raises ``NotReadable`` if ``at`` is below the since of a group, ``UnknownCollection``.
        """
        shared = self._take(frozenset(groups), at)
        try:
            yield
        finally:
            with self._lock:
                shared.reads -= 1
            self._release_if_over(shared)

    def release_idle(self, groups: Iterable[str]) -> None:
        """Release the holds on any of ``groups`` that no read uses now."""
        group_ids = frozenset(groups)
        with self._lock:
            idle = [
                shared
                for shared in self._shared
                if not shared.reads and shared.hold.groups & group_ids
            ]
            for shared in idle:
                self._retire(shared)
        for shared in idle:
            self._release(shared)

    def renew(self) -> None:
        """Renew the holds in use; release those not in use that accept no new reads. A thread calls
        it four times a lease."""
        with self._lock:
            busy = [shared for shared in self._shared if shared.reads]
            idle = [
                shared for shared in self._shared if not shared.reads and not self._is_open(shared)
            ]
            for shared in idle:
                self._retire(shared)
        for shared in idle:
            self._release(shared)
        for shared in busy:
            try:
                self._holds().renew(shared.hold, lease_ms=self._lease_ms)
            except ReadHoldLost as lost:
                with self._lock:
                    self._retire(shared)
                    self._shared.discard(shared)
                if shared.reads:
                    _logger.warning(
                        "a read goes on without its hold",
                        groups=sorted(shared.hold.groups),
                        error=str(lost),
                    )

    def close(self) -> None:
        """Release all holds, also those in use."""
        self._is_closed.set()
        if self._keeper is not None:
            self._keeper.join()
        for shared in list(self._shared):
            self._release(shared)

    def _take(self, groups: frozenset[str], at: Timestamp) -> _Shared:
        with self._lock:
            current = self._current.get(groups)
            if current is not None and current.hold.at <= at and self._is_open(current):
                current.reads += 1
                return current
        began_ms = self._elapsed_ms()
        hold = self._holds().acquire(groups, at, owner=self._owner, lease_ms=self._lease_ms)
        new_hold = _Shared(hold, began_ms + self._lease_ms / 2)
        with self._lock:
            self._shared.add(new_hold)
            before = self._current.get(groups)
            if before is None or before.hold.at <= at:
                self._current[groups] = new_hold
            if self._keeper is None:
                self._keeper = threading.Thread(
                    target=self._renew_until_closed, name="read-holds", daemon=True
                )
                self._keeper.start()
        if before is not None:
            self._release_if_over(before)
        return new_hold

    def _is_open(self, shared: _Shared) -> bool:
        """Whether another read may share the hold: it lasts until its renewal, even if one renewal
        fails."""
        return self._elapsed_ms() < shared.open_until_ms

    def _is_current(self, shared: _Shared) -> bool:
        return self._current.get(shared.hold.groups) is shared

    def _retire(self, shared: _Shared) -> None:
        if self._is_current(shared):
            del self._current[shared.hold.groups]

    def _release_if_over(self, shared: _Shared) -> None:
        with self._lock:
            is_over = not shared.reads and not self._is_current(shared)
        if is_over:
            self._release(shared)

    def _release(self, shared: _Shared) -> None:
        with self._lock:
            self._shared.discard(shared)
        with suppress(Exception):  # otherwise it expires
            self._holds().release(shared.hold)

    def _renew_until_closed(self) -> None:
        while not self._is_closed.wait(self._lease_ms / 4000):
            try:
                self.renew()
            except Exception as failure:
                # the edge of the loop: consensus may be back at the next round
                _logger.warning("read holds could not be renewed", error=str(failure))
