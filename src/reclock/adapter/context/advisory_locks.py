"""The advisory locks of one session, which are held until an unlock, or the end of the session or of
its transaction."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack, suppress

from reclock.adapter.context.cancellation import Cancellation
from reclock.consensus.processes.advisory_locks import AdvisoryLock, LockHolder
from reclock.errors import AdvisoryLocksLost, LockTimeout, ReclockError
from reclock.runtime.stores import Stores

_FIRST_WAIT_S, _MAX_WAIT_S = 0.02, 0.5


class SessionAdvisoryLocks:
    """Counts how often the session holds each lock. Consensus knows only whether it holds a lock at
    all."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._of_session: Counter[AdvisoryLock] = Counter()
        self._of_transaction: Counter[AdvisoryLock] = Counter()
        self._holder: LockHolder | None = None
        self._renewals = ExitStack()

    def check(self) -> None:
        """Raises ``AdvisoryLocksLost`` if another session may have taken a lock of this one."""
        if self._holder is not None and self._holder.is_lost:
            raise AdvisoryLocksLost

    def try_acquire(self, lock: AdvisoryLock, *, of_transaction: bool) -> bool:
        """Hold the lock once more, unless another session has it."""
        if lock not in self._locks():
            holder = self._holder or self._stores.lock_holder()
            if not holder.acquire(lock):
                return False
            if self._holder is None:
                self._holder = holder
                self._renewals.enter_context(self._stores.leases.keeping(holder))
        (self._of_transaction if of_transaction else self._of_session)[lock] += 1
        return True

    def acquire(
        self,
        lock: AdvisoryLock,
        cancellation: Cancellation,
        *,
        of_transaction: bool,
        timeout_ms: int,
    ) -> None:
        """Hold the lock once more, after waiting for other sessions. Raises ``LockTimeout`` (0 is
        no timeout), and as ``Cancellation.check``."""
        begun_s, wait_s = time.monotonic(), _FIRST_WAIT_S
        while not self.try_acquire(lock, of_transaction=of_transaction):
            observer = self._holder or self._stores.lock_holder()
            while not observer.is_free(lock):
                if timeout_ms and time.monotonic() - begun_s > timeout_ms / 1000:
                    raise LockTimeout
                cancellation.pause(wait_s, f"waiting for advisory lock {lock.key}")
                self.check()
                wait_s = min(wait_s * 1.5, _MAX_WAIT_S)

    def release(self, lock: AdvisoryLock) -> bool:
        """Hold the lock of the session once less; returns whether it held it."""
        if not self._of_session[lock]:
            return False
        self._of_session[lock] -= 1
        self._release_unused()
        return True

    def release_all(self) -> None:
        """Release every lock of the session; those of the transaction stay."""
        self._of_session.clear()
        self._release_unused()

    def end_transaction(self) -> None:
        """Release the locks of the transaction. If consensus cannot be reached, they end with the
        next release, or with their lease."""
        if self._of_transaction:
            self._of_transaction.clear()
            with suppress(ReclockError):
                self._release_unused()

    def close(self) -> None:
        """Release everything, as ``end_transaction`` does."""
        self._of_session.clear()
        self._of_transaction.clear()
        with suppress(ReclockError):
            self._release_unused()

    def _locks(self) -> frozenset[AdvisoryLock]:
        return frozenset(+self._of_session) | frozenset(+self._of_transaction)

    def _release_unused(self) -> None:
        """Release in consensus the locks whose counts are zero."""
        if self._holder is None:
            return
        locks, holder = self._locks(), self._holder
        if not locks:
            self._holder = None
            self._renewals.close()
        holder.keep_only(locks)
