"""The interface between compute controllers and the orchestrator, which starts the processes of
replicas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from reclock.consensus.processes.replicas import Incarnation


@dataclass(frozen=True, slots=True)
class ReplicaDescription:
    """A replica of the catalog. ``name`` includes its cluster's, ``size`` names an entry of the
    sizes."""

    id: int
    cluster: str
    name: str
    size: str

    def __str__(self) -> str:
        return f"{self.cluster}.{self.name}"


@dataclass(frozen=True, slots=True)
class EndedProcess:
    """A started process that has ended, and the reason, as text."""

    replica_id: int
    incarnation: Incarnation
    why: str


class Orchestrator(Protocol):
    """Starts and stops the processes of replicas. They outlive the process that had them
    started."""

    def has_room(self) -> bool:
        """Whether another process can be started."""
        ...

    def start(self, replica: ReplicaDescription, incarnation: Incarnation) -> None:
        """Start a process, which will announce itself as this incarnation. ``ended`` reports a
        failure."""
        ...

    def stop(self, replica_id: int) -> None:
        """Stop the replica's process soon, even if it hangs, if it was started here."""
        ...

    def ended(self) -> Sequence[EndedProcess]:
        """The processes started here that have ended by themselves since the last call."""
        ...
