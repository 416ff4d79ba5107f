"""The compute controller of a managed cluster, whose replicas are processes: one leader starts,
commands and replaces them.

Any process sends them requests: see `replica_requests`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence, Set

import sqlalchemy as sa

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import CATALOG, MINIMUM, Timestamp
from reclock.consensus.leadership.elections import Seat, Term
from reclock.consensus.processes.replicas import Registration, Replicas
from reclock.controllers.controller import CurrentCatalog, Pause
from reclock.controllers.elected import ElectedController
from reclock.controllers.implied import compute_commands, dataflows, replicas_of
from reclock.controllers.replica_links import Connect, ReplicaLink, ReplicaLinks
from reclock.controllers.replica_reconciliation import RestartBackoff, reconcile_replicas
from reclock.controllers.replica_requests import ReplicaRequests
from reclock.errors import ReplicaLost, TermOver
from reclock.failpoints import failpoint
from reclock.oracle.oracle import TimestampOracle
from reclock.protocol.compute import (
    CancelPeek,
    CreateDataflow,
    Dataflow,
    DropDataflow,
    Emit,
    Emitted,
    Peek,
    PeekResponse,
    Refresh,
    RefreshResponse,
    Replica,
)
from reclock.protocol.frontier import AdvanceCatalogFrontier
from reclock.protocol.orchestration import EndedProcess, Orchestrator, ReplicaDescription
from reclock.sql.catalog.planner_catalog import PlannerCatalog

RECONCILE_S = 0.2
"""How often a leader compares the replicas that there are with those of the catalog, until all are
there and know the catalog. From then on it looks at them in the transaction that renews its
lease."""


class ManagedClusterController(ElectedController):
    """See the module. A leader that begins goes on from what each replica says it runs."""

    def __init__(
        self,
        current_catalog: CurrentCatalog,
        oracle: TimestampOracle,
        seat: Seat,
        cluster_id: int,
        registry: Callable[[Term | None], Replicas],
        connect: Connect,
        orchestrator: Orchestrator,
        start_ms: int,
    ) -> None:
        """``registry`` gives the registrations, as a leader writes them if it is given a term."""
        super().__init__(seat)
        self._current_catalog, self._oracle, self._cluster_id = current_catalog, oracle, cluster_id
        self._registry, self._orchestrator, self._start_ms = registry, orchestrator, start_ms
        self._commanded = ReplicaLinks(connect)
        self.requests = ReplicaRequests(
            current_catalog,
            cluster_id,
            lambda: registry(None),
            connect,
            start_ms,
            self._lead_if_needed,
        )
        self._term: Term | None = None
        self._restarts = RestartBackoff()
        self._ended: list[EndedProcess] = []
        """The processes whose end is not registered yet."""
        self._is_settled = False
        """Whether every wanted replica was there at the last step, and knew the catalog."""
        self._registrations: Sequence[Registration] = ()
        """The replicas as the last step left them."""

    # --- leading ---

    def _lead(self, term: Term, *, stays: bool) -> None:
        if term != self._term:  # another leader may have commanded meanwhile
            self._commanded.forget_commands()
            self._term = term
        failpoint("controllers.managed.elected")
        catalog = self._current_catalog()
        assert catalog.snapshot is not None
        upper = catalog.snapshot.upper
        desired = replicas_of(catalog, self._cluster_id)
        self._registrations = self._reconcile(desired, term)
        ready = [registration for registration in self._registrations if registration.is_ready]
        for registration in ready:
            self._command(self._commanded.to(registration), catalog, term)
        current = {
            registration.replica_id
            for registration in ready
            if self._commanded.to(registration).frontier >= upper
        }
        self._is_settled = current == {description.id for description in desired}
        if self._frontier < upper or not stays:
            failpoint("controllers.managed.before_advance")
            self._seat.publish(term, upper, leaves=not stays)
        self._learn(upper)
        if not stays:
            self._forget()

    def _reconcile(
        self, desired: Sequence[ReplicaDescription], term: Term
    ) -> Sequence[Registration]:
        """Start and retire processes until they are the ``desired`` ones. Returns the registrations
        afterwards."""
        registry = self._registry(term)
        self._has_noticed()
        while self._ended:
            ended = self._ended[0]
            self._restarts.record_end(ended, time.monotonic())
            registry.lost(ended.replica_id, ended.incarnation, ended.why)
            del self._ended[0]
        registrations = registry.of_cluster(self._cluster_id)
        changes = reconcile_replicas(desired, registrations, self._is_commanded)
        for description in changes.start:
            if self._orchestrator.has_room() and self._restarts.may_start(
                description.id, time.monotonic()
            ):
                incarnation = registry.begin(
                    description.id, self._cluster_id, lease_ms=self._start_ms
                )
                if incarnation is not None:
                    self._orchestrator.stop(description.id)  # the former process, if it hangs
                    failpoint("controllers.managed.begun")
                    self._orchestrator.start(description, incarnation)
        for id in changes.retire:
            registry.forget(id)
            self._orchestrator.stop(id)
            self._commanded.forget(id)
        if changes.start or changes.retire:
            return registry.of_cluster(self._cluster_id)
        return registrations

    def _command(self, link: ReplicaLink, catalog: PlannerCatalog, term: Term) -> None:
        """Command the replica up to the catalog. A replica that does not answer is commanded again
        when it does."""
        assert catalog.snapshot is not None
        if link.frontier >= catalog.snapshot.upper:
            return
        try:
            if link.running is None:
                link.running = dict(link.replica.running())
            for command in compute_commands(link.running, catalog, self._cluster_id):
                if self._seat.take() != term:
                    raise TermOver(self.name, term=term)
                link.replica.carry_out(command)
                failpoint("controllers.managed.after_command")
                match command:
                    case CreateDataflow(dataflow):
                        link.running[dataflow.id] = dataflow
                    case DropDataflow(id):
                        del link.running[id]
            link.replica.carry_out(AdvanceCatalogFrontier(catalog.snapshot.upper))
            link.frontier = catalog.snapshot.upper
            self._restarts.reset(link.registration.replica_id)
        except ReplicaLost:
            link.running = None

    def _is_commanded(self, registration: Registration) -> bool:
        link = self._commanded.to(registration)
        return link.frontier > MINIMUM

    def _forget(self) -> None:
        self._commanded.forget_commands()
        self._term = None

    def _is_behind(self) -> bool:
        return self._oracle.read_ts(CATALOG) > self._frontier

    def _rest_s(self) -> float:
        return super()._rest_s() if self._is_settled else min(super()._rest_s(), RECONCILE_S)

    def renew(self, connection: sa.Connection, now: Timestamp) -> Callable[[], object] | None:
        call = super().renew(connection, now)
        if call is not None or not self._is_leading or self._lock.locked():
            return call
        registrations = self._registry(None).look(connection, now, self._cluster_id)
        return self.wake if registrations != self._registrations else None

    def _has_noticed(self) -> bool:
        self._ended += self._orchestrator.ended()
        return bool(self._ended)

    # --- requests ---

    def maintained(self) -> Set[GlobalId]:
        return frozenset(
            index.id
            for index in self._current_catalog().indexes()
            if index.cluster_id == self._cluster_id
        )

    def dataflows(self) -> list[Dataflow]:
        return list(dataflows(self._current_catalog(), self._cluster_id).values())

    def is_attended(self) -> bool:
        """Whether a replica is alive or being started, or a leader is there to start one."""
        registrations = self._registry(None).of_cluster(self._cluster_id)
        return any(registration.is_alive for registration in registrations) or self._seat.is_taken()

    def peek(self, peek: Peek, pause: Pause | None = None, *, replica: str = "") -> PeekResponse:
        return self.requests.peek(peek, pause, replica=replica)

    def cancel(self, cancel: CancelPeek) -> None:
        self.requests.cancel(cancel)

    def engine_of(self, peek: Peek, pause: Pause | None = None) -> str:
        return self.requests.engine_of(peek, pause)

    def refresh(self, refresh: Refresh, pause: Pause | None = None) -> RefreshResponse:
        return self.requests.refresh(refresh, pause)

    def emit(self, emit: Emit, pause: Pause | None = None) -> Emitted:
        return self.requests.emit(emit, pause)

    def target(self, name: str) -> Replica:
        return self.requests.target(name)

    def led(self) -> dict[int, Replica]:
        """The replicas by id that this process, as their leader, has commanded."""
        return self._commanded.commanded() if self._is_leading else {}

    def _lead_if_needed(self) -> None:
        """Lead for a step if no process leads: a replica may have to be started, or commanded."""
        if self._is_looping:
            self.wake()
        else:
            self.step()
