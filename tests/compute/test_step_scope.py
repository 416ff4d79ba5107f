"""Of which collections a step reads more than the changes, which decides on the engine."""

from __future__ import annotations

import pytest
from fixtures.plans import aggregate, call, desc_of, get

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import BIGINT, TEXT
from reclock.compute.steps.scope import read_in_full
from reclock.plan.relational import Filter, Join, JoinKind, Plan, Reduce, Union
from reclock.plan.scalars import Call, ColumnRef

FACTS, DIMENSION = (StorageCollectionId(GlobalId(id)) for id in ("u1", "u2"))
DESC, TWICE = desc_of(TEXT, BIGINT), desc_of(TEXT, BIGINT, TEXT, BIGINT)
NUMBER = ColumnRef(1, BIGINT)


def joined(kind: JoinKind) -> Plan:
    is_half = kind in (JoinKind.SEMI, JoinKind.ANTI)
    sides = get(FACTS, DESC), get(DIMENSION, DESC)
    return Join(*sides, kind, ((0, 0),), (), DESC if is_half else TWICE)


ROWS = Filter(get(FACTS, DESC), (call(">", NUMBER, 1),))
DUE = Filter(get(FACTS, DESC), (call("<=", Call("mz_now", (), BIGINT), NUMBER),))
GROUPED = Reduce(get(FACTS, DESC), (0,), (aggregate("count"),), DESC)
BOTH = {FACTS, DIMENSION}


@pytest.mark.parametrize(
    ("plan", "changed", "read"),
    [
        (ROWS, {FACTS}, set()),
        (Union((ROWS, get(DIMENSION, DESC)), DESC), BOTH, set()),
        (joined(JoinKind.INNER), {FACTS}, {DIMENSION}),
        (joined(JoinKind.INNER), {DIMENSION}, {FACTS}),
        (joined(JoinKind.INNER), BOTH, BOTH),
        (joined(JoinKind.LEFT), {FACTS}, BOTH),
        (DUE, set(), {FACTS}),
        (GROUPED, {FACTS}, {FACTS}),
        (GROUPED, {DIMENSION}, set()),
    ],
)
def test_a_step_reads_more_than_changes_only_where_a_rule_does(
    plan: Plan, changed: set[StorageCollectionId], read: set[StorageCollectionId]
) -> None:
    assert read_in_full(plan, changed) == read
