"""The search tells histories that could have been sequential from those that could not."""

from __future__ import annotations

import random

import pytest
from histories.bounds import bounded
from histories.linearizability import Operation, linearization
from histories.models import (
    EMPTY,
    Fence,
    OracleCall,
    OracleState,
    Step,
    TablesState,
    Transaction,
    oracle_step,
    tables_step,
)

X, Y, BAG = ("lists_a", 0), ("lists_b", 0), ("bags", 0)


def did(began: int, returned: int | None, *steps: Step, epoch: int = 1) -> Operation:
    return Operation(began, returned, Transaction(epoch, steps))


def append(value: int, key=X) -> Step:
    return Step("append", key, value)


def insert(value: int) -> Step:
    return Step("insert", BAG, value)


def read(*values: int, key=X) -> Step:
    return Step("read", key, answer=values)


def delete(count: int | None) -> Step:
    return Step("delete", BAG, answer=count)


RIGHT = {
    "nothing": [],
    "one after the other": [did(0, 1, append(1)), did(2, 3, append(2)), did(4, 5, read(1, 2))],
    "either order while both run": [
        did(0, 9, append(1)),
        did(1, 8, append(2)),
        did(10, 11, read(2, 1)),
    ],
    "read before it returned": [did(0, 9, append(1)), did(2, 3, read(1)), did(4, 5, read(1))],
    "not read before it returned": [did(0, 9, append(1)), did(2, 3, read()), did(4, 5, read(1))],
    "lost, and it happened": [did(0, None, append(1)), did(5, 6, read(1))],
    "lost, and it did not happen": [did(0, None, append(1)), did(5, 6, read())],
    "lost, and it happened late": [did(0, None, append(1)), did(5, 6, read()), did(7, 8, read(1))],
    "lost, and only a count knew": [
        did(0, None, insert(1)),
        did(2, 3, delete(1)),
        did(4, 5, read(key=BAG)),
    ],
    "many keys at once": [did(0, 9, append(1), append(2, Y)), did(2, 3, read(1), read(2, key=Y))],
    "its own writes": [did(0, 1, append(1), read(1), append(2), read(1, 2))],
    "bags have no order": [
        did(0, 1, insert(2)),
        did(2, 3, insert(1)),
        did(4, 5, read(1, 2, key=BAG)),
        did(6, 7, delete(2)),
    ],
    "updated": [
        did(0, 1, insert(1)),
        did(2, 3, Step("update", BAG, 7, 1)),
        did(4, 5, read(7, key=BAG)),
    ],
    "begun before the fence": [did(0, 5, append(1)), Operation(1, 2, Fence(2)), did(6, 7, read(1))],
    "read behind the fence": [Operation(1, 2, Fence(2)), did(3, 4, read())],
    "nothing to delete behind the fence": [Operation(1, 2, Fence(2)), did(3, 4, delete(0))],
    "written in the new epoch": [Operation(1, 2, Fence(2)), did(3, 4, append(1), epoch=2)],
}
WRONG = {
    "not read": [did(0, 1, append(1)), did(2, 3, read())],
    "read and then not": [did(0, 9, append(1)), did(2, 3, read(1)), did(4, 5, read())],
    "read before it began": [did(0, 1, read(1)), did(2, 3, append(1))],
    "lost, and it happened twice": [did(0, None, append(1)), did(5, 6, read(1, 1))],
    "lost, and undone": [did(0, None, append(1)), did(5, 6, read(1)), did(7, 8, read())],
    "done twice": [did(0, 1, insert(1)), did(2, 3, read(1, 1, key=BAG))],
    "order turned round": [did(0, 1, append(1)), did(2, 3, append(2)), did(4, 5, read(2, 1))],
    "two orders": [
        did(0, 9, append(1)),
        did(0, 9, append(2)),
        did(10, 11, read(1, 2)),
        did(12, 13, read(2, 1)),
    ],
    "half of it": [did(0, 9, append(1), append(2, Y)), did(2, 3, read(1), read(key=Y))],
    "lost update": [
        did(0, 1, read(), append(1)),
        did(2, 3, read(1), append(2)),
        did(4, 5, read(2)),
    ],
    "write skew": [did(0, 9, read(), append(1, Y)), did(1, 8, read(key=Y), append(2))],
    "long fork": [
        did(0, 9, append(1)),
        did(0, 9, append(2, Y)),
        did(1, 8, read(1), read(key=Y)),
        did(1, 8, read(), read(2, key=Y)),
    ],
    "counted wrong": [did(0, 1, insert(1)), did(2, 3, delete(0))],
    "what nobody wrote": [did(0, 1, read(4))],
    "written behind the fence": [Operation(1, 2, Fence(2)), did(3, 4, append(1))],
    "lost, and written behind the fence": [
        did(0, None, append(1)),
        Operation(1, 2, Fence(2)),
        did(3, 4, read()),
        did(5, 6, read(1)),
    ],
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_histories(name: str) -> None:
    assert linearization(RIGHT[name], EMPTY, tables_step) is not None
    assert linearization(bounded(RIGHT[name]), EMPTY, tables_step) is not None


@pytest.mark.parametrize("name", WRONG)
def test_wrong_histories(name: str) -> None:
    assert linearization(WRONG[name], EMPTY, tables_step) is None
    assert linearization(bounded(WRONG[name]), EMPTY, tables_step) is None


def test_the_order_found_keeps_real_time_and_explains_every_answer() -> None:
    for seed in range(40):
        history = made_up(random.Random(seed))
        order = linearization(bounded(history), EMPTY, tables_step)
        assert order is not None
        state = EMPTY
        for operation in order:
            after = tables_step(state, operation.call)
            assert after is not None
            state = after
        assert all(
            earlier.began <= (later.returned or 1 << 62)
            for i, earlier in enumerate(order)
            for later in order[i:]
        )


def test_one_answer_changed_is_found_out() -> None:
    """In a history that was right: a read has lost its last value, which was there before it
    began."""
    detected = 0
    for seed in range(40):
        history = made_up(random.Random(seed), overlap=0, lost=0)
        for number, operation in enumerate(history):
            [*steps] = operation.call.steps
            if operation.returned is not None and steps[0].kind == "read" and steps[0].answer:
                changed = [steps[0]._replace(answer=steps[0].answer[:-1]), *steps[1:]]
                wrong = [*history]
                wrong[number] = did(operation.began, operation.returned, *changed)
                assert linearization(bounded(wrong), EMPTY, tables_step) is None
                detected += 1
    assert detected > 40


def made_up(chance: random.Random, overlap: int = 30, lost: float = 0.15) -> list[Operation]:
    """A history that was sequential at moments within each operation's time; some answers were
    lost."""
    state: TablesState = EMPTY
    history = []
    for moment in range(0, 400, 10):
        began = moment - chance.randint(0, overlap)
        returned = moment + 1 + chance.randint(0, overlap)
        kind = chance.choice(("read", "append", "insert", "delete"))
        key = (
            BAG
            if kind in ("insert", "delete")
            else chance.choice((X, Y, BAG) if kind == "read" else (X, Y))
        )
        values = dict(state.values).get(key, ())
        answer = {"read": values, "delete": len(values)}.get(kind)
        step = Step(kind, key, None if answer is not None else moment, answer)  # type: ignore[arg-type]
        is_lost = kind != "read" and chance.random() < lost
        if is_lost:
            step = step._replace(answer=None)
        if not is_lost or chance.random() < 0.5:
            after = tables_step(state, Transaction(1, (step,)))
            assert after is not None
            state = after
        history.append(did(began, None if is_lost else returned, step))
    return history


@pytest.mark.parametrize(
    ("is_right", "calls"),
    [
        (True, [(0, 1, "write", 5), (2, 3, "apply", 5), (4, 5, "read", 5)]),
        (True, [(0, 9, "apply", 5), (2, 3, "read", 1), (4, 5, "read", 5)]),
        (True, [(0, None, "apply", 5), (2, 3, "read", 1), (4, 5, "read", 5), (6, 7, "write", 6)]),
        (True, [(0, None, "write", None), (2, 3, "write", 2)]),
        (False, [(0, 1, "apply", 5), (2, 3, "read", 1)]),
        (False, [(0, 1, "write", 5), (2, 3, "write", 5)]),
        (False, [(0, 1, "write", 5), (2, 3, "write", 4)]),
        (False, [(0, 1, "apply", 5), (2, 3, "write", 5)]),
        (False, [(0, 9, "apply", 5), (2, 3, "read", 5), (4, 5, "read", 1)]),
        (False, [(0, 1, "read", 5)]),
    ],
)
def test_histories_of_an_oracle(is_right: bool, calls: list[tuple]) -> None:
    history = [
        Operation(began, returned, OracleCall(kind, ts)) for began, returned, kind, ts in calls
    ]
    assert (linearization(history, OracleState(1, 1), oracle_step) is not None) == is_right
