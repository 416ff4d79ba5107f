"""What tables and an oracle do when they are used by one client alone: the states and steps that
histories are compared with."""

from __future__ import annotations

from typing import Literal, NamedTuple

LISTS = ("lists_a", "lists_b")
BAGS = ("bags",)
UNIQUES = ("uniques",)

Key = tuple[str, int]
Values = tuple[int, ...]


class Step(NamedTuple):
    """One statement on one key. A *list* grows at its end; a *bag* holds values in no order, each
    as often as it was inserted. Of *uniques*, where the key is the primary key, a ``claim`` inserts
    a value if there is none.

    ``answer``: the values for ``read``; for ``update`` and ``delete`` how many there were; for
    ``claim`` whether it inserted (1 or 0); None where none came.
    """

    kind: Literal["read", "append", "insert", "claim", "update", "delete"]
    key: Key
    value: int | None = None
    answer: Values | int | None = None

    @property
    def written(self) -> int:
        """The value of a statement that has one."""
        assert self.value is not None
        return self.value


class Transaction(NamedTuple):
    """Statements that happen at one moment, through a process of that epoch of the catalog."""

    epoch: int
    steps: tuple[Step, ...]


class Fence(NamedTuple):
    """The catalog was opened anew: from then on, processes of earlier epochs write nothing."""

    epoch: int


class TablesState(NamedTuple):
    epoch: int
    values: tuple[tuple[Key, Values], ...]


EMPTY = TablesState(0, ())


def tables_step(state: TablesState, call: Transaction | Fence) -> TablesState | None:
    """The tables after the call, or None if it cannot have been answered so."""
    if isinstance(call, Fence):
        return TablesState(call.epoch, state.values)
    values = dict(state.values)
    for step in call.steps:
        values_read = values.get(step.key, ())
        match step.kind:
            case "read":
                after: Values = values_read
                answer: object = values_read
            case "append":
                after, answer = (*values_read, step.written), None
            case "insert":
                after, answer = tuple(sorted((*values_read, step.written))), None
            case "claim":
                after, answer = values_read or (step.written,), int(not values_read)
            case "update":
                after, answer = (step.written,) * len(values_read), len(values_read)
            case "delete":
                after, answer = (), len(values_read)
        if step.answer is not None and step.answer != answer:
            return None
        values[step.key] = after
    after_all = tuple(sorted((key, held) for key, held in values.items() if held))
    if after_all != state.values and call.epoch < state.epoch:
        return None
    return TablesState(state.epoch, after_all)


class OracleCall(NamedTuple):
    """One call of the oracle: the timestamp it answered or was given, None if no answer came."""

    kind: Literal["read", "write", "apply"]
    ts: int | None


class OracleState(NamedTuple):
    read_ts: int
    write_ts: int


def oracle_step(state: OracleState, call: OracleCall) -> OracleState | None:
    """The oracle after the call, or None if it cannot have been answered so. The clock may show
    anything."""
    if call.ts is None:
        # a lost read changed nothing; of a lost write, the next one need only be as great as it is
        # anyway
        return state
    match call.kind:
        case "read":
            return state if call.ts == state.read_ts else None
        case "write":
            return OracleState(state.read_ts, call.ts) if call.ts > state.write_ts else None
        case "apply":
            return OracleState(max(state.read_ts, call.ts), max(state.write_ts, call.ts))
