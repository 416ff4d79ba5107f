"""Which replica processes are started and which are ended: decided from the catalog and from the
registered replicas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from reclock.consensus.processes.replicas import Registration
from reclock.protocol.orchestration import EndedProcess, ReplicaDescription

_FIRST_S, _LONGEST_S = 0.25, 30.0


@dataclass(frozen=True, slots=True)
class ReplicaChanges:
    """The replicas to start, and the ids of those to retire."""

    start: tuple[ReplicaDescription, ...]
    retire: tuple[int, ...]


def reconcile_replicas(
    desired: Sequence[ReplicaDescription],
    registrations: Iterable[Registration],
    is_commanded: Callable[[Registration], bool],
) -> ReplicaChanges:
    """The changes that lead from the registered replicas to the desired ones.

    A replica that is no longer desired, because another size was chosen, serves until a desired one
    can take over.
    """
    registered = {registration.replica_id: registration for registration in registrations}
    desired_ids = {description.id for description in desired}
    start = tuple(
        description
        for description in desired
        if description.id not in registered or not registered[description.id].is_alive
    )
    surplus = tuple(id for id in registered if id not in desired_ids)
    ready = (registered[id] for id in desired_ids & registered.keys() if registered[id].is_ready)
    return ReplicaChanges(start, surplus if not desired or any(map(is_commanded, ready)) else ())


@dataclass(slots=True)
class RestartBackoff:
    """When a replica whose process ended may be started again: after a pause that doubles until it
    comes up."""

    _since_s: dict[int, tuple[int, float]] = field(default_factory=dict)

    def record_end(self, ended: EndedProcess, now_s: float) -> None:
        count, _ = self._since_s.get(ended.replica_id, (0, 0.0))
        self._since_s[ended.replica_id] = (count + 1, now_s)

    def reset(self, replica_id: int) -> None:
        """The replica came up: earlier ends do not count."""
        self._since_s.pop(replica_id, None)

    def may_start(self, replica_id: int, now_s: float) -> bool:
        if replica_id not in self._since_s:
            return True
        count, since_s = self._since_s[replica_id]
        return now_s >= since_s + (
            min(_FIRST_S * 2 ** (count - 2), _LONGEST_S) if count > 1 else 0.0
        )
