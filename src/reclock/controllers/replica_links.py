"""The connections of a process to replicas in other processes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.consensus.processes.replicas import Registration
from reclock.protocol.compute import Dataflow, Replica

Connect = Callable[[Registration], Replica]


@dataclass(slots=True)
class ReplicaLink:
    """One incarnation of a replica as this process knows it."""

    registration: Registration
    replica: Replica
    running: dict[GlobalId, Dataflow] | None = None
    """The dataflows that it maintains; None if the replica must be asked."""
    frontier: Timestamp = MINIMUM
    """How far in the catalog this process has commanded it."""


@dataclass(slots=True)
class ReplicaLinks:
    """Connections to replicas, each made once for an incarnation. Safe for threads."""

    connect: Connect
    _links: dict[int, ReplicaLink] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def to(self, registration: Registration) -> ReplicaLink:
        with self._lock:
            link = self._links.get(registration.replica_id)
            if link is None or link.registration.incarnation != registration.incarnation:
                link = self._links[registration.replica_id] = ReplicaLink(
                    registration, self.connect(registration)
                )
            return link

    def commanded(self) -> dict[int, Replica]:
        """The replicas, by id, that this process has commanded."""
        with self._lock:
            return {id: link.replica for id, link in self._links.items() if link.frontier > MINIMUM}

    def forget(self, id: int) -> None:
        """The replica is not needed any more."""
        with self._lock:
            self._links.pop(id, None)

    def forget_commands(self) -> None:
        """Another process may command the replicas from now on. The connections stay."""
        with self._lock:
            for link in self._links.values():
                link.running, link.frontier = None, MINIMUM
