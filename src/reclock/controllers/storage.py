"""The storage controller: the collections of every source, table and index, made and dropped as the catalog says.

One process leads it at a time. A process that serves leads for as long as it lives, if no other does; any other that waits for the
controller, and finds no leader, leads for one step.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import structlog

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import CATALOG, MAXIMUM, MINIMUM, Timestamp
from reclock.consensus.elections import Seat, Term
from reclock.controllers.controller import Controller, Follow
from reclock.controllers.implied import storage_commands, stored
from reclock.crashpoints import reach
from reclock.errors import Fenced, TermOver
from reclock.oracle.oracle import TimestampOracle
from reclock.protocol.frontier import AdvanceCatalogFrontier
from reclock.protocol.storage import StoragePlane

_logger = structlog.get_logger(__name__)

POLL_S = 0.02
"""How often a leader asks the oracle whether the catalog changed."""

AGAIN_S = 1.0
"""How long after a failure, or after a drop that readers hold up, the next attempt is made."""

Plane = Callable[[Term, Callable[[Timestamp], None]], StoragePlane]
"""Makes the executing plane of a term, which publishes the catalog frontier by the function given."""


@dataclass(slots=True)
class _Stint:
    """A term of this process: how far it has published, and the objects that have collections, or None if it must look."""

    term: Term
    plane: StoragePlane
    frontier: Timestamp = MINIMUM
    present: frozenset[GlobalId] | None = None


class StorageController(Controller):
    """See the module."""

    def __init__(self, follow: Follow, oracle: TimestampOracle, seat: Seat, plane: Plane) -> None:
        super().__init__(seat.controller)
        self._follow, self._oracle, self._seat, self._plane = follow, oracle, seat, plane
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._is_looping = False
        self._stint: _Stint | None = None
        self._failure: Exception | None = None

    def step(self, *, to: Timestamp = MAXIMUM, stays: bool = False) -> None:
        """Unless another process leads, or the frontier is at ``to`` already: lead, bring everything up to the catalog as it is,
        and leave, or stay.

        A term begins with looking at what there is: what an earlier one left half done is finished, what should be gone goes.
        """
        with self._lock:
            if self._frontier >= to:
                return
            try:
                if (term := self._seat.take()) is not None:
                    self._lead(term, stays=stays)
                    return
            except Exception as failure:
                self._stint = None  # what was carried out is not known
                if not stays:
                    self._seat.leave()
                if not isinstance(failure, TermOver):
                    raise
            self._stint = None
            self._learn(self._seat.look().catalog_frontier)

    def loop(self, stopping: threading.Event) -> None:
        """Lead whenever no other process does, and follow the catalog, until ``stopping`` is set; ``wake`` it then."""
        self._is_looping = True
        due = time.monotonic()
        try:
            while not stopping.is_set():
                try:
                    if self._wake.is_set() or time.monotonic() >= due or self._is_behind():
                        self._wake.clear()
                        self.step(stays=True)
                        self._failure = None
                        is_done = self._stint is None or self._stint.present is not None
                        due = time.monotonic() + (self._seat.lease_ms / 3000 if is_done else AGAIN_S)
                except Exception as failure:  # the edge of the loop: it may go better the next time
                    if str(failure) != str(self._failure):
                        _logger.warning("controller does not get on", controller=self.name, error=str(failure))
                    self._failure = failure
                    stopping.wait(AGAIN_S)
                self._wake.wait(POLL_S if self._stint is not None else max(due - time.monotonic(), 0))
        finally:
            self._is_looping = False
            if self._stint is not None:
                self._stint = None
                self._seat.leave()

    @contextmanager
    def looping(self) -> Iterator[None]:
        """Inside the block a thread runs the loop."""
        stopping = threading.Event()
        thread = threading.Thread(target=self.loop, args=(stopping,), name=f"{self.name}-controller", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stopping.set()
            self.wake()
            thread.join()

    def leader(self) -> str | None:
        """Who leads, as one read says; None if nobody does."""
        return self._seat.look().leader

    def wake(self) -> None:
        """The loop looks around at once."""
        self._wake.set()

    def _lead(self, term: Term, *, stays: bool) -> None:
        stint = self._stint
        if stint is None or stint.term != term:
            plane = self._plane(term, partial(self._seat.publish, term, leaves=not stays))
            stint = self._stint = _Stint(term, plane)
        reach("controllers.storage.elected")
        present = stint.plane.present() if stint.present is None else stint.present
        catalog = self._follow()  # after the election, so it has everything that an earlier leader saw
        assert catalog.snapshot is not None
        stint.present = stored(catalog)
        for command in storage_commands(present, catalog):
            reach("controllers.storage.before_command")
            if self._seat.take() != term:
                raise TermOver(self.name, own=term)
            if stint.plane.carry_out(command) is not None:
                stint.present = None
            reach("controllers.storage.after_command")
        if stint.frontier < catalog.snapshot.upper or not stays:
            reach("controllers.storage.before_advance")
            stint.plane.carry_out(AdvanceCatalogFrontier(catalog.snapshot.upper))
            reach("controllers.storage.after_advance")
            stint.frontier = catalog.snapshot.upper
        self._learn(stint.frontier)
        if not stays:
            self._stint = None

    def _is_behind(self) -> bool:
        return self._stint is not None and self._oracle.read_ts(CATALOG) > self._stint.frontier

    def brought_to(self, to: Timestamp) -> bool:
        if self.frontier >= to:
            return True
        if self._is_looping:
            if isinstance(self._failure, Fenced):
                raise self._failure
            self.wake()
        else:
            self._learn(self._seat.look().catalog_frontier)
            self.step(to=to)
        return self.frontier >= to

    def _trouble(self) -> str:
        return f": {self._failure}" if self._failure is not None else ""
