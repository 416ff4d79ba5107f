"""A controller that one process leads at a time, elected through consensus.

A process that serves leads for as long as it lives, if no other does. Any other process that waits
for the controller and finds no leader leads for one step.
"""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import sqlalchemy as sa
import structlog

from reclock.algebra.timestamps import CATALOG, MAXIMUM, Timestamp
from reclock.consensus.leadership.elections import Seat, Term
from reclock.controllers.controller import Controller
from reclock.errors import Fenced, TermOver
from reclock.oracle.oracle import applied

_logger = structlog.get_logger(__name__)

RETRY_S = 1.0
"""How long after a failure the next attempt is made."""

SETTLED_S = 60.0
"""The longest pause between two steps while nothing changes, should a change go unnoticed."""

NOTICE_S = 0.2
"""How often a resting loop looks whether this process knows of something to do."""


class ElectedController(Controller):
    """See the module."""

    def __init__(self, seat: Seat) -> None:
        super().__init__(seat.controller)
        self._changes = seat.timeline_changes
        self._seat = seat
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._must_step = False
        self._is_looping = False
        self._is_leading = False
        self._failure: Exception | None = None

    @abstractmethod
    def _lead(self, term: Term, *, stays: bool) -> None:
        """Bring everything up to the current catalog, publish the frontier, and give up the lead
        unless it ``stays``."""

    @abstractmethod
    def _forget(self) -> None:
        """Forget what the last term carried out: another leader may have changed it."""

    @abstractmethod
    def _is_behind(self) -> bool:
        """Whether a leader has something to do at once."""

    def _rest_s(self) -> float:
        """The longest pause between two steps."""
        return SETTLED_S

    def step(self, *, to: Timestamp = MAXIMUM, stays: bool = False) -> None:
        """Unless another process leads, or the frontier is at ``to`` already: lead, bring
        everything up to the catalog as it is, and leave, or stay.

        A term begins by reading the actual state: it finishes what an earlier term left half done,
        and drops what should be gone.
        """
        with self._lock:
            if self._frontier >= to:
                return
            try:
                if (term := self._seat.take()) is not None:
                    self._lead(term, stays=stays)
                    self._is_leading = stays
                    return
            except Exception as failure:
                self._end_term()
                if not stays:
                    self._seat.leave()
                if not isinstance(failure, TermOver):
                    raise
            self._end_term()
            self._learn(self._seat.look().catalog_frontier)

    def loop(self, stopping: threading.Event) -> None:
        """Lead whenever no other process does, and follow the catalog, until ``stopping`` is set;
        ``wake`` it then.

        Between steps it sleeps until the catalog changes (``look``), a thread waits for it
        (``wake``), the leadership changes (``renew``), or a step is due.
        """
        self._is_looping = True
        due = time.monotonic()
        try:
            while not stopping.is_set():
                try:
                    self._wake.clear()
                    if (
                        self._must_step
                        or time.monotonic() >= due
                        or (self._is_leading and self._is_behind())
                    ):
                        self._must_step = False
                        self.step(stays=True)
                        self._failure = None
                        due = time.monotonic() + self._rest_s()
                except Exception as failure:  # the edge of the loop: the next attempt may succeed
                    if str(failure) != str(self._failure):
                        _logger.warning(
                            "controller loop failed; retrying",
                            controller=self.name,
                            error=str(failure),
                        )
                    self._failure = failure
                    due = time.monotonic() + RETRY_S
                    stopping.wait(RETRY_S)
                self._rest_until(due)
        finally:
            self._is_looping = False
            if self._is_leading:
                self._end_term()
                self._seat.leave()

    def _rest_until(self, due: float) -> None:
        """Wait for ``due``, until somebody wakes the loop, or until ``_has_noticed``."""
        while (rest_s := due - time.monotonic()) > 0:
            if self._wake.wait(min(rest_s, NOTICE_S)):
                return
            if self._has_noticed():
                self._must_step = True
                return

    def _has_noticed(self) -> bool:
        """Whether this process knows of something to do, without asking consensus."""
        return False

    @contextmanager
    def looping(self) -> Iterator[None]:
        """Inside the block a thread runs the loop."""
        stopping = threading.Event()
        thread = threading.Thread(
            target=self.loop, args=(stopping,), name=f"{self.name}-controller", daemon=True
        )
        thread.start()
        try:
            with self._changes.calling(self.look), self._seat.leases.keeping(self):
                yield
        finally:
            stopping.set()
            self.wake()
            thread.join()

    @property
    def lease_ms(self) -> int:
        return self._seat.lease_ms

    def renew(self, connection: sa.Connection, now: Timestamp) -> Callable[[], object] | None:
        """Between steps: keep the lead, or notice that it is free or lost, or that the catalog has
        changed although no notification came, and wake the loop. A step renews the lease itself,
        so that a leader that hangs in one is replaced."""
        if self._lock.locked():
            return None
        if self._is_leading:
            is_settled = self._seat.renew(connection, now) and (
                applied(connection, CATALOG) <= self._frontier
            )
        else:
            is_settled = not self._seat.is_free(connection, now)
        return None if is_settled else self.wake

    def fenced(self) -> None:
        self.wake()

    def leader(self) -> str | None:
        """The actor that leads, as one read finds; None if none does."""
        return self._seat.look().leader

    @property
    def is_leading(self) -> bool:
        """Whether the loop of this process leads, as its last step found."""
        return self._is_leading

    @property
    def is_fenced(self) -> bool:
        """Whether the loop found that a newer epoch leads the catalog: this process can write
        nothing any more."""
        return isinstance(self._failure, Fenced)

    def wake(self) -> None:
        """The loop takes a step at once."""
        self._must_step = True
        self._wake.set()

    def look(self) -> None:
        """The loop looks at once whether it is behind the catalog."""
        self._wake.set()

    def try_advance(self, to: Timestamp) -> bool:
        if self.frontier >= to:
            return True
        if self._is_looping:
            if self._failure is not None and self.is_fenced:
                raise self._failure
            self.wake()
        else:
            self._learn(self._seat.look().catalog_frontier)
            self.step(to=to)
        return self.frontier >= to

    def _trouble(self) -> str:
        return f": {self._failure}" if self._failure is not None else ""

    def _end_term(self) -> None:
        self._is_leading = False
        self._forget()
