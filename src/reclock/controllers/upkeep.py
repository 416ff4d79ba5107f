"""Which processes of replicas are to be started and which to end: decided from what the catalog wants and what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from reclock.consensus.processes.replicas import Registration
from reclock.protocol.orchestration import EndedProcess, ReplicaDescription

_FIRST_S, _LONGEST_S = 0.25, 30.0


@dataclass(frozen=True, slots=True)
class Upkeep:
    start: tuple[ReplicaDescription, ...]
    retire: tuple[int, ...]


def upkeep(
    wanted: Sequence[ReplicaDescription], found: Iterable[Registration], is_commanded: Callable[[Registration], bool]
) -> Upkeep:
    """What leads from the replicas there are to those wanted.

    One that is not wanted any more, after another size was chosen, serves until one that is wanted can take over.
    """
    by_id = {registration.replica_id: registration for registration in found}
    ids = {description.id for description in wanted}
    start = tuple(each for each in wanted if each.id not in by_id or not by_id[each.id].is_alive)
    surplus = tuple(id for id in by_id if id not in ids)
    can_take_over = any(by_id[id].is_ready and is_commanded(by_id[id]) for id in ids & by_id.keys())
    return Upkeep(start, surplus if can_take_over or not wanted else ())


@dataclass(slots=True)
class RestartBackoff:
    """When a replica whose process ended may be started again: after a pause that doubles until it comes up."""

    _since_s: dict[int, tuple[int, float]] = field(default_factory=dict)

    def note(self, ended: EndedProcess, now_s: float) -> None:
        count, _ = self._since_s.get(ended.replica_id, (0, 0.0))
        self._since_s[ended.replica_id] = (count + 1, now_s)

    def forgive(self, replica_id: int) -> None:
        """It came up: what was before does not count."""
        self._since_s.pop(replica_id, None)

    def may_start(self, replica_id: int, now_s: float) -> bool:
        if replica_id not in self._since_s:
            return True
        count, since_s = self._since_s[replica_id]
        return now_s >= since_s + (min(_FIRST_S * 2 ** (count - 2), _LONGEST_S) if count > 1 else 0.0)
