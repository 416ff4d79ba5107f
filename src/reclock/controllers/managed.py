"""The compute controller of a cluster that has replicas: processes of their own, which one leader starts, commands and replaces.

Any process asks them: a peek goes to the first that answers, and to another, or to its next incarnation, if that one is lost.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import pyarrow as pa

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import CATALOG, MINIMUM, Timestamp
from reclock.consensus.leadership.elections import Seat, Term
from reclock.consensus.processes.replicas import Registration, Replicas
from reclock.controllers.controller import PATIENCE_S, CurrentCatalog, Pause, patiently
from reclock.controllers.elected import ElectedController
from reclock.controllers.hedging import HedgedCall
from reclock.controllers.implied import compute_commands, dataflows, replicas_of
from reclock.controllers.replica_reconciliation import RestartBackoff, reconcile_replicas
from reclock.errors import NoReplicas, ReclockError, ReplicaBehind, ReplicaLost, TermOver, UnknownObject, UntargetedLogRead
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
    Refreshed,
    Replica,
)
from reclock.protocol.frontier import AdvanceCatalogFrontier
from reclock.protocol.orchestration import Orchestrator, ReplicaDescription
from reclock.sql.catalog.planner_catalog import PlannerCatalog

T = TypeVar("T")

Connect = Callable[[Registration], Replica]

RECONCILE_S = 0.2
"""How often a leader looks at its replicas."""

HEDGE_S = 0.25
"""After how long without an answer another replica is asked too."""

_PASSES = (ReplicaLost, ReplicaBehind)
"""Errors that say nothing about what another replica would answer."""

_POLL_S = 0.05
_TEND_S = 0.5
_LOSSES = 3


@dataclass(slots=True)
class _Link:
    """One incarnation of a replica as this process knows it."""

    registration: Registration
    replica: Replica
    running: dict[GlobalId, Dataflow] | None = None
    """What it maintains; None if it must be asked."""
    frontier: Timestamp = MINIMUM


@dataclass(slots=True)
class _Links:
    """Connections to replicas, each made once for an incarnation. Safe for threads."""

    connect: Connect
    _links: dict[int, _Link] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def to(self, registration: Registration) -> _Link:
        with self._lock:
            link = self._links.get(registration.replica_id)
            if link is None or link.registration.incarnation != registration.incarnation:
                link = self._links[registration.replica_id] = _Link(registration, self.connect(registration))
            return link

    def commanded(self) -> dict[int, Replica]:
        with self._lock:
            return {id: link.replica for id, link in self._links.items() if link.frontier > MINIMUM}

    def forget(self, id: int) -> None:
        """The replica is not needed any more."""
        with self._lock:
            self._links.pop(id, None)

    def forget_commands(self) -> None:
        """Others may command the replicas from now on. The connections stay."""
        with self._lock:
            for link in self._links.values():
                link.running, link.frontier = None, MINIMUM


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
        self._commanded, self._asked = _Links(connect), _Links(connect)
        self._term: Term | None = None
        self._restarts = RestartBackoff()
        self._asking: dict[str, list[Replica]] = {}
        self._preferred: int | None = None

    # --- leading ---

    def _lead(self, term: Term, *, stays: bool) -> None:
        if term != self._term:  # another may have commanded meanwhile
            self._commanded.forget_commands()
            self._term = term
        failpoint("controllers.managed.elected")
        catalog = self._current_catalog()
        assert catalog.snapshot is not None
        upper = catalog.snapshot.upper
        self._keep_up(catalog, term)
        for registration in self._registry(None).of_cluster(self._cluster_id):
            if registration.is_ready:
                self._command(self._commanded.to(registration), catalog, term)
        if self._frontier < upper or not stays:
            failpoint("controllers.managed.before_advance")
            self._seat.publish(term, upper, leaves=not stays)
        self._learn(upper)
        if not stays:
            self._forget()

    def _keep_up(self, catalog: PlannerCatalog, term: Term) -> None:
        """The processes are those that the catalog wants, or will be."""
        registry = self._registry(term)
        for ended in self._orchestrator.ended():
            self._restarts.record_end(ended, time.monotonic())
            registry.lost(ended.replica_id, ended.incarnation, ended.why)
        wanted = replicas_of(catalog, self._cluster_id)
        changes = reconcile_replicas(wanted, registry.of_cluster(self._cluster_id), self._is_commanded)
        for description in changes.start:
            if self._orchestrator.has_room() and self._restarts.may_start(description.id, time.monotonic()):
                incarnation = registry.begin(description.id, self._cluster_id, lease_ms=self._start_ms)
                if incarnation is not None:
                    self._orchestrator.stop(description.id)  # the one before, if it hangs
                    failpoint("controllers.managed.begun")
                    self._orchestrator.start(description, incarnation)
        for id in changes.retire:
            registry.forget(id)
            self._orchestrator.stop(id)
            self._commanded.forget(id)

    def _command(self, link: _Link, catalog: PlannerCatalog, term: Term) -> None:
        """The replica does what the catalog wants. One that does not answer is left alone until it does."""
        assert catalog.snapshot is not None
        if link.frontier >= catalog.snapshot.upper:
            return
        try:
            if link.running is None:
                link.running = dict(link.replica.running())
            for command in compute_commands(link.running, catalog, self._cluster_id):
                if self._seat.take() != term:
                    raise TermOver(self.name, own=term)
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
        return min(super()._rest_s(), RECONCILE_S)

    # --- asking ---

    def maintained(self) -> Set[GlobalId]:
        return frozenset(index.id for index in self._current_catalog().indexes() if index.cluster_id == self._cluster_id)

    def dataflows(self) -> list[Dataflow]:
        return list(dataflows(self._current_catalog(), self._cluster_id).values())

    def is_attended(self) -> bool:
        """Whether a replica is alive or on its way, or somebody leads who starts one."""
        found = self._registry(None).of_cluster(self._cluster_id)
        return any(registration.is_alive for registration in found) or self._seat.is_taken()

    def peek(self, peek: Peek, pause: Pause | None = None, *, replica: str = "") -> PeekResponse:
        """See `ClusterController.peek`. A replica that does not answer within ``HEDGE_S`` has another one asked beside it. What is
        computed before a replica is lost is computed again by another, up to the first rows."""
        if replica:
            self._named(replica)

        def ask(replica: Replica) -> PeekResponse:
            self._asking.setdefault(peek.id, []).append(replica)
            return replica.peek(peek)

        def begin() -> PeekResponse:
            return self._from_any(ask, pause, only=replica, dispose=lambda late: late.batches.close())

        try:
            response = begin()
        except BaseException:
            self._asking.pop(peek.id, None)
            raise
        return PeekResponse(response.engine, response.schema, self._batches(peek.id, response, begin))

    def _batches(self, id: str, response: PeekResponse, begin: Callable[[], PeekResponse]) -> Generator[pa.RecordBatch, None, None]:
        try:
            while True:
                try:
                    first = next(response.batches, None)
                    break
                except ReplicaLost:
                    response = begin()
            if first is not None:
                yield first
                yield from response.batches
        finally:
            self._asking.pop(id, None)
            response.batches.close()

    def cancel(self, cancel: CancelPeek) -> None:
        for replica in self._asking.get(cancel.id, ()):
            with suppress(ReplicaLost):
                replica.carry_out(cancel)

    def engine_of(self, peek: Peek, pause: Pause | None = None) -> str:
        return self._from_any(lambda replica: replica.engine_of(peek), pause, dispose=lambda late: None)

    def refresh(self, refresh: Refresh, pause: Pause | None = None) -> Refreshed:
        """See `Replica.refresh`. It is repeated where its replica is lost, which changes nothing."""
        return self._from_any(lambda replica: replica.refresh(refresh), pause)

    def emit(self, emit: Emit, pause: Pause | None = None) -> Emitted:
        """See `Replica.emit`. It is repeated where its replica is lost: what is in the target is not written again."""
        return self._from_any(lambda replica: replica.emit(emit), pause)

    def target(self, name: str) -> Replica:
        replicas = replicas_of(self._current_catalog(), self._cluster_id)
        if not name and len(replicas) != 1:
            raise UntargetedLogRead(sorted(each.name for each in replicas))
        wanted = self._named(name) if name else replicas[0]
        found = next((each for each in self._ready() if each.replica_id == wanted.id), None)
        if found is None:
            raise ReplicaLost(wanted.name, detail="; ".join(self._absent()))
        return self._asked.to(found).replica

    def _named(self, name: str) -> ReplicaDescription:
        """Raises ``UnknownObject``."""
        replicas = {each.name: each for each in replicas_of(self._current_catalog(), self._cluster_id)}
        if name not in replicas:
            raise UnknownObject("cluster replica", name, hint=f"the cluster has {', '.join(sorted(replicas)) or 'none'}")
        return replicas[name]

    def led(self) -> dict[int, Replica]:
        """The replicas by id that this process, as their leader, has commanded."""
        return self._commanded.commanded() if self._is_leading else {}

    def _from_any(
        self,
        ask: Callable[[Replica], T],
        pause: Pause | None,
        *,
        only: str = "",
        dispose: Callable[[T], None] | None = None,
    ) -> T:
        """What the first replica answers that does, or the one called ``only``. With ``dispose`` several may be asked at once, and
        it is given the answers that come too late. Waits for a replica: without a statement's patience, as long as a start may
        take, anew when a replica was lost over it, a few times."""
        wait, losses = pause or self._patience(), 0
        tended = 0.0
        while True:
            self._check_has_replicas()
            ready = [each for each in self._ready() if not only or each.replica_id == self._named(only).id]
            asks = [partial(self._ask, registration, ask) for registration in ready]
            if dispose is not None and (len(asks) > 1 or pause is not None):
                look = partial(pause, 0, "no replica of the cluster has answered yet") if pause is not None else _go_on
                answer, errors = HedgedCall(asks, hedge_s=HEDGE_S, passes=_PASSES, dispose=dispose).run(look)
            else:
                answer, errors = _in_turn(asks)
            for error in errors:
                if pause is None and isinstance(error, ReplicaLost) and losses < _LOSSES:
                    wait, losses = self._patience(), losses + 1
            if answer is not None:
                number, given = answer
                self._preferred = ready[number].replica_id
                return given
            if time.monotonic() >= tended + _TEND_S:
                tended = time.monotonic()
                self._tend()
            trouble = [f"{error.message}: {error.detail}" for error in errors]
            wait(_POLL_S, f"no replica of the cluster answers: {'; '.join([*trouble, *self._absent()])}")

    def _check_has_replicas(self) -> None:
        """Raises ``NoReplicas``: without one in the catalog, waiting is in vain."""
        catalog = self._current_catalog()
        if not replicas_of(catalog, self._cluster_id):
            assert catalog.snapshot is not None
            cluster = catalog.snapshot.clusters.get(self._cluster_id)
            raise NoReplicas(cluster.name if cluster is not None else str(self._cluster_id))

    def _ask(self, registration: Registration, ask: Callable[[Replica], T]) -> T:
        return ask(self._asked.to(registration).replica)

    def _patience(self) -> Pause:
        return patiently(self._start_ms / 1000 + PATIENCE_S)

    def _ready(self) -> list[Registration]:
        """Those that can be asked, that which answered last before the others."""
        found = [each for each in self._registry(None).of_cluster(self._cluster_id) if each.is_ready]
        return sorted(found, key=lambda each: each.replica_id != self._preferred)

    def _tend(self) -> None:
        """Lead for a step where nobody does: a replica may have to be started, or commanded."""
        if self._is_looping:
            self.wake()
        else:
            self.step()

    def _absent(self) -> Iterator[str]:
        found = {each.replica_id: each for each in self._registry(None).of_cluster(self._cluster_id)}
        for description in replicas_of(self._current_catalog(), self._cluster_id):
            registration = found.get(description.id)
            if registration is None:
                yield f'"{description}" was not started yet'
            elif not registration.is_alive:
                yield f'"{description}" is not alive' + (f" ({registration.trouble})" if registration.trouble else "")
            elif registration.address is None:
                yield f'"{description}" is being started' + (f" (before: {registration.trouble})" if registration.trouble else "")


def _in_turn(asks: Sequence[Callable[[], T]]) -> tuple[tuple[int, T] | None, list[ReclockError]]:
    """The first answer and who gave it, and the errors of those before that were lost or behind. Raises any other error."""
    errors: list[ReclockError] = []
    for number, ask in enumerate(asks):
        try:
            return (number, ask()), errors
        except _PASSES as error:
            errors.append(error)
    return None, errors


def _go_on() -> None:
    """Who has no patience of a statement waits for a replica as long as it takes to compute."""
