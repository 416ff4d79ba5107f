"""Partial aggregates that the DuckDB engine keeps from refresh to refresh of an index."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from fixtures.lakes import updates_table
from fixtures.plans import aggregate, desc_of, get, row_text, rows

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import BIGINT, BOOLEAN, TEXT
from reclock.algebra.timestamps import Timestamp
from reclock.algebra.updates import Update
from reclock.collections.lake import Lake
from reclock.collections.schema import arrow_schema
from reclock.compute.engines.duckdb import DuckDbEngine
from reclock.compute.engines.engine import CollectionInput, PreviousResult
from reclock.compute.engines.group_states import GroupStates, GroupStep
from reclock.plan.relational import (
    Filter,
    Finishing,
    Ordering,
    Plan,
    Reduce,
    TopK,
    Union,
    Window,
    WindowFunction,
)
from reclock.plan.scalars import Call, ColumnRef, Literal

COLLECTION = StorageCollectionId(GlobalId("u1"))
DESC = desc_of(TEXT, BIGINT)
INDEX, OTHER = GlobalId("u2"), GlobalId("u3")
PLAN = Reduce(
    get(COLLECTION, DESC),
    (0,),
    (aggregate("count"), aggregate("sum", ColumnRef(1, BIGINT))),
    desc_of(TEXT, BIGINT, aggregate("sum", ColumnRef(1, BIGINT)).type),
)
OTHER_PLAN = replace(PLAN, group_by=(1,), desc=desc_of(BIGINT, *PLAN.desc.types[1:]))
UPDATES = [
    *(Update((f"key {i}", i), Timestamp(1), 1) for i in range(20)),
    *(Update((f"key {i % 3}", 100 + i), Timestamp(i), 1) for i in range(2, 10)),
    *(Update((f"key {i}", i), Timestamp(i), -1) for i in range(2, 10)),
]
LAST = 9


class Indexes:
    """Indexes over one collection, refreshed on one engine."""

    def __init__(self, folder: Path, *, limit_bytes: int = 1 << 20) -> None:
        self.states = GroupStates(limit_bytes)
        self.engine = DuckDbEngine([str(folder)], threads=1, group_states=self.states)
        version = Lake(str(folder)).create(COLLECTION, DESC).pin()
        self.inputs = {COLLECTION: CollectionInput(version, updates_table(UPDATES, DESC))}
        self.additions = Counter[GlobalId]()
        """How often a step of each index added changes to a table."""

    def refresh(self, before: int, at: int, index: GlobalId = INDEX, plan: Plan = PLAN) -> None:
        """From the answer ``before`` to that ``at``, which must be right."""
        answer = self.answer(plan, before)
        previous = PreviousResult(None, Timestamp(0), self._updates(plan, before), index)
        changes = self.engine.changes(
            plan, plan.desc, self.inputs, Timestamp(before), Timestamp(at), previous
        )
        for *values, diff in rows(changes):
            answer[row_text(values)] += diff
        assert +answer == self.answer(plan, at)

    def answer(self, plan: Plan, at: int) -> Counter[str]:
        return Counter(
            map(row_text, rows(self.engine.run(plan, Finishing(), self.inputs, Timestamp(at))))
        )

    def tables(self) -> int:
        """How many the database has."""
        session = self.engine._databases.current().session()
        [(count,)] = session.execute(
            "SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'group_state_%'"
        ).fetchall()
        return int(count)

    def _updates(self, plan: Plan, at: int) -> pa.Table:
        result = self.engine.run(plan, Finishing(), self.inputs, Timestamp(at))
        listed = [Update(tuple(row), Timestamp(0), 1) for row in rows(result)]
        return updates_table(listed, plan.desc).cast(arrow_schema(plan.desc, with_updates=True))


@pytest.fixture
def indexes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Indexes:
    made = Indexes(tmp_path)
    add = GroupStep.add

    def counted(step: GroupStep, place: int, changes: str) -> None:
        made.additions[step.index] += 1
        add(step, place, changes)

    monkeypatch.setattr(GroupStep, "add", counted)
    return made


def test_a_table_is_made_at_the_first_refresh_and_serves_the_later_ones(indexes: Indexes) -> None:
    builds = []
    for at in range(2, LAST + 1):
        indexes.refresh(at - 1, at)
        builds.append(indexes.engine.state_builds(INDEX))
    assert builds == [1] * 8
    assert indexes.tables() == 1


@pytest.mark.parametrize(
    "plan",
    [
        Reduce(
            get(COLLECTION, DESC),
            (),
            (aggregate("stddev", ColumnRef(1, BIGINT)),),
            desc_of(aggregate("stddev", ColumnRef(1, BIGINT)).type),
        ),
        Window(
            get(COLLECTION, DESC),
            (),
            (Ordering(1),),
            WindowFunction("row_number"),
            desc_of(TEXT, BIGINT, BIGINT),
        ),
        TopK(get(COLLECTION, DESC), (), (Ordering(1),), 3, 2),
    ],
    ids=["an aggregate", "a window", "an offset"],
)
def test_rows_of_an_operator_without_groups_are_kept(plan: Plan, indexes: Indexes) -> None:
    for at in range(2, LAST + 1):
        indexes.refresh(at - 1, at, plan=plan)
    assert indexes.engine.state_builds(INDEX) == 1
    assert indexes.tables() == 1


def test_a_refresh_whose_updates_were_lost_is_repeated_from_the_same_table(
    indexes: Indexes,
) -> None:
    for before, at in ((1, 2), (2, 3), (3, 4), (3, 4), (3, 6), (2, 5)):
        indexes.refresh(before, at)
    assert indexes.engine.state_builds(INDEX) == 1


def test_after_refreshes_by_another_process_the_table_is_made_again(indexes: Indexes) -> None:
    for before, at in ((1, 2), (2, 3), (5, 6), (6, 7)):
        indexes.refresh(before, at)
    assert indexes.engine.state_builds(INDEX) == 2
    assert indexes.tables() == 1


def test_between_the_times_of_two_refreshes_the_table_is_made_again(indexes: Indexes) -> None:
    for before, at in ((1, 2), (2, 3), (3, 7), (5, 7), (7, 8)):
        indexes.refresh(before, at)
    assert indexes.engine.state_builds(INDEX) == 2


def test_what_a_failed_step_has_added_does_not_count(indexes: Indexes) -> None:
    for before, at in ((1, 2), (2, 3), (3, 4)):
        indexes.refresh(before, at)
    session = indexes.engine._databases.current().session()
    session.execute("CREATE TEMP TABLE n0 AS SELECT 'key 1' AS c0, 1 AS n, 1 AS p0, 1 AS p1")

    def fail() -> None:
        with indexes.states.step(session, INDEX, Timestamp(4), Timestamp(6), {}) as step:
            assert step is not None
            assert step.open(1, PLAN, str) is not None
            step.add(1, "n0")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    indexes.refresh(4, 5)
    assert indexes.engine.state_builds(INDEX) == 1


def test_beside_another_refresh_of_the_index_nothing_is_kept(indexes: Indexes) -> None:
    session = indexes.engine._databases.current().session()
    with indexes.states.step(session, INDEX, Timestamp(1), Timestamp(2), {}):
        for at in range(2, 6):
            indexes.refresh(at - 1, at)
    assert indexes.engine.state_builds(INDEX) == 0


def test_many_additions_are_merged(indexes: Indexes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reclock.compute.engines.group_states._FEW_ROWS", 1)
    for at in range(2, LAST + 1):
        indexes.refresh(at - 1, at)
    [table] = indexes.states._tables.values()
    assert min(table.rows) > 2
    assert indexes.engine.state_builds(INDEX) == 1
    assert indexes.tables() == 1


def test_a_table_that_does_not_fit_is_made_once(tmp_path: Path) -> None:
    indexes = Indexes(tmp_path, limit_bytes=100)
    for at in range(2, LAST + 1):
        indexes.refresh(at - 1, at)
    assert indexes.engine.state_builds(INDEX) == 1
    assert indexes.tables() == 0


def test_the_index_that_was_not_refreshed_lately_makes_room(tmp_path: Path) -> None:
    indexes = Indexes(tmp_path, limit_bytes=3000)
    for at in range(2, 5):
        indexes.refresh(at - 1, at)
    for at in range(2, 5):
        indexes.refresh(at - 1, at, OTHER, OTHER_PLAN)
    assert {index for index, _ in indexes.states._names} == {OTHER}
    assert indexes.tables() == 1


def test_a_database_that_was_opened_again_has_no_tables(indexes: Indexes) -> None:
    for at in (2, 3, 4):
        indexes.refresh(at - 1, at)
    indexes.engine.close()
    for at in (5, 6):
        indexes.refresh(at - 1, at)
    assert indexes.engine.state_builds(INDEX) == 2


def test_a_dropped_index_leaves_nothing(indexes: Indexes) -> None:
    for at in (2, 3, 4):
        indexes.refresh(at - 1, at)
    indexes.engine.forget_index(INDEX)
    assert indexes.tables() == 0
    indexes.refresh(4, 5)
    assert indexes.engine.state_builds(INDEX) == 1


# --- tables that several indexes share ---


def test_the_changes_of_an_equal_node_are_computed_once_for_all_indexes(indexes: Indexes) -> None:
    for at in range(2, LAST + 1):
        for index in (INDEX, OTHER):
            indexes.refresh(at - 1, at, index)
    assert indexes.additions == {INDEX: LAST - 1}
    assert (indexes.engine.state_builds(OTHER), indexes.tables()) == (0, 1)


def test_equal_nodes_below_different_ones_share_a_table(indexes: Indexes) -> None:
    above = Filter(PLAN, (Call("=", (ColumnRef(1, BIGINT), Literal(1, BIGINT)), BOOLEAN),))
    for at in range(2, LAST + 1):
        indexes.refresh(at - 1, at)
        indexes.refresh(at - 1, at, OTHER, above)
    assert indexes.additions == {INDEX: LAST - 1}
    assert indexes.tables() == 1


def test_an_index_follows_another_one_that_is_several_steps_ahead(indexes: Indexes) -> None:
    for index in (INDEX, OTHER):
        for at in range(2, LAST + 1):
            indexes.refresh(at - 1, at, index)
    assert indexes.additions == {INDEX: LAST - 1}
    assert indexes.tables() == 1


def test_an_index_with_other_times_has_a_table_of_its_own(indexes: Indexes) -> None:
    for before, at, index in ((1, 2, INDEX), (1, 2, OTHER), (2, 3, INDEX), (3, 4, INDEX)):
        indexes.refresh(before, at, index)
    for before, at, index in ((2, 5, OTHER), (4, 5, INDEX)):
        indexes.refresh(before, at, index)
    assert indexes.tables() == 2
    for index in (INDEX, OTHER):
        indexes.refresh(5, 6, index)
    assert indexes.tables() == 1  # once one has what the other needs


def test_a_node_that_changed_and_changed_back_did_change_in_between(indexes: Indexes) -> None:
    updates = [Update(("key 0", 1), Timestamp(at), diff) for at, diff in ((3, 1), (4, -1))]
    version = indexes.inputs[COLLECTION].version
    indexes.inputs = {COLLECTION: CollectionInput(version, updates_table(updates, DESC))}
    for before, at, index in ((2, 4, INDEX), (2, 3, OTHER), (2, 3, INDEX), (3, 4, INDEX)):
        indexes.refresh(before, at, index)
    for before, at, index in ((3, 4, OTHER), (4, 5, INDEX), (4, 5, OTHER)):
        indexes.refresh(before, at, index)


def test_an_equal_node_that_a_plan_has_twice_has_one_table(indexes: Indexes) -> None:
    again = replace(PLAN, input=get(COLLECTION, DESC))
    twice = Union((PLAN, again), PLAN.desc)
    for at in range(2, LAST + 1):
        indexes.refresh(at - 1, at, plan=twice)
    assert indexes.additions == {INDEX: LAST - 1}
    assert indexes.tables() == 1


def test_a_dropped_index_leaves_the_table_to_the_others(indexes: Indexes) -> None:
    for index in (INDEX, OTHER):
        indexes.refresh(1, 2, index)
    indexes.engine.forget_index(INDEX)
    indexes.refresh(2, 3, OTHER)
    assert (indexes.engine.state_builds(OTHER), indexes.tables()) == (0, 1)
    indexes.engine.forget_index(OTHER)
    assert indexes.tables() == 0


def test_what_a_step_of_another_index_failed_to_add_does_not_count(indexes: Indexes) -> None:
    for index in (INDEX, OTHER):
        indexes.refresh(1, 2, index)
    session = indexes.engine._databases.current().session()
    session.execute("CREATE TEMP TABLE n0 AS SELECT 'key 1' AS c0, 1 AS n, 1 AS p0, 1 AS p1")

    def fail() -> None:
        with indexes.states.step(session, INDEX, Timestamp(2), Timestamp(3), {}) as step:
            assert step is not None
            [place] = [place for index, place in indexes.states._names if index == INDEX]
            assert step.open(place, PLAN, str) is not None
            step.add(place, "n0")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    indexes.refresh(2, 3, OTHER)
    indexes.refresh(2, 3)
    assert indexes.tables() == 1


def test_a_new_index_trusts_no_table_from_before_a_rewrite_of_its_inputs(indexes: Indexes) -> None:
    """The rewrite may have repaired the collection, also at times that the table has."""
    indexes.refresh(1, 2)
    input = indexes.inputs[COLLECTION]
    repaired = replace(input.version, rewrites=input.version.rewrites + 1)
    updates = [*UPDATES, Update(("key 0", 1000), Timestamp(1), 1)]
    indexes.inputs = {COLLECTION: CollectionInput(repaired, updates_table(updates, DESC))}
    indexes.refresh(2, 3, OTHER)
    assert indexes.tables() == 2
