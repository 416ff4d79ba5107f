"""Laws of conditions on ``mz_now()``: an index has at every time what its query answers there, and
is refreshed at every time at which that changes. ``--planted`` plants all bugs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any

import pyarrow as pa
import pytest
from fixtures.examples import examples, plant_some
from fixtures.lakes import updates_of
from fixtures.maintaining import Bench, dense_histories
from fixtures.plans import aggregate, call, desc_of, get, row_text
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import BIGINT, TEXT, numeric
from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.collections.schema import arrow_schema
from reclock.compute import due_times
from reclock.compute.due_times import due_after, with_due_times
from reclock.compute.engines.engine import PreviousResult
from reclock.compute.maintenance import maintainer, refresh_each
from reclock.compute.operators.partial_aggregates import PartialAggregates
from reclock.compute.operators.rules import InputVersion, NoRuleByTime
from reclock.compute.steps import writer
from reclock.compute.steps.scope import has_time_rules
from reclock.compute.steps.writer import StepWriter
from reclock.plan import temporal
from reclock.plan.relational import (
    Distinct,
    Except,
    Filter,
    Join,
    JoinKind,
    Ordering,
    Plan,
    Reduce,
    TopK,
    Union,
)
from reclock.plan.scalars import Call, ColumnRef

EXAMPLES = examples(8, 60)
LEFT, RIGHT = (StorageCollectionId(GlobalId(id)) for id in ("u1", "u2"))
DESC, TWICE = desc_of(TEXT, BIGINT), desc_of(TEXT, BIGINT, TEXT, BIGINT)
NOW, NUMBER = Call("mz_now", (), BIGINT), ColumnRef(1, BIGINT)
ROWS = [(key, number) for key in ("a", "b") for number in (0, 1, 2)] + [("a", None), (None, 3)]
SUMMED = desc_of(TEXT, numeric(38, 0))
LAST = 7
_indexes = count(9000)

conditions = st.sampled_from(
    [
        (call("<=", NOW, NUMBER),),
        (call("<", NOW, call("+", NUMBER, 2)),),
        (call(">=", NUMBER, NOW),),
        (call(">", NOW, NUMBER), call("<=", NOW, call("+", NUMBER, 3))),
        (call("and", call(">=", NOW, NUMBER), call("<", NOW, call("+", NUMBER, 1))),),
        (call("=", NOW, call("+", NUMBER, 2)), call(">", NUMBER, 0)),
    ]
)
side = st.sampled_from([get(LEFT, DESC), get(RIGHT, DESC)])
both = dense_histories(ROWS)


def _joined(one: Plan, other: Plan, kind: JoinKind) -> Plan:
    is_half = kind in (JoinKind.SEMI, JoinKind.ANTI)
    return Join(one, other, kind, ((0, 0),), (), DESC if is_half else TWICE)


def _summed(plan: Plan) -> Plan:
    """For each key, the largest number, in columns like those of the inputs."""
    return Reduce(plan, (0,), (aggregate("max", NUMBER),), DESC)


filters = st.builds(Filter, side, conditions)
some = st.one_of(side, filters)
kinds = st.sampled_from(list(JoinKind))
PLANS: dict[str, st.SearchStrategy[Plan]] = {
    "a filter": filters,
    "a filter of a join": st.builds(
        Filter,
        st.builds(_joined, side, side, st.sampled_from([JoinKind.INNER, JoinKind.LEFT])),
        conditions,
    ),
    "below joins": st.builds(_joined, filters, some, kinds),
    "below groups": st.one_of(
        filters.map(_summed),
        filters.map(lambda plan: Reduce(plan, (), (aggregate("count"),), desc_of(BIGINT))),
        filters.map(Distinct),
        filters.map(lambda plan: TopK(plan, (), (Ordering(1),), 2, 0)),
        st.builds(Except, some, filters),
        st.builds(lambda one, other: Union((one, other), DESC), some, filters),
    ),
    "above groups": st.builds(Filter, filters.map(_summed), conditions),
    "above joins": st.builds(
        Filter, st.builds(_joined, filters, some, st.just(JoinKind.ANTI)), conditions
    ),
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench.on_duckdb(tmp_path_factory.mktemp("temporal"))


def _maintained(bench: Bench, name: str) -> Callable[[], None]:
    @given(PLANS[name], both, st.sets(st.integers(0, 4), max_size=2), st.booleans())
    def law(plan: Plan, updates: Any, skipped: set[int], keeps_groups: bool) -> None:
        temporal.check_maintainable(plan)
        bench.check(plan, _sides(updates), skipped, keeps_groups=keeps_groups)

    return law


def _at_due_times(bench: Bench, name: str) -> Callable[[], None]:
    @given(PLANS[name], both, st.integers(0, 3))
    def law(plan: Plan, updates: Any, since: int) -> None:
        inputs, _ = bench.inputs(_sides(updates))
        changes = {update.time for side in updates for update in side if update.time > since}
        steps = with_due_times(
            plan,
            changes,
            since=Timestamp(since),
            through=Timestamp(LAST),
            due=lambda at: due_after(plan, inputs, at, bench.engine),
        )
        answers = [bench.answer(plan, inputs, Timestamp(time)) for time in range(LAST + 3)]
        changed = {at for at in range(since + 1, LAST + 1) if answers[at] != answers[at - 1]}
        assert changed <= set(steps.times)
        assert steps.times == sorted(set(steps.times))
        assert steps.next_due is not None
        later = {at for at in range(LAST + 1, LAST + 3) if answers[at] != answers[at - 1]}
        assert all(steps.next_due <= at for at in later)
        assert later or steps.next_due > LAST

    return law


def _counted(plan: Plan) -> Plan:
    """How many of the plan's rows have each number, and the sum of these numbers of rows."""
    by_number = Reduce(plan, (1,), (aggregate("count"),), desc_of(BIGINT, BIGINT))
    return Reduce(by_number, (), (aggregate("sum", ColumnRef(1, BIGINT)),), desc_of(numeric(38, 0)))


