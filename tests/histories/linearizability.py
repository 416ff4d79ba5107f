"""Whether a concurrent history could have been a sequential one: the search of Wing and Gong, with
Lowe's memory of what failed.

J. M. Wing, C. Gong: Testing and Verifying Concurrent Objects (1993). G. Lowe: Testing for
linearizability (2017).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

State = TypeVar("State", bound=Hashable)

NO_ORDER = "the operations have no order"

UNDECIDED = "undecided"

CONFIGURATIONS = 300_000
"""How many configurations are looked at before a history counts as undecided."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One call of one client, by real time on one clock. One whose answer never came has not
    ``returned``: it may have happened at any time since it began, or may not have happened, or may
    still happen."""

    began: int
    returned: int | None
    call: Any


class Undecided(Exception):
    """The search was given up, so that nothing is known."""


def linearization(
    history: Sequence[Operation], initial: State, step: Callable[[State, Any], State | None]
) -> list[Operation] | None:
    """An order of the operations that keeps real time and that ``step`` allows one after the other;
    None if there is none.

    ``step`` answers the state after a call, or None where the call cannot have had its answer in
    that state. A call that had an answer, and with it changes nothing in some state, changes
    nothing in any later one.
    """
    operations = sorted(history, key=lambda operation: operation.began)
    returns = [
        float("inf") if operation.returned is None else operation.returned
        for operation in operations
    ]
    if any(end < operation.began for operation, end in zip(operations, returns, strict=True)):
        return None
    required = sum(
        1 << number for number, operation in enumerate(operations) if operation.returned is not None
    )
    visited: set[tuple[int, State]] = set()
    chosen: list[int] = []
    placed = 0
    states = [initial]
    untried = [_candidates(operations, returns, placed)]
    while placed & required != required:
        if untried[-1]:
            number = untried[-1].pop()
            state = step(states[-1], operations[number].call)
            configuration = (placed | 1 << number, state)
            if state is None or configuration in visited:
                continue
            if state == states[-1] and required >> number & 1:
                untried[-1].clear()  # whatever comes next can come after this as well
            visited.add(configuration)  # type: ignore[arg-type]
            if len(visited) > CONFIGURATIONS:
                raise Undecided(f"{len(visited)} configurations of {len(operations)} operations")
            chosen.append(number)
            placed |= 1 << number
            states.append(state)
            untried.append(_candidates(operations, returns, placed))
        elif chosen:
            placed &= ~(1 << chosen.pop())
            states.pop()
            untried.pop()
        else:
            return None
    return [operations[number] for number in chosen]


def _candidates(
    operations: Sequence[Operation], returns: Sequence[float], placed: int
) -> list[int]:
    """Which may come next: what began before anything else that is left returned. The likeliest is
    the last."""
    earliest = float("inf")
    candidates = []
    for number in range((~placed & (placed + 1)).bit_length() - 1, len(operations)):
        if placed >> number & 1:
            continue
        if operations[number].began > earliest:
            break
        candidates.append(number)
        earliest = min(earliest, returns[number])
    candidates.sort(key=lambda number: returns[number], reverse=True)
    return candidates
