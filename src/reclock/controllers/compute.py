"""The compute controller of a virtual cluster: which indexes its replica maintains, and what
clients ask of it.

The replica of a virtual cluster is a part of each process, so each process has a controller for it,
and nobody is elected.
"""

from __future__ import annotations

import threading
from collections.abc import Set
from typing import Protocol

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.controllers.controller import Controller, CurrentCatalog, Pause
from reclock.controllers.implied import compute_commands
from reclock.errors import UnknownObject
from reclock.failpoints import failpoint
from reclock.protocol.compute import (
    CancelPeek,
    Dataflow,
    Emit,
    Emitted,
    Peek,
    PeekResponse,
    Refresh,
    RefreshResponse,
    Replica,
)
from reclock.protocol.frontier import AdvanceCatalogFrontier


class ClusterController(Protocol):
    """What a process asks of a cluster, wherever its replicas are. ``pause`` is told what is waited
    for, where that may be."""

    @property
    def frontier(self) -> Timestamp: ...

    def await_frontier(self, to: Timestamp, pause: Pause | None = None) -> None:
        """See `Controller`."""
        ...

    def maintained(self) -> Set[GlobalId]:
        """The indexes that can be read in it."""
        ...

    def dataflows(self) -> list[Dataflow]:
        """What it maintains, in the order it is to be refreshed, by the catalog as it is."""
        ...

    def peek(self, peek: Peek, pause: Pause | None = None, *, replica: str = "") -> PeekResponse:
        """See `Replica.peek`; waits until the controller has reached the peek's ``catalog_ts``. By
        the replica of that name, or without one by any. Raises ``UnknownObject`` for a name that is
        none's."""
        ...

    def cancel(self, cancel: CancelPeek) -> None:
        """See `CancelPeek`."""
        ...

    def engine_of(self, peek: Peek, pause: Pause | None = None) -> str:
        """See `Replica.engine_of`."""
        ...

    def refresh(self, refresh: Refresh, pause: Pause | None = None) -> RefreshResponse:
        """See `Replica.refresh`."""
        ...

    def emit(self, emit: Emit, pause: Pause | None = None) -> Emitted:
        """See `Replica.emit`; the controller has reached its ``catalog_ts``."""
        ...

    def target(self, name: str) -> Replica:
        """The replica of that name; without one, the only one there is. Raises ``UnknownObject``,
        ``UntargetedLogRead``."""
        ...


class ComputeController(Controller):
    """See the module. One that begins goes on from what the replica says it runs."""

    def __init__(
        self,
        current_catalog: CurrentCatalog,
        cluster_id: int,
        replica: Replica,
        replica_id: str = "",
    ) -> None:
        super().__init__(f"compute {cluster_id}")
        self.replica, self.replica_id = replica, replica_id
        self._current_catalog, self._cluster_id = current_catalog, cluster_id
        self._lock = threading.Lock()

    def step(self) -> None:
        """Bring the replica up to the catalog as it is."""
        with self._lock:
            catalog = self._current_catalog()
            assert catalog.snapshot is not None
            for command in compute_commands(self.replica.running(), catalog, self._cluster_id):
                self.replica.carry_out(command)
                failpoint("controllers.compute.after_command")
            failpoint("controllers.compute.before_advance")
            self.replica.carry_out(AdvanceCatalogFrontier(catalog.snapshot.upper))
            self._learn(catalog.snapshot.upper)

    def dataflows(self) -> list[Dataflow]:
        self.step()
        return list(self.replica.running().values())

    def maintained(self) -> Set[GlobalId]:
        return self.replica.running().keys()

    def peek(self, peek: Peek, pause: Pause | None = None, *, replica: str = "") -> PeekResponse:
        self.await_frontier(peek.catalog_ts, pause)
        return self.target(replica).peek(peek)

    def cancel(self, cancel: CancelPeek) -> None:
        self.replica.carry_out(cancel)

    def engine_of(self, peek: Peek, pause: Pause | None = None) -> str:
        self.await_frontier(peek.catalog_ts, pause)
        return self.replica.engine_of(peek)

    def refresh(self, refresh: Refresh, pause: Pause | None = None) -> RefreshResponse:
        return self.replica.refresh(refresh)

    def emit(self, emit: Emit, pause: Pause | None = None) -> Emitted:
        return self.replica.emit(emit)

    def target(self, name: str) -> Replica:
        if name and name != self.replica_id:
            raise UnknownObject(
                "cluster replica", name, hint=f'the cluster has "{self.replica_id}" here'
            )
        return self.replica

    def try_advance(self, to: Timestamp) -> bool:
        if self.frontier < to:
            self.step()
        return self.frontier >= to
