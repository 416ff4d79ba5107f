"""Requests to the replicas of a managed cluster: the first that answers counts, and another is
asked for one that is lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

import pyarrow as pa

from reclock.consensus.processes.replicas import Registration, Replicas
from reclock.controllers.controller import PATIENCE_S, CurrentCatalog, Pause, patiently
from reclock.controllers.hedging import HedgedCall
from reclock.controllers.implied import replicas_of
from reclock.controllers.replica_links import Connect, ReplicaLinks
from reclock.errors import (
    NoReplicas,
    ReclockError,
    ReplicaBehind,
    ReplicaLost,
    UnknownObject,
    UntargetedLogRead,
)
from reclock.protocol.compute import (
    CancelPeek,
    Emit,
    Emitted,
    Peek,
    PeekResponse,
    Refresh,
    RefreshResponse,
    Replica,
)
from reclock.protocol.orchestration import ReplicaDescription

T = TypeVar("T")

HEDGE_S = 0.25
"""After how long without an answer another replica is asked too."""

_RETRYABLE = (ReplicaLost, ReplicaBehind)
"""Errors that say nothing about what another replica would answer."""

_POLL_S = 0.05
_LEAD_INTERVAL_S = 0.5
_LOSSES = 3


class ReplicaRequests:
    """Sends requests to the ready replicas of one cluster, as the registry has them. Safe for
    threads."""

    def __init__(
        self,
        current_catalog: CurrentCatalog,
        cluster_id: int,
        registry: Callable[[], Replicas],
        connect: Connect,
        start_ms: int,
        lead_if_needed: Callable[[], None],
    ) -> None:
        """``lead_if_needed`` is called while no replica answers: one may have to be started, or
        commanded."""
        self._current_catalog = current_catalog
        self._cluster_id = cluster_id
        self._registry = registry
        self._start_ms, self._lead_if_needed = start_ms, lead_if_needed
        self.links = ReplicaLinks(connect)
        self._peeks: dict[str, list[Replica]] = {}
        """The replicas that were asked for each active peek."""
        self._preferred: int | None = None
        """The replica that answered last."""

    def peek(self, peek: Peek, pause: Pause | None, *, replica: str) -> PeekResponse:
        """See `ClusterController.peek`. If a replica does not answer within ``HEDGE_S``, another
        one is asked too. If a replica is lost before its first rows, another one computes the peek
        again."""
        if replica:
            self._named(replica)

        def ask(candidate: Replica) -> PeekResponse:
            self._peeks.setdefault(peek.id, []).append(candidate)
            return candidate.peek(peek)

        def begin() -> PeekResponse:
            return self._from_any(
                ask, pause, only=replica, dispose=lambda late: late.batches.close()
            )

        try:
            response = begin()
        except BaseException:
            self._peeks.pop(peek.id, None)
            raise
        return PeekResponse(
            response.engine, response.schema, self._batches(peek.id, response, begin)
        )

    def _batches(
        self, id: str, response: PeekResponse, begin: Callable[[], PeekResponse]
    ) -> Generator[pa.RecordBatch, None, None]:
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
            self._peeks.pop(id, None)
            response.batches.close()

    def cancel(self, cancel: CancelPeek) -> None:
        for replica in self._peeks.get(cancel.id, ()):
            with suppress(ReplicaLost):
                replica.carry_out(cancel)

    def engine_of(self, peek: Peek, pause: Pause | None) -> str:
        return self._from_any(
            lambda replica: replica.engine_of(peek), pause, dispose=lambda late: None
        )

    def refresh(self, refresh: Refresh, pause: Pause | None) -> RefreshResponse:
        """See `Replica.refresh`. It is repeated if its replica is lost, which changes nothing."""
        return self._from_any(lambda replica: replica.refresh(refresh), pause)

    def emit(self, emit: Emit, pause: Pause | None) -> Emitted:
        """See `Replica.emit`. It is repeated if its replica is lost: what is in the target is not
        written again."""
        return self._from_any(lambda replica: replica.emit(emit), pause)

    def target(self, name: str) -> Replica:
        """See `ClusterController.target`. Raises ``ReplicaLost`` if the replica is not ready."""
        replicas = replicas_of(self._current_catalog(), self._cluster_id)
        if not name and len(replicas) != 1:
            raise UntargetedLogRead(sorted(replica.name for replica in replicas))
        target = self._named(name) if name else replicas[0]
        for registration in self._ready():
            if registration.replica_id == target.id:
                return self.links.to(registration).replica
        raise ReplicaLost(target.name, detail="; ".join(self._absent()))

    def _named(self, name: str) -> ReplicaDescription:
        """Raises ``UnknownObject``."""
        replicas = {
            replica.name: replica
            for replica in replicas_of(self._current_catalog(), self._cluster_id)
        }
        if name not in replicas:
            raise UnknownObject(
                "cluster replica",
                name,
                hint=f"the cluster has {', '.join(sorted(replicas)) or 'none'}",
            )
        return replicas[name]

    def _from_any(
        self,
        ask: Callable[[Replica], T],
        pause: Pause | None,
        *,
        only: str = "",
        dispose: Callable[[T], None] | None = None,
    ) -> T:
        """The answer of the first replica that answers, or of the one called ``only``.

        With ``dispose`` several replicas may be asked at once, and it is given the answers that
        come too late. Waits until a replica is ready: without a statement's ``pause``, as long as a
        start may take, and that anew if a replica was lost while it worked, a few times.
        """
        wait, losses = pause or self._start_patience(), 0
        led_at = 0.0
        while True:
            self._check_has_replicas()
            ready = [
                registration
                for registration in self._ready()
                if not only or registration.replica_id == self._named(only).id
            ]
            asks = [partial(self._ask, registration, ask) for registration in ready]
            if dispose is not None and (len(asks) > 1 or pause is not None):
                look = (
                    partial(pause, 0, "no replica of the cluster has answered yet")
                    if pause is not None
                    else _wait_on
                )
                answer, errors = HedgedCall(
                    asks, hedge_s=HEDGE_S, passes=_RETRYABLE, dispose=dispose
                ).run(look)
            else:
                answer, errors = _in_turn(asks)
            for error in errors:
                if pause is None and isinstance(error, ReplicaLost) and losses < _LOSSES:
                    wait, losses = self._start_patience(), losses + 1
            if answer is not None:
                number, value = answer
                self._preferred = ready[number].replica_id
                return value
            if time.monotonic() >= led_at + _LEAD_INTERVAL_S:
                led_at = time.monotonic()
                self._lead_if_needed()
            trouble = [f"{error.message}: {error.detail}" for error in errors]
            wait(
                _POLL_S,
                f"no replica of the cluster answers: {'; '.join([*trouble, *self._absent()])}",
            )

    def _check_has_replicas(self) -> None:
        """Raises ``NoReplicas``: while the catalog has none, no replica will ever answer."""
        catalog = self._current_catalog()
        if not replicas_of(catalog, self._cluster_id):
            assert catalog.snapshot is not None
            cluster = catalog.snapshot.clusters.get(self._cluster_id)
            raise NoReplicas(cluster.name if cluster is not None else str(self._cluster_id))

    def _ask(self, registration: Registration, ask: Callable[[Replica], T]) -> T:
        return ask(self.links.to(registration).replica)

    def _start_patience(self) -> Pause:
        return patiently(self._start_ms / 1000 + PATIENCE_S)

    def _ready(self) -> list[Registration]:
        """The replicas that can be asked, the one that answered last first."""
        ready = [
            registration
            for registration in self._registry().of_cluster(self._cluster_id)
            if registration.is_ready
        ]
        return sorted(ready, key=lambda registration: registration.replica_id != self._preferred)

    def _absent(self) -> Iterator[str]:
        """Why each replica that is not ready is not, for users."""
        registrations = {
            registration.replica_id: registration
            for registration in self._registry().of_cluster(self._cluster_id)
        }
        for description in replicas_of(self._current_catalog(), self._cluster_id):
            registration = registrations.get(description.id)
            if registration is None:
                yield f'"{description}" was not started yet'
            elif not registration.is_alive:
                yield f'"{description}" is not alive' + (
                    f" ({registration.trouble})" if registration.trouble else ""
                )
            elif registration.address is None:
                yield f'"{description}" is being started' + (
                    f" (before: {registration.trouble})" if registration.trouble else ""
                )


def _in_turn(asks: Sequence[Callable[[], T]]) -> tuple[tuple[int, T] | None, list[ReclockError]]:
    """The first answer with the number of its ask, and the errors of the replicas before it that
    were lost or behind. Raises any other error."""
    errors: list[ReclockError] = []
    for number, ask in enumerate(asks):
        try:
            return (number, ask()), errors
        except _RETRYABLE as error:
            errors.append(error)
    return None, errors


def _wait_on() -> None:
    """A caller without a statement's timeout waits as long as the replica computes."""