BY_TIME: dict[str, st.SearchStrategy[Plan]] = {
    "filters": st.one_of(filters, PLANS["a filter of a join"]),
    "joins": st.one_of(
        st.builds(_joined, filters, side, st.just(JoinKind.INNER)),
        st.builds(_joined, side, filters, st.just(JoinKind.INNER)),
    ),
    "groups": st.one_of(
        filters.map(Distinct),
        filters.map(lambda plan: Reduce(plan, (0,), (aggregate("sum", NUMBER),), SUMMED)),
        st.builds(lambda one, other: Distinct(Union((one, other), DESC)), filters, some),
        filters.map(_counted),
    ),
}


LATER = (call(">", NOW, call("+", NUMBER, 2)),)
LATER_PAIRS = st.just(_joined(Filter(get(LEFT, DESC), LATER), get(RIGHT, DESC), JoinKind.INNER))
"""Most of them come due after the last input."""


def _in_one_step(bench: Bench, plans: st.SearchStrategy[Plan]) -> Callable[[], None]:
    """A step by time has what the query answers at every time after the last input."""

    @given(plans, both)
    def law(plan: Plan, updates: Any) -> None:
        assert has_time_rules(plan)
        inputs, last = bench.inputs(_sides(updates))
        index = GlobalId(f"u{next(_indexes)}")
        maintained = maintainer(plan, plan.desc, index)
        built = refresh_each(
            maintained, bench.engine, inputs, None, None, [Timestamp(last)]
        ).updates
        before = PreviousResult(None, Timestamp(0), built, index)
        changes = bench.engine.changes(
            plan, plan.desc, inputs, Timestamp(last), Timestamp(LAST), before, by_time=True
        ).batches.read_all()
        bench.engine.forget_index(index)
        updates_found = updates_of(pa.concat_tables([built, changes.cast(built.schema)]))
        for time in range(last, LAST + 1):
            contents: Counter[str] = Counter()
            for update in updates_found:
                if update.time <= time:
                    contents[row_text(update.row)] += update.diff
            answered = bench.answer(plan, inputs, Timestamp(time))
            assert {row: count for row, count in contents.items() if count} == answered, time

    return law


@pytest.mark.parametrize("name", BY_TIME)
def test_one_step_has_all_due_times(name: str, bench: Bench) -> None:
    settings(max_examples=EXAMPLES)(_in_one_step(bench, BY_TIME[name]))()


def test_what_has_no_rule_by_time_is_refused(bench: Bench) -> None:
    rows = Filter(get(LEFT, DESC), (call("<=", NOW, NUMBER),))
    inputs, _ = bench.inputs(_sides(([], [])))
    for plan in (_joined(rows, rows, JoinKind.INNER), TopK(rows, (), (Ordering(1),), 1, 0)):
        assert not has_time_rules(plan)
        before = PreviousResult(
            None, Timestamp(0), arrow_schema(plan.desc, with_updates=True).empty_table()
        )
        with pytest.raises(NoRuleByTime):
            bench.engine.changes(
                plan, plan.desc, inputs, Timestamp(1), Timestamp(2), before, by_time=True
            )


def _sides(updates: Any) -> dict[StorageCollectionId, Any]:
    return {LEFT: (DESC, updates[0]), RIGHT: (DESC, updates[1])}


@pytest.mark.parametrize("name", PLANS)
def test_what_the_time_changes_is_maintained(name: str, bench: Bench) -> None:
    settings(max_examples=EXAMPLES)(_maintained(bench, name))()


def test_each_of_three_conditions_on_time_is_maintained(bench: Bench) -> None:
    after = [call("+", NUMBER, later) for later in (1, 2)]
    conditions = (call(">=", NOW, NUMBER), call(">=", NOW, after[0]), call("<", NOW, after[1]))
    plan = Filter(get(LEFT, DESC), conditions)

    @settings(max_examples=EXAMPLES)
    @given(both)
    def law(updates: Any) -> None:
        bench.check(plan, _sides(updates), set(), keeps_groups=False)

    law()


