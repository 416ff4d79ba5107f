"""Group commit: many threads' commits to tables, carried out by few transactions."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field

from reclock.algebra.timestamps import Timestamp
from reclock.collections.table_wal import Commit, TableWal
from reclock.consensus.database.waiting import INTERRUPTIONS, LOOK_S, check


@dataclass(slots=True, eq=False)
class _Pending:
    commit: Commit
    answer: Future[Timestamp] = field(default_factory=Future)


class GroupCommit:
    """Commits that arrive before a transaction has the database to itself go together, in the order they came.

    A statement that is cancelled while its commit waits takes the commit back. Once a transaction carries it, the statement
    waits for the outcome.
    """

    def __init__(self, log: TableWal) -> None:
        self._log = log
        self._guard = threading.Lock()
        self._turn = threading.Lock()
        self._waiting: list[_Pending] = []

    def commit(self, commit: Commit) -> Timestamp:
        """The time of the commit, which is durable. Raises why it is none, or what befell the transaction that carried it."""
        own = _Pending(commit)
        with self._guard:
            self._waiting.append(own)
        while not own.answer.done():  # whoever gets the turn first leads everyone that waits by then
            if self._turn.acquire(timeout=LOOK_S):
                try:
                    if not own.answer.done():
                        self._lead(own)
                finally:
                    self._turn.release()
            else:
                self._check(own)
        return own.answer.result()

    def _check(self, own: _Pending) -> None:
        """Raises if the statement should not go on and its commit could be taken back."""
        try:
            check("waiting to commit")
        except INTERRUPTIONS:
            with self._guard:
                if own in self._waiting:
                    self._waiting.remove(own)
                    raise
            wait([own.answer], LOOK_S)  # a transaction carries it

    def _lead(self, own: _Pending) -> None:
        with self._guard:
            present = list(self._waiting)
        carried: list[_Pending] = []

        def choose() -> Sequence[Commit]:
            with self._guard:
                carried.extend(self._waiting)
                self._waiting = []
            return [pending.commit for pending in carried]

        try:
            outcomes = self._log.commit(choose)
        except INTERRUPTIONS:  # the leader alone: before the commit, so that nothing has happened
            with self._guard:
                self._waiting = [pending for pending in carried + self._waiting if pending is not own]
            raise
        except BaseException as error:
            self._fail(carried or [pending for pending in present if pending in self._waiting], error)
            return
        for pending, outcome in zip(carried, outcomes, strict=True):
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
