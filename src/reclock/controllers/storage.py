"""The storage controller: the collections of every source, table and index, made and dropped as the catalog says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import CATALOG, MINIMUM, Timestamp
from reclock.consensus.leadership.elections import Seat, Term
from reclock.controllers.controller import Follow
from reclock.controllers.elected import AGAIN_S, ElectedController
from reclock.controllers.implied import incarnations, storage_commands
from reclock.errors import TermOver
from reclock.failpoints import failpoint
from reclock.oracle.oracle import TimestampOracle
from reclock.protocol.frontier import AdvanceCatalogFrontier
from reclock.protocol.storage import NotCreated, StoragePlane

Plane = Callable[[Term, Callable[[Timestamp], None]], StoragePlane]
"""Makes the executing plane of a term, which publishes the catalog frontier by the function given."""


@dataclass(slots=True)
class _Stint:
    """A term of this process: how far it has published, and the objects that have collections, with their incarnations, or None
    if it must look."""

    term: Term
    plane: StoragePlane
    frontier: Timestamp = MINIMUM
    present: Mapping[GlobalId, str] | None = None


class StorageController(ElectedController):
    """See the module. A drop that readers hold up is carried out again until it succeeds, and so is a creation that failed: it
    holds up nothing but what reads or writes that object."""

    def __init__(self, follow: Follow, oracle: TimestampOracle, seat: Seat, plane: Plane) -> None:
        super().__init__(seat)
        self._follow, self._oracle, self._plane = follow, oracle, plane
        self._stint: _Stint | None = None

    def _lead(self, term: Term, *, stays: bool) -> None:
        stint = self._stint
        if stint is None or stint.term != term:
            plane = self._plane(term, partial(self._seat.publish, term, leaves=not stays))
            stint = self._stint = _Stint(term, plane)
        failpoint("controllers.storage.elected")
        present = stint.plane.present() if stint.present is None else stint.present
        catalog = self._follow()  # after the election, so it has everything that an earlier leader saw
        assert catalog.snapshot is not None
        stint.present = incarnations(catalog)
        failures: list[NotCreated] = []
        for command in storage_commands(present, catalog):
            failpoint("controllers.storage.before_command")
            if self._seat.take() != term:
                raise TermOver(self.name, own=term)
            answer = stint.plane.carry_out(command)
            if answer is not None:
                stint.present = None
            if isinstance(answer, NotCreated):
                failures.append(answer)
            failpoint("controllers.storage.after_command")
        stint.plane.report(failures)
        if stint.frontier < catalog.snapshot.upper or not stays:
            failpoint("controllers.storage.before_advance")
            stint.plane.carry_out(AdvanceCatalogFrontier(catalog.snapshot.upper))
            failpoint("controllers.storage.after_advance")
            stint.frontier = catalog.snapshot.upper
        self._learn(stint.frontier)
        if not stays:
            self._stint = None

    def _forget(self) -> None:
        self._stint = None

    def _is_behind(self) -> bool:
        return self._stint is not None and self._oracle.read_ts(CATALOG) > self._stint.frontier

    def _rest_s(self) -> float:
        is_done = self._stint is None or self._stint.present is not None
        return super()._rest_s() if is_done else AGAIN_S
