"""Which object holds another one back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp


def culprit(
    id: GlobalId,
    uppers: Mapping[GlobalId, Timestamp],
    depends_on: Callable[[GlobalId], Iterable[GlobalId]],
    stalled: Collection[GlobalId],
) -> GlobalId | None:
    """The end of the path from the object down its dependencies, at each step to the one that is
    complete the least far. A stalled one goes before others that are as far. None if no dependency
    is as late as the object: it is late of itself."""
    current, seen = id, {id}
    while True:
        later = [other for other in depends_on(current) if other in uppers and other not in seen]
        candidates = [other for other in later if uppers[other] <= uppers[current]]
        if not candidates:
            return None if current == id else current
        current = min(candidates, key=lambda other: (uppers[other], other not in stalled, other))
        seen.add(current)


def with_derived(
    uppers: Mapping[GlobalId, Timestamp], depends_on: Mapping[GlobalId, Collection[GlobalId]]
) -> dict[GlobalId, Timestamp]:
    """The uppers, and for each object without one of its own the least of its dependencies', if
    they have any."""
    derived = dict(uppers)

    def upper_of(id: GlobalId, path: frozenset[GlobalId]) -> Timestamp | None:
        if id not in derived and id not in path:
            found = [upper_of(other, path | {id}) for other in depends_on.get(id, ())]
            known = [upper for upper in found if upper is not None]
            if known:
                derived[id] = min(known)
        return derived.get(id)

    for id in depends_on:
        upper_of(id, frozenset())
    return derived
