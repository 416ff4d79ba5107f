"""Unified introspection: what replicas and this process report of themselves, on its way to the
collections that storage manages."""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from reclock.algebra.timestamps import Clock, Timestamp, as_datetime
from reclock.errors import ReplicaLost
from reclock.protocol.introspection import (
    CancelSubscribe,
    Change,
    IntrospectionType,
    LogChanges,
    LogFailed,
    LogName,
    LogResponse,
    Recorder,
    Reporter,
    Subscribe,
    is_in_process,
)

_logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class IntrospectionSubscribe:
    """An introspection subscribe: what ``log`` of a replica holds goes to ``into``, and each new
    row, when it came, to ``history``."""

    log: LogName
    into: IntrospectionType
    history: IntrospectionType | None = None


DEFINITIONS = (
    IntrospectionSubscribe(LogName.ACTIVE_PEEKS, IntrospectionType.ACTIVE_PEEKS),
    IntrospectionSubscribe(LogName.ARRANGEMENT_SIZES, IntrospectionType.ARRANGEMENT_SIZES),
    IntrospectionSubscribe(LogName.ERROR_COUNTS, IntrospectionType.ERROR_COUNTS),
    IntrospectionSubscribe(LogName.FRONTIERS, IntrospectionType.FRONTIERS),
    IntrospectionSubscribe(LogName.HYDRATION_TIMES, IntrospectionType.HYDRATION_TIMES),
    IntrospectionSubscribe(LogName.LAST_REFRESHES, IntrospectionType.LAST_REFRESHES),
    IntrospectionSubscribe(LogName.REFRESH_DURATIONS, IntrospectionType.REFRESH_DURATIONS),
    IntrospectionSubscribe(LogName.PEEK_DURATIONS, IntrospectionType.PEEK_DURATIONS),
    IntrospectionSubscribe(
        LogName.PROCESS_USAGE,
        IntrospectionType.REPLICA_METRICS,
        IntrospectionType.REPLICA_METRICS_HISTORY,
    ),
)
"""Of unified relations, the first part. The others are in `introspection.types` and
`introspection.builtins`."""


class Reporting(Protocol):
    """A replica, as far as this needs it: see `protocol.compute.Replica`."""

    def carry_out(self, command: Subscribe | CancelSubscribe) -> None: ...
    def take_changes(self, subscribes: Collection[str]) -> list[LogResponse]: ...


@dataclass(slots=True)
class ReplicaSubscribes:
    """The introspection subscribes of one connection to a replica. `step` now and then, from one
    thread."""

    recorder: Recorder
    replica_id: int
    cluster_id: int
    process: str
    replica: Reporting
    clock: Clock
    _reporter: Reporter | None = None
    _subscribes: dict[str, IntrospectionSubscribe] = field(default_factory=dict)
    _is_lost: threading.Event = field(default_factory=threading.Event)

    def connect(self) -> None:
        """Subscribes are installed on the replica, which begin with all that it holds; everything
        that was reported of it goes.

        One that does not answer is not said to be online.
        """
        self._is_lost.clear()
        self._cancel()
        for definition in DEFINITIONS:
            # another process may subscribe to the same replica while leadership goes over
            id = f"t-{uuid.uuid4().hex}"
            self._subscribes[id] = definition
            self.replica.carry_out(Subscribe(id, definition.log))
        self._reporter = self.recorder.report(str(self.replica_id), self._is_lost.set)
        self._note("online", None)

    def step(self) -> None:
        """Hand on what the replica measured since. Raises what the replica does."""
        if self._reporter is None or self._is_lost.is_set():
            self.connect()
        for response in self.replica.take_changes(list(self._subscribes)):
            self._take(response)

    def disconnect(self, offline: str | None) -> None:
        """Cancel the subscribes and delete what was reported of the replica. ``offline`` is the
        reason that the history gives for its end; None if it lives on, and another process may
        report of it."""
        if self._reporter is None:
            return
        try:
            self._cancel()
        except Exception as failure:  # the replica may be gone: that is why it is disconnected
            _logger.debug("replica does not answer", replica=self.replica_id, error=str(failure))
        if offline is not None:
            self._note("offline", offline)
        self._reporter.close()
        self._reporter = None

    def _take(self, response: LogResponse) -> None:
        definition = self._subscribes.get(response.id)
        if definition is None or self._reporter is None:
            return  # of a subscribe that is cancelled
        match response:
            case LogChanges(_, changes, upper):
                named: list[Change] = [((self.replica_id, *row), diff) for row, diff in changes]
                self._reporter.append(definition.into, named)
                if definition.history is not None:
                    at = as_datetime(Timestamp(upper))
                    self._reporter.append(
                        definition.history, [((*row, at), diff) for row, diff in named if diff > 0]
                    )
            case LogFailed(id, error):
                _logger.warning(
                    "a replica does not say what it does",
                    replica=self.replica_id,
                    log=definition.log,
                    error=error,
                )
                del self._subscribes[id]
                self._reporter.delete(definition.into, lambda row: row[0] == self.replica_id)

    def _cancel(self) -> None:
        for id in list(self._subscribes):
            self.replica.carry_out(CancelSubscribe(id))
            del self._subscribes[id]

    def _note(self, status: str, reason: str | None) -> None:
        assert self._reporter is not None
        row = (
            self.replica_id,
            self.cluster_id,
            self.process,
            status,
            reason,
            as_datetime(self.clock()),
        )
        self._reporter.append(IntrospectionType.REPLICA_STATUSES, [(row, 1)])
        self._reporter.append(IntrospectionType.REPLICA_STATUS_HISTORY, [(row, 1)])


@dataclass(slots=True)
class ReportedReplicas:
    """The replicas that this process reports of, for as long as it does: its own, of virtual
    clusters, and those that it leads."""

    replicas: Callable[[], Mapping[int, tuple[int, Reporting | None]]]
    """By id, with their clusters: all that there are now. None is one of a cluster that this
    process does not lead."""
    recorder: Recorder
    process: str
    clock: Clock
    _connected: dict[int, ReplicaSubscribes] = field(default_factory=dict)

    def step(self) -> None:
        """Connect to those that are new, part with those that are gone, and hand on what the others
        measured."""
        present = self.replicas()
        for id, subscribes in list(self._connected.items()):
            if id not in present:
                self._part(id, "it was dropped")
            elif present[id][1] is None:
                self._part(id, None)
            elif present[id][1] is not subscribes.replica:
                self._part(id, "its process ended")
        for id, (cluster_id, replica) in present.items():
            if replica is None:
                continue
            if id not in self._connected:
                self._connected[id] = ReplicaSubscribes(
                    self.recorder, id, cluster_id, self.process, replica, self.clock
                )
            try:
                self._connected[id].step()
            except ReplicaLost as lost:  # the others go on; it is asked again when it is back
                self._part(id, lost.detail or lost.message)

    def close(self) -> None:
        for id in list(self._connected):
            self._part(id, "its process ended" if is_in_process(id) else None)

    def _part(self, id: int, offline: str | None) -> None:
        self._connected.pop(id).disconnect(offline)


def in_process_replica_id(cluster_id: int, process: str) -> int:
    """The id of the replica that a virtual cluster has in a process: negative, for the catalog,
    which numbers from 1, has none."""
    digest = hashlib.sha256(f"{cluster_id} {process}".encode()).digest()
    return -1 - int.from_bytes(digest[:6])
