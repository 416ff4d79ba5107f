"""Finds the object that delays another one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp


def delaying_object(
    id: GlobalId,
    uppers: Mapping[GlobalId, Timestamp],
    depends_on: Callable[[GlobalId], Iterable[GlobalId]],
    stalled: Collection[GlobalId],
) -> GlobalId | None:
    """The object that delays ``id``: the last on a path of dependencies, of which each step takes
    the one with the lowest upper, and of equal uppers a stalled one. None if no dependency is as
    late as the object itself."""
    current, visited = id, {id}
    while True:
        candidates = [
            input
            for input in depends_on(current)
            if input in uppers and input not in visited and uppers[input] <= uppers[current]
        ]
        if not candidates:
            return None if current == id else current
        current = min(candidates, key=lambda id: (uppers[id], id not in stalled, id))
        visited.add(current)


def failing_input(
    id: GlobalId,
    depends_on: Callable[[GlobalId], Iterable[GlobalId]],
    stalled: Collection[GlobalId],
) -> GlobalId | None:
    """The last stalled object on a path of stalled dependencies of ``id``; None if no dependency of
    it is stalled."""
    current, visited = id, {id}
    while True:
        candidates = (
            input for input in depends_on(current) if input in stalled and input not in visited
        )
        input = min(candidates, default=None)
        if input is None:
            return None if current == id else current
        current = input
        visited.add(current)


def with_derived(
    uppers: Mapping[GlobalId, Timestamp], depends_on: Mapping[GlobalId, Collection[GlobalId]]
) -> dict[GlobalId, Timestamp]:
    """``uppers``, and for each object without an upper the lowest one of its dependencies."""
    derived = dict(uppers)

    def upper_of(id: GlobalId, path: frozenset[GlobalId]) -> Timestamp | None:
        if id not in derived and id not in path:
            input_uppers = [upper_of(input, path | {id}) for input in depends_on.get(id, ())]
            known_uppers = [upper for upper in input_uppers if upper is not None]
            if known_uppers:
                derived[id] = min(known_uppers)
        return derived.get(id)

    for id in depends_on:
        upper_of(id, frozenset())
    return derived
