"""The storage controller: the collections of every source, table and index, made and dropped as the
catalog says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import CATALOG, MINIMUM, Timestamp
from reclock.consensus.leadership.elections import Seat, Term
from reclock.controllers.controller import CurrentCatalog
from reclock.controllers.elected import RETRY_S, ElectedController
from reclock.controllers.implied import incarnations, storage_commands
from reclock.errors import TermOver
from reclock.failpoints import failpoint
from reclock.oracle.oracle import TimestampOracle
from reclock.protocol.frontier import AdvanceCatalogFrontier
from reclock.protocol.storage import NotCreated, StoragePlane

Plane = Callable[[Term, Callable[[Timestamp], None]], StoragePlane]
"""Makes the executing plane of a term, which publishes the catalog frontier by the function
given."""


@dataclass(slots=True)
class _LeaderTerm:
    """The state of a term of this process: the published frontier, and the objects that have
    collections, with their incarnations; None if the stores must be read. ``failures`` are those
    that were reported; None if nothing was."""

    term: Term
    plane: StoragePlane
    frontier: Timestamp = MINIMUM
    present: Mapping[GlobalId, str] | None = None
    failures: list[NotCreated] | None = None


class StorageController(ElectedController):
    """See the module. A drop that readers block is repeated until it succeeds, and so is a creation
    that failed, which blocks only reads and writes of that object."""

    def __init__(
        self, current_catalog: CurrentCatalog, oracle: TimestampOracle, seat: Seat, plane: Plane
    ) -> None:
        super().__init__(seat)
        self._current_catalog, self._oracle, self._plane = current_catalog, oracle, plane
        self._term_state: _LeaderTerm | None = None

    def _lead(self, term: Term, *, stays: bool) -> None:
        term_state = self._term_state
        if term_state is None or term_state.term != term:
            plane = self._plane(term, partial(self._seat.publish, term, leaves=not stays))
            term_state = self._term_state = _LeaderTerm(term, plane)
        failpoint("controllers.storage.elected")
        present = term_state.plane.present() if term_state.present is None else term_state.present
        # after the election, so it has everything that an earlier leader saw
        catalog = self._current_catalog()
        assert catalog.snapshot is not None
        term_state.present = incarnations(catalog)
        failures: list[NotCreated] = []
        for command in storage_commands(present, catalog):
            failpoint("controllers.storage.before_command")
            if self._seat.take() != term:
                raise TermOver(self.name, term=term)
            answer = term_state.plane.carry_out(command)
            if answer is not None:
                term_state.present = None
            if isinstance(answer, NotCreated):
                failures.append(answer)
            failpoint("controllers.storage.after_command")
        if failures != term_state.failures:
            term_state.plane.report(failures)
            term_state.failures = failures
        if term_state.frontier < catalog.snapshot.upper or not stays:
            failpoint("controllers.storage.before_advance")
            term_state.plane.carry_out(AdvanceCatalogFrontier(catalog.snapshot.upper))
            failpoint("controllers.storage.after_advance")
            term_state.frontier = catalog.snapshot.upper
        self._learn(term_state.frontier)
        if not stays:
            self._term_state = None

    def _forget(self) -> None:
        self._term_state = None

    def _is_behind(self) -> bool:
        return (
            self._term_state is not None
            and self._oracle.read_ts(CATALOG) > self._term_state.frontier
        )

    def _rest_s(self) -> float:
        is_done = self._term_state is None or self._term_state.present is not None
        return super()._rest_s() if is_done else RETRY_S
