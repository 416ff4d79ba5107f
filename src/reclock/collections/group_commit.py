"""Group commit: many threads' commits to tables, carried out by few transactions."""

from __future__ import annotations

import threading
from concurrent.futures import Future

from reclock.algebra.timestamps import Timestamp
from reclock.collections.table_log import Commit, TableLog


class GroupCommit:
    """Commits that arrive while another is on its way go together, in the order they came."""

    def __init__(self, log: TableLog) -> None:
        self._log = log
        self._guard = threading.Lock()
        self._turn = threading.Lock()
        self._waiting: list[tuple[Commit, Future[Timestamp]]] = []

    def commit(self, commit: Commit) -> Timestamp:
        """The time of the commit, which is durable. Raises why it is none, or what befell the transaction that carried it."""
        answer: Future[Timestamp] = Future()
        with self._guard:
            self._waiting.append((commit, answer))
        with self._turn:  # whoever gets it first leads everyone that waits by then
            if not answer.done():
                self._lead()
        return answer.result()

    def _lead(self) -> None:
        with self._guard:
            batch, self._waiting = self._waiting, []
        try:
            outcomes = self._log.commit([commit for commit, _ in batch])
        except BaseException as error:
            for _, answer in batch:
                answer.set_exception(error)
            return
        for (_, answer), outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, Exception):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome)