@pytest.mark.parametrize("name", PLANS)
def test_every_time_of_a_change_is_known(
    name: str, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due_times, "AT_ONCE", 3)  # as when there are many
    settings(max_examples=EXAMPLES)(_at_due_times(bench, name))()


def test_beyond_the_limit_everything_is_due_at_the_end(bench: Bench) -> None:
    plan = Filter(get(LEFT, DESC), (call(">=", NOW, NUMBER),))
    answers = {0: (2, 4, 6), 5: (6, 8)}

    def due(at: Timestamp) -> due_times.DueTimes:
        return due_times.DueTimes(
            tuple(Timestamp(t) for t in answers[5 if at >= 5 else 0] if t > at)
        )

    def found(limit: int | None) -> due_times.ChangeTimes:
        return with_due_times(
            plan,
            [Timestamp(5)],
            since=Timestamp(0),
            through=Timestamp(7),
            due=due,
            limit=limit,
        )

    assert found(None) == due_times.ChangeTimes(list(map(Timestamp, (2, 4, 5, 6))), Timestamp(8))
    assert found(4) == found(None)
    assert found(1).times == [2, 4, 5, 7]
    assert found(1).next_due is None
    assert with_due_times(
        plan, [], since=Timestamp(9), through=Timestamp(9), due=lambda at: due_times.DueTimes(())
    ) == due_times.ChangeTimes([], MAXIMUM)


# --- planted bugs ---

SEARCH = settings(
    max_examples=150,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    report_multiple_bugs=False,
)
Plant = Callable[[pytest.MonkeyPatch], None]


def _in(module: Any, name: str, planted: Any) -> Plant:
    return lambda monkeypatch: monkeypatch.setattr(module, name, planted)


def _nothing_is_due(self: Any, node: Filter) -> str:
    rows = self.rows(node.input, InputVersion.BEFORE)
    return str(self.define(f"SELECT * FROM {rows} WHERE FALSE"))


def _with_entry(name: str, delays: tuple[int, ...]) -> Plant:
    return lambda monkeypatch: monkeypatch.setitem(temporal._CHANGES_AFTER, name, delays)


def _monotone(monkeypatch: pytest.MonkeyPatch) -> None:
    right = writer.is_monotone
    monkeypatch.setattr(writer, "is_monotone", lambda node: isinstance(node, Filter) or right(node))


def _all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    right = due_times.due_answer
    monkeypatch.setattr(due_times, "AT_ONCE", 3)
    monkeypatch.setattr(
        due_times, "due_answer", lambda batches: due_times.DueTimes(right(batches).times)
    )


def _groups_change_early(monkeypatch: pytest.MonkeyPatch) -> None:
    right = PartialAggregates.changed_values_by_time
    monkeypatch.setattr(
        PartialAggregates,
        "changed_values_by_time",
        lambda *arguments: right(*arguments).replace("g.t < k.t", "g.t <= k.t"),
    )


BY_TIME_PLANTED: dict[str, tuple[st.SearchStrategy[Plan], Plant]] = {
    "rows that come due stay away": (
        BY_TIME["filters"],
        _in(StepWriter, "due_rows", _nothing_is_due),
    ),
    "a row is due a moment early": (BY_TIME["filters"], _with_entry("<=", (0,))),
    "pairs are due a moment early": (LATER_PAIRS, _with_entry(">", (0,))),
    "groups change early": (BY_TIME["groups"], _groups_change_early),
}


def test_a_bug_planted_into_steps_by_time_is_found(
    planted_by_time: str, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans, plant = BY_TIME_PLANTED[planted_by_time]
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        SEARCH(_in_one_step(bench, plans))()


PLANTED: dict[str, tuple[str, bool, Plant]] = {
    "rows that come due stay away": (
        "a filter",
        True,
        _in(StepWriter, "due_rows", _nothing_is_due),
    ),
    "rows are due a moment early": ("a filter", True, _with_entry("<=", (0,))),
    "a filter takes no row away": ("below groups", True, _monotone),
    "a row goes at its last moment": ("a filter", False, _with_entry("<=", (0,))),
    "a row comes a moment late": ("a filter", False, _with_entry(">=", (1,))),
    "what comes brings nothing due": (
        "above groups",
        False,
        _in(due_times, "are_nested", lambda plan: False),
    ),
    "the first due times are all": ("a filter", False, _all_at_once),
}
"""The plans, whether the law is that of maintained rows or that of times, and the bug."""


IN_SUITE = {
    "rows that come due stay away",
    "a row goes at its last moment",
    "the first due times are all",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    plant_some(metafunc, "planted", PLANTED, IN_SUITE)
    plant_some(metafunc, "planted_by_time", BY_TIME_PLANTED, {"a row is due a moment early"})


def test_a_planted_bug_is_found(
    planted: str, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans, is_of_rows, plant = PLANTED[planted]
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        SEARCH((_maintained if is_of_rows else _at_due_times)(bench, plans))()
