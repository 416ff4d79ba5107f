"""What a compute controller asks of whoever starts the processes of replicas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from reclock.consensus.processes.replicas import Incarnation


@dataclass(frozen=True, slots=True)
class ReplicaDescription:
    """A replica as the catalog has it; ``name`` is written with its cluster's, ``size`` names an entry of the sizes."""

    id: int
    cluster: str
    name: str
    size: str

    def __str__(self) -> str:
        return f"{self.cluster}.{self.name}"


@dataclass(frozen=True, slots=True)
class EndedProcess:
    """A process that was started here is no more, and why, for people."""

    replica_id: int
    incarnation: Incarnation
    why: str


class Orchestrator(Protocol):
    """Starts and ends the processes of replicas. What it started lives on when the process that asked for it is gone."""

    def has_room(self) -> bool:
        """Whether one more can be started."""
        ...

    def start(self, replica: ReplicaDescription, incarnation: Incarnation) -> None:
        """A process that will announce itself as that incarnation. What fails is told by ``ended``."""
        ...

    def stop(self, replica_id: int) -> None:
        """Its process, if it was started here, ends soon, even if it hangs."""
        ...

    def ended(self) -> Sequence[EndedProcess]:
        """The processes that were started here and have ended by themselves since this was last asked."""
        ...
