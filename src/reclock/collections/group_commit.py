"""Group commit: the commits of many threads to tables share transactions."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field

from reclock.algebra.timestamps import Timestamp
from reclock.collections.table_commits import Commit
from reclock.collections.table_wal import TableWal
from reclock.consensus.database.waiting import CHECK_INTERVAL_S, check
from reclock.interruption import INTERRUPTIONS


@dataclass(slots=True, eq=False)
class _Pending:
    commit: Commit
    answer: Future[Timestamp] = field(default_factory=Future)


class GroupCommit:
    """Commits that arrive before a transaction has the database to itself share it, in the order of
    arrival.

    A statement that is cancelled while its commit waits withdraws the commit. Once a transaction
    includes the commit, the statement waits for the outcome.
    """

    def __init__(self, log: TableWal) -> None:
        self._log = log
        self._guard = threading.Lock()
        self._turn = threading.Lock()
        self._waiting: list[_Pending] = []

    def commit(self, commit: Commit) -> Timestamp:
        """Commit durably. Returns the time of the commit. Raises the reason of a refusal, or the
        error of the transaction."""
        pending = _Pending(commit)
        with self._guard:
            self._waiting.append(pending)
        # the first thread to get the turn commits for all that wait by then
        while not pending.answer.done():
            if self._turn.acquire(timeout=CHECK_INTERVAL_S):
                try:
                    if not pending.answer.done():
                        self._lead(pending)
                finally:
                    self._turn.release()
            else:
                self._check(pending)
        return pending.answer.result()

    def _check(self, pending: _Pending) -> None:
        """Raises if the statement should not go on and its commit could be withdrawn."""
        try:
            check("waiting to commit")
        except INTERRUPTIONS:
            with self._guard:
                if pending in self._waiting:
                    self._waiting.remove(pending)
                    raise
            wait([pending.answer], CHECK_INTERVAL_S)  # a transaction includes it

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
            if isinstance(outcome, Exception):
                pending.answer.set_exception(outcome)
            else:
                pending.answer.set_result(outcome)

    def _fail(self, failed: Sequence[_Pending], error: BaseException) -> None:
        with self._guard:
            self._waiting = [pending for pending in self._waiting if pending not in failed]
        for pending in failed:
            if not pending.answer.done():
                pending.answer.set_exception(error)
