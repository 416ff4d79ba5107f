"""Group commit: the commits of many threads to tables share transactions."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from reclock.algebra.timestamps import Timestamp
from reclock.collections.table_commits import Commit
from reclock.collections.table_wal import TableWal
from reclock.consensus.database.waiting import CHECK_INTERVAL_S, check
from reclock.errors import InternalError
from reclock.interruption import INTERRUPTIONS


class _Signal:
    """An event that is set once, for one thread; cheaper than `threading.Event`."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def set(self) -> None:
        self._lock.release()

    def wait(self, timeout_s: float) -> bool:
        """Whether it was set within the time."""
        return self._lock.acquire(timeout=timeout_s)


@dataclass(slots=True, eq=False)
class _Pending:
    commit: Commit
    outcome: Timestamp | BaseException | None = None
    leads: bool = False
    """Whether its thread is to commit for all that wait."""
    is_called: _Signal = field(default_factory=_Signal)
    """Set once there is an outcome, or the thread leads."""

    def answer(self, outcome: Timestamp | BaseException) -> None:
        if self.outcome is None:
            self.outcome = outcome
            if not self.leads:
                self.is_called.set()

    def lead(self) -> None:
        self.leads = True
        self.is_called.set()


class GroupCommit:
    """Commits that arrive before a transaction has the database to itself share it, in the order of
    arrival.

    The thread of one of them leads: it commits for all. Then it appoints one of those that have
    arrived meanwhile, so that every thread is woken up once, when it has something to do.

    A statement that is cancelled while its commit waits withdraws the commit. Once a transaction
    includes the commit, the statement waits for the outcome.
    """

    def __init__(self, log: TableWal) -> None:
        self._log = log
        self._guard = threading.Lock()
        self._has_leader = False
        self._waiting: list[_Pending] = []

    def commit(self, commit: Commit) -> Timestamp:
        """Commit durably. Returns the time of the commit. Raises the reason of a refusal, or the
        error of the transaction."""
        pending = _Pending(commit)
        with self._guard:
            self._waiting.append(pending)
            pending.leads = not self._has_leader
            self._has_leader = True
        if not pending.leads:
            self._await(pending)
        if pending.leads:
            try:
                self._lead(pending)
            finally:
                self._appoint_next()
        if isinstance(pending.outcome, BaseException):
            raise pending.outcome
        if pending.outcome is None:
            raise InternalError("a commit to tables has no outcome")
        return pending.outcome

    def _await(self, pending: _Pending) -> None:
        """Wait until there is an outcome, or the thread is to lead. Raises if the statement should
        not go on and its commit could be withdrawn."""
        while not pending.is_called.wait(CHECK_INTERVAL_S):
            try:
                check("waiting to commit")
            except INTERRUPTIONS:
                if self._withdraw(pending):
                    raise
                # a transaction includes it

    def _withdraw(self, pending: _Pending) -> bool:
        with self._guard:
            if pending not in self._waiting:
                return False
            self._waiting.remove(pending)
        if pending.leads:  # it was appointed just now
            self._appoint_next()
        return True

    def _appoint_next(self) -> None:
        with self._guard:
            self._has_leader = bool(self._waiting)
            if self._waiting:
                self._waiting[0].lead()

    def _lead(self, leader: _Pending) -> None:
        with self._guard:
            present = list(self._waiting)
        included: list[_Pending] = []

        def choose() -> Sequence[Commit]:
            with self._guard:
                included.extend(self._waiting)
                self._waiting = []
            return [pending.commit for pending in included]

        try:
            outcomes = self._log.commit(choose)
        except INTERRUPTIONS:  # the leader alone: before the commit, so that nothing has happened
            with self._guard:
                self._waiting = [
                    pending for pending in included + self._waiting if pending is not leader
                ]
            raise
        except BaseException as error:
            self._fail(
                included or [pending for pending in present if pending in self._waiting], error
            )
            return
        for pending, outcome in zip(included, outcomes, strict=True):
            pending.answer(outcome)

    def _fail(self, failed: Sequence[_Pending], error: BaseException) -> None:
        with self._guard:
            self._waiting = [pending for pending in self._waiting if pending not in failed]
        for pending in failed:
            pending.answer(error)
